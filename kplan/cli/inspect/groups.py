"""`kplan groups list` and `kplan groups describe`."""

from functools import partial
from typing import Annotated

import typer

from kplan.cli.options import InputOptions, Match
from kplan.cli.query import QueryOptions, show_query
from kplan.cli.session import Session
from kplan.cli.verb import verb


@verb(
    ("kplan groups list", "All groups, each with its type and state."),
    ("kplan groups list -match='orders-*'", "Those whose names fit a pattern."),
    ("kplan groups list -json", "The same for scripts."),
)
def list_(
    session: Session,
    inputs: InputOptions,
    ask: QueryOptions,
    match: Match = "*",
) -> int:
    """List the groups of consumers, Connect workers and the like.

    Every broker is asked for the groups that it coordinates. A broker that does not answer is
    named, the groups of the others are told, and the exit code is 4. Nothing is changed anywhere.
    """
    from kplan.workflow.inspect.groups import list_groups  # noqa: PLC0415 - help needs it not

    return show_query(session, inputs, ask, partial(list_groups, match=match))


@verb(
    ("kplan groups describe billing", "Its members, offsets and lag."),
    ("kplan groups describe billing audit -json", "Two of them, for scripts."),
)
def describe(
    session: Session,
    name: Annotated[list[str], typer.Argument(metavar="NAME", help="Names of groups.")],
    inputs: InputOptions,
    ask: QueryOptions,
) -> int:
    """Tell members, offsets and lag of groups.

    Groups of both protocols are told, classic and KIP-848. What could not be read is noted, and
    the exit code is 4. Nothing is changed anywhere.
    """
    from kplan.workflow.inspect.groups import describe_groups  # noqa: PLC0415 - as above

    return show_query(session, inputs, ask, partial(describe_groups, names=name))
