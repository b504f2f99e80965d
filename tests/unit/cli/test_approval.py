"""Approval: only `yes`, and no work where nobody could give it."""

import io

import pytest

from kplan.cli import approval
from kplan.cli.progress import LineProgress
from kplan.cli.signals import Signals
from kplan.cli.terminal import Session, Terminal
from kplan.model.errors import UsageError


class Keyboard(io.StringIO):
    def isatty(self) -> bool:
        return True


def session(typed: str = "", *, environ: dict[str, str] | None = None, at: str = "desk") -> Session:
    stdin = Keyboard(typed) if at == "desk" else io.StringIO(typed)
    terminal = Terminal(environ or {}, stdin=stdin, stderr=io.StringIO())
    return Session(environ or {}, terminal, Signals())


@pytest.mark.parametrize(
    ("typed", "is_approved"),
    [
        ("yes\n", True),
        (" yes \n", True),
        ("y\n", False),
        ("YES\n", False),
        ("\n", False),
        ("", False),
    ],
)
def test_only_yes_approves(typed: str, is_approved: bool) -> None:
    someone = session(typed)
    assert (
        approval.ask_approval(someone, LineProgress(someone.terminal), approval.APPLY_QUESTION)
        is is_approved
    )
    told = someone.terminal.stderr
    assert isinstance(told, io.StringIO)
    assert told.getvalue().startswith(approval.APPLY_QUESTION)
    assert ("Cancelled. Nothing was changed." in told.getvalue()) is not is_approved


@pytest.mark.parametrize(
    ("someone", "reason"),
    [
        (session(at="nobody's"), "Not a terminal"),
        (session(environ={"CI": "true"}), "CI job"),
        (session(environ={"KPLAN_INPUT": "false"}), "Input is disabled"),
    ],
)
def test_without_anybody_to_ask_it_fails_before_any_work(someone: Session, reason: str) -> None:
    with pytest.raises(UsageError, match=reason) as told:
        approval.check_can_approve(someone, auto_approve=False, may_ask=True)
    assert "use -auto-approve or a saved plan" in str(told.value)
    assert "kplan apply FILE" in told.value.hint
    approval.check_can_approve(someone, auto_approve=True, may_ask=True)


def test_the_plan_that_a_destroy_may_apply_is_one_of_a_destroy() -> None:
    """The plan of the configuration would create what is to be deleted."""
    with pytest.raises(UsageError) as told:
        approval.check_can_approve(
            session(at="nobody's"), auto_approve=False, may_ask=True, is_destroy=True
        )
    assert "kplan plan -destroy -out=FILE" in told.value.hint


def test_what_no_plan_is_saved_for_is_approved_by_the_option_alone() -> None:
    with pytest.raises(UsageError) as told:
        approval.check_can_approve(
            session(at="nobody's"), auto_approve=False, may_ask=True, takes_plan=False
        )
    assert str(told.value).endswith("approval is not possible; use -auto-approve.")
    assert told.value.hint == ""


def test_input_false_forbids_to_ask_even_at_a_terminal() -> None:
    with pytest.raises(UsageError, match="Input is disabled"):
        approval.check_can_approve(session(), auto_approve=False, may_ask=False)
    approval.check_can_approve(session(), auto_approve=False, may_ask=True)
