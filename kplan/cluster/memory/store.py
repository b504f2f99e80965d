"""Contents of the cluster in memory: objects and keyed records."""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import field, replace
from threading import RLock
from typing import Generic, TypeVar

from kplan.cluster.authorization import REQUIRED_OPERATIONS, missing_operation_message
from kplan.cluster.connect import Connector
from kplan.cluster.errors import CLIENT_DISCONNECTED, client_refusal, refusal
from kplan.cluster.memory.faults import Call, CallFaults, Faults, Item
from kplan.cluster.registry import RegisteredSchema
from kplan.cluster.request import AclBinding, Assignment, ItemResult
from kplan.cluster.settings import (
    DEFAULT_FEATURE_LEVELS,
    ConfigResource,
    DelegationToken,
    MissingApi,
    QuotaEntity,
    ScramUser,
)
from kplan.cluster.topology import (
    CURRENT_STATE,
    FIRST_OF_JOURNAL,
    Reassignment,
    StateTopic,
    UncertainWriteError,
)
from kplan.cluster.usage import GroupDescription, TopicPartition, TopicUse
from kplan.model.dataclass import dataclass
from kplan.model.errors import Refusal, UnreachableError
from kplan.model.state import Broker

ItemT = TypeVar("ItemT", bound=Item)
"""What names an item of a request."""

MAX_RECORDS = 10_000
"""What one request may write on the controller (Kafka: MAX_RECORDS_PER_USER_OP)."""


@dataclass(frozen=True, slots=True)
class StoredTopic:
    """A topic on the controller; `config` contains its own overrides only."""

    topic_id: str
    assignment: Assignment
    config: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StoredCredential:
    """A SCRAM credential with its password, which a real cluster stores salted."""

    iterations: int
    password: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Contents:
    """All objects at one moment. A write makes new contents, so that an old view stays as it was.

    `created_count` counts the topics ever created; topic ids follow from it. `reassignments` holds
    what is being moved, with how many lists it still takes; `leaders` those that came about by
    elections.
    """

    topics: Mapping[str, StoredTopic] = field(default_factory=dict)
    acls: frozenset[AclBinding] = frozenset()
    created_count: int = 0
    quotas: Mapping[QuotaEntity, Mapping[str, float]] = field(default_factory=dict)
    scram: Mapping[ScramUser, StoredCredential] = field(default_factory=dict)
    configs: Mapping[ConfigResource, Mapping[str, str]] = field(default_factory=dict)
    features: Mapping[str, int] = field(default_factory=lambda: dict(DEFAULT_FEATURE_LEVELS))
    reassignments: Mapping[TopicPartition, tuple[Reassignment, int]] = field(default_factory=dict)
    leaders: Mapping[TopicPartition, int] = field(default_factory=dict)
    schemas: Mapping[str, tuple[RegisteredSchema, ...]] = field(default_factory=dict)
    levels: Mapping[str, str] = field(default_factory=dict)
    deleted_versions: Mapping[str, int] = field(default_factory=dict)
    schema_count: int = 0
    connectors: Mapping[str, Connector] = field(default_factory=dict)
    connect_offsets: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class BrokerDefaults:
    """What the brokers give to a topic that does not say (KIP-464).

    `topic_configs` holds, under the names that topics use, the values that the brokers' own
    configuration files set.
    """

    partitions: int = 1
    replication_factor: int = 1
    topic_configs: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ClusterSetup:
    """Facts that do not change with objects. `fenced` brokers are registered but down."""

    cluster_id: str
    brokers: tuple[Broker, ...]
    defaults: BrokerDefaults = BrokerDefaults()
    fenced: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Response(Generic[ItemT]):
    """Contents after a request, were it to be executed, and the result of each item."""

    contents: Contents
    results: dict[ItemT, ItemResult]


def make_brokers(count: int, racks: tuple[str, ...] = ()) -> tuple[Broker, ...]:
    """Make brokers 1 to `count`; racks are dealt out in turn."""
    return tuple(
        Broker(each, "127.0.0.1", 9091 + each, racks[(each - 1) % len(racks)] if racks else "")
        for each in range(1, count + 1)
    )


@dataclass(slots=True)
class _BrokerView:
    """The view of one broker; `pending` maps the number of a read to the contents it shows."""

    contents: Contents
    reads: int = 0
    pending: list[tuple[int, Contents]] = field(default_factory=list)

    def read(self) -> Contents:
        due = [contents for at, contents in self.pending if at <= self.reads]
        self.pending = [each for each in self.pending if each[0] > self.reads]
        self.reads += 1
        self.contents = due[-1] if due else self.contents
        return self.contents


class ReadDelay:
    """For each lagging broker the contents it serves. A write shows after `reads` further reads."""

    def __init__(self, reads: int, brokers: Collection[int], contents: Contents) -> None:
        self._late_by = reads
        self._views = {broker: _BrokerView(contents) for broker in brokers}

    def record_write(self, contents: Contents) -> None:
        """Take note of an acknowledged write."""
        for view in self._views.values():
            view.pending.append((view.reads + self._late_by, contents))

    def read(self, broker: int, contents: Contents) -> Contents:
        """Return the contents that the broker serves now; without lag these are `contents`."""
        view = self._views.get(broker)
        return view.read() if view else contents


RequestT = TypeVar("RequestT")

CLUSTER_NAME = "kafka-cluster"
"""The name of the one resource of type CLUSTER."""


@dataclass(slots=True)
class Store:
    """The cluster itself, which several connections may share."""

    setup: ClusterSetup
    contents: Contents = field(default_factory=Contents)
    has_authorizer: bool = True
    delays: list[ReadDelay] = field(default_factory=list)
    topic_use: dict[str, TopicUse] = field(default_factory=dict)
    lists_per_reassignment: int = 1
    groups: set[str] = field(default_factory=set)
    described_groups: dict[str, GroupDescription] = field(default_factory=dict)
    voters: tuple[int, ...] = (101,)
    observers: tuple[int, ...] = ()
    silent_nodes: frozenset[int] = frozenset()
    tokens: dict[str, DelegationToken] = field(default_factory=dict)
    has_tokens: bool = True
    lock: RLock = field(default_factory=RLock)


class MemoryConnection(Faults):
    """One administrator's connection to a store, before it can be asked anything."""

    def __init__(
        self,
        brokers: int | Sequence[Broker] = 3,
        *,
        defaults: BrokerDefaults | None = None,
        cluster_id: str = "bWVtb3J5LWNsdXN0ZXItMQ",
        principal: str = "User:kplan",
        store: Store | None = None,
    ) -> None:
        super().__init__()
        nodes = make_brokers(brokers) if isinstance(brokers, int) else tuple(brokers)
        site = ClusterSetup(cluster_id, nodes, defaults or BrokerDefaults())
        self._store = store or Store(site)
        self._principal = principal
        self._denied: set[tuple[str, str, str]] = set()
        self._hidden: set[str] = set()
        self._lag: ReadDelay | None = None
        self._lacking: dict[str, MissingApi] = {}
        self.is_closed = False

    def _read(self, call: Call) -> tuple[Contents, CallFaults]:
        self._record_call(call)
        with self._store.lock:
            broker = self._choose_broker(call.broker)
            faults = self._match_faults(call)
            if faults.lost_response is not None:
                raise UnreachableError(str(faults.lost_response))
            contents = self._store.contents
            return self._lag.read(broker, contents) if self._lag else contents, faults

    def _choose_broker(self, broker: int | None) -> int:
        site = self._store.setup
        up = [each.id for each in site.brokers if each.id not in site.fenced]
        if not up or (broker is not None and broker not in up):
            whom = "The cluster" if broker is None else f"Broker {broker}"
            raise UnreachableError(f"{whom} does not answer.")
        return up[0] if broker is None else broker

    def _write(
        self,
        call: Call,
        keyed: Sequence[tuple[ItemT, RequestT]],
        request: Callable[[Contents, Sequence[RequestT]], Response[ItemT]],
    ) -> Response[ItemT]:
        self._record_call(call)
        with self._store.lock:
            before = self._store.contents
            if len(self._store.setup.fenced) == len(self._store.setup.brokers):
                lost = client_refusal(CLIENT_DISCONNECTED)
                return Response(before, {key: lost for key, _ in keyed})
            faults = self._match_faults(call)
            refused: dict[Item, Refusal] = dict(faults.refused)
            refused.update(
                (key, found) for key, _ in keyed if (found := self._check_right(call, key))
            )
            fine = [item for key, item in keyed if key not in refused]
            answer = request(before, fine)
            if faults.is_applied and not call.validate_only:
                self._commit(answer.contents)
            results: dict[ItemT, ItemResult] = {
                key: faults.lost_response or refused.get(key) or answer.results[key]
                for key, _ in keyed
                if key not in faults.unanswered
            }
            return Response(answer.contents, results)

    def _commit(self, contents: Contents) -> None:
        self._store.contents = contents
        for lag in self._store.delays:
            lag.record_write(contents)

    def _check_right(self, call: Call, item: Item) -> Refusal | None:
        if call.method not in REQUIRED_OPERATIONS:
            return None  # what services beside the brokers allow is not for brokers to say
        operation, resource_type = REQUIRED_OPERATIONS[call.method]
        if resource_type == "TOPIC":
            rights = {(operation, "TOPIC", "*"), (operation, "TOPIC", str(item))}
            is_denied = item in self._hidden or bool(rights & self._denied)
            return refusal(29, self._missing_message(call, item)) if is_denied else None
        if not self._store.has_authorizer:
            return refusal(54, "No Authorizer is configured.")
        if (operation, "CLUSTER", "*") in self._denied:
            return refusal(31, self._missing_message(call, item))
        return None

    def _missing_message(self, call: Call, item: Item) -> str:
        return missing_operation_message(self._principal, call.method, item)


def apply_faults(
    found: Mapping[ItemT, RequestT | Refusal], faults: CallFaults
) -> Mapping[ItemT, RequestT | Refusal]:
    """Lay the faults over an answer; a fault that names no item strikes all of them."""
    whole = faults.refused.get("")
    return {
        name: faults.refused.get(name) or whole or each
        for name, each in found.items()
        if name not in faults.unanswered and "" not in faults.unanswered
    }


@dataclass(slots=True)
class RecordLog:
    """The records themselves. `last_writer` counts claims: only the last one may write."""

    records: dict[str, bytes] | None = None
    last_writer: int = 0
    writes: list[Mapping[str, bytes | None]] = field(default_factory=list)


class MemoryRecords:
    """One writer's access to records in memory; `kept.writes` has every write in order."""

    def __init__(
        self, record_log: RecordLog | None = None, state_topic: StateTopic | None = None
    ) -> None:
        self.log = record_log or RecordLog()
        self.state_topic = state_topic or StateTopic()
        self.is_closed = False
        self.others: dict[str, RecordLog] = {}
        self._writer = 0
        self._lost: list[bool] = []
        self._meanwhile: list[Callable[[], object]] = []

    @property
    def location(self) -> str:
        """The topic and the key."""
        return str(self.state_topic)

    @property
    def key(self) -> str:
        """The key of this state."""
        return self.state_topic.key

    def list_keys(self) -> tuple[str, ...]:
        """List the keys of the states that exist."""
        logs = {self.key: self.log, **self.others}
        marks = {CURRENT_STATE, FIRST_OF_JOURNAL}
        return tuple(key for key, log in logs.items() if marks & (log.records or {}).keys())

    def beside(self, key: str) -> "MemoryRecords":
        """Return another state, which does not know this one."""
        log = self.others.setdefault(key, RecordLog())
        return MemoryRecords(log, replace(self.state_topic, key=key))

    def connect(self) -> "MemoryRecords":
        """Return another writer access to the same records."""
        return MemoryRecords(self.log, self.state_topic)

    def lose_next_response(self, *, is_written: bool) -> None:
        """Let the next write end without an answer, executed or not."""
        self._lost.append(is_written)

    def run_before_write(self, action: Callable[[], object]) -> None:
        """Let something happen right before the next write."""
        self._meanwhile.append(action)

    def peek(self) -> Mapping[str, bytes] | None:
        """Return the committed records."""
        return None if self.log.records is None else dict(self.log.records)

    def read(self) -> Mapping[str, bytes] | None:
        """Return the committed records."""
        return self.peek()

    def claim(self) -> Mapping[str, bytes]:
        """Become the only writer."""
        self.log.records = self.log.records or {}
        self.log.last_writer += 1
        self._writer = self.log.last_writer
        self.is_closed = False
        return dict(self.log.records)

    def write(self, changes: Mapping[str, bytes | None]) -> None:
        """Put and remove records; raises UncertainWriteError."""
        while self._meanwhile:
            self._meanwhile.pop(0)()
        if self._writer != self.log.last_writer or self.log.records is None:
            raise UncertainWriteError("another writer came between")
        is_lost = bool(self._lost)
        if not is_lost or self._lost.pop(0):
            self.log.writes.append(dict(changes))
            merged = {**self.log.records, **changes}
            self.log.records = {name: each for name, each in merged.items() if each is not None}
        if is_lost:
            self._writer = 0
            raise UncertainWriteError("no answer came")

    def without_retries(self) -> AbstractContextManager[None]:
        """Change nothing: memory is never away."""
        return nullcontext()

    def close(self) -> None:
        """Record that the lock is released."""
        self.is_closed = True
        self._writer = 0
