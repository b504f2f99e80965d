"""`kplan import`: one object, a whole cluster, or what a Terraform state owns."""

from collections.abc import Iterable, Iterator
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from kplan.cli import wiring
from kplan.cli.exit_code import ExitCode
from kplan.cli.options import InputOptions, StateOptions
from kplan.cli.progress import show_progress
from kplan.cli.terminal import Session
from kplan.cli.verb import verb
from kplan.model.dataclass import dataclass
from kplan.model.errors import UsageError
from kplan.model.state import OwnedObject
from kplan.report import views
from kplan.report.formats.text import clean_text
from kplan.workflow.adopt.import_ import ImportSelection, import_all, import_object
from kplan.workflow.adopt.import_tfstate import import_tfstate


class Included(StrEnum):
    """What -all takes only when asked."""

    BROKER_CONFIGS = "broker-configs"


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
    include: Annotated[
        list[Included] | None,
        typer.Option(
            "--include",
            metavar="WHAT",
            help="With -all: also import the dynamic configs of brokers (broker-configs).",
        ),
    ] = None
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
        "kplan import kafka_user_scram_credential.carol 'carol|SCRAM-SHA-512'",
        "Import a SCRAM credential: user and mechanism.",
    ),
    ("kplan import kafka_quota.carol 'carol|user'", "Import a quota: name and type of entity."),
    (
        "kplan import -all -generate-config=cluster.tf",
        "Import a whole cluster and write its configuration.",
    ),
    (
        "kplan import -all -prefix=dev.shop. -generate-config=shop.tf",
        "Import only topics with a prefix, and ACLs on them.",
    ),
    (
        "kplan import -all -include=broker-configs -generate-config=cluster.tf",
        "Import a whole cluster with the dynamic configs of its brokers.",
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
    differ from the configuration. Internal topics and secrets are never imported, and -all imports
    configs of brokers only with -include=broker-configs.
    """
    options = ImportOptions(
        what.address,
        what.identity,
        what.all,
        what.prefix,
        what.generate_config,
        what.from_tfstate,
        tuple(what.include or ()),
    )
    return run_import(session, options, inputs, states)


_MAX_REASONS = 20


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """What to import. "" means not given."""

    address: str = ""
    identity: str = ""
    all: bool = False
    prefix: str = ""
    generate_config: str = ""
    from_tfstate: str = ""
    include: tuple[Included, ...] = ()

    def check(self) -> None:
        """Raise UsageError for options that contradict each other."""
        ways = (bool(self.address or self.identity), self.all, bool(self.from_tfstate))
        if sum(ways) != 1:
            raise UsageError(
                "kplan import requires ADDRESS and ID, -all, or -from-tfstate=FILE.",
                "Run kplan import -help for examples.",
            )
        if ways[0] and not (self.address and self.identity):
            raise UsageError("kplan import requires both ADDRESS and ID.")
        if self.all != bool(self.generate_config):
            raise UsageError("-all and -generate-config=FILE require each other.")
        if self.prefix and not self.all:
            raise UsageError("-prefix requires -all.")
        if self.include and not self.all:
            raise UsageError("-include requires -all.")


def run_import(
    session: Session, options: ImportOptions, inputs: InputOptions, states: StateOptions
) -> int:
    """Import objects, show the result, and return the exit code."""
    options.check()
    project = wiring.build_project(session, states, inputs)
    with show_progress(session.terminal) as progress:
        ports = wiring.build_ports(session, "import", states, progress)
        if options.all:
            file = Path(options.generate_config)
            selection = ImportSelection(options.prefix, Included.BROKER_CONFIGS in options.include)
            every = import_all(project, file, selection, ports)
            owned, why = (
                every.owned,
                [f"{each.identity}: {each.reason}" for each in every.unimported],
            )
            why += [f"all {kind}: {reason}" for kind, reason in sorted(every.unread.items())]
            ending = (
                [f"Wrote their configuration to {file}. The next plan has no changes."]
                if owned
                else []
            )
        elif options.from_tfstate:
            file = Path(options.from_tfstate)
            taken = import_tfstate(project, file, _read_file(file), ports)
            owned, why = (
                taken.owned,
                [f"{each.address}: {each.reason}" for each in taken.unsupported],
            )
            ending = ["Do not apply this folder with Terraform any more."] if owned else []
        else:
            one = import_object(project, options.address, options.identity, ports)
            session.terminal.write_stdout(
                f"Import successful: {one.address} now owns {clean_text(one.identity)}."
            )
            return ExitCode.DONE
    _show_result(session, owned, why, ending)
    return ExitCode.DONE


def _show_result(
    session: Session, owned: Iterable[OwnedObject], why: list[str], ending: Iterable[str]
) -> None:
    look = session.terminal.stdout_style
    notes = tuple(_left_out_lines(why))
    session.terminal.write_stdout(views.import_text(tuple(owned), (*ending, *notes), look))


def _left_out_lines(why: list[str]) -> Iterator[str]:
    for each in why[:_MAX_REASONS]:
        yield f"Left out: {each.rstrip('.')}."
    if (more := len(why) - _MAX_REASONS) > 0:
        yield f"Left out: {more:,} more."


def _read_file(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as failure:
        raise UsageError(f"{file} cannot be read: {failure.strerror}.") from None
