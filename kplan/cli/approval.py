"""Asking a person before something is changed."""

from collections.abc import Sequence

from kplan.cli.environment import is_ci
from kplan.cli.progress import Progress
from kplan.cli.session import Session
from kplan.model.errors import UsageError

APPLY = """
Do you want to perform these actions?
  kplan will carry out what is described above.
  Only 'yes' will be accepted to approve.

  Enter a value: """
DESTROY = """
Do you really want to destroy all of this?
  Topics are deleted with their records. There is no undo.
  Only 'yes' will be accepted to confirm.

  Enter a value: """
LOSS = """
{} is to be deleted with all its records, and created anew, empty.
  There is no undo. Its name is to be typed to confirm that.

  Enter the name: """


def check_can_approve(session: Session, *, auto_approve: bool, may_ask: bool) -> None:
    """Fail before any work where nobody could approve at its end.

    Raises:
        UsageError: without a terminal, or with `-input=false`, and without `-auto-approve`.

    """
    if auto_approve or (may_ask and session.terminal.can_ask):
        return
    reason = "This is a CI job" if is_ci(session.environ) else "There is nobody to ask"
    raise UsageError(
        f"{reason}, so the plan cannot be approved.",
        hint="Save a plan with `kplan plan -out=FILE`, review it, and apply FILE; or give "
        "-auto-approve.",
    )


def asked(session: Session, progress: Progress, question: str) -> bool:
    """Ask; only `yes` counts."""
    with progress.hidden():
        is_approved = session.terminal.ask(question) == "yes"
        session.terminal.talk("\n" if is_approved else "\nCancelled: nothing was changed.")
    return is_approved


def named(session: Session, progress: Progress, names: Sequence[str]) -> bool:
    """Ask for the name of each object whose data is to be lost."""
    with progress.hidden():
        for name in names:
            if session.terminal.ask(LOSS.format(name)) != name:
                session.terminal.talk("\nCancelled: nothing was changed.")
                return False
    return True
