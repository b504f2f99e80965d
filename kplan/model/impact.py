"""Impact of a plan: data destroyed, clients affected, access gained and lost."""

from enum import StrEnum

from kplan.model.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class GroupImpact:
    """A group with committed offsets in the topic; None is unknown."""

    group: str
    is_live: bool
    members: int | None = None
    lag: int | None = None


@dataclass(frozen=True, slots=True)
class Impact:
    """Contents and consumers of a topic; None is unread, never zero.

    `records` counts offsets, `size_bytes` the leaders' logs, `age_ms` the time since the newest
    record, None also where there is no record. `unread` says why something is not known.
    """

    records: int | None = None
    size_bytes: int | None = None
    age_ms: int | None = None
    groups: tuple[GroupImpact, ...] | None = None
    producers: int | None = None
    unread: tuple[str, ...] = ()

    @property
    def is_unused(self) -> bool:
        """Whether the topic is known to be empty and unused."""
        return self.records == 0 and self.groups == () and self.producers == 0


class AccessEffect(StrEnum):
    """What becomes of a permission. GAP and EXPOSURE pass: they last from request to request."""

    LOSS = "loses"
    GAIN = "gains"
    GAP = "is without, for a moment,"
    EXPOSURE = "has, for a moment,"


@dataclass(frozen=True, slots=True)
class AccessChange:
    """The operations that one principal gains or loses on some resources of a type.

    "User:*" is everyone for whom nothing else is said. `host` is "*" for every host without an ACL
    of its own. `patterns` are names, or prefixes that end in "*"; `existing` counts the live
    resources among them, None where there is no list of them; `examples` names a few. `provider` is
    the key of the connection to their cluster.
    """

    effect: AccessEffect
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
    """The effective difference; `unknown` has the parts that could not be computed, and why."""

    shifts: tuple[AccessChange, ...] = ()
    unknown: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DeniedPrincipal:
    """Someone, or a host of theirs, that a wider permission leaves out, and the Deny in words."""

    principal: str
    host: str
    because: str


@dataclass(frozen=True, slots=True)
class AllowedPrincipal:
    """A principal with the requested permission, and the ACL that grants it, as text.

    `principal` "User:*" is everyone, `host` "*" every host, but for the `exceptions`.
    """

    principal: str
    host: str
    because: str
    exceptions: tuple[DeniedPrincipal, ...] = ()

    def allows(self, principal: str, host: str) -> bool:
        """Whether a principal is allowed from a host by this one permission."""
        everyone = "User:*"
        return (
            self.principal in {principal, everyone}
            and self.host in {host, "*"}
            and not any(
                each.principal in {principal, everyone} and each.host in {host, "*"}
                for each in self.exceptions
            )
        )


@dataclass(frozen=True, slots=True)
class PrincipalPermission:
    """The operations of a principal on all names of a pattern; `existing` as in `AccessChange`."""

    resource_type: str
    pattern: str
    host: str
    operations: tuple[str, ...]
    existing: int | None = None
