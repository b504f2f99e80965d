"""`kplan topics list`, `kplan topics describe` and `kplan topics offsets`."""

from functools import partial
from typing import Annotated

import typer

from kplan.cli.options import InputOptions, Match
from kplan.cli.query import QueryOptions, show_query
from kplan.cli.session import Session
from kplan.cli.verb import verb


@verb(
    ("kplan topics list", "All topics that are not internal."),
    ("kplan topics list -match='orders-*'", "Those whose names fit a pattern."),
    ("kplan topics list -internal -json", "Kafka's own too, for scripts."),
)
def list_(
    session: Session,
    inputs: InputOptions,
    ask: QueryOptions,
    *,
    match: Match = "*",
    internal: Annotated[
        bool, typer.Option("--internal", help="Show topics too that Kafka and its tools keep.")
    ] = False,
) -> int:
    """List the topics of the cluster.

    Told are partitions, replication factor and the count of configs that are the topic's own.
    Topics that are hidden from us are not there for Kafka either. Nothing is changed anywhere.
    """
    from kplan.workflow.inspect.topics import list_topics  # noqa: PLC0415 - help needs it not

    return show_query(
        session, inputs, ask, partial(list_topics, match=match, shows_internal=internal)
    )


@verb(
    ("kplan topics describe orders", "Its id, replicas and configs."),
    ("kplan topics describe orders payments -json", "Two of them, for scripts."),
)
def describe(
    session: Session,
    name: Annotated[list[str], typer.Argument(metavar="NAME", help="Names of topics.")],
    inputs: InputOptions,
    ask: QueryOptions,
) -> int:
    """Tell id, partitions, replicas and configs of topics.

    Configs are those that differ from Kafka's defaults, with where each comes from; of source
    "topic" are the topic's own. Nothing is changed anywhere.
    """
    from kplan.workflow.inspect.topics import describe_topics  # noqa: PLC0415 - as above

    return show_query(session, inputs, ask, partial(describe_topics, names=name))


@verb(
    ("kplan topics offsets orders", "First and last offset of each partition."),
    ("kplan topics offsets orders payments -json", "Two topics, for scripts."),
)
def offsets(
    session: Session,
    name: Annotated[list[str], typer.Argument(metavar="NAME", help="Names of topics.")],
    inputs: InputOptions,
    ask: QueryOptions,
) -> int:
    """Tell first and last offsets of topics.

    The end is the offset that the next record gets. Compaction leaves gaps, so there may be fewer
    records than offsets. What could not be read is noted, and the exit code is 4.
    """
    from kplan.workflow.inspect.topics import list_offsets  # noqa: PLC0415 - as above

    return show_query(session, inputs, ask, partial(list_offsets, names=name))
