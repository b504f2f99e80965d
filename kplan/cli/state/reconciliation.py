"""Compare the state with the cluster, and rebuild it from the configuration and the cluster."""

from collections.abc import Iterator

from kplan.cli import approval, wiring
from kplan.cli.exit_code import ExitCode
from kplan.cli.options import InputOptions, StateOptions
from kplan.cli.progress import Progress, show_progress
from kplan.cli.terminal import Session
from kplan.model.dataclass import dataclass
from kplan.model.state import ObjectStatus
from kplan.report import views
from kplan.report.documents.notation import count_text
from kplan.workflow.state.rebuild import RebuildProposal, rebuild_state
from kplan.workflow.state.state import VerificationResult


def verification_text(
    session: Session, verification_result: VerificationResult, *, is_json: bool
) -> str:
    """Render a verification as text or JSON."""
    if is_json:
        return views.verification_json(
            verification_result.state,
            verification_result.statuses,
            has_journal=verification_result.has_journal,
        )
    look = session.terminal.stdout_style
    return views.verification_text(
        verification_result.state,
        verification_result.statuses,
        look,
        has_journal=verification_result.has_journal,
        is_finished=verification_result.is_finished,
    )


def verification_exit(verification_result: VerificationResult) -> ExitCode:
    """Return the exit code: CHANGES for differences, ERROR for unreadable objects."""
    statuses = set(verification_result.statuses.values()) - {ObjectStatus.AS_APPLIED}
    if any(each.is_readable for each in statuses):
        return ExitCode.CHANGES
    return ExitCode.ERROR if statuses else ExitCode.DONE


REBUILD_QUESTION = """
Do you want kplan to own these objects?
  kplan will write the state. The cluster is not changed.
  Only 'yes' will be accepted to approve.

  Enter a value: """


@dataclass(frozen=True, slots=True)
class RebuildOptions:
    """How to rebuild the state; `dry_run` only shows it."""

    inputs: InputOptions
    states: StateOptions
    auto_approve: bool
    dry_run: bool


def run_rebuild(session: Session, options: RebuildOptions) -> int:
    """Propose a state, write it if approved, and return the exit code.

    Raises:
        UsageError: approval is not possible; raised before any work.

    """
    if not options.dry_run:
        approval.check_can_approve(
            session,
            auto_approve=options.auto_approve,
            may_ask=options.inputs.input,
            takes_plan=False,
        )
    seen: list[RebuildProposal] = []
    with show_progress(session.terminal) as progress:

        def approve(proposal: RebuildProposal) -> bool:
            seen.append(proposal)
            _show_proposal(session, progress, proposal)
            if options.dry_run or not proposal.adopted:
                return False
            return options.auto_approve or approval.ask_approval(
                session, progress, REBUILD_QUESTION
            )

        ports = wiring.build_ports(session, "state rebuild", options.states, progress)
        project = wiring.build_project(session, options.states, options.inputs)
        is_written = rebuild_state(project, ports, approve)
    if is_written:
        session.terminal.write_stdout(f"Wrote the state to {project.store.location}.")
    is_declined = seen[0].adopted and not is_written and not options.dry_run
    return ExitCode.ERROR if is_declined else ExitCode.DONE


def _show_proposal(session: Session, progress: Progress, proposal: RebuildProposal) -> None:
    look = session.terminal.stdout_style
    with progress.pause():
        session.terminal.write_stdout(
            views.adoption_text(
                proposal.adopted, proposal.missing, tuple(_proposal_notes(proposal)), look
            )
        )


def _proposal_notes(proposal: RebuildProposal) -> Iterator[str]:
    if proposal.read_error:
        yield f"The current state cannot be read and will be replaced: {proposal.read_error}"
    if proposal.kept_count:
        yield f"{count_text(proposal.kept_count, 'object')} in the current state will stay."
    for kind, reason in sorted(proposal.unread.items()):
        yield f"{kind} objects could not be read ({reason.rstrip('.')}); none will be owned."
    for address in proposal.hidden:
        yield f"{address} is hidden from this principal; whether it exists is unknown."
    for kind, count in sorted(proposal.unmanaged.items()):
        if count:
            yield f"{count_text(count, f'{kind} object')} on the cluster will not be owned."
