"""Fetch and ListOffsets, and the batches of records in their answers (KIP-98).

Apart from `messages.py`, because only a state that is kept on the cluster needs them.
"""

import struct
from collections.abc import Iterator, Sequence

# Leaf modules, imported by what reads a state from the cluster.
from kafka.errors import KafkaError, UnsupportedCodecError  # noqa: TID253
from kafka.record import MemoryRecords  # noqa: TID253

from kplan.kafka.wire.api import Message, api_of
from kplan.kafka.wire.messages import Garbled

# Version 4 leaves out what was not committed; version 13 asks by topic id.
FETCH = api_of("Fetch", 1, range(4, 13), "consumer.fetch")
LIST_OFFSETS = api_of("ListOffsets", 2, range(2, 10), "consumer.offsets")

APIS = (FETCH, LIST_OFFSETS)
"""Every API that reading of records takes."""

Record = tuple[bytes, bytes | None]
"""A key and its value; None says that the key is gone."""

_MAGIC = 2


class Unreadable(Exception):  # noqa: N818 - the records, not us
    """Records are compressed in a way that cannot be read here, or of a format before KIP-98."""


def committed(data: bytes | None, aborted: Sequence[Message]) -> Iterator[tuple[int, list[Record]]]:
    """Give, batch by batch, the offset that follows and the records that count.

    `aborted` lists the aborted transactions that the answer touches, as the broker told them. A
    last batch that was cut off by the limit of the answer is left for the next.

    Raises:
        Unreadable: the records cannot be read.
        Garbled: they are damaged.

    """
    waiting = sorted(aborted, key=lambda each: -int(each.first_offset))
    open_: set[int] = set()
    try:
        for batch in MemoryRecords(data or b""):
            if batch.magic < _MAGIC:
                raise Unreadable("they are of a format before Kafka 0.11")
            while waiting and waiting[-1].first_offset <= batch.last_offset:
                open_.add(waiting.pop().producer_id)
            yield batch.next_offset, _counted(batch, open_)
    except UnsupportedCodecError as failure:
        raise Unreadable("they are compressed in a way that kplan does not read") from failure
    except (KafkaError, ValueError, IndexError, struct.error) as failure:
        raise Garbled(f"records that make no sense: {failure}") from failure


def _counted(batch: Message, aborted: set[int]) -> list[Record]:
    """Give the records of a batch; a marker ends the transaction of its producer."""
    if batch.is_control_batch:
        aborted.discard(batch.producer_id)
        return []
    if batch.is_transactional and batch.producer_id in aborted:
        return []
    return [(each.key, each.value) for each in batch if each.key is not None]
