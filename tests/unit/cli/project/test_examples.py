"""Examples: found in a checkout and in an installed package, and valid as they are."""

from pathlib import Path

import pytest

from kplan.cli.exit_code import ExitCode
from kplan.cli.project import demo
from kplan.cli.run import run

EXAMPLES = Path(__file__).parents[4] / "examples"


def test_a_checkout_finds_its_examples() -> None:
    assert demo.example_folder("quickstart") == EXAMPLES / "quickstart"


def test_an_installed_package_finds_its_own_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "quickstart").mkdir()
    monkeypatch.setattr(demo, "_EXAMPLE_FOLDERS", (tmp_path, EXAMPLES))
    assert demo.example_folder("quickstart") == tmp_path / "quickstart"


def test_an_example_that_is_not_there_is_told() -> None:
    with pytest.raises(FileNotFoundError, match="example nonsense"):
        demo.example_folder("nonsense")


CONFIGURATIONS = sorted({each.parent for each in EXAMPLES.glob("*/*.tf")})


@pytest.mark.parametrize("folder", CONFIGURATIONS, ids=lambda each: each.name)
def test_every_example_is_valid(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    assert run(["validate"], {}) == ExitCode.DONE
    out, err = capsys.readouterr()
    assert out == "Success! The configuration is valid.\n"
    assert err == ""
