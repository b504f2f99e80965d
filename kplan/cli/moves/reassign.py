"""`kplan reassign status`, `cancel`, `export` and `import`."""

import shlex
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kplan.cli.moves.execution import ReassignOptions, run_reassignment
from kplan.cli.options import (
    AutoApprove,
    InputOptions,
    Match,
    Provider,
    StateOptions,
)
from kplan.cli.query import QueryOptions, query_cluster
from kplan.cli.terminal import Session
from kplan.cli.verb import verb
from kplan.model.dataclass import dataclass

if TYPE_CHECKING:
    from kplan.cluster.usage import TopicPartition

_MAX_NAMED = 100
CANCEL_QUESTION = """
Do you really want to cancel these reassignments?
  kplan will cancel all of them, also those of other tools, and delete partial copies.
  Only 'yes' will be accepted to confirm.

  Enter a value: """

File = Annotated[
    str,
    typer.Argument(metavar="FILE", help="A JSON file of kafka-reassign-partitions.sh."),
]


@verb(
    ("kplan reassign status", "Show reassignments and the bytes left to copy."),
    ("kplan reassign status moves.json -json", "Show the progress of a file, for scripts."),
)
def status(session: Session, inputs: InputOptions, ask: QueryOptions, file: File = "") -> int:
    """Show the progress of partition reassignments.

    With FILE each partition is completed, in_progress or failed, and the exit code is 0 if all are
    completed, 2 if some are in progress, and 4 if one failed.
    """
    from kplan.cli.exit_code import ExitCode  # noqa: PLC0415 - help needs none of these
    from kplan.cli.moves.execution import show_tables  # noqa: PLC0415
    from kplan.workflow.moves.assignment_file import read_assignment  # noqa: PLC0415
    from kplan.workflow.moves.status import MoveProgress, list_moves, verify_moves  # noqa: PLC0415

    if not file:
        found = query_cluster(session, inputs, ask.provider, list_moves)
        return show_tables(session, ask, found)
    targets = read_assignment(Path(file))
    found = query_cluster(session, inputs, ask.provider, partial(verify_moves, targets=targets))
    show_tables(session, ask, found)
    if MoveProgress.FAILED in found.findings:
        return ExitCode.PARTIAL
    return ExitCode.CHANGES if MoveProgress.IN_PROGRESS in found.findings else ExitCode.DONE


@verb(
    ("kplan reassign cancel -all", "Ask, and cancel every reassignment in progress."),
    ("kplan reassign cancel moves.json", "Cancel only the partitions of a file."),
)
def cancel(  # noqa: PLR0913 - each is an option
    session: Session,
    inputs: InputOptions,
    states: StateOptions,
    ask: QueryOptions,
    file: File = "",
    *,
    all_: Annotated[
        bool, typer.Option("--all", help="Cancel every reassignment, also of other tools.")
    ] = False,
    auto_approve: AutoApprove = False,
) -> int:
    """Cancel partition reassignments and remove their throttles.

    Replicas that are already in sync stay; partial copies are deleted. kplan asks before it cancels
    all reassignments, because other tools may have started some of them.
    """
    from kplan.cli import approval  # noqa: PLC0415 - help needs none of these
    from kplan.cli.exit_code import ExitCode  # noqa: PLC0415
    from kplan.cli.moves.execution import show_tables  # noqa: PLC0415
    from kplan.workflow.moves.assignment_file import read_partitions  # noqa: PLC0415
    from kplan.workflow.moves.status import cancel_moves  # noqa: PLC0415

    _check_selection(file, all_=all_)
    approval.check_can_approve(
        session, auto_approve=auto_approve or not all_, may_ask=inputs.input, takes_plan=False
    )
    partitions = read_partitions(Path(file)) if file else None
    _report_lock_holder(session, inputs, states)
    if all_ and not auto_approve:
        partitions = _list_moving(session, inputs, ask)
        if partitions and not _approve_cancelling(session, partitions):
            return ExitCode.ERROR
    question = partial(cancel_moves, partitions=partitions)
    return show_tables(session, ask, query_cluster(session, inputs, ask.provider, question))


def _check_selection(file: str, *, all_: bool) -> None:
    from kplan.model.errors import UsageError  # noqa: PLC0415 - help needs it not

    if file and all_:
        raise UsageError(
            "kplan reassign cancel takes FILE or -all, and both are given.",
            hint="Remove -all to cancel the reassignments of the file only.",
        )
    if not file and not all_:
        raise UsageError(
            "kplan reassign cancel requires either FILE or -all.",
            hint="Use -all to cancel every reassignment in progress.",
        )


def _list_moving(
    session: Session, inputs: InputOptions, ask: QueryOptions
) -> "tuple[TopicPartition, ...]":
    """List what moves now: what a person approves is cancelled, and nothing that begins later."""
    return query_cluster(session, inputs, ask.provider, lambda held: tuple(held.reassignments()))


def _approve_cancelling(session: Session, partitions: "tuple[TopicPartition, ...]") -> bool:
    """Show the partitions and ask."""
    from kplan.cli import approval  # noqa: PLC0415 - help needs none of these
    from kplan.cli.progress import show_progress  # noqa: PLC0415

    shown = [f"{name}:{number}" for name, number in partitions[:_MAX_NAMED]]
    if (more := len(partitions) - _MAX_NAMED) > 0:
        shown.append(f"and {more:,} more")
    session.terminal.write_stderr("\n".join(shown))
    with show_progress(session.terminal) as progress:
        return approval.ask_approval(session, progress, CANCEL_QUESTION)


def _report_lock_holder(session: Session, inputs: InputOptions, states: StateOptions) -> None:
    """Name the run that holds the lock: its moves may be the ones to cancel."""
    from kplan.cli.wiring import build_project  # noqa: PLC0415 - help needs it not
    from kplan.model.errors import KplanError  # noqa: PLC0415

    with suppress(KplanError):  # no state that can be read: it is not locked
        found = build_project(session, states, inputs).store.lock_status()
        if found.is_held:
            session.terminal.write_stderr(
                f"Note: the state is locked by {found.holder or 'an unknown run'}. Its moves are "
                "cancelled too; it reports them as cancelled by another client."
            )


@verb(
    ("kplan reassign export", "Write the assignment; keep it to restore it later."),
    ("kplan reassign export -match='orders-*'", "Write some topics."),
)
def export(
    session: Session,
    inputs: InputOptions,
    *,
    match: Match = "*",
    internal: Annotated[bool, typer.Option("--internal", help="Include internal topics.")] = False,
    provider: Provider = "",
) -> int:
    """Write the current assignment of replicas as JSON.

    The format is that of kafka-reassign-partitions.sh.
    """
    from kplan.cli.exit_code import ExitCode  # noqa: PLC0415 - help needs none of these
    from kplan.workflow.moves.assignment_file import format_assignment  # noqa: PLC0415
    from kplan.workflow.moves.status import read_live_assignment  # noqa: PLC0415

    question = partial(read_live_assignment, match=match, takes_internal=internal)
    session.terminal.write_stdout(
        format_assignment(query_cluster(session, inputs, provider, question))
    )
    return ExitCode.DONE


@dataclass(frozen=True, slots=True)
class ImportOptions(ReassignOptions):
    """The file, and what all reassignments take."""

    file: Annotated[
        str,
        typer.Argument(metavar="FILE", help="A JSON file of kafka-reassign-partitions.sh."),
    ] = ""


@verb(
    ("kplan reassign import moves.json", "Show the plan, ask, and reassign."),
    ("kplan reassign import moves.json -dry-run", "Only show the plan."),
    (
        "kplan reassign import moves.json -auto-approve -throttle=20M",
        "Reassign at 20 MB/s, without asking.",
    ),
)
def import_(
    session: Session, what: ImportOptions, inputs: InputOptions, states: StateOptions
) -> int:
    """Reassign partitions as a JSON file describes.

    kplan checks the policies for alter against the resulting topics and throttles the copies. The
    same command resumes an interrupted reassignment. A topic with a declared placement is moved
    back by the next plan.
    """
    from kplan.model.errors import UsageError  # noqa: PLC0415 - help needs none of these
    from kplan.workflow.moves.reassign import assignment_source  # noqa: PLC0415

    if not what.file:
        raise UsageError(
            "kplan reassign import requires FILE.", hint="Run kplan reassign export to write one."
        )
    return run_reassignment(
        session,
        what,
        (inputs, states),
        assignment_source(Path(what.file)),
        again=f"kplan reassign import {shlex.quote(what.file)}",
        nothing="No changes. The replicas match the file.",
    )
