"""Examples: found in a checkout and in an installed package, and valid as they are."""

from pathlib import Path

import pytest

from kplan.cli import shipped
from kplan.cli.exits import Exit
from kplan.cli.run import run

EXAMPLES = Path(__file__).parents[3] / "examples"


def test_a_checkout_finds_its_examples() -> None:
    assert shipped.example("quickstart") == EXAMPLES / "quickstart"


def test_an_installed_package_finds_its_own_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "quickstart").mkdir()
    monkeypatch.setattr(shipped, "_PLACES", (tmp_path, EXAMPLES))
    assert shipped.example("quickstart") == tmp_path / "quickstart"


def test_an_example_that_is_not_there_is_told() -> None:
    with pytest.raises(FileNotFoundError, match="example nonsense"):
        shipped.example("nonsense")


CONFIGURATIONS = sorted({each.parent for each in EXAMPLES.glob("*/*.tf")})


@pytest.mark.parametrize("folder", CONFIGURATIONS, ids=lambda each: each.name)
def test_every_example_is_valid(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    assert run(["validate"], {}) == Exit.DONE
    out, err = capsys.readouterr()
    assert out == "Success! The configuration is valid.\n"
    assert err == ""
