"""Groups of consumers: which there are, who is in them, and how far they have read.

A group is asked about at the broker that lists it, which is its coordinator. To ask for the
coordinator instead would create `__consumer_offsets` on a new cluster.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from kplan.cluster.errors import CLIENT_DISCONNECTED, client_refusal
from kplan.cluster.groups import GroupDescription, GroupMember, ListedGroup
from kplan.cluster.usage import TopicPartition
from kplan.kafka.settings import Endpoint
from kplan.kafka.wire import group_messages, messages, topic_id, usage_messages
from kplan.kafka.wire.api import Message
from kplan.kafka.wire.gateway import Gateway
from kplan.kafka.wire.leaders import leaders
from kplan.kafka.wire.usage import LATEST, committed, offsets
from kplan.kafka.wire.verdict import refused
from kplan.model.errors import ClusterError
from kplan.model.refusal import Refusal

BrokerGroups = Mapping[int, tuple[ListedGroup, ...] | Refusal]

_OFFSETS = "__consumer_offsets"
_DOWN, _NO_SUCH_GROUP = 8, 69
_CHUNK = 500
_UNTOLD = ("share",)  # their members and offsets are told by other APIs


def groups(gateway: Gateway) -> BrokerGroups:
    """List the groups that each broker coordinates; for one that does not answer, why.

    Raises:
        Unreachable, AuthError: nobody answers.

    """
    live, down = _brokers(gateway)
    return dict(sorted({**_listed(gateway, live), **down}.items()))


def _brokers(gateway: Gateway) -> tuple[Mapping[int, Endpoint], Mapping[int, Refusal]]:
    """Find the live brokers, and those that should coordinate groups and do not run."""
    part = messages.METADATA.request.MetadataRequestTopic
    wanted = [part(topic_id=topic_id.NO_ID, name=_OFFSETS)]
    request = messages.METADATA.request(topics=wanted, allow_auto_topic_creation=False)
    answer = gateway.ask(messages.METADATA, request)
    live = {each.node_id: Endpoint(each.host, each.port) for each in answer.brokers}
    partitions = [each for topic in answer.topics for each in topic.partitions]
    hidden = sum(each.leader_id not in live for each in partitions)
    lost = {number for each in partitions for number in each.replica_nodes} - live.keys()
    why = (
        f"It does not run, and groups are hidden: {hidden} partitions of {_OFFSETS} have no leader."
        if hidden
        else "It does not run; other brokers coordinate its groups."
    )
    return live, dict.fromkeys(lost, refused(_DOWN, why))


def _listed(gateway: Gateway, live: Mapping[int, Endpoint]) -> BrokerGroups:
    with ThreadPoolExecutor(max(1, len(live)), thread_name_prefix="groups") as threads:
        told = threads.map(lambda number: _listed_at(gateway, live[number]), live)
        return dict(zip(live, told, strict=True))


def _listed_at(gateway: Gateway, at: Endpoint) -> tuple[ListedGroup, ...] | Refusal:
    api = usage_messages.LIST_GROUPS
    try:
        answer = gateway.ask(api, api.request(states_filter=[], types_filter=[]), at=at)
    except ClusterError as failure:
        return client_refusal(CLIENT_DISCONNECTED, failure.detail)
    if answer.error_code:
        return refused(answer.error_code, None)
    return tuple(sorted(_group(each) for each in answer.groups))


def _group(listed: Message) -> ListedGroup:
    kind = (getattr(listed, "group_type", "") or "").lower()  # brokers spell it "Classic"
    return ListedGroup(listed.group_id, kind, listed.protocol_type, listed.group_state)


def describe_groups(
    gateway: Gateway, names: Collection[str]
) -> Mapping[str, GroupDescription | Refusal]:
    """Describe groups; one that no broker lists is refused, with the brokers that did not answer.

    Raises:
        Unreachable, AuthError: nobody answers.

    """
    live, down = _brokers(gateway)
    listed = _listed(gateway, live)
    found: dict[str, GroupDescription | Refusal] = {}
    for number, told in listed.items():
        mine = () if isinstance(told, Refusal) else [each for each in told if each.name in names]
        for start in range(0, len(mine), _CHUNK):
            part = mine[start : start + _CHUNK]
            found |= _described(gateway, number, live[number], part)
    absent = _absent({**listed, **down})
    whole = _with_ends(gateway, {name: found.get(name, absent) for name in sorted(names)})
    return {name: whole[name] for name in sorted(names)}


def _absent(listed: BrokerGroups) -> Refusal:
    lost = [
        f"broker {number}: {told}"
        for number, told in sorted(listed.items())
        if isinstance(told, Refusal)
    ]
    if not lost:
        return refused(_NO_SUCH_GROUP, None)
    return refused(_NO_SUCH_GROUP, f"No broker that answers lists it; {'; '.join(lost)}")


def _described(
    gateway: Gateway, number: int, at: Endpoint, listed: Sequence[ListedGroup]
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
    told = [each.name for each in listed if each.type not in _UNTOLD]
    asked = ((_newer, newer), (_classic, classic), (_offsets, told))
    for ask, names in asked:
        if names:
            try:
                ask(gateway, at, names, found)
            except ClusterError as failure:
                found |= _noted(found, names, failure.detail)
    untold = [each.name for each in listed if each.type not in ("consumer", "classic", "")]
    return found | _noted(found, untold, "members of groups of this type are not read")


def _noted(
    found: Mapping[str, GroupDescription | Refusal], names: Collection[str], why: str
) -> dict[str, GroupDescription | Refusal]:
    noted: dict[str, GroupDescription | Refusal] = {}
    for name in names:
        each = found[name]
        if isinstance(each, GroupDescription):
            noted[name] = replace(each, unread=(*each.unread, why))
    return noted


_Groups = dict[str, GroupDescription | Refusal]


def _newer(gateway: Gateway, at: Endpoint, names: Sequence[str], found: _Groups) -> None:
    api = group_messages.CONSUMER_GROUP_DESCRIBE
    request = api.request(group_ids=list(names), include_authorized_operations=False)
    for each in gateway.ask(api, request, at=at).groups:
        held = found[each.group_id]
        if each.error_code:
            found[each.group_id] = refused(each.error_code, each.error_message)
        elif isinstance(held, GroupDescription):
            found[each.group_id] = replace(
                held,
                protocol=held.protocol or "consumer",
                state=each.group_state,
                assignor=each.assignor_name,
                members=tuple(sorted(map(_member, each.members))),
            )


def _member(told: Message) -> GroupMember:
    held = told.assignment.topic_partitions
    partitions = sorted((each.topic_name, number) for each in held for number in each.partitions)
    return GroupMember(
        told.member_id, told.client_id, told.client_host, told.instance_id or "", tuple(partitions)
    )


def _classic(gateway: Gateway, at: Endpoint, names: Sequence[str], found: _Groups) -> None:
    api = usage_messages.DESCRIBE_GROUPS
    request = api.request(groups=list(names), include_authorized_operations=False)
    for each in gateway.ask(api, request, at=at).groups:
        held = found[each.group_id]
        if each.error_code:
            found[each.group_id] = refused(each.error_code, None)
        elif isinstance(held, GroupDescription):
            found[each.group_id] = replace(
                held,
                protocol=each.protocol_type,
                state=each.group_state,
                assignor=each.protocol_data,
                members=tuple(sorted(_classic_member(each, one) for one in each.members)),
            )


def _classic_member(group: Message, told: Message) -> GroupMember:
    """Read a member; what members of other groups than consumers agree on is theirs alone."""
    is_consumer = group.protocol_type == "consumer"
    try:
        held = group_messages.assigned(bytes(told.member_assignment)) if is_consumer else ()
    except messages.Garbled:
        held = ()
    return GroupMember(
        told.member_id, told.client_id, told.client_host, told.group_instance_id or "", held
    )


def _offsets(gateway: Gateway, at: Endpoint, names: Sequence[str], found: _Groups) -> None:
    api = usage_messages.OFFSET_FETCH
    wanted = [api.request.OffsetFetchRequestGroup(group_id=name, topics=None) for name in names]
    for each in gateway.ask(api, api.request(groups=wanted, require_stable=False), at=at).groups:
        held = found[each.group_id]
        if not isinstance(held, GroupDescription):
            continue
        if each.error_code:
            why = f"offsets: {refused(each.error_code, None)}"
            found[each.group_id] = replace(held, unread=(*held.unread, why))
        else:
            found[each.group_id] = replace(held, committed=committed(each))


def _with_ends(gateway: Gateway, found: _Groups) -> _Groups:
    """Add where the partitions end that the groups have read from."""
    described = {name: each for name, each in found.items() if isinstance(each, GroupDescription)}
    topics = {topic for each in described.values() for topic, _ in each.committed}
    if not topics:
        return found
    ends, problems = _ends(gateway, topics)
    whole: _Groups = {
        name: replace(
            each,
            ends={at: ends[at] for at in each.committed if at in ends},
            unread=(*each.unread, *_told(each, problems)),
        )
        for name, each in described.items()
    }
    return {**found, **whole}


def _told(group: GroupDescription, problems: Mapping[str, set[str]]) -> list[str]:
    topics = {topic for topic, _ in group.committed}
    return sorted(f"{topic}: {why}" for topic in topics for why in problems.get(topic, ()))


def _ends(
    gateway: Gateway, topics: Collection[str]
) -> tuple[Mapping[TopicPartition, int], Mapping[str, set[str]]]:
    ends: dict[TopicPartition, int] = {}
    problems: dict[str, set[str]] = defaultdict(set)
    led = leaders(gateway, topics)
    for name, why in led.untold():
        problems[name].add(why)

    def ask(at: Endpoint) -> None:
        try:
            offsets(gateway, at, led.at[at], (LATEST, ends, "last offsets"), problems)
        except ClusterError as failure:
            for name in led.at[at]:
                problems[name].add(f"last offsets: {failure.detail}")

    with ThreadPoolExecutor(max(1, len(led.at)), thread_name_prefix="offsets") as threads:
        list(threads.map(ask, led.at))
    return ends, problems
