"""`kplan elect preferred` and `kplan elect unclean`."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kplan.cli.options import AutoApprove, InputOptions
from kplan.cli.query import QueryOptions, query_cluster
from kplan.cli.terminal import Session
from kplan.cli.verb import verb

if TYPE_CHECKING:
    from kplan.cluster.topology import ElectionType
    from kplan.cluster.usage import TopicPartition

QUESTION = """
Do you really want an unclean leader election?
  Records that the new leaders do not have are lost. There is no undo.
  Only 'yes' will be accepted to confirm.

  Enter a value: """

File = Annotated[
    str,
    typer.Argument(metavar="FILE", help="A JSON file of kafka-leader-election.sh."),
]
All = Annotated[bool, typer.Option("--all", help="Elect leaders for all partitions that need it.")]


@verb(
    ("kplan elect preferred -all", "Restore preferred leaders after a restart of brokers."),
    ("kplan elect preferred partitions.json -json", "Elect for some partitions, for scripts."),
)
def preferred(
    session: Session, inputs: InputOptions, ask: QueryOptions, file: File = "", *, all_: All = False
) -> int:
    """Elect the preferred leaders of partitions.

    No records are lost. kplan shows the outcome and the leader of each partition.
    """
    from kplan.cli.moves.execution import show_tables  # noqa: PLC0415 - help needs none of these
    from kplan.cluster.topology import ElectionType  # noqa: PLC0415
    from kplan.workflow.moves.elect import elect_leaders  # noqa: PLC0415

    keys = _selected_partitions(session, inputs, ask, (file, all_), ElectionType.PREFERRED)
    question = partial(elect_leaders, partitions=keys, election=ElectionType.PREFERRED)
    return show_tables(session, ask, query_cluster(session, inputs, ask.provider, question))


@verb(
    ("kplan elect unclean -all -allow-unclean", "Elect leaders for partitions without one."),
    (
        "kplan elect unclean lost.json -allow-unclean -auto-approve",
        "Elect for some partitions without asking.",
    ),
)
def unclean(  # noqa: PLR0913 - each is an option, and two of them guard
    session: Session,
    inputs: InputOptions,
    ask: QueryOptions,
    file: File = "",
    *,
    all_: All = False,
    allow_unclean: Annotated[
        bool, typer.Option("--allow-unclean", help="Accept the loss of records.")
    ] = False,
    auto_approve: AutoApprove = False,
) -> int:
    """Elect out-of-sync replicas for partitions without a leader.

    Records that the new leader does not have are lost. Only partitions without a leader change.
    """
    from kplan.cli import approval  # noqa: PLC0415 - help needs none of these
    from kplan.cli.exit_code import ExitCode  # noqa: PLC0415
    from kplan.cli.moves.execution import show_tables  # noqa: PLC0415
    from kplan.cli.progress import show_progress  # noqa: PLC0415
    from kplan.cluster.topology import ElectionType  # noqa: PLC0415
    from kplan.model.errors import UsageError  # noqa: PLC0415
    from kplan.workflow.moves.elect import elect_leaders  # noqa: PLC0415

    if not allow_unclean:
        raise UsageError(
            "An unclean election loses the records that the new leader does not have.",
            hint="Start a broker with an in-sync replica, or use -allow-unclean.",
        )
    approval.check_can_approve(
        session, auto_approve=auto_approve, may_ask=inputs.input, takes_plan=False
    )
    keys = _selected_partitions(session, inputs, ask, (file, all_), ElectionType.UNCLEAN)
    if keys and not auto_approve:
        session.terminal.write_stderr("\n".join(f"{name}:{number}" for name, number in keys[:100]))
        with show_progress(session.terminal) as progress:
            if not approval.ask_approval(session, progress, QUESTION):
                return ExitCode.ERROR
    question = partial(elect_leaders, partitions=keys, election=ElectionType.UNCLEAN)
    return show_tables(session, ask, query_cluster(session, inputs, ask.provider, question))


def _selected_partitions(
    session: Session,
    inputs: InputOptions,
    ask: QueryOptions,
    which: tuple[str, bool],
    election: "ElectionType",
) -> "tuple[TopicPartition, ...]":
    """Return the partitions of the file, or all that need the election. Raises UsageError."""
    from kplan.model.errors import UsageError  # noqa: PLC0415 - help needs none of these
    from kplan.workflow.moves.assignment_file import read_partitions  # noqa: PLC0415
    from kplan.workflow.moves.elect import find_electable_partitions  # noqa: PLC0415

    file, is_all = which
    if file and is_all:
        raise UsageError(
            "kplan elect takes FILE or -all, and both are given.",
            hint="Remove -all to elect leaders for the partitions of the file only.",
        )
    if not file and not is_all:
        raise UsageError(
            "kplan elect requires either FILE or -all.",
            hint="Use -all for all partitions that need an election.",
        )
    if file:
        return read_partitions(Path(file))
    return query_cluster(
        session, inputs, ask.provider, partial(find_electable_partitions, election=election)
    )
