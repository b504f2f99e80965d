"""Ask a person for approval, and run one change of a cluster once it is approved."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from kplan.cli import wiring
from kplan.cli.options import InputOptions, StateOptions
from kplan.cli.progress import Progress, show_progress
from kplan.cli.query import QueryOptions
from kplan.cli.terminal import Session
from kplan.model.ci_job import is_ci
from kplan.model.dataclass import dataclass
from kplan.model.errors import UsageError
from kplan.workflow.ports import Ports, Project

APPLY_QUESTION = """
Do you want to perform these actions?
  kplan will perform the actions described above.
  Only 'yes' will be accepted to approve.

  Enter a value: """
DESTROY_QUESTION = """
Do you really want to destroy all resources?
  kplan will delete the objects shown above, topics with all their records.
  There is no undo.
  Only 'yes' will be accepted to confirm.

  Enter a value: """
DATA_LOSS_QUESTION = """
kplan will delete topic {} with all its records and create it again, empty.
  There is no undo. Type the name of the topic to confirm.

  Enter the name: """


def check_can_approve(
    session: Session,
    *,
    auto_approve: bool,
    may_ask: bool,
    takes_plan: bool = True,
    is_destroy: bool = False,
) -> None:
    """Raise UsageError before any work if approval is not possible.

    `takes_plan` says that a saved plan may be applied in place of it; with `is_destroy` it is one
    of a destroy.

    Raises:
        UsageError: without a terminal, or with `-input=false`, and without `-auto-approve`.

    """
    if auto_approve or (may_ask and session.terminal.can_ask):
        return
    reason = approval_obstacle(session, may_ask=may_ask)
    if not takes_plan:
        raise UsageError(f"{reason}: approval is not possible; use -auto-approve.")
    raise UsageError(
        f"{reason}: approval is not possible; use -auto-approve or a saved plan.",
        hint=f"Run kplan plan {'-destroy ' if is_destroy else ''}-out=FILE with the same other "
        "options, review the plan, and run kplan apply FILE.",
    )


def approval_obstacle(session: Session, *, may_ask: bool) -> str:
    """Return why kplan cannot ask a person, as the start of a sentence."""
    if is_ci(session.environ):
        return "CI job"
    if not may_ask or session.terminal.stdin.isatty():
        return "Input is disabled"
    return "Not a terminal"


def ask_approval(session: Session, progress: Progress, question: str) -> bool:
    """Ask for approval and return whether the answer is `yes`."""
    with progress.pause():
        is_approved = session.terminal.ask(question) == "yes"
        session.terminal.write_stderr("\n" if is_approved else "\nCancelled. Nothing was changed.")
    return is_approved


def ask_names(session: Session, progress: Progress, names: Sequence[str]) -> bool:
    """Ask for the name of each object that loses its data."""
    with progress.pause():
        for name in names:
            if session.terminal.ask(DATA_LOSS_QUESTION.format(name)) != name:
                session.terminal.write_stderr("\nCancelled. Nothing was changed.")
                return False
    return True


Result = TypeVar("Result")
Confirm = Callable[[str], bool]
"""Asks a question and returns whether the answer is `yes`."""


@dataclass(frozen=True, slots=True)
class ClusterChange:
    """A change of one cluster outside a plan, with its session and approval."""

    session: Session
    inputs: InputOptions
    query: QueryOptions
    auto_approve: bool

    def run(self, verb: str, work: Callable[[Project, Ports, Confirm], Result]) -> Result:
        """Make the change under a progress display, without state and lock.

        Raises:
            UsageError: approval is not possible; raised before any work.

        """
        if not self.auto_approve:
            if self.query.json:
                raise UsageError("-json requires -auto-approve because kplan cannot ask.")
            if not (self.inputs.input and self.session.terminal.can_ask):
                reason = approval_obstacle(self.session, may_ask=self.inputs.input)
                raise UsageError(
                    f"{reason}: approval is not possible.", hint="Run it with -auto-approve."
                )
        states = StateOptions(lock=False)
        with show_progress(self.session.terminal) as progress:

            def say(question: str) -> bool:
                return self.auto_approve or ask_approval(self.session, progress, question)

            project = wiring.build_project(self.session, states, self.inputs)
            return work(project, wiring.build_ports(self.session, verb, states, progress), say)
