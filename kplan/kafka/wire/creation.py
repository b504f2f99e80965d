"""CreateTopics, for real and as a preview (KIP-464, KIP-525)."""

from collections.abc import Mapping, Sequence
from contextlib import suppress

from kplan.cluster.specs import NewTopic, TopicPreview, Verdict
from kplan.kafka.wire import messages
from kplan.kafka.wire.api import Message
from kplan.kafka.wire.config_decoder import (
    CREATE_TOPICS_VERSION,
    Unusual,
    count,
    read_previews,
)
from kplan.kafka.wire.configs import config_entry
from kplan.kafka.wire.connection import Connection
from kplan.kafka.wire.gateway import Gateway
from kplan.kafka.wire.link import Deadline
from kplan.kafka.wire.verdict import TOO_LARGE, invalid, refused, verdict
from kplan.model.refusal import Refusal

_BROKERS_DEFAULT = -1


def create_topics(
    gateway: Gateway, specs: Sequence[NewTopic], *, is_strict: bool = False
) -> Mapping[str, Verdict]:
    """Create topics in one request.

    What is over a quota on changes is then refused if `is_strict`, and delayed otherwise (KIP-599).
    """
    verdicts, sendable = _sifted(specs)
    if not sendable:
        return verdicts
    request = _request(gateway, sendable, validate_only=False)
    api = messages.PREVIEW_TOPICS if is_strict else messages.CREATE_TOPICS
    answer = gateway.send(api, request)
    if isinstance(answer, Refusal):
        return verdicts | {spec.name: answer for spec in sendable}
    return verdicts | {
        each.name: verdict(each.error_code, each.error_message, throttle_ms=answer.throttle_time_ms)
        for each in answer.topics
    }


def preview_topics(
    gateway: Gateway, specs: Sequence[NewTopic]
) -> Mapping[str, TopicPreview | Refusal]:
    """Ask in one request what would come of creating the topics; nothing is created."""
    refusals, sendable = _sifted(specs)
    if not sendable:
        return refusals
    request = _request(gateway, sendable, validate_only=True)
    answer = gateway.write(lambda node, deadline: _previews(node, request, deadline))
    if isinstance(answer, Refusal):
        return refusals | {spec.name: answer for spec in sendable}
    return refusals | answer


_Refusals = dict[str, Refusal]


def _sifted(specs: Sequence[NewTopic]) -> tuple[_Refusals, list[NewTopic]]:
    """Refuse what has no room in the protocol, so that its neighbours can be sent."""
    refusals = {spec.name: invalid(fault) for spec in specs if (fault := _fault(spec))}
    return refusals, [spec for spec in specs if spec.name not in refusals]


_MAX_FACTOR = 2**15 - 1


def _fault(spec: NewTopic) -> str:
    if spec.assignment == ():  # the protocol has no other way to say "without an assignment"
        return "The assignment has no partition."
    return "" if _fits(spec) else TOO_LARGE


def _fits(spec: NewTopic) -> bool:
    ids = (number for replicas in spec.assignment or () for number in replicas)
    return (
        (spec.partitions or 0) <= messages.INT32_MAX
        and (spec.replication_factor or 0) <= _MAX_FACTOR
        and max(ids, default=0) <= messages.INT32_MAX
    )


def _request(gateway: Gateway, specs: Sequence[NewTopic], *, validate_only: bool) -> Message:
    return messages.CREATE_TOPICS.request(
        topics=[_creatable(spec) for spec in specs],
        timeout_ms=gateway.operation_timeout_ms,
        validate_only=validate_only,
    )


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


def _previews(
    node: Connection, request: Message, deadline: Deadline
) -> dict[str, TopicPreview | Refusal]:
    api = messages.PREVIEW_TOPICS
    version = node.version(api)
    body = node.ask_raw(api, version, request, deadline)
    if version == CREATE_TOPICS_VERSION:
        with suppress(Unusual):
            return read_previews(bytes(body), {})
    return previews(node.decoded(api, version, body))


def previews(answer: Message) -> dict[str, TopicPreview | Refusal]:
    """Read a CreateTopics answer of any version."""
    return {
        each.name: refused(each.error_code, each.error_message, throttle_ms=answer.throttle_time_ms)
        if each.error_code
        else TopicPreview(
            partitions=count(each.num_partitions),
            replication_factor=count(each.replication_factor),
            config={entry.name: config_entry(entry) for entry in each.configs or ()},
        )
        for each in answer.topics
    }
