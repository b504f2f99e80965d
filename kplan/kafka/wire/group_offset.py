"""Offsets of groups: look up, commit and delete them, and delete whole groups."""

import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping

from kplan.cluster.errors import CLIENT_DISCONNECTED, client_refusal
from kplan.cluster.request import ItemResult
from kplan.cluster.threads import DaemonThreads
from kplan.cluster.usage import TopicPartition
from kplan.kafka.settings.connection import Endpoint
from kplan.kafka.wire.connection import Connection
from kplan.kafka.wire.gateway import RETRY_PAUSE_S, Gateway
from kplan.kafka.wire.group import coordinators
from kplan.kafka.wire.messages import Message, broker_refusal, define_api, item_result
from kplan.kafka.wire.metadata import find_leaders
from kplan.kafka.wire.record import LIST_OFFSETS
from kplan.kafka.wire.transport import Deadline
from kplan.model.errors import ClusterError, Refusal

# Version 10 asks by topic id.
OFFSET_COMMIT = define_api("OffsetCommit", 8, range(2, 10), "consumer.group")
OFFSET_DELETE = define_api("OffsetDelete", 47, range(1), "consumer.group")
DELETE_GROUPS = define_api("DeleteGroups", 42, range(3), "admin.groups")
FIND_COORDINATOR = define_api("FindCoordinator", 10, range(1, 7), "metadata.find_coordinator")

_FIRST_BATCHED_VERSION = 4
_UNKNOWN_TOPIC_OR_PARTITION, _LEADER_NOT_AVAILABLE = 3, 5
_NOT_YET_CODES = frozenset({14, 15, 16})
"""The coordinator loads, is being chosen, or has moved: nothing was done."""

PartitionResults = Mapping[TopicPartition, ItemResult]


def read_partition_offsets(
    gateway: Gateway, times: Mapping[TopicPartition, int]
) -> Mapping[TopicPartition, int | Refusal]:
    """Look up one offset of each partition at its leader (ListOffsets)."""
    led = find_leaders(gateway, {name for name, _ in times})
    found: dict[TopicPartition, int | Refusal] = {}
    for key in times:
        if key[0] in led.refusals:
            found[key] = led.refusals[key[0]]
        elif key[1] not in led.partitions.get(key[0], ()):
            found[key] = broker_refusal(_UNKNOWN_TOPIC_OR_PARTITION, None)
        elif key in led.leaderless:
            found[key] = broker_refusal(_LEADER_NOT_AVAILABLE, None)
    asked = {
        at: [(name, each) for name, numbers in topics.items() for each in numbers]
        for at, topics in led.by_broker.items()
    }

    def ask(at: Endpoint) -> Mapping[TopicPartition, int | Refusal]:
        return _offsets_at(gateway, at, {key: times[key] for key in asked[at] if key in times})

    with DaemonThreads(len(asked), "offsets") as threads:
        for each in threads.map(ask, asked):
            found |= each
    return {key: found[key] for key in sorted(times) if key in found}


def _offsets_at(
    gateway: Gateway, at: Endpoint, times: Mapping[TopicPartition, int]
) -> Mapping[TopicPartition, int | Refusal]:
    if not times:
        return {}
    part = LIST_OFFSETS.request.ListOffsetsTopic
    topics = [
        part(
            name=name,
            partitions=[
                part.ListOffsetsPartition(partition_index=number, timestamp=times[name, number])
                for number in numbers
            ],
        )
        for name, numbers in _by_topic(times).items()
    ]
    try:
        answer = gateway.ask(LIST_OFFSETS, LIST_OFFSETS.request(topics=topics), at=at)
    except ClusterError as failure:
        return dict.fromkeys(times, client_refusal(CLIENT_DISCONNECTED, failure.detail))
    return {
        (topic.name, each.partition_index): broker_refusal(each.error_code, None)
        if each.error_code
        else each.offset
        for topic in answer.topics
        for each in topic.partitions
    }


def commit_offsets(
    gateway: Gateway, group: str, offsets: Mapping[TopicPartition, int]
) -> PartitionResults:
    """Commit offsets as no member of the group does: a broker refuses it while it has members."""
    part = OFFSET_COMMIT.request.OffsetCommitRequestTopic
    row = part.OffsetCommitRequestPartition
    topics = [
        part(
            name=name,
            partitions=[
                row(
                    partition_index=number,
                    committed_offset=offsets[name, number],
                    committed_metadata="",
                )
                for number in numbers
            ],
        )
        for name, numbers in _by_topic(offsets).items()
    ]
    request = OFFSET_COMMIT.request(group_id=group, member_id="", topics=topics)

    def ask(at: Endpoint) -> PartitionResults:
        answer = gateway.send(OFFSET_COMMIT, request, at=at)
        if isinstance(answer, Refusal):
            return dict.fromkeys(offsets, answer)
        return _partition_results(answer)

    return _at_coordinator(gateway, group, offsets, ask)


def delete_offsets(
    gateway: Gateway, group: str, partitions: Collection[TopicPartition]
) -> PartitionResults:
    """Delete committed offsets; the broker refuses topics that members subscribe to."""
    part = OFFSET_DELETE.request.OffsetDeleteRequestTopic
    topics = [
        part(
            name=name,
            partitions=[
                part.OffsetDeleteRequestPartition(partition_index=number) for number in numbers
            ],
        )
        for name, numbers in _by_topic(partitions).items()
    ]
    request = OFFSET_DELETE.request(group_id=group, topics=topics)

    def ask(at: Endpoint) -> PartitionResults:
        answer = gateway.send(OFFSET_DELETE, request, at=at)
        if isinstance(answer, Refusal):
            return dict.fromkeys(partitions, answer)
        if answer.error_code:
            return dict.fromkeys(partitions, broker_refusal(answer.error_code, None))
        return _partition_results(answer)

    return _at_coordinator(gateway, group, partitions, ask)


def delete_groups(gateway: Gateway, names: Collection[str]) -> Mapping[str, ItemResult]:
    """Delete groups, in one request to each broker that coordinates some of them."""
    homes, absent = coordinators(gateway, names)
    found: dict[str, ItemResult] = dict.fromkeys(set(names) - homes.keys(), absent)
    for at in sorted(set(homes.values()), key=str):
        mine = sorted(name for name, home in homes.items() if home == at)
        answer = gateway.send(DELETE_GROUPS, DELETE_GROUPS.request(groups_names=mine), at=at)
        if isinstance(answer, Refusal):
            found |= dict.fromkeys(mine, answer)
        else:
            found |= {each.group_id: item_result(each.error_code, None) for each in answer.results}
    return {name: found[name] for name in sorted(names) if name in found}


def _partition_results(answer: Message) -> PartitionResults:
    return {
        (topic.name, each.partition_index): item_result(each.error_code, None)
        for topic in answer.topics
        for each in topic.partitions
    }


def _at_coordinator(
    gateway: Gateway,
    group: str,
    partitions: Collection[TopicPartition],
    ask: Callable[[Endpoint], PartitionResults],
) -> PartitionResults:
    """Ask the coordinator of a group, again while there is none that does anything."""
    if not partitions:
        return {}
    deadline = Deadline.after(gateway.operation_timeout_ms / 1000)
    while True:
        try:
            home = _find_coordinator(gateway, group)
        except ClusterError as failure:
            lost = client_refusal(CLIENT_DISCONNECTED, f"Nothing was sent. {failure.detail}")
            return dict.fromkeys(partitions, lost)
        found = dict.fromkeys(partitions, home) if isinstance(home, Refusal) else ask(home)
        codes = {each.code if isinstance(each, Refusal) else 0 for each in found.values()}
        if not codes or not codes <= _NOT_YET_CODES or not deadline.has_time_left:
            return found
        time.sleep(RETRY_PAUSE_S)


def _find_coordinator(gateway: Gateway, group: str) -> Endpoint | Refusal:
    """Ask which broker coordinates a group; the topic for offsets is created if there is none."""
    answer = gateway.read(lambda node, left: _ask_coordinator(node, left, group))
    if answer.error_code:
        return broker_refusal(answer.error_code, answer.error_message)
    return Endpoint(answer.host, answer.port)


def _ask_coordinator(node: Connection, deadline: Deadline, group: str) -> Message:
    newest = node.versions.get(FIND_COORDINATOR.key, (0, 0))[1]
    is_batched = newest >= _FIRST_BATCHED_VERSION
    which = {"coordinator_keys": [group]} if is_batched else {"key": group}
    request = FIND_COORDINATOR.request(key_type=0, **which)
    answer = node.ask(FIND_COORDINATOR, request, deadline)
    return answer.coordinators[0] if is_batched else answer


def _by_topic(partitions: Iterable[TopicPartition]) -> Mapping[str, list[int]]:
    found: dict[str, list[int]] = defaultdict(list)
    for name, number in sorted(partitions):
        found[name].append(number)
    return found
