"""Batches of records as brokers keep them."""

from collections.abc import Mapping

from kafka.record import MemoryRecordsBuilder

_ATTRIBUTES = 21
_CONTROL = 0x20


def batch(
    offset: int,
    records: Mapping[str, str | None],
    *,
    producer: int = -1,
    compression: int = 0,
    magic: int = 2,
) -> bytes:
    """Write one batch; one of a producer is part of its transaction."""
    builder = MemoryRecordsBuilder(
        magic,
        compression,
        1 << 20,
        transactional=producer >= 0,
        producer_id=producer,
        producer_epoch=0 if producer >= 0 else -1,
        base_sequence=0 if producer >= 0 else -1,
    )
    for key, value in records.items():
        builder.append(1, key.encode(), None if value is None else value.encode())
    builder.close()
    written = bytearray(builder.buffer())
    written[:8] = offset.to_bytes(8, "big")
    return bytes(written)


def marker(offset: int, producer: int, *, is_commit: bool) -> bytes:
    """Write the end of a transaction."""
    builder = MemoryRecordsBuilder(
        2, 0, 1024, transactional=True, producer_id=producer, producer_epoch=0, base_sequence=0
    )
    builder.append(1, bytes([0, 0, 0, is_commit]), bytes(6))
    builder.close()
    written = bytearray(builder.buffer())
    written[:8] = offset.to_bytes(8, "big")
    written[_ATTRIBUTES + 1] |= _CONTROL
    return bytes(written)
