"""Partition reassignments, leader elections and replica sizes (KIP-455, KIP-460)."""

from collections import defaultdict
from collections.abc import Collection, Mapping

from kplan.cluster.request import ItemResult
from kplan.cluster.threads import DaemonThreads
from kplan.cluster.topology import ElectionType, Reassignment, TargetReplicas
from kplan.cluster.usage import TopicPartition
from kplan.kafka.settings.connection import Endpoint
from kplan.kafka.wire import cluster
from kplan.kafka.wire import messages as apis
from kplan.kafka.wire.gateway import Gateway
from kplan.kafka.wire.messages import DESCRIBE_LOG_DIRS, Message, item_result, unread_error
from kplan.kafka.wire.metadata import read_topics as described
from kplan.model.errors import Refusal, UnreachableError


def list_reassignments(
    gateway: Gateway, partitions: Collection[TopicPartition] | None
) -> Mapping[TopicPartition, Reassignment]:
    """List the ongoing reassignments; raises UnreadableError."""
    if partitions is not None and not partitions:
        return {}
    part = apis.LIST_REASSIGNMENTS.request.ListPartitionReassignmentsTopics
    topics = None
    if partitions is not None:
        topics = [
            part(name=name, partition_indexes=numbers)
            for name, numbers in _group_by_topic(partitions).items()
        ]
    answer = gateway.ask_controller(
        apis.LIST_REASSIGNMENTS, apis.LIST_REASSIGNMENTS.request(topics=topics)
    )
    if answer.error_code:
        raise unread_error(
            "Reassignments", answer.error_code, answer.error_message, "reassignments"
        )
    return {
        (topic.name, each.partition_index): Reassignment(
            tuple(each.replicas), tuple(each.adding_replicas), tuple(each.removing_replicas)
        )
        for topic in sorted(answer.topics, key=lambda topic: str(topic.name))
        for each in sorted(topic.partitions, key=lambda each: int(each.partition_index))
    }


def reassign(gateway: Gateway, targets: TargetReplicas) -> Mapping[TopicPartition, ItemResult]:
    """Begin to move replicas in one request."""
    part = apis.ALTER_REASSIGNMENTS.request.ReassignableTopic
    topics = [
        part(
            name=name,
            partitions=[
                part.ReassignablePartition(
                    partition_index=number, replicas=_replica_list(targets[name, number])
                )
                for number in numbers
            ],
        )
        for name, numbers in _group_by_topic(targets).items()
    ]
    request = apis.ALTER_REASSIGNMENTS.request(
        topics=topics, timeout_ms=gateway.operation_timeout_ms
    )
    answer = gateway.send(apis.ALTER_REASSIGNMENTS, request)
    if isinstance(answer, Refusal):
        return dict.fromkeys(targets, answer)
    whole = item_result(
        answer.error_code, answer.error_message, throttle_ms=answer.throttle_time_ms
    )
    if whole is not None:
        return dict.fromkeys(targets, whole)
    return {
        (topic.name, each.partition_index): item_result(
            each.error_code, each.error_message, throttle_ms=answer.throttle_time_ms
        )
        for topic in answer.responses
        for each in topic.partitions
    }


def elect_leaders(
    gateway: Gateway, partitions: Collection[TopicPartition] | None, election: ElectionType
) -> Mapping[TopicPartition, ItemResult]:
    """Elect leaders in one request."""
    part = apis.ELECT_LEADERS.request.TopicPartitions
    wanted = None
    if partitions is not None:
        wanted = [
            part(topic=name, partitions=numbers)
            for name, numbers in _group_by_topic(partitions).items()
        ]
    request = apis.ELECT_LEADERS.request(
        election_type=election.value,
        topic_partitions=wanted,
        timeout_ms=gateway.operation_timeout_ms,
    )
    answer = gateway.send(apis.ELECT_LEADERS, request)
    if isinstance(answer, Refusal):
        return dict.fromkeys(partitions or (("", -1),), answer)
    if whole := item_result(answer.error_code, None, throttle_ms=answer.throttle_time_ms):
        return dict.fromkeys(partitions or (("", -1),), whole)
    return {
        (topic.topic, each.partition_id): item_result(each.error_code, each.error_message)
        for topic in answer.replica_election_results
        for each in topic.partition_result
    }


def read_replica_sizes(
    gateway: Gateway, topics: Collection[str]
) -> Mapping[TopicPartition, Mapping[int, int]]:
    """Query every broker for its replicas of the topics; raises UnreadableError."""
    (_, live, _), _ = cluster.describe_cluster(gateway)
    numbers = _partition_numbers(gateway, topics)
    part = DESCRIBE_LOG_DIRS.request.DescribableLogDirTopic
    wanted = [part(topic=name, partitions=found) for name, found in numbers.items()]

    def ask_broker(at: Endpoint) -> Message | None:
        try:
            return gateway.ask(DESCRIBE_LOG_DIRS, DESCRIBE_LOG_DIRS.request(topics=wanted), at=at)
        except UnreachableError:
            return None

    with DaemonThreads(len(live), "sizes") as threads:
        answers = list(threads.map(ask_broker, (Endpoint(each.host, each.port) for each in live)))
    sizes: dict[TopicPartition, dict[int, int]] = defaultdict(dict)
    for broker, answer in zip(live, answers, strict=True):
        for (name, number), held in _partition_sizes(answer).items():
            sizes[name, number][broker.id] = held
    return {key: sizes[key] for key in sorted(sizes)}


def _partition_sizes(answer: Message | None) -> Mapping[TopicPartition, int]:
    if answer is None:
        return {}
    codes = {each.error_code for each in answer.results} | {getattr(answer, "error_code", 0) or 0}
    if code := max(codes, default=0):
        raise unread_error("Sizes of replicas", code, None, "replica_sizes")
    return {
        (topic.name, each.partition_index): each.partition_size
        for folder in answer.results
        for topic in folder.topics
        for each in topic.partitions
        if not each.is_future_key
    }


def _partition_numbers(gateway: Gateway, topics: Collection[str]) -> Mapping[str, list[int]]:
    return {
        name: list(range(len(found.assignment)))
        for name, found in described(gateway, topics, None).items()
        if not isinstance(found, Refusal)
    }


def _group_by_topic(partitions: Collection[TopicPartition]) -> Mapping[str, list[int]]:
    found: dict[str, list[int]] = defaultdict(list)
    for name, number in sorted(partitions):
        found[name].append(number)
    return found


def _replica_list(replicas: tuple[int, ...] | None) -> list[int] | None:
    return None if replicas is None else list(replicas)
