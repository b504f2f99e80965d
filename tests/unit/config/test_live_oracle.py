"""Made-up expressions have the value that `terraform console` prints, if Terraform is there.

    KPLAN_LIVE_EXAMPLES=20000 pytest tests/unit/config/test_live_oracle.py -n0

compares many. What is different on purpose is passed over; decision 0016 lists it with the reasons.
"""

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kplan.config.console import Console, ConsoleResult
from kplan.config.inputs import Inputs
from kplan.kinds import KINDS
from tests.unit.config.expression_generator import expression
from tests.unit.config.live_terraform import LiveConsole

FIXTURES = Path(__file__).parent / "fixtures"
EXAMPLES = int(os.environ.get("KPLAN_LIVE_EXAMPLES", "40"))
LONGEST_LINE = 3500  # a terminal takes 4,096 bytes

DIFFERENT_VALUES = re.compile(r"known after apply|panic in function|Inf|-0\b")
"""What Terraform says where it goes wrong itself, and where kplan has an error or one zero."""
DIFFERENT_NUMBERS = re.compile(r"log\(|pow\(|parseint\(")
"""Functions whose results Terraform computes with in fewer digits."""
REFUSED_HERE = re.compile(r"not a finite number|must not be negative|Division by zero")
TAKEN_HERE = re.compile(
    r"&&|\|\||\?|null|var\.empty|\[\*\]|\.\*|toset|tolist|tomap|flatten|matchkeys"
)
"""Parts that kplan need not look at, or takes where Terraform's static types refuse."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("live")
    shutil.copy(FIXTURES / "preamble.tf", made / "main.tf")
    return made


@pytest.fixture(scope="module")
def terraform(folder: Path) -> Iterator[LiveConsole]:
    if shutil.which("terraform") is None:
        pytest.skip("there is no terraform on the PATH")
    with LiveConsole(folder) as live:
        yield live


@pytest.fixture(scope="module")
def console(folder: Path) -> Console:
    return Console(folder, Inputs(), KINDS)


def is_different_on_purpose(text: str, ours: ConsoleResult, theirs: str) -> bool:
    """Whether one of the listed differences may be behind this one."""
    if DIFFERENT_VALUES.search(theirs) or DIFFERENT_NUMBERS.search(text):
        return True
    if "format(" in text and ("null" in text or "var.empty" in text):
        return True  # known only after an apply, says Terraform, and hides that in a secret
    if not ours.is_value:
        told = " ".join(each.detail for each in ours.diagnostics)
        return REFUSED_HERE.search(told) is not None or "KP155" in codes(ours)
    is_laxer = "Error: " in theirs or "(sensitive value)" in theirs or "null" in theirs
    return is_laxer and TAKEN_HERE.search(text) is not None


def codes(answer: ConsoleResult) -> set[str]:
    return {each.code for each in answer.diagnostics}


@settings(max_examples=EXAMPLES, deadline=None)
@given(data=st.data())
def test_a_made_up_expression_is_worth_what_terraform_says(
    data: st.DataObject, console: Console, terraform: LiveConsole
) -> None:
    text = expression(
        lambda options: data.draw(st.sampled_from(options)),
        lambda options: data.draw(st.sampled_from(options)),
    )
    if len(text.encode()) > LONGEST_LINE:
        return
    theirs, ours = terraform.answer(text), console.evaluate_text(text)
    if "Error: " in theirs and not ours.is_value:
        return
    if ours.is_value and theirs == f"{ours.text}\n":
        return
    assert is_different_on_purpose(text, ours, theirs), (text, ours.diagnostics, theirs)
