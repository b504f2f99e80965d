"""Topic usage: offsets, sizes, producers and consumer groups, in a few requests to each broker."""

import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import field
from functools import partial
from typing import TypeVar

from kplan.cluster.authorization import missing_operation_message
from kplan.cluster.errors import Handling, handling
from kplan.cluster.threads import DaemonThreads
from kplan.cluster.usage import EARLIEST, LATEST, GroupUse, PartitionUse, TopicPartition, TopicUse
from kplan.kafka.settings.connection import Endpoint
from kplan.kafka.wire import messages as apis
from kplan.kafka.wire.cluster import read_rights
from kplan.kafka.wire.connection import Connection
from kplan.kafka.wire.gateway import RETRY_PAUSE_S, Gateway
from kplan.kafka.wire.messages import Message, broker_refusal
from kplan.kafka.wire.metadata import PartitionLeaders, find_leaders
from kplan.kafka.wire.record import LIST_OFFSETS
from kplan.kafka.wire.transport import Deadline
from kplan.model.dataclass import dataclass
from kplan.model.errors import ClusterError, UnreadableError

T = TypeVar("T")

MAX_TIMESTAMP = -3
"""The time that means the newest record (KIP-734)."""

_LIVE_STATES = frozenset(
    ("Stable", "PreparingRebalance", "CompletingRebalance", "Assigning", "Reconciling")
)


@dataclass(slots=True)
class UsageReadings:
    """The answers of brokers by partition; `problems` has the missing ones by topic ("": all).

    `moved` are partitions that the broker asked does not lead, or not yet, with its answers.
    """

    starts: dict[TopicPartition, int] = field(default_factory=dict)
    ends: dict[TopicPartition, int] = field(default_factory=dict)
    newest: dict[TopicPartition, int] = field(default_factory=dict)
    sizes: dict[TopicPartition, int] = field(default_factory=dict)
    producers: dict[TopicPartition, int] = field(default_factory=dict)
    problems: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    moved: dict[TopicPartition, set[str]] = field(default_factory=lambda: defaultdict(set))


_LEADER_WAIT_S = 30.0
"""How long leaders are looked up again: the logs of 3,000 new partitions took 9 s to open on an
idle machine, those of 1,200 more than 10 s on a busy one."""

_FIRST_VERSION_FOR_GROUPS = 8

_NOT_LEADER_CODES = frozenset({5, 6})
"""LEADER_NOT_AVAILABLE and NOT_LEADER_OR_FOLLOWER: another broker leads, or none yet."""


def read_topic_use(gateway: Gateway, names: Collection[str]) -> Mapping[str, TopicUse]:
    """Read all usage of these topics; unknown values are None, with the reason.

    Raises:
        UnreachableError, AuthError: no one answers.

    """
    found = UsageReadings()
    led = find_leaders(gateway, names)
    for name, why in led.problems():
        found.problems[name].add(why)
    with DaemonThreads(len(led.brokers), "usage") as threads:
        _read_leaders(gateway, led.by_broker, threads, found)
        _read_moved(gateway, threads, found)
        groups = _read_groups(gateway, led.brokers, threads, found)
    return {name: _topic_use(name, led, found, groups) for name in sorted(names)}


LedPartitions = Mapping[Endpoint, Mapping[str, list[int]]]


def _read_leaders(
    gateway: Gateway, led: LedPartitions, threads: Executor, readings: UsageReadings
) -> None:
    """Ask every broker about the partitions it leads, all at once."""
    list(threads.map(lambda at: _read_leader(gateway, at, led[at], readings), led))


def _read_moved(gateway: Gateway, threads: Executor, readings: UsageReadings) -> None:
    """Look up the leaders again of partitions whose broker is not, or not yet, their leader."""
    until = time.monotonic() + _LEADER_WAIT_S
    pause_s = RETRY_PAUSE_S
    while readings.moved and time.monotonic() < until:
        time.sleep(pause_s)
        pause_s = min(2 * pause_s, 2.0)
        moved = dict(readings.moved)
        led = find_leaders(gateway, {name for name, _ in moved})
        again = {
            at: {
                name: numbers
                for name in names
                if (numbers := [each for each in names[name] if (name, each) in moved])
            }
            for at, names in led.by_broker.items()
        }
        for names in again.values():
            for name, numbers in names.items():
                for each in numbers:
                    del readings.moved[name, each]
        _read_leaders(
            gateway, {at: names for at, names in again.items() if names}, threads, readings
        )
    for (name, _), found in readings.moved.items():
        readings.problems[name] |= found


def _read_leader(
    gateway: Gateway, at: Endpoint, led_: Mapping[str, list[int]], usage_readings: UsageReadings
) -> None:
    """Ask one broker about the partitions it leads."""
    problems = usage_readings.problems

    def attempt(what: str, ask: Callable[[], None]) -> None:
        try:
            ask()
        except ClusterError as failure:
            for name in led_:
                problems[name].add(f"{what}: {failure.detail}")

    for what, times, into in (
        ("first offsets", EARLIEST, usage_readings.starts),
        ("last offsets", LATEST, usage_readings.ends),
        ("newest records", MAX_TIMESTAMP, usage_readings.newest),
    ):
        query = (times, into, what)
        attempt(what, partial(_read_offsets_led, gateway, at, led_, query, usage_readings))
    attempt("sizes", partial(_read_sizes, gateway, at, led_, usage_readings))
    attempt("producers", partial(_read_producers, gateway, at, led_, usage_readings))


def _read_offsets_led(
    gateway: Gateway,
    at: Endpoint,
    led_: Mapping[str, list[int]],
    query: tuple[int, dict[TopicPartition, int], str],
    readings: UsageReadings,
) -> None:
    for key, each in read_offsets(gateway, at, led_, query, readings.problems).items():
        readings.moved[key].add(each)


def read_offsets(
    gateway: Gateway,
    at: Endpoint,
    led_: Mapping[str, list[int]],
    query: tuple[int, dict[TopicPartition, int], str],
    problems: dict[str, set[str]],
) -> dict[TopicPartition, str]:
    """Query a leader for offsets: `query` has the time, the destination and the name.

    What it does not return goes to `problems` by topic, but for partitions that it does not lead:
    these are given back, with its answer. Raises UnreachableError.
    """
    moved: dict[TopicPartition, str] = {}
    timestamp, into, what = query
    part = LIST_OFFSETS.request.ListOffsetsTopic
    topics = [
        part(
            name=name,
            partitions=[
                part.ListOffsetsPartition(partition_index=each, timestamp=timestamp)
                for each in numbers
            ],
        )
        for name, numbers in led_.items()
    ]
    answer = gateway.ask(LIST_OFFSETS, LIST_OFFSETS.request(topics=topics), at=at)
    for topic in answer.topics:
        for each in topic.partitions:
            key = (topic.name, each.partition_index)
            text = _refusal_text(what, each.error_code, "DESCRIBE on the topic")
            if each.error_code in _NOT_LEADER_CODES:
                moved[key] = text
            elif text:
                problems[topic.name].add(text)
            else:
                into[key] = each.timestamp if timestamp == MAX_TIMESTAMP else each.offset
    return moved


def _read_sizes(
    gateway: Gateway, at: Endpoint, led_: Mapping[str, list[int]], usage_readings: UsageReadings
) -> None:
    part = apis.DESCRIBE_LOG_DIRS.request.DescribableLogDirTopic
    topics = [part(topic=name, partitions=numbers) for name, numbers in led_.items()]
    answer = gateway.ask(
        apis.DESCRIBE_LOG_DIRS, apis.DESCRIBE_LOG_DIRS.request(topics=topics), at=at
    )
    codes = {each.error_code for each in answer.results} | {getattr(answer, "error_code", 0) or 0}
    for folder in answer.results:
        for topic in folder.topics:
            for each in topic.partitions:
                if not each.is_future_key:
                    usage_readings.sizes[topic.name, each.partition_index] = each.partition_size
    for code in sorted(codes - {0}):
        for name in led_:
            text = _refusal_text("sizes", code, "DESCRIBE on the cluster")
            usage_readings.problems[name].add(text)


def _read_producers(
    gateway: Gateway, at: Endpoint, led_: Mapping[str, list[int]], usage_readings: UsageReadings
) -> None:
    part = apis.DESCRIBE_PRODUCERS.request.TopicRequest
    topics = [part(name=name, partition_indexes=numbers) for name, numbers in led_.items()]
    answer = gateway.ask(
        apis.DESCRIBE_PRODUCERS, apis.DESCRIBE_PRODUCERS.request(topics=topics), at=at
    )
    for topic in answer.topics:
        for each in topic.partitions:
            key = (topic.name, each.partition_index)
            text = _refusal_text("producers", each.error_code, "READ on the topic")
            if each.error_code in _NOT_LEADER_CODES:
                usage_readings.moved[key].add(text)
            elif text:
                usage_readings.problems[topic.name].add(text)
            else:
                usage_readings.producers[key] = len(each.active_producers)


def _refusal_text(what: str, code: int, right: str) -> str:
    """Say what was refused, and the right that it takes; "" without an error."""
    refused = broker_refusal(code, None) if code else None
    if refused is not None and handling(refused) is Handling.DENIED:
        return f"{what}: {refused.error} without {right}"
    return "" if refused is None else f"{what}: {refused}"


@dataclass(frozen=True, slots=True)
class GroupOffsets:
    """A group with all that it committed."""

    name: str
    is_live: bool
    members: int | None
    committed: Mapping[TopicPartition, int]


def _read_groups(
    gateway: Gateway,
    brokers: Iterable[Endpoint],
    threads: Executor,
    usage_readings: UsageReadings,
) -> tuple[GroupOffsets, ...] | None:
    """List the groups of every broker; without DESCRIBE on the cluster some are hidden."""
    if "DESCRIBE" not in (read_rights(gateway, ()).cluster or frozenset()):
        usage_readings.problems[""].add("groups: without DESCRIBE on the cluster some are hidden")
        return None
    try:
        listed = list(threads.map(lambda at: _read_groups_at(gateway, at), brokers))
    except ClusterError as failure:
        usage_readings.problems[""].add(f"groups: {failure.detail}")
        return None
    return tuple(group for groups in listed for group in groups)


def read_group_names(gateway: Gateway, principal: str) -> frozenset[str]:
    """Name the groups of every broker; raises UnreadableError, UnreachableError."""
    if "DESCRIBE" not in (read_rights(gateway, ()).cluster or frozenset()):
        raise UnreadableError(
            f"Groups cannot be read. {missing_operation_message(principal, 'group_names')}"
        )
    found = find_leaders(gateway, ()).brokers
    with DaemonThreads(len(found), "groups") as threads:
        try:
            listed = list(threads.map(lambda at: _list_groups_at(gateway, at), found))
        except ClusterError as failure:
            raise UnreadableError(f"Groups cannot be read: {failure.detail}") from failure
    return frozenset(each.group_id for groups in listed for each in groups)


def _list_groups_at(gateway: Gateway, at: Endpoint) -> list[Message]:
    request = apis.LIST_GROUPS.request(states_filter=[], types_filter=[])
    answer = gateway.ask(apis.LIST_GROUPS, request, at=at)
    if answer.error_code:
        raise ClusterError(f"{at}: {broker_refusal(answer.error_code, None)}")
    return list(answer.groups)


def _read_groups_at(gateway: Gateway, at: Endpoint) -> list[GroupOffsets]:
    """Ask one coordinator about its groups: list, offsets, and members of the live ones."""
    states = {each.group_id: each.group_state for each in _list_groups_at(gateway, at)}
    if not states:
        return []
    offsets = fetch_offsets(gateway, at, sorted(states))
    live = [name for name in sorted(states) if states[name] in _LIVE_STATES]
    members = _member_counts(gateway, at, live)
    found = []
    for name, group in offsets.items():
        if group.error_code:
            raise ClusterError(f"group {name}: {broker_refusal(group.error_code, None)}")
        count = members.get(name) if name in live else 0
        found.append(GroupOffsets(name, name in live, count, committed_offsets(group)))
    return found


def fetch_offsets(gateway: Gateway, at: Endpoint, names: Sequence[str]) -> Mapping[str, Message]:
    """Read what groups have committed: in one request, or one each before Kafka 3.0 (KIP-709)."""
    return gateway.read(lambda node, left: _fetch_offsets(node, left, names), at=at)


def _fetch_offsets(
    node: Connection, deadline: Deadline, names: Sequence[str]
) -> Mapping[str, Message]:
    api = apis.OFFSET_FETCH
    if node.versions.get(api.key, (0, 0))[1] >= _FIRST_VERSION_FOR_GROUPS:
        part = api.request.OffsetFetchRequestGroup
        wanted = [part(group_id=name, topics=None) for name in names]
        answer = node.ask(api, api.request(groups=wanted), deadline)
        return {each.group_id: each for each in answer.groups}
    single = apis.OFFSET_FETCH_OF_GROUP
    return {
        name: node.ask(single, single.request(group_id=name, topics=None), deadline)
        for name in names
    }


def _member_counts(gateway: Gateway, at: Endpoint, names: list[str]) -> Mapping[str, int]:
    if not names:
        return {}
    request = apis.DESCRIBE_GROUPS.request(groups=names, include_authorized_operations=False)
    answer = gateway.ask(apis.DESCRIBE_GROUPS, request, at=at)
    return {
        each.group_id: len(each.members)
        for each in answer.groups
        if not each.error_code and each.members
    }


def committed_offsets(group: Message) -> Mapping[TopicPartition, int]:
    """Read the offsets that a group has committed, from an answer to OffsetFetch."""
    return {
        (topic.name, each.partition_index): each.committed_offset
        for topic in group.topics
        for each in topic.partitions
        if not each.error_code and each.committed_offset >= 0
    }


def _topic_use(
    name: str,
    led: PartitionLeaders,
    usage_readings: UsageReadings,
    groups: tuple[GroupOffsets, ...] | None,
) -> TopicUse:
    used = {}
    for number in led.partitions.get(name, ()):
        key = (name, number)
        newest = usage_readings.newest.get(key, -1)
        used[number] = PartitionUse(
            usage_readings.starts.get(key),
            usage_readings.ends.get(key),
            newest if newest >= 0 else None,
            usage_readings.sizes.get(key),
            usage_readings.producers.get(key),
        )
    unread = tuple(
        sorted(usage_readings.problems.get(name, set()) | usage_readings.problems.get("", set()))
    )
    topic_id = led.topic_ids.get(name, "")
    if groups is None:
        return TopicUse(used, None, unread, topic_id)
    mine = [_group_use(name, each, usage_readings.ends) for each in groups]
    return TopicUse(used, tuple(each for each in mine if each is not None), unread, topic_id)


def _group_use(
    topic: str, group: GroupOffsets, ends: Mapping[TopicPartition, int]
) -> GroupUse | None:
    keys = [key for key in group.committed if key[0] == topic]
    if not keys:
        return None
    known = all(key in ends for key in keys)
    lag = sum(max(0, ends[key] - group.committed[key]) for key in keys) if known else None
    return GroupUse(group.name, group.is_live, group.members, lag)
