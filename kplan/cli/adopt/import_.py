"""`kplan import`."""

from typing import Annotated

import typer

from kplan.cli.options import InputOptions, StateOptions
from kplan.cli.session import Session
from kplan.cli.verb import verb
from kplan.model.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class ImportArguments:
    """What to take over."""

    address: Annotated[str, typer.Argument(metavar="ADDRESS", help="A resource declared here.")] = (
        ""
    )
    identity: Annotated[str, typer.Argument(metavar="ID", help="The object's name there.")] = ""
    all: Annotated[bool, typer.Option("--all", help="Take all that is not declared yet.")] = False
    prefix: Annotated[
        str, typer.Option("--prefix", metavar="P", help="With -all: only names that begin so.")
    ] = ""
    generate_config: Annotated[
        str,
        typer.Option(
            "--generate-config", metavar="FILE", help="With -all: write what is taken to this file."
        ),
    ] = ""
    from_tfstate: Annotated[
        str,
        typer.Option("--from-tfstate", metavar="FILE", help="Take what a state of Terraform owns."),
    ] = ""


@verb(
    ("kplan import 'kafka_topic.events[\"orders\"]' dev.shop.orders", "A topic by its name."),
    (
        "kplan import kafka_acl.a 'User:checkout|*|Write|Allow|Topic|dev.shop.orders|Literal'",
        "An ACL by principal, host, operation, permission, resource type, name and pattern.",
    ),
    (
        "kplan import -all -generate-config=cluster.tf",
        "A whole cluster: its configuration is written, and the next plan is empty.",
    ),
    (
        "kplan import -all -prefix=dev.shop. -generate-config=shop.tf",
        "Only topics whose names begin so, and ACLs on such names.",
    ),
    (
        "kplan import -from-tfstate=terraform.tfstate",
        "All that Terraform's Kafka provider owned in this folder, at the same addresses.",
    ),
)
def import_(
    session: Session, what: ImportArguments, inputs: InputOptions, states: StateOptions
) -> int:
    """Take over objects that exist on the cluster.

    They are written into the state and not touched. The next plan tells how they differ from what
    is declared. Internal topics are never taken, and secrets are never copied.
    """
    from kplan.cli.adopt.execution import (  # noqa: PLC0415 - help needs none of this
        ImportOptions,
        run_import,
    )

    wish = ImportOptions(
        what.address,
        what.identity,
        what.all,
        what.prefix,
        what.generate_config,
        what.from_tfstate,
    )
    return run_import(session, wish, inputs, states)
