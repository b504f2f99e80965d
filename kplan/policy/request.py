"""Arguments of Python policies: the requests and states of KIP-201."""

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from kplan.model.dataclass import dataclass
from kplan.model.policy import Question


@dataclass(frozen=True, slots=True)
class TopicState:
    """A topic. Replica assignments and configs are whole, whatever the operation touches."""

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
    """The cluster before the plan is carried out, and what the plan makes of its totals.

    `facts` has every member that `cluster` has in HCL policies: topics, acls, brokers, racks,
    size, totals, so_far, planned, and every kind by its name.
    """

    facts: Mapping[str, object]

    def topic_state(self, name: str) -> TopicState | None:
        """Return a topic as it stands, None where there is none."""
        found = self._topics().get(name)
        return None if found is None else _topic_state(found)

    def topics(
        self, *, include_internal: bool = False, include_marked_for_deletion: bool = False
    ) -> frozenset[str]:
        """Return the names of all topics; Kafka 4 deletes at once, so none is marked."""
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
        _topic_state(current) if is_topic and current is not None else current,
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


def _topic_state(found: Mapping[str, object]) -> TopicState:
    return TopicState(**_topic_attributes(found))


def _requested_topic_state(found: Mapping[str, object]) -> RequestedTopicState:
    generated = bool(found["generated_replica_assignments"])
    return RequestedTopicState(**_topic_attributes(found), generated_replica_assignments=generated)
