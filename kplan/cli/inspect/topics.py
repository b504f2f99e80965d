"""`kplan topics list`, `kplan topics describe` and `kplan topics offsets`."""

from functools import partial
from typing import Annotated

import typer

from kplan.cli.options import InputOptions, Match
from kplan.cli.query import QueryOptions, show_query
from kplan.cli.terminal import Session
from kplan.cli.verb import verb


@verb(
    ("kplan topics list", "List all topics that are not internal."),
    ("kplan topics list -match='orders-*'", "List topics that match a pattern."),
    ("kplan topics list -internal -json", "Include internal topics, for scripts."),
)
def list_(
    session: Session,
    inputs: InputOptions,
    ask: QueryOptions,
    *,
    match: Match = "*",
    internal: Annotated[bool, typer.Option("--internal", help="Include internal topics.")] = False,
) -> int:
    """List the topics of the cluster.

    Each topic has its number of partitions, replication factor and number of own configs. Topics
    that this user cannot describe are not listed. Nothing is changed.
    """
    from kplan.workflow.inspect.topics import list_topics  # noqa: PLC0415 - help needs it not

    return show_query(
        session, inputs, ask, partial(list_topics, match=match, shows_internal=internal)
    )


@verb(
    ("kplan topics describe orders", "Show id, replicas and configs of a topic."),
    ("kplan topics describe orders payments -json", "Describe two topics, for scripts."),
)
def describe(
    session: Session,
    name: Annotated[list[str], typer.Argument(metavar="NAME", help="Names of topics.")],
    inputs: InputOptions,
    ask: QueryOptions,
) -> int:
    """Describe topics with partitions, replicas and configs.

    Configs are those that differ from Kafka's defaults, with their source; the topic's own have
    source "topic". Nothing is changed.
    """
    from kplan.workflow.inspect.topics import describe_topics  # noqa: PLC0415 - as above

    return show_query(session, inputs, ask, partial(describe_topics, names=name))


@verb(
    ("kplan topics offsets orders", "List the offsets of each partition."),
    ("kplan topics offsets orders payments -json", "List the offsets of two topics, for scripts."),
)
def offsets(
    session: Session,
    name: Annotated[list[str], typer.Argument(metavar="NAME", help="Names of topics.")],
    inputs: InputOptions,
    ask: QueryOptions,
) -> int:
    """List the first and last offsets of topics.

    The last offset is that of the next record. Compaction removes records, so a partition can have
    fewer records than offsets. Unreadable parts are noted, and the exit code is 4.
    """
    from kplan.workflow.inspect.topics import list_offsets  # noqa: PLC0415 - as above

    return show_query(session, inputs, ask, partial(list_offsets, names=name))
