"""`kplan import`."""

from typing import Annotated

import typer

from kplan.cli.exits import Exit
from kplan.cli.options import InputOptions, StateOptions
from kplan.cli.progress import progress
from kplan.cli.session import Session
from kplan.cli.verb import verb


@verb(
    ("kplan import 'kafka_topic.events[\"orders\"]' dev.shop.orders", "A topic by its name."),
    (
        "kplan import kafka_acl.a 'User:checkout|*|Write|Allow|Topic|dev.shop.orders|Literal'",
        "An ACL by principal, host, operation, permission, resource type, name and pattern.",
    ),
)
def adopt(
    session: Session,
    address: Annotated[str, typer.Argument(metavar="ADDRESS", help="A resource declared here.")],
    identity: Annotated[str, typer.Argument(metavar="ID", help="The object on the cluster.")],
    inputs: InputOptions,
    states: StateOptions,
) -> int:
    """Take over an object that exists on the cluster.

    The object is written into the state and not touched. The next plan tells how it differs from
    what is declared.
    """
    from kplan.cli import wiring  # noqa: PLC0415 - help needs none of these
    from kplan.workflow.imports import import_object  # noqa: PLC0415

    project = wiring.project(session, states, inputs)
    with progress(session.terminal) as shown:
        ports = wiring.ports(session, "import", states, shown)
        owned = import_object(project, address, identity, ports)
    session.terminal.data(f"Import successful: {owned.address} now owns {owned.identity}.")
    return Exit.DONE
