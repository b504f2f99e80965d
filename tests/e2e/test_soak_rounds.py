"""Ten rounds of the soak: random runs, random faults, and an observer that knows the truth."""

from pathlib import Path

import pytest

from tests.soak.rounds import run_rounds, table

pytestmark = pytest.mark.broker

SEED = 1


def test_ten_rounds_of_random_faults_bring_no_false_sentence(tmp_path: Path) -> None:
    """Every outcome, exit code and following plan is held against what another client reads."""
    tally = run_rounds(10, SEED, tmp_path / "rounds")
    assert tally.false == []
    assert tally.sentences > 100, list(table(tally))
