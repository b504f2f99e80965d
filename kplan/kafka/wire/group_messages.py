"""The messages about groups of consumers."""

import struct

# A leaf module, imported by what asks about groups.
from kafka.protocol.consumer.metadata import ConsumerProtocolAssignment  # noqa: TID253

from kplan.cluster.usage import TopicPartition
from kplan.kafka.wire.api import api_of
from kplan.kafka.wire.messages import Garbled

# Groups of the newer protocol (KIP-848), which kafka-python does not ship.
CONSUMER_GROUP_DESCRIBE = api_of("ConsumerGroupDescribe", 69, range(2))


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
