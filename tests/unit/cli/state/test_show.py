"""Plans that older releases wrote are shown in every format, without a cluster."""

from pathlib import Path

import pytest

from kplan.cli.run import run
from kplan.report.format import Format

PLANS = sorted(Path(__file__).parents[2].glob("state/fixtures/plan-*.kplan"))


@pytest.mark.parametrize("format_", Format)
@pytest.mark.parametrize("file", PLANS, ids=lambda file: file.name)
def test_a_plan_of_an_older_release_is_shown_in_every_format(
    file: Path, format_: Format, capsys: pytest.CaptureFixture[str]
) -> None:
    """A connection of several whose cluster has no id ended `show` with a KeyError."""
    assert run(["show", f"-format={format_}", str(file)], {}) == 0, capsys.readouterr().err
    assert capsys.readouterr().out
