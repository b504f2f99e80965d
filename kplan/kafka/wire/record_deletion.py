"""Deleting records: DeleteRecords, at the leader of each partition (KIP-107)."""

from collections import defaultdict
from collections.abc import Mapping

from kplan.cluster.errors import CLIENT_DISCONNECTED, client_refusal
from kplan.cluster.usage import TopicPartition
from kplan.kafka.settings import Endpoint
from kplan.kafka.wire import usage_messages as apis
from kplan.kafka.wire.api import Message
from kplan.kafka.wire.gateway import Gateway
from kplan.kafka.wire.leaders import Leaders, leaders
from kplan.kafka.wire.verdict import refused
from kplan.model.errors import Unreachable
from kplan.model.refusal import Refusal

Answers = Mapping[TopicPartition, int | Refusal]

_UNKNOWN_TOPIC_OR_PARTITION, _LEADER_NOT_AVAILABLE = 3, 5


def delete_records(gateway: Gateway, before: Mapping[TopicPartition, int]) -> Answers:
    """Delete the records before an offset of each partition; tells the first offset left."""
    try:
        led = leaders(gateway, {name for name, _ in before})
    except Unreachable as failure:
        lost = client_refusal(CLIENT_DISCONNECTED, f"Nothing was sent. {failure.detail}")
        return dict.fromkeys(before, lost)
    found: dict[TopicPartition, int | Refusal] = {
        key: _unsent(key, led) for key in before if not _is_led(key, led)
    }
    for at, topics in led.at.items():
        keys = {(name, number) for name, numbers in topics.items() for number in numbers}
        if mine := {key: before[key] for key in keys & before.keys()}:
            found |= _deleted_at(gateway, at, mine)
    return found


def _is_led(key: TopicPartition, led: Leaders) -> bool:
    name, number = key
    return number in led.partitions.get(name, ()) and key not in led.leaderless


def _unsent(key: TopicPartition, led: Leaders) -> Refusal:
    """Say why nobody can be asked for a partition."""
    if key[0] in led.refused:
        return led.refused[key[0]]
    code = _LEADER_NOT_AVAILABLE if key in led.leaderless else _UNKNOWN_TOPIC_OR_PARTITION
    return refused(code, None)


def _deleted_at(gateway: Gateway, at: Endpoint, before: Mapping[TopicPartition, int]) -> Answers:
    part = apis.DELETE_RECORDS.request.DeleteRecordsTopic
    topics: dict[str, list[Message]] = defaultdict(list)
    for (name, number), offset in sorted(before.items()):
        row = part.DeleteRecordsPartition(partition_index=number, offset=offset)
        topics[name].append(row)
    request = apis.DELETE_RECORDS.request(
        topics=[part(name=name, partitions=rows) for name, rows in topics.items()],
        timeout_ms=gateway.operation_timeout_ms,
    )
    answer = gateway.send(apis.DELETE_RECORDS, request, at=at)
    if isinstance(answer, Refusal):
        return dict.fromkeys(before, answer)
    return {
        (topic.name, each.partition_index): refused(each.error_code, None)
        if each.error_code
        else each.low_watermark
        for topic in answer.topics
        for each in topic.partitions
    }
