"""Consumer groups: list and describe them, with members, offsets and lag."""

import struct
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial

from kafka.protocol.consumer.metadata import ConsumerProtocolAssignment  # noqa: TID253

from kplan.cluster.errors import CLIENT_DISCONNECTED, client_refusal
from kplan.cluster.threads import DaemonThreads
from kplan.cluster.usage import LATEST, GroupDescription, GroupListing, GroupMember, TopicPartition
from kplan.kafka.settings.connection import Endpoint
from kplan.kafka.wire import messages
from kplan.kafka.wire.gateway import Gateway
from kplan.kafka.wire.messages import Api, MalformedResponse, Message, broker_refusal, define_api
from kplan.kafka.wire.metadata import find_leaders
from kplan.kafka.wire.usage import committed_offsets, fetch_offsets, read_offsets
from kplan.model.errors import ClusterError, Refusal

# A leaf module, imported by what asks about groups.


# Groups of the newer protocol (KIP-848), which kafka-python does not ship.
CONSUMER_GROUP_DESCRIBE = define_api("ConsumerGroupDescribe", 69, range(2))
# Share groups (KIP-932): version 0 of Kafka 4.0 was early access and is different.
SHARE_GROUP_DESCRIBE = define_api("ShareGroupDescribe", 77, range(1, 2))
DESCRIBE_SHARE_OFFSETS = define_api("DescribeShareGroupOffsets", 90, range(2))


def parse_assignment(data: bytes) -> tuple[TopicPartition, ...]:
    """Read the partitions of a member of a classic group, which its members agreed on.

    Raises:
        MalformedResponse: the bytes are something else.

    """
    if not data:
        return ()  # told only while the group is stable
    try:
        held = ConsumerProtocolAssignment.decode(data).assigned_partitions
    except (ValueError, IndexError, EOFError, struct.error) as failure:
        raise MalformedResponse("an assignment that makes no sense") from failure
    return tuple(sorted((each.topic, number) for each in held for number in each.partitions))


BrokerGroups = Mapping[int, tuple[GroupListing, ...] | Refusal]

_OFFSETS_TOPIC = "__consumer_offsets"
_BROKER_NOT_AVAILABLE, _GROUP_ID_NOT_FOUND = 8, 69
_GROUPS_PER_REQUEST = 500
_READ_TYPES = ("consumer", "share", "classic", "")


def list_groups(gateway: Gateway) -> BrokerGroups:
    """List the groups that each broker coordinates; for one that does not answer, why.

    Raises:
        UnreachableError, AuthError: no one answers.

    """
    live, down = _find_brokers(gateway)
    return dict(sorted({**_list_by_broker(gateway, live), **down}.items()))


def _find_brokers(gateway: Gateway) -> tuple[Mapping[int, Endpoint], Mapping[int, Refusal]]:
    """Find the live brokers, and those that should coordinate groups and do not run."""
    part = messages.METADATA.request.MetadataRequestTopic
    wanted = [part(topic_id=messages.ZERO_UUID, name=_OFFSETS_TOPIC)]
    request = messages.METADATA.request(topics=wanted, allow_auto_topic_creation=False)
    answer = gateway.ask(messages.METADATA, request)
    live = {each.node_id: Endpoint(each.host, each.port) for each in answer.brokers}
    partitions = [each for topic in answer.topics for each in topic.partitions]
    hidden = sum(each.leader_id not in live for each in partitions)
    lost = {number for each in partitions for number in each.replica_nodes} - live.keys()
    why = (
        f"It does not run, and groups are hidden: {hidden} partitions of {_OFFSETS_TOPIC} "
        "have no leader."
        if hidden
        else "It does not run; other brokers coordinate its groups."
    )
    return live, dict.fromkeys(lost, broker_refusal(_BROKER_NOT_AVAILABLE, why))


def _list_by_broker(gateway: Gateway, live: Mapping[int, Endpoint]) -> BrokerGroups:
    with DaemonThreads(len(live), "groups") as threads:
        found = threads.map(lambda number: _list_at(gateway, live[number]), live)
        return dict(zip(live, found, strict=True))


def _list_at(gateway: Gateway, at: Endpoint) -> tuple[GroupListing, ...] | Refusal:
    api = messages.LIST_GROUPS
    try:
        answer = gateway.ask(api, api.request(states_filter=[], types_filter=[]), at=at)
    except ClusterError as failure:
        return client_refusal(CLIENT_DISCONNECTED, failure.detail)
    if answer.error_code:
        return broker_refusal(answer.error_code, None)
    return tuple(sorted(_listed_group(each) for each in answer.groups))


def _listed_group(listed: Message) -> GroupListing:
    kind = (getattr(listed, "group_type", "") or "").lower()  # brokers spell it "Classic"
    return GroupListing(listed.group_id, kind, listed.protocol_type, listed.group_state)


def describe_groups(
    gateway: Gateway, names: Collection[str]
) -> Mapping[str, GroupDescription | Refusal]:
    """Describe groups; an unlisted one is refused, with the brokers that did not answer.

    Raises:
        UnreachableError, AuthError: no one answers.

    """
    live, down = _find_brokers(gateway)
    listed = _list_by_broker(gateway, live)
    found: dict[str, GroupDescription | Refusal] = {}
    for number, result in listed.items():
        mine = (
            () if isinstance(result, Refusal) else [each for each in result if each.name in names]
        )
        for start in range(0, len(mine), _GROUPS_PER_REQUEST):
            part = mine[start : start + _GROUPS_PER_REQUEST]
            found |= _describe_at(gateway, number, live[number], part)
    absent = _absent_refusal({**listed, **down})
    whole = _add_end_offsets(gateway, {name: found.get(name, absent) for name in sorted(names)})
    return {name: whole[name] for name in sorted(names)}


def coordinators(
    gateway: Gateway, names: Collection[str]
) -> tuple[Mapping[str, Endpoint], Refusal]:
    """Find the coordinator of each group that is listed, and why the others have none.

    Raises:
        UnreachableError, AuthError: no one answers.

    """
    live, down = _find_brokers(gateway)
    listed = _list_by_broker(gateway, live)
    homes = {
        each.name: live[number]
        for number, found in listed.items()
        if not isinstance(found, Refusal)
        for each in found
        if each.name in names
    }
    return homes, _absent_refusal({**listed, **down})


def _absent_refusal(listed: BrokerGroups) -> Refusal:
    lost = [
        f"broker {number}: {each}"
        for number, each in sorted(listed.items())
        if isinstance(each, Refusal)
    ]
    if not lost:
        return broker_refusal(_GROUP_ID_NOT_FOUND, None)
    return broker_refusal(
        _GROUP_ID_NOT_FOUND, f"No broker that answers lists it; {'; '.join(lost)}"
    )


def _describe_at(
    gateway: Gateway, number: int, at: Endpoint, listed: Sequence[GroupListing]
) -> dict[str, GroupDescription | Refusal]:
    """Ask the coordinator of groups about their members and offsets."""
    found: dict[str, GroupDescription | Refusal] = {
        each.name: GroupDescription(
            each.name, each.type, each.protocol, each.state, number, members=None
        )
        for each in listed
    }
    newer = [each.name for each in listed if each.type == "consumer"]
    classic = [each.name for each in listed if each.type in ("classic", "")]
    shared = [each.name for each in listed if each.type == "share"]
    items = [each.name for each in listed if each.type != "share"]
    asked = (
        (partial(_describe_typed_groups, kind=(CONSUMER_GROUP_DESCRIBE, "consumer")), newer),
        (_describe_classic_groups, classic),
        (partial(_describe_typed_groups, kind=(SHARE_GROUP_DESCRIBE, "share")), shared),
        (_read_committed, items),
        (_read_share_offsets, shared),
    )
    for ask, names in asked:
        if names:
            try:
                ask(gateway, at, names, found)
            except ClusterError as failure:
                found |= _add_unread(found, names, failure.detail)
                if ask in (_read_committed, _read_share_offsets):
                    found |= _without_offsets(found, names)
    untold = [each.name for each in listed if each.type not in _READ_TYPES]
    return found | _add_unread(found, untold, "members of groups of this type are not read")


def _add_unread(
    found: Mapping[str, GroupDescription | Refusal], names: Collection[str], why: str
) -> dict[str, GroupDescription | Refusal]:
    noted: dict[str, GroupDescription | Refusal] = {}
    for name in names:
        each = found[name]
        if isinstance(each, GroupDescription):
            noted[name] = replace(each, unread=(*each.unread, why))
    return noted


def _without_offsets(
    found: Mapping[str, GroupDescription | Refusal], names: Collection[str]
) -> dict[str, GroupDescription | Refusal]:
    known = {name: found[name] for name in names}
    return {
        name: replace(each, has_offsets=False)
        for name, each in known.items()
        if isinstance(each, GroupDescription)
    }


_GroupResults = dict[str, GroupDescription | Refusal]


def _describe_typed_groups(
    gateway: Gateway,
    at: Endpoint,
    names: Sequence[str],
    found: _GroupResults,
    kind: tuple[Api, str],
) -> None:
    """Describe groups of one type by its own request, `kind`: the request and the protocol.

    Members of share groups have no partitions for themselves (KIP-932).
    """
    api, protocol = kind
    request = api.request(group_ids=list(names), include_authorized_operations=False)
    for each in gateway.ask(api, request, at=at).groups:
        held = found[each.group_id]
        if each.error_code:
            found[each.group_id] = broker_refusal(each.error_code, each.error_message)
        elif isinstance(held, GroupDescription):
            found[each.group_id] = replace(
                held,
                protocol=held.protocol or protocol,
                state=each.group_state,
                assignor=each.assignor_name,
                members=tuple(sorted(map(_member, each.members))),
            )


def _read_share_offsets(
    gateway: Gateway, at: Endpoint, names: Sequence[str], found: _GroupResults
) -> None:
    """Read the start offset of each partition: all records before it are done with."""
    api = DESCRIBE_SHARE_OFFSETS
    part = api.request.DescribeShareGroupOffsetsRequestGroup
    request = api.request(groups=[part(group_id=name, topics=None) for name in names])
    for each in gateway.ask(api, request, at=at).groups:
        held = found[each.group_id]
        if not isinstance(held, GroupDescription):
            continue
        rows = [(topic, row) for topic in each.topics for row in topic.partitions]
        refused = {row.error_code for _, row in rows} | {each.error_code}
        starts = {
            (topic.topic_name, row.partition_index): int(row.start_offset)
            for topic, row in rows
            if not row.error_code and row.start_offset >= 0
        }
        why = tuple(f"offsets: {broker_refusal(code, None)}" for code in sorted(refused - {0}))
        found[each.group_id] = replace(
            held, committed_offsets=starts, unread=(*held.unread, *why), has_offsets=not why
        )


def _member(message: Message) -> GroupMember:
    held = message.assignment.topic_partitions
    partitions = sorted((each.topic_name, number) for each in held for number in each.partitions)
    return GroupMember(
        message.member_id,
        message.client_id,
        message.client_host,
        getattr(message, "instance_id", "") or "",
        tuple(partitions),
    )


def _describe_classic_groups(
    gateway: Gateway, at: Endpoint, names: Sequence[str], found: _GroupResults
) -> None:
    api = messages.DESCRIBE_GROUPS
    request = api.request(groups=list(names), include_authorized_operations=False)
    for each in gateway.ask(api, request, at=at).groups:
        held = found[each.group_id]
        if each.error_code:
            found[each.group_id] = broker_refusal(each.error_code, None)
        elif isinstance(held, GroupDescription):
            found[each.group_id] = replace(
                held,
                protocol=each.protocol_type,
                state=each.group_state,
                assignor=each.protocol_data,
                members=tuple(sorted(_classic_member(each, one) for one in each.members)),
            )


def _classic_member(group: Message, message: Message) -> GroupMember:
    """Read a member; the protocol data of other group types is opaque."""
    is_consumer = group.protocol_type == "consumer"
    try:
        held = parse_assignment(bytes(message.member_assignment)) if is_consumer else ()
    except messages.MalformedResponse:
        held = ()
    return GroupMember(
        message.member_id,
        message.client_id,
        message.client_host,
        message.group_instance_id or "",
        held,
    )


def _read_committed(
    gateway: Gateway, at: Endpoint, names: Sequence[str], found: _GroupResults
) -> None:
    for name, each in fetch_offsets(gateway, at, names).items():
        held = found[name]
        if not isinstance(held, GroupDescription):
            continue
        if each.error_code:
            why = f"offsets: {broker_refusal(each.error_code, None)}"
            found[name] = replace(held, unread=(*held.unread, why), has_offsets=False)
        else:
            found[name] = replace(held, committed_offsets=committed_offsets(each))


def _add_end_offsets(gateway: Gateway, found: _GroupResults) -> _GroupResults:
    """Add where the partitions end that the groups have read from."""
    described = {name: each for name, each in found.items() if isinstance(each, GroupDescription)}
    topics = {topic for each in described.values() for topic, _ in each.committed_offsets}
    if not topics:
        return found
    ends, problems = _read_end_offsets(gateway, topics)
    whole: _GroupResults = {
        name: replace(
            each,
            end_offsets={at: ends[at] for at in each.committed_offsets if at in ends},
            unread=(*each.unread, *_group_problems(each, problems)),
        )
        for name, each in described.items()
    }
    return {**found, **whole}


def _group_problems(group: GroupDescription, problems: Mapping[str, set[str]]) -> list[str]:
    topics = {topic for topic, _ in group.committed_offsets}
    return sorted(f"{topic}: {why}" for topic in topics for why in problems.get(topic, ()))


def _read_end_offsets(
    gateway: Gateway, topics: Collection[str]
) -> tuple[Mapping[TopicPartition, int], Mapping[str, set[str]]]:
    ends: dict[TopicPartition, int] = {}
    problems: dict[str, set[str]] = defaultdict(set)
    led = find_leaders(gateway, topics)
    for name, why in led.problems():
        problems[name].add(why)

    def ask(at: Endpoint) -> None:
        try:
            moved = read_offsets(
                gateway, at, led.by_broker[at], (LATEST, ends, "last offsets"), problems
            )
            for (name, _), each in moved.items():
                problems[name].add(each)
        except ClusterError as failure:
            for name in led.by_broker[at]:
                problems[name].add(f"last offsets: {failure.detail}")

    with DaemonThreads(len(led.by_broker), "offsets") as threads:
        list(threads.map(ask, led.by_broker))
    return ends, problems
