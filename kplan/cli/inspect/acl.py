"""`kplan acl list`."""

from functools import partial
from typing import Annotated

import typer

from kplan.cli.options import InputOptions
from kplan.cli.query import QueryOptions, show_query
from kplan.cli.session import Session
from kplan.cli.verb import verb
from kplan.model.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class AclFilterOptions:
    """Which ACLs are listed: those that fit every option that is given."""

    principal: Annotated[
        str, typer.Option("--principal", metavar="PRINCIPAL", help="Only those for User:app.")
    ] = ""
    resource: Annotated[
        str,
        typer.Option(
            "--resource",
            metavar="TYPE:NAME",
            help="Only those that say this themselves, as in topic:orders; or topic:* in quotes.",
        ),
    ] = ""
    match: Annotated[
        str,
        typer.Option(
            "--match",
            metavar="TYPE:NAME",
            help="Only those that apply to this resource: by its name, by a prefix of it, or to "
            "all.",
        ),
    ] = ""


@verb(
    ("kplan acl list", "Every ACL."),
    ("kplan acl list -match=topic:orders", "All that apply to one topic."),
    ("kplan acl list -principal=User:app -json", "Those for one principal, for scripts."),
)
def list_(
    session: Session, inputs: InputOptions, chosen: AclFilterOptions, ask: QueryOptions
) -> int:
    """List the ACLs of the cluster.

    What they come to together, kplan access who-can and kplan access of tell. Nothing is changed
    anywhere.
    """
    from kplan.workflow.inspect.acl import AclFilter, list_acls  # noqa: PLC0415 - help needs it not

    wanted = AclFilter(chosen.principal, chosen.resource, chosen.match)
    wanted.check()
    return show_query(session, inputs, ask, partial(list_acls, wanted=wanted))
