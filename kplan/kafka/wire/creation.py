"""CreateTopics, for real and as a preview (KIP-464, KIP-525)."""

from collections.abc import Mapping, Sequence

from kplan.cluster.specs import NewTopic, TopicPreview, Verdict
from kplan.kafka.wire import messages
from kplan.kafka.wire.configs import config_entry
from kplan.kafka.wire.gateway import Gateway
from kplan.kafka.wire.messages import Message
from kplan.kafka.wire.verdict import refused, verdict
from kplan.model.refusal import Refusal

_BROKERS_DEFAULT = -1


def create_topics(gateway: Gateway, specs: Sequence[NewTopic]) -> Mapping[str, Verdict]:
    """Create topics in one request."""
    answer = _sent(gateway, specs, validate_only=False)
    if isinstance(answer, Refusal):
        return {spec.name: answer for spec in specs}
    return {
        each.name: verdict(each.error_code, each.error_message, throttle_ms=answer.throttle_time_ms)
        for each in answer.topics
    }


def preview_topics(
    gateway: Gateway, specs: Sequence[NewTopic]
) -> Mapping[str, TopicPreview | Refusal]:
    """Ask in one request what would come of creating the topics; nothing is created."""
    answer = _sent(gateway, specs, validate_only=True)
    if isinstance(answer, Refusal):
        return {spec.name: answer for spec in specs}
    return {each.name: _preview(each, answer.throttle_time_ms) for each in answer.topics}


def _sent(gateway: Gateway, specs: Sequence[NewTopic], *, validate_only: bool) -> Message | Refusal:
    request = messages.CREATE_TOPICS.request(
        topics=[_creatable(spec) for spec in specs],
        timeout_ms=gateway.operation_timeout_ms,
        validate_only=validate_only,
    )
    return gateway.write(messages.CREATE_TOPICS, request)


def _creatable(spec: NewTopic) -> Message:
    topic = messages.CREATE_TOPICS.request.CreatableTopic
    counts = (spec.partitions, spec.replication_factor)
    partitions, factor = (_BROKERS_DEFAULT if count is None else count for count in counts)
    return topic(
        name=spec.name,
        num_partitions=partitions,
        replication_factor=factor,
        assignments=[
            topic.CreatableReplicaAssignment(partition_index=index, broker_ids=list(replicas))
            for index, replicas in enumerate(spec.assignment or ())
        ],
        configs=[
            topic.CreatableTopicConfig(name=key, value=value)
            for key, value in sorted(spec.config.items())
        ],
    )


def _preview(topic: Message, throttle_ms: int) -> TopicPreview | Refusal:
    if topic.error_code:
        return refused(topic.error_code, topic.error_message, throttle_ms=throttle_ms)
    return TopicPreview(
        partitions=_count(topic.num_partitions),
        replication_factor=_count(topic.replication_factor),
        config={each.name: config_entry(each) for each in topic.configs or ()},
    )


def _count(number: int) -> int | None:
    return number if number > 0 else None  # -1 where we may not see the configs
