"""What policies can read: facts about the cluster, and the requests and states of KIP-201."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any

from kplan.cluster.request import Assignment
from kplan.cluster.topic import place_replicas
from kplan.kinds.schema import schema_fields, to_document
from kplan.kinds.topic_rules import Topic
from kplan.model.dataclass import dataclass
from kplan.model.errors import ClusterError
from kplan.model.policy import Question, UnknownFactError
from kplan.model.state import Broker, KindSnapshot, Snapshot

INTERNAL_TOPICS = frozenset({"__consumer_offsets", "__transaction_state", "__share_group_state"})
"""Topics that Kafka itself marks internal."""


def object_facts(
    value: object | None,
    brokers: Sequence[Broker],
    live: object | None = None,
    uid: str = "",
) -> Mapping[str, object] | None:
    """Write an object as policies see it: its attributes, without the secrets of its kind.

    A topic has its whole state (K201-03, K201-04). `live` is the live topic, if there is one:
    partitions that exist stay where they are. Assignments that are not declared are those
    that a generator would make, so that limits per broker can be checked.
    """
    if value is None:
        return None
    found: dict[str, object] = {
        **to_document(value),
        **{each.name: None for each in schema_fields(type(value)) if each.attribute.is_sensitive},
    }
    if isinstance(value, Topic):
        found |= _topic_state(value, brokers, live if isinstance(live, Topic) else None)
        found["topic_id"] = uid
    return found


def _topic_state(topic: Topic, brokers: Sequence[Broker], live: Topic | None) -> dict[str, object]:
    declared = topic.replica_assignment
    assignments = declared if declared is not None else _generated_assignment(topic, brokers, live)
    partitions, factor = topic.partitions, topic.replication_factor
    if assignments:
        partitions, factor = len(assignments), len(assignments[0])
    return {
        "partitions": partitions,
        "replication_factor": factor,
        "assignments": [list(each) for each in assignments],
        "generated_replica_assignments": declared is None or topic.is_generated,
        "internal": topic.name in INTERNAL_TOPICS,
    }


def _generated_assignment(
    topic: Topic, brokers: Sequence[Broker], live: Topic | None
) -> Assignment:
    partitions, factor = topic.partitions, topic.replication_factor
    held = () if live is None else live.replica_assignment or ()
    held = held if factor is None or not held or len(held[0]) == factor else ()
    wanted = partitions if partitions is not None else len(held)
    copies = factor if factor is not None else len(held[0]) if held else None
    if copies is None or not 0 < copies <= len(brokers):
        return held  # not known, or more than there are brokers: these will say so
    more = place_replicas(tuple(brokers), max(0, wanted - len(held)), copies, len(held))
    return (*held, *more)


_TOPIC = "kafka_topic"


@dataclass(frozen=True, slots=True)
class Totals:
    """The totals of resources that cost the cluster something."""

    partitions: int = 0
    replicas: int = 0
    objects: Mapping[str, int] = field(default_factory=dict)

    def add_change(self, kind: str, before: object | None, after: object | None) -> "Totals":
        """Count a change of one object."""
        grown = (after is not None) - (before is not None)
        counted = {**self.objects, kind: self.objects.get(kind, 0) + grown}
        partitions, replicas = (
            new - old for new, old in zip(_topic_size(after), _topic_size(before), strict=True)
        )
        return Totals(self.partitions + partitions, self.replicas + replicas, counted)

    def document(self) -> dict[str, object]:
        """Write the counts, those of objects under the names of their kinds too."""
        plain = {name.removeprefix("kafka_") + "s": count for name, count in self.objects.items()}
        return {**plain, "partitions": self.partitions, "replicas": self.replicas}


def _topic_size(value: object | None) -> tuple[int, int]:
    """Count partitions and replicas."""
    if not isinstance(value, Topic):
        return 0, 0
    if value.replica_assignment is not None:
        return len(value.replica_assignment), sum(map(len, value.replica_assignment))
    partitions = value.partitions or 1
    return partitions, partitions * (value.replication_factor or 1)


class ClusterFacts(Mapping[str, object]):
    """The cluster as `cluster` in a policy: one snapshot, so that all of it fits together.

    `topics`, `acls` and every kind by its name (`kafka_topic`): objects by identity. `brokers`,
    `racks`, `size`, `platform`: who runs the cluster, None where that is not known. `totals` counts
    what exists, `planned` what will be after the whole plan, `so_far` what will be after this
    change and those before it that were not refused (K201-16).

    A snapshot has the configs of declared topics only; `read_configs` reads those of the others
    when a policy asks for topics. Without it they are unknown.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        kinds: tuple[str, ...],
        read_configs: Callable[[], KindSnapshot] | None = None,
    ) -> None:
        self._snapshot = snapshot
        self._kinds = kinds
        self._read_configs = read_configs
        self._cache: dict[str, object] = {}
        self.totals = _snapshot_totals(snapshot)
        self.planned = self.totals
        self.so_far = self.totals
        self._builders: Mapping[str, Callable[[], object]] = {
            "brokers": lambda: [
                {"id": each.id, "host": each.host, "port": each.port, "rack": each.rack}
                for each in snapshot.brokers
            ],
            "racks": lambda: sorted({each.rack for each in snapshot.brokers if each.rack}),
            "platform": lambda: snapshot.platform or None,
            "size": lambda: len(snapshot.brokers),
            "topics": lambda: self[_TOPIC],
            "acls": lambda: list(self._objects("kafka_acl").values()),
            "totals": lambda: self._counts(self.totals),
            "planned": lambda: self._counts(self.planned),
        }

    def __getitem__(self, name: str) -> object:
        if name == "so_far":
            return self._counts(self.so_far)
        if name not in self._cache:
            if name in self._builders:
                self._cache[name] = self._builders[name]()
            elif name in self._kinds:
                self._cache[name] = self._objects(name)
            else:
                raise KeyError(name)
        return self._cache[name]

    def __iter__(self) -> Iterator[str]:
        yield from sorted({*self._builders, *self._kinds, "so_far"})

    def __len__(self) -> int:
        return len(self._builders) + len(self._kinds) + 1

    def _objects(self, kind: str) -> Mapping[str, object]:
        self._check_read(kind)
        brokers = self._snapshot.brokers
        reading = self._snapshot.readings[kind]
        if reading.partial:
            reading = self._complete(reading)
        return {
            identity: object_facts(live.value, brokers, live.value, live.uid)
            for identity, live in sorted(reading.objects.items())
        }

    def _complete(self, reading: KindSnapshot) -> KindSnapshot:
        """Read the configs of undeclared topics; raises UnknownFactError."""
        if self._read_configs is None:
            raise UnknownFactError(f"The configs of {len(reading.partial):,} topics were not read.")
        try:
            found = self._read_configs()
        except ClusterError as failure:
            raise UnknownFactError(
                f"The configs of {len(reading.partial):,} topics could not be read: "
                f"{failure.detail}"
            ) from None
        if refused := sorted(found.hidden.keys() - reading.hidden.keys()):
            raise UnknownFactError(
                f"The configs of {len(refused):,} topics could not be read, {refused[0]} for one: "
                f"{found.hidden[refused[0]]}."
            )
        return found

    def _counts(self, totals: Totals) -> object:
        self._check_read(_TOPIC)
        return totals.document()

    def _check_read(self, kind: str) -> None:
        if kind in self._snapshot.unread:
            why = self._snapshot.unread[kind].rstrip(".")
            raise UnknownFactError(f"{kind} objects could not be read: {why}.")
        if kind not in self._snapshot.readings:
            raise UnknownFactError(f"No {kind} is declared or owned here, so none was read.")


def _snapshot_totals(snapshot: Snapshot) -> Totals:
    sizes = [
        _topic_size(live.value)
        for reading in snapshot.readings.values()
        for live in reading.objects.values()
    ]
    return Totals(
        sum(partitions for partitions, _ in sizes),
        sum(replicas for _, replicas in sizes),
        {kind: len(reading.objects) for kind, reading in snapshot.readings.items()},
    )


@dataclass(frozen=True, slots=True)
class TopicState:
    """A topic. Replica assignments and configs are complete, whatever the operation changes."""

    name: str
    num_partitions: int | None
    replication_factor: int | None
    replicas_assignments: Mapping[int, list[int]]
    configs: Mapping[str, str]
    marked_for_deletion: bool = False
    internal: bool = False
    topic_id: str = ""


@dataclass(frozen=True, slots=True)
class RequestedTopicState(TopicState):
    """A topic as it is to be. Assignments that are not declared are those of a generator."""

    generated_replica_assignments: bool = True


@dataclass(frozen=True, slots=True)
class Request:
    """One operation on one object.

    `topic` is its name on the cluster, whatever its kind. States of topics are `TopicState`s,
    those of other kinds plain mappings of attributes. `deleted_message_offsets` maps partitions to
    the first offset that stays. `principal` is None where it is not known.
    """

    topic: str
    kind: str
    operation: str
    principal: str | None
    requested_state: TopicState | Mapping[str, object] | None
    current_state: TopicState | Mapping[str, object] | None
    change: Mapping[str, object]
    ci: Mapping[str, str] | None = None
    deleted_message_offsets: Mapping[int, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ClusterState:
    """The cluster before the plan is executed, and its totals afterwards.

    `facts` has every member that `cluster` has in HCL policies: topics, acls, brokers, racks,
    size, platform, totals, so_far, planned, and every kind by its name.
    """

    facts: Mapping[str, object]

    def topic_state(self, name: str) -> TopicState | None:
        """Return a topic as it is, None where there is none."""
        found = self._topics().get(name)
        return None if found is None else _request_topic_state(found)

    def topics(
        self, *, include_internal: bool = False, include_marked_for_deletion: bool = False
    ) -> frozenset[str]:
        """Return the names of all topics; Kafka 4 deletes at once, so none is marked as deleted."""
        del include_marked_for_deletion
        return frozenset(
            name
            for name, each in self._topics().items()
            if include_internal or not each["internal"]
        )

    def cluster_size(self) -> int:
        """Count the brokers."""
        found: int = self.facts["size"]  # type: ignore[assignment] # as ClusterFacts makes it
        return found

    def total(self, name: str) -> int:
        """Count with this change and those before it: `partitions`, `replicas`, `topics`."""
        found: Mapping[str, int] = self.facts["so_far"]  # type: ignore[assignment] # as above
        return found[name]

    def _topics(self) -> Mapping[str, Mapping[str, object]]:
        return self.facts["topics"]  # type: ignore[return-value] # as above


def build_request(question: Question) -> Request:
    """Put a question as a request."""
    is_topic = question.kind == "kafka_topic"
    requested, current = question.requested, question.current
    return Request(
        question.identity,
        question.kind,
        question.operation.value,
        question.principal,
        _requested_topic_state(requested) if is_topic and requested is not None else requested,
        _request_topic_state(current) if is_topic and current is not None else current,
        question.change,
        question.ci,
        question.offsets,
    )


def _topic_attributes(found: Mapping[str, object]) -> dict[str, Any]:
    assignments: list[list[int]] = found["assignments"]  # type: ignore[assignment] # facts of a topic
    return {
        "name": found["name"],
        "num_partitions": found["partitions"],
        "replication_factor": found["replication_factor"],
        "replicas_assignments": dict(enumerate(assignments)),
        "configs": found["config"],
        "internal": found["internal"],
        "topic_id": found["topic_id"],
    }


def _request_topic_state(found: Mapping[str, object]) -> TopicState:
    return TopicState(**_topic_attributes(found))


def _requested_topic_state(found: Mapping[str, object]) -> RequestedTopicState:
    generated = bool(found["generated_replica_assignments"])
    return RequestedTopicState(**_topic_attributes(found), generated_replica_assignments=generated)
