"""`kplan acl list`."""

from functools import partial
from typing import Annotated

import typer

from kplan.cli.options import InputOptions
from kplan.cli.query import QueryOptions, show_query
from kplan.cli.terminal import Session
from kplan.cli.verb import verb
from kplan.model.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class AclFilterOptions:
    """Filters; an ACL has to match all of them."""

    principal: Annotated[
        str,
        typer.Option(
            "--principal",
            metavar="PRINCIPAL",
            help="List only ACLs of this principal, for example User:app.",
        ),
    ] = ""
    resource: Annotated[
        str,
        typer.Option(
            "--resource",
            metavar="TYPE:NAME",
            help="List only ACLs with exactly this resource, for example topic:orders or "
            "'topic:*'.",
        ),
    ] = ""
    match: Annotated[
        str,
        typer.Option(
            "--match",
            metavar="TYPE:NAME",
            help="List only ACLs that apply to this resource by name, prefix or wildcard.",
        ),
    ] = ""


@verb(
    ("kplan acl list", "List every ACL."),
    ("kplan acl list -match=topic:orders", "List the ACLs that apply to a topic."),
    ("kplan acl list -principal=User:app -json", "List the ACLs of a principal, for scripts."),
)
def list_(
    session: Session, inputs: InputOptions, chosen: AclFilterOptions, ask: QueryOptions
) -> int:
    """List the ACLs of the cluster.

    kplan access shows the resulting permissions. Nothing is changed.
    """
    from kplan.workflow.inspect.acl import AclFilter, list_acls  # noqa: PLC0415 - help needs it not

    wanted = AclFilter(chosen.principal, chosen.resource, chosen.match)
    wanted.check()
    return show_query(session, inputs, ask, partial(list_acls, wanted=wanted))
