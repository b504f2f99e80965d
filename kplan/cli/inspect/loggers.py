"""`kplan loggers list` and `kplan loggers set`."""

from typing import Annotated

import typer

from kplan.cli.exit_code import ExitCode
from kplan.cli.options import AutoApprove, InputOptions
from kplan.cli.query import QueryOptions, show_query
from kplan.cli.terminal import Session
from kplan.cli.verb import verb

NodeId = Annotated[
    int, typer.Argument(metavar="NODE", help="The id of a broker or controller.", min=0)
]


@verb(
    ("kplan loggers list 1", "List the loggers of broker 1."),
    ("kplan loggers list 1 -match='kafka.*'", "List loggers by a pattern."),
    (
        "kplan loggers list 3001 -bootstrap-controller=c1:9093",
        "List the loggers of a controller, even while no broker runs.",
    ),
)
def list_(
    session: Session,
    node: NodeId,
    inputs: InputOptions,
    ask: QueryOptions,
    match: Annotated[
        str, typer.Option("--match", metavar="PATTERN", help="Names of loggers, with * and ?.")
    ] = "*",
) -> int:
    """List the loggers of a node and their levels."""
    from kplan.workflow.inspect.loggers import list_loggers  # noqa: PLC0415 - help needs it not

    return show_query(session, inputs, ask, lambda cluster: list_loggers(cluster, node, match))


@verb(
    ("kplan loggers set 1 kafka.request.logger=DEBUG", "Log every request of broker 1."),
    ("kplan loggers set 1 kafka.request.logger=default", "Reset the level."),
)
def set_(
    session: Session,
    node: NodeId,
    levels: Annotated[
        list[str],
        typer.Argument(metavar="LOGGER=LEVEL", help="Levels to set, or default to reset one."),
    ],
    inputs: InputOptions,
    ask: QueryOptions,
    *,
    auto_approve: AutoApprove = False,
) -> int:
    """Set levels of loggers of a node.

    The levels hold until the node is restarted. To keep them declare a kafka_logger.
    """
    from kplan.cli.approval import ClusterChange  # noqa: PLC0415 - help needs none of these
    from kplan.report.formats.json_text import json_text  # noqa: PLC0415
    from kplan.workflow.inspect.loggers import parse_levels, set_levels  # noqa: PLC0415

    wanted = parse_levels(levels)
    text = ", ".join(f"{name} = {level}" for name, level in wanted.items())
    question = f"Set the levels of node {node}?\n  {text}\n  They hold until the node is restarted."
    is_done = ClusterChange(session, inputs, ask, auto_approve).run(
        "loggers set",
        lambda project, ports, say: set_levels(
            project, ports, (ask.provider, node), wanted, lambda: say(question)
        ),
    )
    if ask.json:
        session.terminal.write_stdout(
            json_text({"node": node, "levels": dict(wanted), "set": is_done})
        )
    elif is_done:
        session.terminal.write_stdout(f"Set on node {node}: {text}.\n")
    return ExitCode.DONE if is_done else ExitCode.ERROR
