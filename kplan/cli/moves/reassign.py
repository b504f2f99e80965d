"""`kplan reassign status`, `cancel`, `export` and `import`."""

from dataclasses import field
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from kplan.cli.move_options import MoveOptions
from kplan.cli.options import (
    AutoApprove,
    InputOptions,
    Match,
    Overrides,
    PlanningOptions,
    Policies,
    Provider,
    StateOptions,
)
from kplan.cli.query import QueryOptions, query_cluster
from kplan.cli.session import Session
from kplan.cli.verb import verb
from kplan.model.dataclass import dataclass

File = Annotated[
    str,
    typer.Argument(metavar="FILE", help="An assignment as kafka-reassign-partitions.sh has it."),
]


@verb(
    ("kplan reassign status", "What moves now, from where to where, and what is left to copy."),
    ("kplan reassign status moves.json -json", "How far an assignment is, for scripts."),
)
def status(session: Session, inputs: InputOptions, ask: QueryOptions, file: File = "") -> int:
    """Tell what moves, or how far the assignment of a file is.

    Of a file each partition is completed, in_progress or failed; the exit code is then 0 when all
    are completed, 2 while some move, and 4 when one stands or goes elsewhere.
    """
    from kplan.cli.exit_code import ExitCode  # noqa: PLC0415 - help needs none of these
    from kplan.cli.moves.execution import show_tables  # noqa: PLC0415
    from kplan.workflow.moves.reassign_file import read_assignment  # noqa: PLC0415
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
    ("kplan reassign cancel -all", "Take everything that moves back to where it stood."),
    ("kplan reassign cancel moves.json", "Only the partitions that a file names."),
)
def cancel(
    session: Session,
    inputs: InputOptions,
    ask: QueryOptions,
    file: File = "",
    *,
    all_: Annotated[bool, typer.Option("--all", help="All that move, whoever began it.")] = False,
) -> int:
    """Take moving replicas back, and their throttles away.

    What was copied so far is given up; replicas that had arrived already stay where they are.
    """
    from kplan.cli.moves.execution import show_tables  # noqa: PLC0415 - help needs none of these
    from kplan.model.errors import UsageError  # noqa: PLC0415
    from kplan.workflow.moves.reassign_file import read_partitions  # noqa: PLC0415
    from kplan.workflow.moves.status import cancel_moves  # noqa: PLC0415

    if bool(file) is all_:
        raise UsageError("Cancel which moves?", hint="Name a file of partitions, or give -all.")
    partitions = read_partitions(Path(file)) if file else None
    question = partial(cancel_moves, partitions=partitions)
    return show_tables(session, ask, query_cluster(session, inputs, ask.provider, question))


@verb(
    ("kplan reassign export", "Where replicas stand now; keep it in a file, to go back to."),
    ("kplan reassign export -match='orders-*'", "Of some topics only."),
)
def export(
    session: Session,
    inputs: InputOptions,
    *,
    match: Match = "*",
    internal: Annotated[
        bool, typer.Option("--internal", help="Those too that Kafka and its tools keep.")
    ] = False,
    provider: Provider = "",
) -> int:
    """Write where replicas stand, as Kafka's own tool reads it."""
    from kplan.cli.exit_code import ExitCode  # noqa: PLC0415 - help needs none of these
    from kplan.workflow.moves.reassign_file import assignment_text  # noqa: PLC0415
    from kplan.workflow.moves.status import read_live_assignment  # noqa: PLC0415

    question = partial(read_live_assignment, match=match, takes_internal=internal)
    session.terminal.write_stdout(
        assignment_text(query_cluster(session, inputs, provider, question))
    )
    return ExitCode.DONE


@dataclass(frozen=True, slots=True)
class ImportOptions(MoveOptions):
    """Which file, who approves it, and which policies are asked."""

    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE", help="An assignment as kafka-reassign-partitions.sh has it."
        ),
    ] = ""
    auto_approve: AutoApprove = False
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only tell what would move.")] = False
    provider: Provider = ""
    policy: Policies = field(default_factory=list)
    override: Overrides = field(default_factory=list)


@verb(
    ("kplan reassign import moves.json", "Show what is copied, ask, and move."),
    ("kplan reassign import moves.json -dry-run", "Only show it."),
    ("kplan reassign import moves.json -auto-approve -throttle=20M", "In a pipeline, slowly."),
)
def import_(
    session: Session, what: ImportOptions, inputs: InputOptions, states: StateOptions
) -> int:
    """Move replicas to where a file says.

    Policies that decide alter are asked, with the topic as it will be. The move is throttled; one
    that was interrupted is taken up by the same command. What is declared of a topic stays
    declared: the next plan moves it back.
    """
    from kplan.cli import wiring  # noqa: PLC0415 - help needs none of these
    from kplan.cli.moves import execution  # noqa: PLC0415 - help needs none of these
    from kplan.model.errors import UsageError  # noqa: PLC0415
    from kplan.workflow.moves.reassign import ReassignRequest  # noqa: PLC0415

    if not what.file:
        raise UsageError("Which file?", hint="kplan reassign export writes one.")
    planning = PlanningOptions(policy=what.policy, override=what.override)
    policies = wiring.build_plan_options(planning, is_destroy=False).policies
    wanted = ReassignRequest(
        Path(what.file), what.provider, what.dry_run, policies, what.move_limits()
    )
    wish = execution.ReassignmentOptions(
        wanted, inputs, states, auto_approve=what.auto_approve, dry_run=what.dry_run
    )
    return execution.run_reassignment(session, wish)
