"""A plan: inert data that describes what apply will do."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import field, replace
from enum import StrEnum
from itertools import groupby
from operator import attrgetter

from kplan.model.address import Address
from kplan.model.dataclass import dataclass
from kplan.model.diagnostic import Diagnostic, SourceRange, sort_diagnostics, stopping_errors
from kplan.model.impact import AccessDiff, Impact
from kplan.model.policy import RuleEffect, Violation, ViolationStatus
from kplan.model.resource import Identity, Path, connection_name


class Action(StrEnum):
    """What happens to an object. FORGET drops it from the state and leaves the cluster alone."""

    CREATE = "create"
    UPDATE = "update"
    REPLACE = "replace"
    DELETE = "delete"
    FORGET = "forget"
    NO_OP = "no-op"

    @property
    def symbol(self) -> str:
        """The mark in the text plan."""
        return _SYMBOLS[self]


_SYMBOLS: Mapping[Action, str] = {
    Action.CREATE: "+",
    Action.UPDATE: "~",
    Action.REPLACE: "-/+",
    Action.DELETE: "-",
    Action.FORGET: ".",
    Action.NO_OP: " ",
}


class Risk(StrEnum):
    """How much a reviewer should worry; UNKNOWN where the facts could not be read."""

    SAFE = "safe"
    REVIEW = "review"
    DANGEROUS = "dangerous"
    UNKNOWN = "unknown"


class Reason(StrEnum):
    """Why a change is planned, in the same words in text and JSON."""

    NONE = ""
    ADOPTED = "it already exists on the cluster and is equal: it will be adopted"
    ADOPTED_AND_CHANGED = "it already exists on the cluster: it will be adopted and changed"
    DELETED_OUTSIDE = "it was deleted outside of kplan"
    RECREATED_OUTSIDE = "it was deleted and created again outside of kplan"
    NOT_DECLARED = "it is not in configuration"
    INSTANCE_GONE = "its key or index is not in configuration"
    WRONG_REPETITION = "its resource uses count or for_each otherwise"
    DESTROY = "everything is to be destroyed"
    ALREADY_DELETED = "it no longer exists on the cluster"
    NOT_DELETABLE = "it is not in configuration; Kafka cannot delete it, so it is only forgotten"
    DESTROY_KEPT = "Kafka cannot delete it, so it is only forgotten"
    REMOVED = "a removed block keeps it on the cluster"
    IMPORTED = "an import block takes it over"
    IMPORTED_AND_CHANGED = "an import block takes it over, and it will be changed"
    MOVED = "its address changed"
    IDENTITY_CHANGED = "one of the attributes that name it changed"
    REPLACE_OPTION = "-replace was given"
    PROTECTION = "its prevent_destroy changed"
    SENSITIVITY = "other values of it are sensitive than before"
    DECLARATIONS = "other resources declare it than before"

    @property
    def is_import(self) -> bool:
        """Whether an import block is the reason."""
        return self in {Reason.IMPORTED, Reason.IMPORTED_AND_CHANGED}


_ADOPTIONS = frozenset({Reason.ADOPTED, Reason.ADOPTED_AND_CHANGED})
STATE_ONLY_REASONS = frozenset({Reason.PROTECTION, Reason.SENSITIVITY, Reason.DECLARATIONS})
_QUIET = STATE_ONLY_REASONS | {Reason.ADOPTED, Reason.MOVED, Reason.RECREATED_OUTSIDE}

ObjectKey = tuple[str, Identity, str]
"""What tells objects apart: kind, identity, and the key of the connection to their cluster."""


@dataclass(frozen=True, slots=True)
class AttributeChange:
    """One attribute, before and after; None where it is absent. `sensitive` hides both values."""

    path: Path
    before: object
    after: object
    forces_replacement: bool = False
    sensitive: bool = False
    note: str = ""


@dataclass(frozen=True, slots=True)
class Change:
    """One action on one object.

    `before` is None exactly for CREATE, `after` exactly for DELETE and FORGET. For REPLACE the
    identity is that of `after`. `uid` is the topic id that the plan saw, "" where there is none:
    apply touches no other incarnation. `previous` is the address before a move, `others` are the
    further addresses that declare the object, or declared it before it goes. With `adds_first`
    what goes is deleted after what comes is there. `impact` says what is destroyed, where that was
    inspected. `provider` is the key of the connection to its cluster, as in `Resource`.
    `was_declared_at` is the `file:line` that the state remembers of what is not declared any more.
    """

    address: Address
    kind: str
    identity: Identity
    action: Action
    before: object | None
    after: object | None
    attributes: tuple[AttributeChange, ...] = ()
    reason: Reason = Reason.NONE
    uid: str = ""
    declared_at: SourceRange | None = None
    is_protected: bool = False
    previous: Address | None = None
    risk: Risk = Risk.SAFE
    notes: tuple[str, ...] = ()
    sensitive: frozenset[Path] = frozenset()
    adds_first: bool = False
    impact: Impact | None = None
    provider: str = ""
    was_declared_at: str = ""
    others: tuple[Address, ...] = ()

    @property
    def addresses(self) -> tuple[Address, ...]:
        """List the addresses that declare the object, the one it is planned at first."""
        return (self.address, *self.others)

    @property
    def key(self) -> ObjectKey:
        """The key of the object; an address can hold an old one and a new one."""
        return self.kind, self.identity, self.provider

    @property
    def touches_cluster(self) -> bool:
        """Whether apply sends a request for this change."""
        return self.action not in {Action.NO_OP, Action.FORGET}

    @property
    def is_counted(self) -> bool:
        """Whether a plan with it is not empty: it acts, imports or moves, as Terraform counts."""
        is_noted = self.reason.is_import or self.reason is Reason.MOVED
        return self.action is not Action.NO_OP or is_noted

    @property
    def is_recreated(self) -> bool:
        """Whether an object with an id is deleted and created again: its data is lost."""
        return self.action is Action.REPLACE and bool(self.uid)


@dataclass(frozen=True, slots=True, order=True)
class Step:
    """One type of admin request, with its place in the global order (lower comes first)."""

    rank: int
    name: str


@dataclass(frozen=True, slots=True)
class Batch:
    """What one admin request carries: one step for many changes of one kind on one cluster."""

    kind: str
    step: Step
    changes: tuple[Change, ...]
    provider: str = ""


@dataclass(frozen=True, slots=True)
class OutputChange:
    """An output value before (from state) and after (from configuration).

    With `is_unknown` the value after is known when the changes have been applied.
    """

    name: str
    action: Action
    before: object | None
    after: object | None
    is_sensitive: bool = False
    is_unknown: bool = False


@dataclass(frozen=True, slots=True)
class PlanBasis:
    """The evidence the plan is on; apply refuses when one of these moved.

    `cluster_id` is that of the connection without alias, `clusters` has those of the others by key.
    """

    config_digest: str
    lineage: str
    serial: int
    cluster_id: str
    clusters: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class BrokerTransfer:
    """What moves of replicas bring to a broker, and take away from it, in bytes.

    None is what could not be read, never zero.
    """

    broker: int
    gains: int | None
    loses: int | None
    provider: str = ""


@dataclass(frozen=True, slots=True)
class Replay:
    """What the requests of authorizer logs would meet under a plan.

    `denied` were allowed and would not be, None where it is not known; `allowed` is the reverse.
    `requests` is the number of those compared, `since` the day of the first one (ISO 8601, "" where
    there is none). `principals` are those of the denied ones with their numbers, most first.
    """

    denied: int | None
    allowed: int
    requests: int = 0
    since: str = ""
    principals: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class PolicySource:
    """A place policies were loaded from: its path as given, and a digest of its files.

    `digest` is "" for an installed policy, which is no file.
    """

    path: str
    digest: str = ""


@dataclass(frozen=True, slots=True)
class Plan:
    """What apply will do, and in which order: `batches` *are* the order.

    `changes` holds every owned or declared object once, NO_OP included, in display order.
    `is_complete` is False when targets or unread kinds narrowed the plan, or with `is_resumed`,
    which finishes an interrupted apply. `is_destroy`: all that is owned was to go. `digest`
    identifies the plan for its approval, `checksum` is its short form. `cluster` says what the
    cluster is; with others than that of the connection without alias, `clusters` says so by key.
    `violations` is what policies said; what they refuse is among the changes, not in the batches.
    `access` says who gains and loses what, None where no ACL changes. `moves` sums up what moves
    of replicas mean for each broker. `policy_sources` are those beside the configuration's own;
    `policy_principal` is the principal they evaluated it for where that is not the one connected.
    `replay` compares it with logged requests. `stale_count` changes of a saved plan are left out.
    `has_journal`: an interrupted apply comes before it, with which a state begins if there is none.
    """

    based_on: PlanBasis
    changes: tuple[Change, ...]
    batches: tuple[Batch, ...]
    drift: tuple[Change, ...] = ()
    outputs: tuple[OutputChange, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    unread: Mapping[str, str] = field(default_factory=dict)
    is_complete: bool = True
    checksum: str = ""
    digest: str = ""
    cluster: Mapping[str, str] = field(default_factory=dict)
    created_at: str = ""
    clusters: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    violations: tuple[Violation, ...] = ()
    access: AccessDiff | None = None
    moves: tuple[BrokerTransfer, ...] = ()
    policy_sources: tuple[PolicySource, ...] = ()
    policy_principal: str = ""
    replay: Replay | None = None
    is_resumed: bool = False
    is_destroy: bool = False
    stale_count: int = 0
    has_journal: bool = False

    @property
    def refused_keys(self) -> frozenset[ObjectKey]:
        """Name the objects whose change is refused by a policy."""
        return frozenset(
            each.key for each in self.violations if each.standing is ViolationStatus.REFUSED
        )

    @property
    def allowed_changes(self) -> tuple[Change, ...]:
        """List the changes that no policy refuses."""
        refused = self.refused_keys
        if not refused:
            return self.changes
        return tuple(each for each in self.changes if each.key not in refused)

    @property
    def all_diagnostics(self) -> tuple[Diagnostic, ...]:
        """List everything to report: diagnostics and violations of policies."""
        said = (each.diagnostic for each in self.violations if each.effect is not RuleEffect.ADVISE)
        return sort_diagnostics([*self.diagnostics, *said])

    @property
    def cluster_name(self) -> str:
        """Name the cluster, or all of them: its name, otherwise alias, otherwise address."""
        if self.clusters:
            return ", ".join(
                each.get("name") or connection_name(key) for key, each in self.clusters.items()
            )
        found = self.cluster
        return found.get("name") or found.get("at") or self.based_on.cluster_id or "unknown"

    @property
    def cluster_label(self) -> str:
        """Name the cluster in time series: its name, otherwise its id, which never changes."""
        if self.clusters:
            return self.cluster_name
        return self.cluster.get("name") or self.based_on.cluster_id

    def split_by_provider(self) -> "Iterator[tuple[str, Plan]]":
        """Split the batches by connection, in order: the requests to each cluster."""
        for provider, batches in groupby(self.batches, key=attrgetter("provider")):
            yield provider, replace(self, batches=tuple(batches))

    def map_changes(self, made: Callable[[Change], Change]) -> "Plan":
        """Replace each change, among the changes and in the batches."""
        found = {each.key: made(each) for each in self.changes}
        return replace(
            self,
            changes=tuple(found[each.key] for each in self.changes),
            batches=tuple(
                replace(batch, changes=tuple(found[each.key] for each in batch.changes))
                for batch in self.batches
            ),
        )

    @property
    def has_errors(self) -> bool:
        """Whether a diagnostic forbids to apply the plan."""
        return bool(stopping_errors(self.diagnostics))

    @property
    def has_changes(self) -> bool:
        """Whether apply would change cluster, ownership or outputs."""
        return any(change.is_counted for change in self.allowed_changes) or any(
            output.action is not Action.NO_OP for output in self.outputs
        )

    @property
    def has_adoptions(self) -> bool:
        """Whether apply would take ownership of equal objects, or note the outcome of others."""
        return any(change.reason in _QUIET for change in self.changes)

    @property
    def declared_drift(self) -> tuple[Change, ...]:
        """The changes made outside of kplan that configuration has by now.

        There is nothing to do about them but to note them in the state: drift would stay for ever.
        """
        equal = {each.key for each in self.changes if each.action is Action.NO_OP}
        return tuple(
            each for each in self.drift if each.action is Action.UPDATE and each.key in equal
        )

    @property
    def lacks_state(self) -> bool:
        """Whether there is no state where declared objects are live, or all owned is to go."""
        is_empty = not self.changes and not self.outputs and not self.has_errors
        is_new = self.based_on.serial == 0 and not self.has_journal
        return is_new and (is_empty or self.adoption_count > 0)

    @property
    def adoption_count(self) -> int:
        """The number of live objects that apply would own without an import block."""
        return sum(1 for each in self.changes if each.reason in _ADOPTIONS)

    @property
    def is_applyable(self) -> bool:
        """Whether apply may run and has something to do."""
        is_news = self.has_changes or self.has_adoptions or bool(self.declared_drift)
        return not self.has_errors and is_news

    def count(self, *actions: Action) -> int:
        """Count the changes with one of the actions, without those that are refused."""
        return sum(1 for change in self.allowed_changes if change.action in actions)

    @property
    def import_count(self) -> int:
        """Count the objects that import blocks take over."""
        return sum(1 for change in self.changes if change.reason.is_import)
