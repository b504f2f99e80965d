"""Policies: their inputs, findings and results."""

from collections.abc import Iterator, Mapping
from dataclasses import field
from datetime import date
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Protocol

from kplan.model.address import Address
from kplan.model.dataclass import dataclass
from kplan.model.diagnostic import Diagnostic, SourceRange
from kplan.model.errors import RefusalOrigin
from kplan.model.resource import Identity, Path


class Operation(StrEnum):
    """What is to be done to an object, in KIP-201's words."""

    CREATE = "create"
    ALTER = "alter"
    DELETE = "delete"
    DELETE_RECORDS = "delete_records"


class Level(StrEnum):
    """The enforcement of a policy: ADVISORY never refuses, SOFT may be overridden with a reason."""

    ADVISORY = "advisory"
    SOFT = "soft"
    HARD = "hard"


class RuleEffect(StrEnum):
    """What a rule of a policy does where it strikes."""

    DENY = "deny"
    WARN = "warn"
    ADVISE = "advise"


class ViolationStatus(StrEnum):
    """What came of a finding. Only REFUSED keeps a change from being executed."""

    REFUSED = "refused"
    OVERRIDDEN = "overridden"
    WAIVED = "waived"
    REPORTED = "told"


class UnknownFactError(Exception):
    """A policy used a fact that could not be read. The text says which, and why."""


@dataclass(frozen=True, slots=True)
class Waiver:
    """An exception from a policy that someone answers for, up to and with the day `until`.

    `applies_to` are patterns (`*`, `?`) of names on the cluster or addresses.
    """

    owner: str
    reason: str
    until: date
    applies_to: tuple[str, ...]
    declared_at: SourceRange | None = None

    def covers(self, identity: Identity, address: Address | None, today: date) -> bool:
        """Whether the waiver is in force, and is about the object."""
        names = (identity, str(address or identity))
        is_meant = any(
            fnmatchcase(name, pattern.replace("[", "[[]"))
            for pattern in self.applies_to
            for name in names
        )
        return is_meant and not self.is_expired(today)

    def is_expired(self, today: date) -> bool:
        """Whether its time is over."""
        return today > self.until


@dataclass(frozen=True, slots=True)
class PolicyHeader:
    """What is known of a policy before it is asked.

    `kinds` is empty for a policy of all kinds. Policies are asked by `order`, lowest first, then
    as they are written. `source` names the place it was found in: policies of one source follow
    each other as written. `is_legacy`: it is a policy class of Kafka's brokers, which sees less
    than others do, so that it needs an order beside others that decide the same.
    """

    name: str
    operations: frozenset[Operation]
    kinds: frozenset[str] = frozenset()
    level: Level = Level.HARD
    order: int = 0
    waivers: tuple[Waiver, ...] = ()
    source: str = ""
    declared_at: SourceRange | None = None
    description: str = ""
    is_legacy: bool = False

    def applies_to(self, operation: Operation, kind: str) -> bool:
        """Whether the policy is asked about the operation on objects of the kind."""
        return operation in self.operations and (not self.kinds or kind in self.kinds)


@dataclass(frozen=True, slots=True)
class Question:
    """One operation on one object, as policies see it.

    `requested` is the whole object as it will be, `current` as it is now; both are plain data
    under HCL attribute names, None where there is none, secrets left out. Topics have besides:
    `assignments`, `generated_replica_assignments`, `internal` and `topic_id`. `cluster` works its
    members out when asked for and raises `UnknownFactError` for what could not be read. `offsets`
    are those of a deletion of records, by partition. `sensitive` are paths in `requested`.
    `replay` says what logged requests would meet under the plan, None where no one asked.
    """

    operation: Operation
    kind: str
    identity: Identity
    requested: Mapping[str, object] | None
    current: Mapping[str, object] | None
    change: Mapping[str, object]
    cluster: Mapping[str, object]
    principal: str | None = None
    ci: Mapping[str, str] | None = None
    address: Address | None = None
    declared_at: SourceRange | None = None
    offsets: Mapping[int, int] = field(default_factory=dict)
    sensitive: frozenset[Path] = frozenset()
    replay: Mapping[str, object] | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """A rule that matched. `subject` is the rule, `values` its inputs."""

    effect: RuleEffect
    message: str
    hint: str = ""
    subject: SourceRange | None = None
    values: tuple[tuple[str, str], ...] = ()
    is_failure: bool = False
    """Whether the policy could not be computed: what it would have said is unknown."""


@dataclass(frozen=True, slots=True)
class RuleReference:
    """A rule of a policy, for the coverage of tests.

    An HCL rule is known by the place of its condition, a Python method by what it is asked about.
    """

    policy: str
    label: str
    place: SourceRange | None = None
    decision: tuple[Operation, str] | None = None


class Policy(Protocol):
    """Something that can be asked, written in HCL or Python."""

    @property
    def header(self) -> PolicyHeader:
        """What is known of it."""
        ...

    def evaluate(self, question: Question) -> Iterator[Finding]:
        """Judge one operation; failures of the policy are findings too."""
        ...

    def list_rules(self) -> tuple[RuleReference, ...]:
        """Name its rules."""
        ...

    def close(self) -> None:
        """Release resources; no more operations follow."""
        ...


@dataclass(frozen=True, slots=True)
class Violation:
    """What a policy said about a change, and the result of it.

    `reason` says who overrode or waived it and why. `diagnostic` tells it with its places.
    """

    policy: str
    operation: Operation
    kind: str
    identity: Identity
    effect: RuleEffect
    level: Level
    standing: ViolationStatus
    message: str
    diagnostic: Diagnostic
    reason: str = ""
    origin: RefusalOrigin = RefusalOrigin.POLICY
    provider: str = ""

    @property
    def key(self) -> tuple[str, Identity, str]:
        """The key of the object, as for a `Change`."""
        return self.kind, self.identity, self.provider
