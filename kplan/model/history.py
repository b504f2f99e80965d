"""Earlier states, and what one state owns that another does not."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kplan.model.address import Address
from kplan.model.state import Owned


@dataclass(frozen=True, slots=True)
class Differences:
    """Addresses that one state owns and the other does not, or otherwise, in order."""

    added: tuple[Address, ...] = ()
    changed: tuple[Address, ...] = ()
    removed: tuple[Address, ...] = ()


@dataclass(frozen=True, slots=True)
class Version:
    """One state among its backups. `written_at` is ISO 8601 in UTC.

    `differences` are to the version before it, None for the oldest. `fault` says why the file
    cannot be read; what it holds is unknown then.
    """

    path: str
    written_at: str
    serial: int = 0
    lineage: str = ""
    objects: int = 0
    differences: Differences | None = None
    is_current: bool = False
    fault: str = ""


def differences(before: Mapping[Address, Owned], after: Mapping[Address, Owned]) -> Differences:
    """Compare what two states own."""
    both = before.keys() & after.keys()
    return Differences(
        _ordered(after.keys() - before.keys()),
        _ordered(each for each in both if before[each] != after[each]),
        _ordered(before.keys() - after.keys()),
    )


def _ordered(addresses: Iterable[Address]) -> tuple[Address, ...]:
    return tuple(sorted(addresses, key=lambda each: each.sort_key))
