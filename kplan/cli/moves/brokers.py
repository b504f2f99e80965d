"""`kplan reassign drain` and `kplan reassign balance`."""

import re
import shlex
from enum import StrEnum
from typing import Annotated

import typer

from kplan.cli.moves.execution import ReassignOptions, run_reassignment
from kplan.cli.options import InputOptions, Match, StateOptions
from kplan.cli.terminal import Session
from kplan.cli.verb import verb
from kplan.model.dataclass import dataclass
from kplan.model.errors import UsageError

WithinRack = Annotated[
    bool,
    typer.Option("--within-rack", help="Move replicas only to brokers of the same rack."),
]
_PERCENT = re.compile(r"([0-9]{1,3}(?:\.[0-9]+)?)\s*%?")


@dataclass(frozen=True, slots=True)
class DrainOptions(ReassignOptions):
    """The brokers to drain, and where their replicas may go."""

    brokers: Annotated[
        list[int] | None, typer.Argument(metavar="BROKER", help="Ids of the brokers to drain.")
    ] = None
    match: Match = "*"
    within_rack: WithinRack = False
    fewer_racks: Annotated[
        bool,
        typer.Option(
            "--fewer-racks", help="Move a replica even if its partition then has fewer racks."
        ),
    ] = False


@verb(
    ("kplan reassign drain 3 -dry-run", "Show where the replicas of broker 3 would go."),
    ("kplan reassign drain 3 4 -throttle=50M", "Ask, and move them at 50 MB/s."),
)
def drain(session: Session, what: DrainOptions, inputs: InputOptions, states: StateOptions) -> int:
    """Move all replicas off brokers, to remove these.

    Each replica is copied once, to the broker with the fewest bytes, and partitions keep their
    racks. The same command resumes an interrupted drain. Until a drained broker is stopped, Kafka
    can place new topics on it.
    """
    from kplan.workflow.moves.brokers import DrainRequest  # noqa: PLC0415 - help needs it not

    if not what.brokers:
        raise UsageError(
            "kplan reassign drain requires the ids of brokers.",
            hint="Run kplan cluster describe to list them.",
        )
    ids = [str(each) for each in sorted(set(what.brokers))]
    request = DrainRequest(frozenset(what.brokers), what.match, what.within_rack, what.fewer_racks)
    named = "Broker" if len(ids) == 1 else "Brokers"
    of = "" if what.match == "*" else f" of {what.match}"
    return run_reassignment(
        session,
        what,
        (inputs, states),
        request,
        again=f"kplan reassign drain {' '.join(ids)}{_shared_options(what)}",
        nothing=f"No changes. {named} {', '.join(ids)}: no replicas{of}.",
    )


class BalanceUnit(StrEnum):
    """What brokers are to have equally much of."""

    BYTES = "bytes"
    REPLICAS = "replicas"


@dataclass(frozen=True, slots=True)
class BalanceOptions(ReassignOptions):
    """How even brokers are to be."""

    by: Annotated[
        BalanceUnit, typer.Option("--by", help="Even out the bytes or the number of replicas.")
    ] = BalanceUnit.BYTES
    tolerance: Annotated[
        str,
        typer.Option(
            "--tolerance",
            metavar="PERCENT",
            help="Accept brokers that are this far from the mean.",
        ),
    ] = "10%"
    match: Match = "*"
    within_rack: WithinRack = False


@verb(
    ("kplan reassign balance -dry-run", "Show what would move, and the bytes of each broker."),
    ("kplan reassign balance -within-rack -tolerance=5%", "Even out each rack by itself."),
)
def balance(
    session: Session, what: BalanceOptions, inputs: InputOptions, states: StateOptions
) -> int:
    """Even out the bytes of the live brokers.

    As few bytes as possible are copied and partitions keep their racks. Topics with a declared
    placement stay where they are. The same command resumes an interrupted run.
    """
    from kplan.workflow.moves.brokers import BalanceRequest  # noqa: PLC0415 - help needs it not

    found = _PERCENT.fullmatch(what.tolerance.strip())
    if found is None or float(found[1]) > 100:  # noqa: PLR2004 - per cent
        raise UsageError(
            f"-tolerance={what.tolerance} is not a percentage from 0 to 100.",
            hint="Write it as -tolerance=10%.",
        )
    request = BalanceRequest(
        float(found[1]) / 100, what.match, what.within_rack, what.by is BalanceUnit.REPLICAS
    )
    options = f" -by={what.by.value} -tolerance={what.tolerance}{_shared_options(what)}"
    return run_reassignment(
        session,
        what,
        (inputs, states),
        request,
        again=f"kplan reassign balance{options}",
        nothing="No changes. No replicas are moved.",
    )


def _shared_options(what: DrainOptions | BalanceOptions) -> str:
    """Write the options that decide where replicas go, for the command that resumes."""
    found = "" if what.match == "*" else f" {shlex.quote(f'-match={what.match}')}"
    found += " -within-rack" if what.within_rack else ""
    return found + (" -fewer-racks" if isinstance(what, DrainOptions) and what.fewer_racks else "")
