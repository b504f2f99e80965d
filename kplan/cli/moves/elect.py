"""`kplan elect preferred` and `kplan elect unclean`."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kplan.cli.options import AutoApprove, InputOptions
from kplan.cli.query import QueryOptions, query_cluster
from kplan.cli.session import Session
from kplan.cli.verb import verb

if TYPE_CHECKING:
    from kplan.cluster.topology import ElectionType
    from kplan.cluster.usage import TopicPartition

QUESTION = """
Do you really want an unclean election?
  Records that the new leaders lack are lost. There is no undo.
  Only 'yes' will be accepted to confirm.

  Enter a value: """

File = Annotated[
    str,
    typer.Argument(
        metavar="FILE", help="Partitions as kafka-leader-election.sh names them, in JSON."
    ),
]
All = Annotated[bool, typer.Option("--all", help="All partitions that need it.")]


@verb(
    ("kplan elect preferred -all", "Let first replicas lead again, after brokers were restarted."),
    ("kplan elect preferred partitions.json -json", "Of some partitions, for scripts."),
)
def preferred(
    session: Session, inputs: InputOptions, ask: QueryOptions, file: File = "", *, all_: All = False
) -> int:
    """Let the first replica of partitions lead.

    Nothing is lost by it. What came of each partition is told, and who leads it now.
    """
    from kplan.cli.moves.execution import show_tables  # noqa: PLC0415 - help needs none of these
    from kplan.cluster.topology import ElectionType  # noqa: PLC0415
    from kplan.workflow.moves.status import elect_leaders  # noqa: PLC0415

    keys = _selected_partitions(session, inputs, ask, (file, all_), ElectionType.PREFERRED)
    question = partial(elect_leaders, partitions=keys, election=ElectionType.PREFERRED)
    return show_tables(session, ask, query_cluster(session, inputs, ask.provider, question))


@verb(
    ("kplan elect unclean -all -allow-unclean", "Give partitions without a leader one, asking."),
    ("kplan elect unclean lost.json -allow-unclean -auto-approve", "Of some, without a yes."),
)
def unclean(  # noqa: PLR0913 - each is an option, and two of them guard
    session: Session,
    inputs: InputOptions,
    ask: QueryOptions,
    file: File = "",
    *,
    all_: All = False,
    allow_unclean: Annotated[
        bool, typer.Option("--allow-unclean", help="Yes, records may be lost by it.")
    ] = False,
    auto_approve: AutoApprove = False,
) -> int:
    """Let replicas lead that lack records, where no other is left.

    What the new leader does not have is gone for good. Only partitions without a leader are
    touched.
    """
    from kplan.cli import approval  # noqa: PLC0415 - help needs none of these
    from kplan.cli.exit_code import ExitCode  # noqa: PLC0415
    from kplan.cli.moves.execution import show_tables  # noqa: PLC0415
    from kplan.cli.progress import show_progress  # noqa: PLC0415
    from kplan.cluster.topology import ElectionType  # noqa: PLC0415
    from kplan.model.errors import UsageError  # noqa: PLC0415
    from kplan.workflow.moves.status import elect_leaders  # noqa: PLC0415

    if not allow_unclean:
        raise UsageError(
            "An unclean election loses the records that the new leader lacks.",
            hint="Bring a broker back that was in sync; or say so: -allow-unclean",
        )
    approval.check_can_approve(session, auto_approve=auto_approve, may_ask=inputs.input)
    keys = _selected_partitions(session, inputs, ask, (file, all_), ElectionType.UNCLEAN)
    if keys and not auto_approve:
        session.terminal.write_stderr("\n".join(f"{name}:{number}" for name, number in keys[:100]))
        with show_progress(session.terminal) as on_screen:
            if not approval.ask_approval(session, on_screen, QUESTION):
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
    """Name the partitions: of the file, or all that need the election. Raises UsageError."""
    from kplan.model.errors import UsageError  # noqa: PLC0415 - help needs none of these
    from kplan.workflow.moves.reassign_file import read_partitions  # noqa: PLC0415
    from kplan.workflow.moves.status import electable_partitions  # noqa: PLC0415

    file, is_all = which
    if bool(file) is is_all:
        raise UsageError("Which partitions?", hint="Name a file of partitions, or give -all.")
    if file:
        return read_partitions(Path(file))
    return query_cluster(
        session, inputs, ask.provider, partial(electable_partitions, election=election)
    )
