"""The demos of KIP-201's five problems are what the golden cases run."""

from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DEMOS = sorted(each for each in (ROOT / "examples" / "kip-201").iterdir() if each.is_dir())


def test_there_is_a_demo_for_each_problem() -> None:
    assert [each.name[0] for each in DEMOS] == ["1", "2", "3", "4", "5"]


@pytest.mark.parametrize("demo", DEMOS, ids=lambda each: each.name)
def test_a_demo_says_what_its_golden_case_says(
    demo: Path, golden: Callable[[Path, str], None]
) -> None:
    """Issue 7: one passing demo each, as an example with golden output."""
    case = ROOT / "tests" / "golden" / "cases" / f"kip201_{demo.name.replace('-', '_')}"
    for name, shown in (("main.hcl", "main.tf"), ("plan.txt", "plan.txt")):
        golden(demo / shown, (case / name).read_text(encoding="utf-8"))
    assert "refused" in (case / "plan.txt").read_text(encoding="utf-8")
