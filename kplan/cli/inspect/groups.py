"""`kplan groups list` and `kplan groups describe`."""

from functools import partial
from typing import Annotated

import typer

from kplan.cli.options import InputOptions, Match
from kplan.cli.query import QueryOptions, show_query
from kplan.cli.terminal import Session
from kplan.cli.verb import verb


@verb(
    ("kplan groups list", "List all groups with type and state."),
    ("kplan groups list -match='orders-*'", "List groups that match a pattern."),
    ("kplan groups list -json", "The same for scripts."),
)
def list_(
    session: Session,
    inputs: InputOptions,
    ask: QueryOptions,
    match: Match = "*",
) -> int:
    """List the groups of the cluster.

    These are consumer groups, groups of Connect workers, share groups and others. kplan asks every
    broker for the groups that it coordinates. If a broker does not answer, kplan notes it, lists
    the groups of the others, and exits with 4.
    """
    from kplan.workflow.inspect.groups import list_groups  # noqa: PLC0415 - help needs it not

    return show_query(session, inputs, ask, partial(list_groups, match=match))


@verb(
    ("kplan groups describe billing", "Show members, offsets and lag of a group."),
    ("kplan groups describe billing audit -json", "Describe two groups, for scripts."),
)
def describe(
    session: Session,
    name: Annotated[list[str], typer.Argument(metavar="NAME", help="Names of groups.")],
    inputs: InputOptions,
    ask: QueryOptions,
) -> int:
    """Describe groups with members, offsets and lag.

    Groups of the classic protocol and of KIP-848 are supported. Unreadable parts are noted, and the
    exit code is 4. Nothing is changed.
    """
    from kplan.workflow.inspect.groups import describe_groups  # noqa: PLC0415 - as above

    return show_query(session, inputs, ask, partial(describe_groups, names=name))
