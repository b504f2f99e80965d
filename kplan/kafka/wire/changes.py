"""Writes to topics that exist: CreatePartitions, IncrementalAlterConfigs."""

from collections.abc import Iterable, Mapping, Sequence

from kplan.cluster.specs import ConfigAlteration, NewPartitions, Verdict
from kplan.kafka.wire import messages
from kplan.kafka.wire.api import Message
from kplan.kafka.wire.configs import TOPIC
from kplan.kafka.wire.gateway import Gateway
from kplan.kafka.wire.verdict import TOO_LARGE, invalid, verdict
from kplan.model.refusal import Refusal

_SET, _DELETE = 0, 1


def create_partitions(
    gateway: Gateway, specs: Sequence[NewPartitions], *, validate_only: bool
) -> Mapping[str, Verdict]:
    """Grow topics in one request (KIP-195)."""
    too_large = {spec.name for spec in specs if spec.total > messages.INT32_MAX}
    verdicts: dict[str, Verdict] = {name: invalid(TOO_LARGE) for name in too_large}
    sendable = [spec for spec in specs if spec.name not in too_large]
    if not sendable:
        return verdicts
    request = messages.CREATE_PARTITIONS.request(
        topics=[_grown(spec) for spec in sendable],
        timeout_ms=gateway.operation_timeout_ms,
        validate_only=validate_only,
    )
    answer = gateway.send(messages.CREATE_PARTITIONS, request)
    if isinstance(answer, Refusal):
        return verdicts | {spec.name: answer for spec in sendable}
    return verdicts | {
        each.name: verdict(each.error_code, each.error_message, throttle_ms=answer.throttle_time_ms)
        for each in answer.results
    }


def _grown(spec: NewPartitions) -> Message:
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
) -> Mapping[str, Verdict]:
    """Set and reset single keys in one request (KIP-339)."""
    request = messages.ALTER_CONFIGS.request(
        resources=[altered(TOPIC, spec.name, spec.set, spec.delete) for spec in specs],
        validate_only=validate_only,
    )
    answer = gateway.send(messages.ALTER_CONFIGS, request)
    if isinstance(answer, Refusal):
        return {spec.name: answer for spec in specs}
    return {
        each.resource_name: verdict(
            each.error_code, each.error_message, throttle_ms=answer.throttle_time_ms
        )
        for each in answer.responses
    }


def altered(scope: int, name: str, values: Mapping[str, str], resets: Iterable[str]) -> Message:
    """Write the changes to the configs of one resource."""
    resource = messages.ALTER_CONFIGS.request.AlterConfigsResource
    entries: list[tuple[str, int, str | None]]
    entries = [(key, _SET, value) for key, value in sorted(values.items())]
    entries += [(key, _DELETE, None) for key in sorted(resets)]
    return resource(
        resource_type=scope,
        resource_name=name,
        configs=[
            resource.AlterableConfig(name=key, config_operation=operation, value=value)
            for key, operation, value in entries
        ],
    )
