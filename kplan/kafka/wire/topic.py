"""Changes to topics: create, preview, add partitions, alter configs, delete."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from uuid import UUID

from kplan.cluster.protocol import INT16_MAX, INT32_MAX
from kplan.cluster.request import (
    ConfigAlteration,
    ItemResult,
    NewPartitions,
    NewTopic,
    TopicPreview,
    TopicRef,
)
from kplan.cluster.setting_keys import ROOT_LOGGER
from kplan.kafka.wire import messages
from kplan.kafka.wire.connection import Connection
from kplan.kafka.wire.gateway import Gateway
from kplan.kafka.wire.messages import (
    TOO_LARGE,
    Message,
    broker_refusal,
    invalid_refusal,
    item_result,
)
from kplan.kafka.wire.topic_config import (
    CREATE_TOPICS_VERSION,
    TOPIC_RESOURCE,
    UnexpectedLayout,
    config_entry,
    decode_previews_fast,
    visible_count,
)
from kplan.kafka.wire.transport import Deadline
from kplan.model.errors import Refusal

_BROKER_DEFAULT = -1


def create_topics(
    gateway: Gateway, specs: Sequence[NewTopic], *, is_strict: bool = False
) -> Mapping[str, ItemResult]:
    """Create topics in one request.

    What is over a quota on changes is then refused if `is_strict`, and delayed otherwise (KIP-599).
    """
    results, sendable = _split_sendable(specs)
    if not sendable:
        return results
    request = _create_request(gateway, sendable, validate_only=False)
    api = messages.PREVIEW_TOPICS if is_strict else messages.CREATE_TOPICS
    answer = gateway.send(api, request)
    if isinstance(answer, Refusal):
        return results | {spec.name: answer for spec in sendable}
    return results | {
        each.name: item_result(
            each.error_code, each.error_message, throttle_ms=answer.throttle_time_ms
        )
        for each in answer.topics
    }


def preview_topics(
    gateway: Gateway, specs: Sequence[NewTopic]
) -> Mapping[str, TopicPreview | Refusal]:
    """Validate the creation of the topics in one request; nothing is created."""
    refusals, sendable = _split_sendable(specs)
    if not sendable:
        return refusals
    request = _create_request(gateway, sendable, validate_only=True)
    answer = gateway.write(lambda node, deadline: _ask_previews(node, request, deadline))
    if isinstance(answer, Refusal):
        return refusals | {spec.name: answer for spec in sendable}
    return refusals | answer


_Refusals = dict[str, Refusal]


def _split_sendable(specs: Sequence[NewTopic]) -> tuple[_Refusals, list[NewTopic]]:
    """Refuse items that do not fit the protocol, so that the others can be sent."""
    refusals = {spec.name: invalid_refusal(fault) for spec in specs if (fault := _fault(spec))}
    return refusals, [spec for spec in specs if spec.name not in refusals]


def _fault(spec: NewTopic) -> str:
    if spec.assignment == ():  # the protocol has no other way to say "without an assignment"
        return "The assignment has no partition."
    return "" if _is_in_range(spec) else TOO_LARGE


def _is_in_range(spec: NewTopic) -> bool:
    ids = (number for replicas in spec.assignment or () for number in replicas)
    return (
        (spec.partitions or 0) <= INT32_MAX
        and (spec.replication_factor or 0) <= INT16_MAX
        and max(ids, default=0) <= INT32_MAX
    )


def _create_request(gateway: Gateway, specs: Sequence[NewTopic], *, validate_only: bool) -> Message:
    return messages.CREATE_TOPICS.request(
        topics=[_creatable_topic(spec) for spec in specs],
        timeout_ms=gateway.operation_timeout_ms,
        validate_only=validate_only,
    )


def _creatable_topic(spec: NewTopic) -> Message:
    topic = messages.CREATE_TOPICS.request.CreatableTopic
    counts = (spec.partitions, spec.replication_factor)
    partitions, factor = (_BROKER_DEFAULT if count is None else count for count in counts)
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


def _ask_previews(
    node: Connection, request: Message, deadline: Deadline
) -> dict[str, TopicPreview | Refusal]:
    api = messages.PREVIEW_TOPICS
    version = node.version(api)
    body = node.ask_raw(api, version, request, deadline)
    if version == CREATE_TOPICS_VERSION:
        with suppress(UnexpectedLayout):
            return decode_previews_fast(bytes(body), {})
    return decode_previews(node.decode(api, version, body))


def decode_previews(answer: Message) -> dict[str, TopicPreview | Refusal]:
    """Read a CreateTopics answer of any version."""
    return {
        each.name: broker_refusal(
            each.error_code, each.error_message, throttle_ms=answer.throttle_time_ms
        )
        if each.error_code
        else TopicPreview(
            partitions=visible_count(each.num_partitions),
            replication_factor=visible_count(each.replication_factor),
            config={entry.name: config_entry(entry) for entry in each.configs or ()},
        )
        for each in answer.topics
    }


_SET, _DELETE = 0, 1
_INVALID_REQUEST = 42


def _names_given_twice(names: Iterable[str]) -> frozenset[str]:
    return frozenset(name for name, count in Counter(names).items() if count > 1)


def create_partitions(
    gateway: Gateway, specs: Sequence[NewPartitions], *, validate_only: bool
) -> Mapping[str, ItemResult]:
    """Grow topics in one request (KIP-195)."""
    too_large = {spec.name for spec in specs if spec.total > INT32_MAX}
    results: dict[str, ItemResult] = {name: invalid_refusal(TOO_LARGE) for name in too_large}
    sendable = [spec for spec in specs if spec.name not in too_large]
    if not sendable:
        return results
    request = messages.CREATE_PARTITIONS.request(
        topics=[_partitions_request(spec) for spec in sendable],
        timeout_ms=gateway.operation_timeout_ms,
        validate_only=validate_only,
    )
    answer = gateway.send(messages.CREATE_PARTITIONS, request)
    if isinstance(answer, Refusal):
        return results | {spec.name: answer for spec in sendable}
    return results | {
        each.name: item_result(
            each.error_code, each.error_message, throttle_ms=answer.throttle_time_ms
        )
        for each in answer.results
    }


def _partitions_request(spec: NewPartitions) -> Message:
    topic = messages.CREATE_PARTITIONS.request.CreatePartitionsTopic
    assignments = None
    if spec.assignment is not None:
        assignments = [
            topic.CreatePartitionsAssignment(broker_ids=list(replicas))
            for replicas in spec.assignment
        ]
    return topic(name=spec.name, count=spec.total, assignments=assignments)


def alter_topic_configs(
    gateway: Gateway, specs: Sequence[ConfigAlteration], *, validate_only: bool
) -> Mapping[str, ItemResult]:
    """Set and reset single keys in one request (KIP-339).

    A topic that is named twice is not sent: brokers with ZooKeeper take both alterations.
    """
    twice = _names_given_twice(spec.name for spec in specs)
    results: dict[str, ItemResult] = {
        name: item_result(_INVALID_REQUEST, "Each resource must appear at most once.")
        for name in twice
    }
    specs = [spec for spec in specs if spec.name not in twice]
    if not specs:
        return results
    request = messages.ALTER_CONFIGS.request(
        resources=[
            config_changes(TOPIC_RESOURCE, spec.name, spec.set, spec.delete) for spec in specs
        ],
        validate_only=validate_only,
    )
    answer = gateway.send(messages.ALTER_CONFIGS, request)
    if isinstance(answer, Refusal):
        return results | {spec.name: answer for spec in specs}
    return results | {
        each.resource_name: item_result(
            each.error_code, each.error_message, throttle_ms=answer.throttle_time_ms
        )
        for each in answer.responses
    }


def config_changes(
    scope: int, name: str, values: Mapping[str, str], resets: Iterable[str]
) -> Message:
    """Write the changes to the configs of one resource."""
    resource = messages.ALTER_CONFIGS.request.AlterConfigsResource
    entries: list[tuple[str, int, str | None]]
    # Loggers go after root: a node ignores a level that a logger has already, were it root's.
    pairs = sorted(values.items(), key=lambda pair: (pair[0] != ROOT_LOGGER, pair))
    entries = [(key, _SET, value) for key, value in pairs]
    entries += [(key, _DELETE, None) for key in sorted(resets)]
    return resource(
        resource_type=scope,
        resource_name=name,
        configs=[
            resource.AlterableConfig(name=key, config_operation=operation, value=value)
            for key, operation, value in entries
        ],
    )


def delete_topics(gateway: Gateway, refs: Sequence[TopicRef]) -> Mapping[str, ItemResult]:
    """Delete topics in one request; one that is named twice is not sent."""
    twice = _names_given_twice(ref.name for ref in refs)
    results: dict[str, ItemResult] = {
        name: item_result(_INVALID_REQUEST, "Duplicate topic name.") for name in twice
    }
    refs = [ref for ref in refs if ref.name not in twice]
    if not refs:
        return results
    ids = {messages.parse_uuid(ref.topic_id): ref.name for ref in refs if ref.topic_id}
    by_name = [ref.name for ref in refs if not ref.topic_id]
    request = messages.DELETE_TOPICS.request(
        topics=[_topic_state(None, each) for each in ids]
        + [_topic_state(name, messages.ZERO_UUID) for name in by_name],
        topic_names=by_name,
        timeout_ms=gateway.operation_timeout_ms,
    )
    api = messages.DELETE_TOPICS_BY_ID if ids else messages.DELETE_TOPICS
    answer = gateway.send(api, request)
    if isinstance(answer, Refusal):
        return results | {ref.name: answer for ref in refs}
    return results | {
        ids.get(each.topic_id, each.name): item_result(
            each.error_code, each.error_message, throttle_ms=answer.throttle_time_ms
        )
        for each in answer.responses
    }


def _topic_state(name: str | None, identity: UUID) -> Message:
    return messages.DELETE_TOPICS.request.DeleteTopicState(name=name, topic_id=identity)
