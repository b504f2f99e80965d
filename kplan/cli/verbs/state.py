"""`kplan state list | show | mv | rm`."""

from typing import Annotated

import typer

from kplan.cli.exits import Exit
from kplan.cli.options import InputOptions, Json, StateOptions
from kplan.cli.progress import progress
from kplan.cli.session import Session
from kplan.cli.verb import verb

Address = Annotated[str, typer.Argument(metavar="ADDRESS", help="kafka_topic.NAME, with its key.")]
Addresses = Annotated[
    list[str],
    typer.Argument(metavar="ADDRESS", help="kafka_topic.NAME; without a key all of its block."),
]


@verb(
    ("kplan state list", "Every address that is owned."),
    ("kplan state list kafka_topic.events", "Those of one block."),
)
def list_(
    session: Session,
    inputs: InputOptions,
    states: StateOptions,
    addresses: Annotated[
        list[str] | None, typer.Argument(metavar="ADDRESS", help="Only these, or of blocks.")
    ] = None,
) -> int:
    """List the addresses that the state holds."""
    from kplan.cli.wiring import project  # noqa: PLC0415 - help needs none of these
    from kplan.report.views import state_list_text  # noqa: PLC0415
    from kplan.workflow.states import owned_objects  # noqa: PLC0415

    owned = owned_objects(project(session, states, inputs), tuple(addresses or ()))
    session.terminal.data(state_list_text(owned))
    return Exit.DONE


@verb(("kplan state show 'kafka_topic.events[\"orders\"]'", "What was applied last."))
def show(
    session: Session,
    address: Address,
    inputs: InputOptions,
    states: StateOptions,
    *,
    json_: Json = False,
) -> int:
    """Show one resource as last applied."""
    from kplan.cli.wiring import project  # noqa: PLC0415 - help needs none of these
    from kplan.report import views  # noqa: PLC0415
    from kplan.workflow.states import owned_objects  # noqa: PLC0415

    found, terminal = owned_objects(project(session, states, inputs), (address,)), session.terminal
    look = terminal.data_look
    terminal.data(views.owned_json(found) if json_ else views.state_show_text(found, look))
    return Exit.DONE


@verb(
    ("kplan state mv kafka_topic.a kafka_topic.b", "Follow a rename in the configuration."),
)
def mv(
    session: Session,
    source: Address,
    target: Annotated[str, typer.Argument(metavar="NEW", help="The address from now on.")],
    inputs: InputOptions,
    states: StateOptions,
) -> int:
    """Give a resource another address. Nothing on the cluster is touched."""
    from kplan.cli import wiring  # noqa: PLC0415 - help needs none of these
    from kplan.workflow.states import move  # noqa: PLC0415

    with progress(session.terminal) as shown:
        ports = wiring.ports(session, "state mv", states, shown)
        old, new = move(wiring.project(session, states, inputs), source, target, ports)
    session.terminal.data(f"Moved {old} to {new}.")
    return Exit.DONE


@verb(
    ("kplan state rm kafka_topic.events", "Forget all topics of a block."),
    ("kplan state rm -dry-run kafka_topic.events", "Tell what would be forgotten."),
)
def rm(
    session: Session,
    addresses: Addresses,
    inputs: InputOptions,
    states: StateOptions,
    *,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only tell what would be forgotten.")
    ] = False,
) -> int:
    """Forget resources and leave them on the cluster.

    The next plan takes them over again as long as they are declared.
    """
    from kplan.cli import wiring  # noqa: PLC0415 - help needs none of these
    from kplan.workflow.states import owned_objects, remove  # noqa: PLC0415

    project, wanted = wiring.project(session, states, inputs), tuple(addresses)
    with progress(session.terminal) as shown:
        ports = wiring.ports(session, "state rm", states, shown)
        gone = owned_objects(project, wanted) if dry_run else remove(project, wanted, ports)
    said = "Would forget" if dry_run else "Forgot"
    session.terminal.data("\n".join(f"{said} {each.address} ({each.identity})." for each in gone))
    return Exit.DONE
