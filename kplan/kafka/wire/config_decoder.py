"""A fast reader of the two large answers: DescribeConfigs 4 and CreateTopics 7.

Thousands of topics have the same few dozen config entries, so each distinct entry is read once and
found again by its bytes: a fraction of the processor time of the general decoder, and one value in
memory for all that are equal. `tests/unit/kafka/test_wire_config_decoder.py` holds both decoders to
the same results.
"""

import struct
from collections.abc import Callable
from typing import TypeVar

from kplan.cluster.specs import ConfigEntry, ConfigSource, TopicPreview
from kplan.kafka.wire.verdict import refused
from kplan.model.refusal import Refusal

DESCRIBE_CONFIGS_VERSION = 4
CREATE_TOPICS_VERSION = 7

SOURCES = {
    1: ConfigSource.TOPIC,
    2: ConfigSource.DYNAMIC_BROKER,
    3: ConfigSource.DYNAMIC_DEFAULT_BROKER,
    4: ConfigSource.STATIC_BROKER,
    5: ConfigSource.DEFAULT,
    7: ConfigSource.CLIENT_METRICS,
    8: ConfigSource.GROUP,
}
"""Kafka's numbers for sources (DescribeConfigsResponse.ConfigSource); others are OTHER."""

Configs = dict[str, ConfigEntry]
Seen = dict[bytes, tuple[str, ConfigEntry]]
"""Entries read before, by their bytes; to be shared between the answers of one reading."""

Result = TypeVar("Result")


class Unusual(Exception):  # noqa: N818 - nothing is wrong with it
    """The answer holds what was not asked for, or is cut: a matter for the general decoder."""


def read_configs(data: bytes, seen: Seen) -> dict[str, Configs | Refusal]:
    """Read the body of a DescribeConfigs answer without synonyms and documentation.

    Raises:
        Unusual: it is not of that shape.

    """
    return _results(data, seen, _described)


def read_previews(data: bytes, seen: Seen) -> dict[str, TopicPreview | Refusal]:
    """Read the body of a CreateTopics answer of one who may see configs; raises as above."""
    return _results(data, seen, _previewed)


_Reader = Callable[[bytes, int, Seen, int], tuple[str | None, Result, int]]


def _results(data: bytes, seen: Seen, read: "_Reader[Result]") -> dict[str, Result]:
    """Read an answer: throttle time, results, and no tagged fields anywhere (KIP-482)."""
    found: dict[str, Result] = {}
    try:
        (throttle_ms,) = struct.unpack_from(">i", data)
        size, at = _length(data, 4)
        for _ in range(size):
            name, result, at = read(data, at, seen, throttle_ms)
            if name is None or data[at] != 0:
                raise Unusual
            found[name] = result
            at += 1
    except (IndexError, ValueError, struct.error) as failure:
        raise Unusual from failure
    if at != len(data) - 1 or data[at] != 0:
        raise Unusual
    return found


def _described(
    data: bytes, at: int, seen: Seen, throttle_ms: int
) -> tuple[str | None, Configs | Refusal, int]:
    (code,) = struct.unpack_from(">h", data, at)
    message, at = _text(data, at + 2)
    name, at = _text(data, at + 1)  # behind the resource type
    configs, at = _configs(data, at, seen, _DESCRIBED_TAIL)
    if code:
        return name, refused(code, message, throttle_ms=throttle_ms), at
    return name, configs, at


def _previewed(
    data: bytes, at: int, seen: Seen, throttle_ms: int
) -> tuple[str | None, TopicPreview | Refusal, int]:
    name, at = _text(data, at)
    (code,) = struct.unpack_from(">h", data, at + 16)  # behind the topic id
    message, at = _text(data, at + 18)
    partitions, factor = struct.unpack_from(">ih", data, at)
    configs, at = _configs(data, at + 6, seen, _PREVIEWED_TAIL)
    if code:
        return name, refused(code, message, throttle_ms=throttle_ms), at
    return name, TopicPreview(count(partitions), count(factor), configs), at


def count(number: int) -> int | None:
    """Read a count, which is -1 where we may not see it."""
    return number if number > 0 else None


_DESCRIBED_TAIL = 7
"""Read-only, source, sensitive, synonyms, type, documentation, tagged fields: a byte each."""

_PREVIEWED_TAIL = 4
"""Read-only, source, sensitive, tagged fields: a byte each."""

_EMPTY_TAILS = {_DESCRIBED_TAIL: b"\x01\x00\x00", _PREVIEWED_TAIL: b"\x00"}
"""What the last bytes are where nothing more was asked for; the type of the value aside."""


def _configs(data: bytes, at: int, seen: Seen, tail: int) -> tuple[Configs, int]:
    entries, at = _length(data, at)
    configs: Configs = {}
    for _ in range(entries):
        value_at = at + data[at]
        size = data[value_at]
        end = value_at + (size or 1) + tail
        if size >= _LONG or data[at] >= _LONG:
            end = _end_of_long(data, at) + tail
        raw = data[at:end]
        known = seen.get(raw)
        if known is None:
            known = seen[raw] = _entry(raw, tail)
        configs[known[0]] = known[1]
        at = end
    return configs, at


_LONG = 0x80
"""From here on a length takes more than one byte."""


def _entry(raw: bytes, tail: int) -> tuple[str, ConfigEntry]:
    name, at = _text(raw, 0)
    value, at = _text(raw, at)
    rest = raw[at:]
    more = rest[3:4] + rest[5:] if tail == _DESCRIBED_TAIL else rest[3:]
    if name is None or len(rest) != tail or more != _EMPTY_TAILS[tail]:
        raise Unusual
    source = SOURCES.get(rest[1], ConfigSource.OTHER)
    return name, ConfigEntry(value, source, is_sensitive=rest[2] != 0)


def _end_of_long(data: bytes, at: int) -> int:
    size, at = _length(data, at)
    size, at = _length(data, at + size)
    return at + max(size, 0)


def _text(data: bytes, at: int) -> tuple[str | None, int]:
    size, at = _length(data, at)
    if size < 0:
        return None, at
    return data[at : at + size].decode(), at + size


def _length(data: bytes, at: int) -> tuple[int, int]:
    """Read a compact length: an unsigned varint that is one too high; -1 stands for null."""
    size = shift = 0
    while True:
        byte = data[at]
        at += 1
        size |= (byte & 0x7F) << shift
        if byte < _LONG:
            return size - 1, at
        shift += 7
