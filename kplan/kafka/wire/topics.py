"""Metadata: which topics there are, and where their replicas stand."""

from collections.abc import Collection, Mapping
from functools import partial

from kplan.cluster.specs import TopicDescription
from kplan.kafka.settings import Endpoint
from kplan.kafka.wire import messages, topic_id, topic_pages
from kplan.kafka.wire.api import Message
from kplan.kafka.wire.connection import Connection
from kplan.kafka.wire.gateway import Gateway
from kplan.kafka.wire.link import Deadline
from kplan.kafka.wire.verdict import refused
from kplan.model.errors import ClusterError
from kplan.model.refusal import Refusal

Topics = dict[str, TopicDescription | Refusal]

PER_REQUEST = 2000
"""Topics that are asked for by name in one request (K919-32)."""


def topics(
    gateway: Gateway, names: Collection[str] | None, at: Endpoint | None
) -> Mapping[str, TopicDescription | Refusal]:
    """Describe the named topics, or all that we may see; sorted by name. Creates none."""
    if names is None:
        return gateway.read(_all, at=at)
    wanted = sorted(names)
    found: dict[str, TopicDescription | Refusal] = {}
    for start in range(0, len(wanted), PER_REQUEST):
        part = [_wanted(name) for name in wanted[start : start + PER_REQUEST]]
        found |= gateway.read(partial(_asked, wanted=part), at=at)
    return found


def _all(node: Connection, deadline: Deadline) -> Topics:
    """Read all topics, page by page where the broker can (KIP-966); else in one lump."""
    if topic_pages.PAGES.key not in node.versions:
        return _asked(node, deadline, None)
    return {each.name: _described(each) for each in topic_pages.all_topics(node, deadline)}


def _asked(node: Connection, deadline: Deadline, wanted: list[Message] | None) -> Topics:
    request = messages.METADATA.request(
        topics=wanted,
        allow_auto_topic_creation=False,
        include_topic_authorized_operations=False,
    )
    answer = node.ask(messages.METADATA, request, deadline)
    if answer.error_code:
        raise ClusterError(f"Topics cannot be listed: {refused(answer.error_code, None)}")
    return {
        each.name: _described(each)
        for each in sorted(answer.topics, key=lambda each: str(each.name))
        if each.name is not None
    }


def _wanted(name: str) -> Message:
    return messages.METADATA.request.MetadataRequestTopic(topic_id=topic_id.NO_ID, name=name)


def _described(topic: Message) -> TopicDescription | Refusal:
    if topic.error_code:
        return refused(topic.error_code, None)
    partitions = sorted(topic.partitions, key=lambda each: int(each.partition_index))
    return TopicDescription(
        name=topic.name,
        topic_id=topic_id.text(topic.topic_id),
        assignment=tuple(tuple(each.replica_nodes) for each in partitions),
        is_internal=topic.is_internal,
        leaderless=sum(each.leader_id < 0 for each in partitions),
        leaders=tuple(each.leader_id for each in partitions),
        in_sync=tuple(tuple(each.isr_nodes) for each in partitions),
    )
