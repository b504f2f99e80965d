"""Ask a person for approval, and run one change of a cluster once it is approved."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from kplan.cli import wiring
from kplan.cli.environment import is_ci
from kplan.cli.options import InputOptions, StateOptions
from kplan.cli.progress import Progress, show_progress
from kplan.cli.query import QueryOptions
from kplan.cli.session import Session
from kplan.model.dataclass import dataclass
from kplan.model.errors import UsageError
from kplan.workflow.ports import Ports, Project

APPLY_QUESTION = """
Do you want to perform these actions?
  kplan will carry out what is described above.
  Only 'yes' will be accepted to approve.

  Enter a value: """
DESTROY_QUESTION = """
Do you really want to destroy all of this?
  Topics are deleted with their records. There is no undo.
  Only 'yes' will be accepted to confirm.

  Enter a value: """
DATA_LOSS_QUESTION = """
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


def ask_approval(session: Session, progress: Progress, question: str) -> bool:
    """Ask; only `yes` counts."""
    with progress.pause():
        is_approved = session.terminal.ask(question) == "yes"
        session.terminal.write_stderr("\n" if is_approved else "\nCancelled: nothing was changed.")
    return is_approved


def ask_names(session: Session, progress: Progress, names: Sequence[str]) -> bool:
    """Ask for the name of each object whose data is to be lost."""
    with progress.pause():
        for name in names:
            if session.terminal.ask(DATA_LOSS_QUESTION.format(name)) != name:
                session.terminal.write_stderr("\nCancelled: nothing was changed.")
                return False
    return True


Result = TypeVar("Result")
Confirm = Callable[[str], bool]
"""Asks a question; only `yes` counts."""


@dataclass(frozen=True, slots=True)
class ClusterChange:
    """Who changes something, where, and whether they said yes already."""

    session: Session
    inputs: InputOptions
    query: QueryOptions
    auto_approve: bool

    def run(self, verb: str, work: Callable[[Project, Ports, Confirm], Result]) -> Result:
        """Carry it out under a progress display; neither state nor lock is touched.

        Raises:
            UsageError: nobody can be asked, before any work.

        """
        if not self.auto_approve:
            if self.query.json:
                raise UsageError("-json needs -auto-approve: it cannot ask.")
            if not (self.inputs.input and self.session.terminal.can_ask):
                raise UsageError("There is nobody to ask.", "-auto-approve says yes at once.")
        states = StateOptions(lock=False)
        with show_progress(self.session.terminal) as shown:

            def say(question: str) -> bool:
                return self.auto_approve or ask_approval(self.session, shown, question)

            project = wiring.build_project(self.session, states, self.inputs)
            return work(project, wiring.build_ports(self.session, verb, states, shown), say)
