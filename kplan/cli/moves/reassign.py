"""`kplan reassign status`, `cancel`, `export` and `import`."""

import shlex
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from kplan.cli.moves.execution import ReassignOptions, run_reassignment
from kplan.cli.options import (
    InputOptions,
    Match,
    Provider,
    StateOptions,
)
from kplan.cli.query import QueryOptions, query_cluster
from kplan.cli.terminal import Session
from kplan.cli.verb import verb
from kplan.model.dataclass import dataclass

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
    from kplan.workflow.moves.reassign import read_assignment  # noqa: PLC0415
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
    ("kplan reassign cancel -all", "Cancel every reassignment in progress."),
    ("kplan reassign cancel moves.json", "Cancel only the partitions of a file."),
)
def cancel(
    session: Session,
    inputs: InputOptions,
    states: StateOptions,
    ask: QueryOptions,
    file: File = "",
    *,
    all_: Annotated[
        bool, typer.Option("--all", help="Cancel every reassignment, also of other tools.")
    ] = False,
) -> int:
    """Cancel partition reassignments and remove their throttles.

    Replicas that are already in sync stay; partial copies are deleted.
    """
    from kplan.cli.moves.execution import show_tables  # noqa: PLC0415 - help needs none of these
    from kplan.model.errors import UsageError  # noqa: PLC0415
    from kplan.workflow.moves.reassign import read_partitions  # noqa: PLC0415
    from kplan.workflow.moves.status import cancel_moves  # noqa: PLC0415

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
    partitions = read_partitions(Path(file)) if file else None
    _report_lock_holder(session, inputs, states)
    question = partial(cancel_moves, partitions=partitions)
    return show_tables(session, ask, query_cluster(session, inputs, ask.provider, question))


def _report_lock_holder(session: Session, inputs: InputOptions, states: StateOptions) -> None:
    """Name the run that holds the lock: its moves may be the ones to cancel."""
    from kplan.cli.wiring import build_project  # noqa: PLC0415 - help needs it not
    from kplan.model.errors import KplanError  # noqa: PLC0415

    with suppress(KplanError):  # no state that can be read: it is not lockeds lock
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
    from kplan.workflow.moves.reassign import format_assignment  # noqa: PLC0415
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
