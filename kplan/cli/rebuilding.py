"""Making a state anew: show what it would own, ask, write it."""

from collections.abc import Iterator
from dataclasses import dataclass

from kplan.cli import approval, wiring
from kplan.cli.exits import Exit
from kplan.cli.options import InputOptions, StateOptions
from kplan.cli.progress import Progress, progress
from kplan.cli.session import Session
from kplan.report import views
from kplan.report.documents.units import counted
from kplan.workflow.rebuild import Proposal, rebuild

QUESTION = """
Do you want kplan to own these objects?
  Only the state is written; nothing on the cluster is touched.
  Only 'yes' will be accepted to approve.

  Enter a value: """


@dataclass(frozen=True, slots=True)
class Wish:
    """How the state is to be made anew; with `dry_run` it is only shown."""

    inputs: InputOptions
    states: StateOptions
    auto_approve: bool
    dry_run: bool


def rebuilt(session: Session, wish: Wish) -> int:
    """Propose a state, and write it on a yes; give the exit code.

    Raises:
        UsageError: nobody can be asked, before any work.

    """
    if not wish.dry_run:
        approval.check_can_approve(
            session, auto_approve=wish.auto_approve, may_ask=wish.inputs.input
        )
    seen: list[Proposal] = []
    with progress(session.terminal) as shown:

        def approve(proposal: Proposal) -> bool:
            seen.append(proposal)
            _show(session, shown, proposal)
            if wish.dry_run or not proposal.adopted:
                return False
            return wish.auto_approve or approval.asked(session, shown, QUESTION)

        ports = wiring.ports(session, "state rebuild", wish.states, shown)
        project = wiring.project(session, wish.states, wish.inputs)
        is_written = rebuild(project, ports, approve)
    if is_written:
        session.terminal.data(f"The state in {project.store.place} is written.")
    is_declined = seen[0].adopted and not is_written and not wish.dry_run
    return Exit.ERROR if is_declined else Exit.DONE


def _show(session: Session, shown: Progress, proposal: Proposal) -> None:
    look = session.terminal.data_look
    with shown.hidden():
        session.terminal.data(
            views.adoption_text(proposal.adopted, proposal.absent, tuple(_notes(proposal)), look)
        )


def _notes(proposal: Proposal) -> Iterator[str]:
    if proposal.fault:
        yield f"The state that is there cannot be read and will be replaced: {proposal.fault}"
    if proposal.kept:
        yield f"{counted(proposal.kept, 'object')} owned already will stay so."
    for kind, reason in sorted(proposal.unread.items()):
        yield f"{kind} objects could not be read ({reason.rstrip('.')}); none of them is owned."
    for kind, count in sorted(proposal.unmanaged.items()):
        if count:
            yield f"{counted(count, f'{kind} object')} on the cluster will not be owned."
