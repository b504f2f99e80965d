"""The messages about groups of consumers.

Apart from `messages.py`, because only a few commands need them.
"""

import struct

# Leaf modules, imported by what asks about groups.
from kafka.protocol.api_message import ApiMessage  # noqa: TID253
from kafka.protocol.consumer import ConsumerProtocolAssignment  # noqa: TID253

from kplan.cluster.usage import TopicPartition
from kplan.kafka.wire import schemas
from kplan.kafka.wire.messages import Garbled, api_of


class ConsumerGroupDescribeRequest(ApiMessage, load_json=schemas):  # type: ignore[call-arg,misc] # untyped
    """Describe groups of the newer protocol (KIP-848)."""


class ConsumerGroupDescribeResponse(ApiMessage, load_json=schemas):  # type: ignore[call-arg,misc] # untyped
    """What they are."""


CONSUMER_GROUP_DESCRIBE = api_of(
    "ConsumerGroupDescribe", range(2), ConsumerGroupDescribeRequest, ConsumerGroupDescribeResponse
)


def assigned(data: bytes) -> tuple[TopicPartition, ...]:
    """Read the partitions of a member of a classic group, which its members agreed on.

    Raises:
        Garbled: the bytes are something else.

    """
    if not data:
        return ()  # told only while the group is stable
    try:
        held = ConsumerProtocolAssignment.decode(data).assigned_partitions
    except (ValueError, IndexError, EOFError, struct.error) as failure:
        raise Garbled("an assignment that makes no sense") from failure
    return tuple(sorted((each.topic, number) for each in held for number in each.partitions))
