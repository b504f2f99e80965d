"""`kplan import`."""

from typing import Annotated

import typer

from kplan.cli.options import InputOptions, StateOptions
from kplan.cli.session import Session
from kplan.cli.verb import verb
from kplan.model.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class ImportArguments:
    """What to import."""

    address: Annotated[
        str, typer.Argument(metavar="ADDRESS", help="The address of a declared resource.")
    ] = ""
    identity: Annotated[
        str, typer.Argument(metavar="ID", help="The name of the object on the cluster.")
    ] = ""
    all: Annotated[
        bool, typer.Option("--all", help="Import every object that is not declared.")
    ] = False
    prefix: Annotated[
        str,
        typer.Option(
            "--prefix", metavar="P", help="With -all: import only names with this prefix."
        ),
    ] = ""
    generate_config: Annotated[
        str,
        typer.Option(
            "--generate-config",
            metavar="FILE",
            help="With -all: write the configuration to this file.",
        ),
    ] = ""
    from_tfstate: Annotated[
        str,
        typer.Option(
            "--from-tfstate", metavar="FILE", help="Import the objects of a Terraform state."
        ),
    ] = ""


@verb(
    ("kplan import 'kafka_topic.events[\"orders\"]' dev.shop.orders", "Import a topic by name."),
    (
        "kplan import kafka_acl.a 'User:checkout|*|Write|Allow|Topic|dev.shop.orders|Literal'",
        "Import an ACL: principal, host, operation, permission, resource type, name and pattern.",
    ),
    (
        "kplan import -all -generate-config=cluster.tf",
        "Import a whole cluster and write its configuration.",
    ),
    (
        "kplan import -all -prefix=dev.shop. -generate-config=shop.tf",
        "Import only topics with a prefix, and ACLs on them.",
    ),
    (
        "kplan import -from-tfstate=terraform.tfstate",
        "Import what Terraform's Kafka provider owned, at the same addresses.",
    ),
)
def import_(
    session: Session, what: ImportArguments, inputs: InputOptions, states: StateOptions
) -> int:
    """Import existing objects into the state.

    kplan records the objects in the state and does not change them. The next plan shows how they
    differ from the configuration. Internal topics and secrets are never imported.
    """
    from kplan.cli.adopt.execution import (  # noqa: PLC0415 - help needs none of this
        ImportOptions,
        run_import,
    )

    options = ImportOptions(
        what.address,
        what.identity,
        what.all,
        what.prefix,
        what.generate_config,
        what.from_tfstate,
    )
    return run_import(session, options, inputs, states)
