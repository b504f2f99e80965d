"""Metadata and DescribeTopicPartitions: topics, replicas and partition leaders (KIP-966)."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from functools import partial

from kplan.cluster.request import TopicDescription
from kplan.cluster.usage import TopicPartition
from kplan.kafka.settings.connection import Endpoint
from kplan.kafka.wire import messages
from kplan.kafka.wire.connection import Connection
from kplan.kafka.wire.gateway import Gateway
from kplan.kafka.wire.messages import Message, broker_refusal, define_api
from kplan.kafka.wire.transport import Deadline
from kplan.model.dataclass import dataclass
from kplan.model.errors import ClusterError, Refusal

DESCRIBE_TOPIC_PARTITIONS = define_api("DescribeTopicPartitions", 75, range(1), "admin.topics")

PARTITIONS_PER_PAGE = 2000
"""Partitions in a page; brokers give no more, whatever is asked for."""


def read_topic_pages(node: Connection, deadline: Deadline) -> Iterator[Message]:
    """Return all visible topics by name; a topic that spans pages is merged.

    Raises:
        ConnectionLost: no answer came.

    """
    held: Message = None
    cursor: Message = None
    while True:
        request = DESCRIBE_TOPIC_PARTITIONS.request(
            topics=[], response_partition_limit=PARTITIONS_PER_PAGE, cursor=cursor
        )
        page = node.ask(DESCRIBE_TOPIC_PARTITIONS, request, deadline)
        for topic in page.topics:
            if held is not None and held.name == topic.name:
                held.partitions.extend(topic.partitions)
                continue
            if held is not None:
                yield held
            held = topic
        if page.next_cursor is None:
            break
        cursor = DESCRIBE_TOPIC_PARTITIONS.request.Cursor(
            topic_name=page.next_cursor.topic_name,
            partition_index=page.next_cursor.partition_index,
        )
    if held is not None:
        yield held


Topics = dict[str, TopicDescription | Refusal]

TOPICS_PER_REQUEST = 2000
"""Topics that are asked for by name in one request (K919-32)."""


def read_topics(
    gateway: Gateway, names: Collection[str] | None, at: Endpoint | None
) -> Mapping[str, TopicDescription | Refusal]:
    """Describe the named topics, or all that we may see; sorted by name. Creates none."""
    if names is None:
        return gateway.read(_read_all, at=at)
    wanted = sorted(names)
    found: dict[str, TopicDescription | Refusal] = {}
    for start in range(0, len(wanted), TOPICS_PER_REQUEST):
        part = [_topic_request(name) for name in wanted[start : start + TOPICS_PER_REQUEST]]
        found |= gateway.read(partial(_ask_topics, wanted=part), at=at)
    return found


def _read_all(node: Connection, deadline: Deadline) -> Topics:
    """Read all topics, page by page where the broker supports it (KIP-966), otherwise at once."""
    if DESCRIBE_TOPIC_PARTITIONS.key not in node.versions:
        return _ask_topics(node, deadline, None)
    return {each.name: _topic_description(each) for each in read_topic_pages(node, deadline)}


def _ask_topics(node: Connection, deadline: Deadline, wanted: list[Message] | None) -> Topics:
    request = messages.METADATA.request(
        topics=wanted,
        allow_auto_topic_creation=False,
        include_topic_authorized_operations=False,
    )
    answer = node.ask(messages.METADATA, request, deadline)
    if answer.error_code:
        raise ClusterError(f"Topics cannot be listed: {broker_refusal(answer.error_code, None)}")
    return {
        each.name: _topic_description(each)
        for each in sorted(answer.topics, key=lambda each: str(each.name))
        if each.name is not None
    }


def _topic_request(name: str) -> Message:
    return messages.METADATA.request.MetadataRequestTopic(topic_id=messages.ZERO_UUID, name=name)


def _topic_description(topic: Message) -> TopicDescription | Refusal:
    if topic.error_code:
        return broker_refusal(topic.error_code, None)
    partitions = sorted(topic.partitions, key=lambda each: int(each.partition_index))
    return TopicDescription(
        name=topic.name,
        topic_id=messages.format_uuid(topic.topic_id),
        assignment=tuple(tuple(each.replica_nodes) for each in partitions),
        is_internal=topic.is_internal,
        leaderless=sum(each.leader_id < 0 for each in partitions),
        leaders=tuple(each.leader_id for each in partitions),
        in_sync=tuple(tuple(each.isr_nodes) for each in partitions),
        offline=tuple(tuple(each.offline_replicas or ()) for each in partitions),
    )


@dataclass(frozen=True, slots=True)
class PartitionLeaders:
    """The partitions that each broker leads, by topic; also all brokers, and all partitions.

    `refusals` are of topics that are not shown, `leaderless` partitions that no one leads now. The
    id of a topic is "" where the broker does not return one.
    """

    by_broker: Mapping[Endpoint, Mapping[str, list[int]]]
    brokers: tuple[Endpoint, ...]
    partitions: Mapping[str, list[int]]
    refusals: Mapping[str, Refusal]
    leaderless: tuple[TopicPartition, ...]
    topic_ids: Mapping[str, str]

    def problems(self) -> Iterator[tuple[str, str]]:
        """Return of which topics something stays unknown for want of a leader, and why."""
        for name, why in self.refusals.items():
            yield name, f"the topic is not shown ({why})"
        for name, number in self.leaderless:
            yield name, f"partition {number} has no leader"


def find_leaders(gateway: Gateway, names: Collection[str]) -> PartitionLeaders:
    """Find the leader of every partition of the topics; raises UnreachableError, AuthError."""
    part = messages.METADATA.request.MetadataRequestTopic
    wanted = [part(topic_id=messages.ZERO_UUID, name=name) for name in sorted(names)]
    request = messages.METADATA.request(topics=wanted, allow_auto_topic_creation=False)
    answer = gateway.ask(messages.METADATA, request)
    brokers = {each.node_id: Endpoint(each.host, each.port) for each in answer.brokers}
    shown = [each for each in answer.topics if not each.error_code]
    at: dict[Endpoint, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    leaderless: list[TopicPartition] = []
    for topic in shown:
        for each in topic.partitions:
            if each.leader_id in brokers:
                at[brokers[each.leader_id]][topic.name].append(each.partition_index)
            else:
                leaderless.append((topic.name, each.partition_index))
    return PartitionLeaders(
        at,
        tuple(brokers.values()),
        {topic.name: sorted(each.partition_index for each in topic.partitions) for topic in shown},
        {
            topic.name: broker_refusal(code, None)
            for topic in answer.topics
            if (code := topic.error_code)
        },
        tuple(leaderless),
        {topic.name: messages.format_uuid(topic.topic_id) for topic in shown},
    )
