"""Who leads the partitions of topics (Metadata)."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from kplan.cluster.usage import TopicPartition
from kplan.kafka.settings import Endpoint
from kplan.kafka.wire import messages, topic_id
from kplan.kafka.wire.gateway import Gateway
from kplan.kafka.wire.verdict import refused
from kplan.model.refusal import Refusal


@dataclass(frozen=True, slots=True)
class Leaders:
    """The partitions that each broker leads, by topic; also all brokers, and all partitions.

    `refused` are topics that are not shown, `leaderless` partitions that nobody leads now.
    """

    at: Mapping[Endpoint, Mapping[str, list[int]]]
    brokers: tuple[Endpoint, ...]
    partitions: Mapping[str, list[int]]
    refused: Mapping[str, Refusal]
    leaderless: tuple[TopicPartition, ...]

    def untold(self) -> Iterator[tuple[str, str]]:
        """Tell of which topics something stays unknown for want of a leader, and why."""
        for name, why in self.refused.items():
            yield name, f"the topic is not shown ({why})"
        for name, number in self.leaderless:
            yield name, f"partition {number} has no leader"


def leaders(gateway: Gateway, names: Collection[str]) -> Leaders:
    """Find the leader of every partition of the topics; raises Unreachable, AuthError."""
    part = messages.METADATA.request.MetadataRequestTopic
    wanted = [part(topic_id=topic_id.NO_ID, name=name) for name in sorted(names)]
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
    return Leaders(
        at,
        tuple(brokers.values()),
        {topic.name: sorted(each.partition_index for each in topic.partitions) for topic in shown},
        {topic.name: refused(code, None) for topic in answer.topics if (code := topic.error_code)},
        tuple(leaderless),
    )
