"""Show how the state differs from the cluster, and rebuild it from what is declared and live."""

from collections.abc import Iterator

from kplan.cli import approval, wiring
from kplan.cli.exit_code import ExitCode
from kplan.cli.options import InputOptions, StateOptions
from kplan.cli.progress import Progress, show_progress
from kplan.cli.session import Session
from kplan.model.dataclass import dataclass
from kplan.model.state import ObjectStatus
from kplan.report import views
from kplan.report.documents.notation import count_text
from kplan.workflow.state.rebuild import Proposal, rebuild_state
from kplan.workflow.state.verify import VerificationResult


def verification_text(session: Session, found: VerificationResult, *, is_json: bool) -> str:
    """Write it for people or for scripts."""
    if is_json:
        return views.verification_json(found.state, found.standings, has_journal=found.has_journal)
    look = session.terminal.stdout_style
    return views.verification_text(
        found.state, found.standings, look, has_journal=found.has_journal
    )


def verification_exit(found: VerificationResult) -> ExitCode:
    """Tell whether all is as last applied; what was seen to differ counts before what was not."""
    standings = set(found.standings.values()) - {ObjectStatus.AS_APPLIED}
    if any(each.is_readable for each in standings):
        return ExitCode.CHANGES
    return ExitCode.ERROR if standings else ExitCode.DONE


REBUILD_QUESTION = """
Do you want kplan to own these objects?
  Only the state is written; nothing on the cluster is touched.
  Only 'yes' will be accepted to approve.

  Enter a value: """


@dataclass(frozen=True, slots=True)
class RebuildOptions:
    """How the state is to be made anew; with `dry_run` it is only shown."""

    inputs: InputOptions
    states: StateOptions
    auto_approve: bool
    dry_run: bool


def run_rebuild(session: Session, wish: RebuildOptions) -> int:
    """Propose a state, and write it on a yes; give the exit code.

    Raises:
        UsageError: nobody can be asked, before any work.

    """
    if not wish.dry_run:
        approval.check_can_approve(
            session, auto_approve=wish.auto_approve, may_ask=wish.inputs.input
        )
    seen: list[Proposal] = []
    with show_progress(session.terminal) as shown:

        def approve(proposal: Proposal) -> bool:
            seen.append(proposal)
            _show_proposal(session, shown, proposal)
            if wish.dry_run or not proposal.adopted:
                return False
            return wish.auto_approve or approval.ask_approval(session, shown, REBUILD_QUESTION)

        ports = wiring.build_ports(session, "state rebuild", wish.states, shown)
        project = wiring.build_project(session, wish.states, wish.inputs)
        is_written = rebuild_state(project, ports, approve)
    if is_written:
        session.terminal.write_stdout(f"The state in {project.store.place} is written.")
    is_declined = seen[0].adopted and not is_written and not wish.dry_run
    return ExitCode.ERROR if is_declined else ExitCode.DONE


def _show_proposal(session: Session, shown: Progress, proposal: Proposal) -> None:
    look = session.terminal.stdout_style
    with shown.pause():
        session.terminal.write_stdout(
            views.adoption_text(
                proposal.adopted, proposal.absent, tuple(_proposal_notes(proposal)), look
            )
        )


def _proposal_notes(proposal: Proposal) -> Iterator[str]:
    if proposal.fault:
        yield f"The state that is there cannot be read and will be replaced: {proposal.fault}"
    if proposal.kept:
        yield f"{count_text(proposal.kept, 'object')} owned already will stay so."
    for kind, reason in sorted(proposal.unread.items()):
        yield f"{kind} objects could not be read ({reason.rstrip('.')}); none of them is owned."
    for kind, count in sorted(proposal.unmanaged.items()):
        if count:
            yield f"{count_text(count, f'{kind} object')} on the cluster will not be owned."
