"""What a plan does to who may do what."""

from dataclasses import dataclass
from enum import StrEnum


class Effect(StrEnum):
    """What becomes of a permission. GAP and EXPOSURE pass: they last from request to request."""

    LOSS = "loses"
    GAIN = "gains"
    GAP = "is without, for a moment,"
    EXPOSURE = "has, for a moment,"


@dataclass(frozen=True, slots=True)
class AccessShift:
    """What one principal comes to be allowed, or not any more, on some resources of a type.

    "User:*" is everyone for whom nothing else is said. `host` is "*" for every host without an ACL
    of its own. `patterns` are names, or prefixes that end in "*"; `existing` counts the live
    resources among them, None where there is no list of them; `examples` names a few. `provider` is
    the key of the connection to their cluster.
    """

    effect: Effect
    principal: str
    host: str
    resource_type: str
    operations: tuple[str, ...]
    patterns: tuple[str, ...]
    existing: int | None = None
    examples: tuple[str, ...] = ()
    provider: str = ""


@dataclass(frozen=True, slots=True)
class AccessDiff:
    """The effective difference; `unknown` says what it could not be told for, and why."""

    shifts: tuple[AccessShift, ...] = ()
    unknown: tuple[str, ...] = ()

    def with_effect(self, *effects: Effect) -> tuple[AccessShift, ...]:
        """Give the shifts with one of the effects."""
        return tuple(each for each in self.shifts if each.effect in effects)


@dataclass(frozen=True, slots=True)
class Holder:
    """Somebody who may do what was asked, and the ACL it rests on, in words.

    `principal` "User:*" is everyone; `host` "*" is every host but those told apart.
    """

    principal: str
    host: str
    because: str


@dataclass(frozen=True, slots=True)
class Holding:
    """What a principal may do on all names of a pattern; `existing` as in `AccessShift`."""

    resource_type: str
    pattern: str
    host: str
    operations: tuple[str, ...]
    existing: int | None = None
