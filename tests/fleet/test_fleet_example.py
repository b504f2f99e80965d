"""`examples/fleet`; in CI on the Spark that kplan starts itself."""

import shutil
from pathlib import Path

import pytest

from tests.e2e.commands import kplan
from tests.fleet.engines import AtWork

pytestmark = pytest.mark.spark

EXAMPLE = Path(__file__).parents[2] / "examples" / "fleet"


def test_the_example_is_read_as_its_readme_says(at_work: AtWork, tmp_path: Path) -> None:
    folder = tmp_path / "fleet"
    shutil.copytree(EXAMPLE, folder)
    taken = kplan(folder, "fleet", "snapshot", *at_work.options, env={})
    assert taken.code == 0, taken
    assert "prod-eu" in taken.out
    assert list((folder / "tables" / "runs").glob("attempt=*"))
