"""DeleteTopics: by topic id where one is known, so that a re-created topic is spared (KIP-516)."""

from collections.abc import Mapping, Sequence
from uuid import UUID

from kplan.cluster.specs import TopicRef, Verdict
from kplan.kafka.wire import messages, topic_id
from kplan.kafka.wire.api import Message
from kplan.kafka.wire.gateway import Gateway
from kplan.kafka.wire.verdict import verdict
from kplan.model.refusal import Refusal


def delete_topics(gateway: Gateway, refs: Sequence[TopicRef]) -> Mapping[str, Verdict]:
    """Delete topics in one request."""
    ids = {topic_id.parsed(ref.topic_id): ref.name for ref in refs if ref.topic_id}
    by_name = [ref.name for ref in refs if not ref.topic_id]
    request = messages.DELETE_TOPICS.request(
        topics=[_state(None, each) for each in ids]
        + [_state(name, topic_id.NO_ID) for name in by_name],
        topic_names=by_name,
        timeout_ms=gateway.operation_timeout_ms,
    )
    api = messages.DELETE_TOPICS_BY_ID if ids else messages.DELETE_TOPICS
    answer = gateway.send(api, request)
    if isinstance(answer, Refusal):
        return {ref.name: answer for ref in refs}
    return {
        ids.get(each.topic_id, each.name): verdict(
            each.error_code, each.error_message, throttle_ms=answer.throttle_time_ms
        )
        for each in answer.responses
    }


def _state(name: str | None, identity: UUID) -> Message:
    return messages.DELETE_TOPICS.request.DeleteTopicState(name=name, topic_id=identity)
