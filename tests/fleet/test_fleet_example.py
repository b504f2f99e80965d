"""`examples/fleet`, on the Spark that kplan starts itself."""

import shutil
from pathlib import Path

import pytest

from tests.e2e.commands import kplan

pytestmark = pytest.mark.spark

EXAMPLE = Path(__file__).parents[2] / "examples" / "fleet"


def test_the_example_is_read_and_planned_as_its_readme_says(tmp_path: Path) -> None:
    folder = tmp_path / "fleet"
    shutil.copytree(EXAMPLE, folder)
    taken = kplan(folder, "fleet", "snapshot", env={})
    assert taken.code == 0, taken
    assert "prod-eu" in taken.out
    planned = kplan(folder, "fleet", "plan", env={})
    assert planned.code == 2, planned
    assert "kafka_topic.invoices" in planned.out
    assert "kafka_topic.orders" in planned.out
