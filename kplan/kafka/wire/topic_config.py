"""Topic configs with their sources (DescribeConfigs, KIP-226), and a fast decoder for them."""

import struct
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from typing import TypeVar

from kplan.cluster.request import ConfigEntry, ConfigSource, TopicPreview
from kplan.cluster.settings import DURATION_KEYS, ConfigDetail
from kplan.cluster.threads import DaemonThreads
from kplan.kafka.settings.connection import Endpoint
from kplan.kafka.wire import messages
from kplan.kafka.wire.connection import Connection
from kplan.kafka.wire.gateway import Gateway
from kplan.kafka.wire.messages import Message, broker_refusal
from kplan.kafka.wire.transport import Deadline
from kplan.model.errors import Refusal

DESCRIBE_CONFIGS_VERSION = 4
CREATE_TOPICS_VERSION = 7

CONFIG_SOURCES = {
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
EntryCache = dict[bytes, tuple[str, ConfigEntry]]
"""Entries read before, by their bytes; to be shared between the answers of one reading."""

Result = TypeVar("Result")


class UnexpectedLayout(Exception):  # noqa: N818 - nothing is wrong with it
    """The response contains unexpected parts or is truncated: left to the general decoder."""


def decode_configs_fast(data: bytes, entry_cache: EntryCache) -> dict[str, Configs | Refusal]:
    """Read the body of a DescribeConfigs answer without synonyms and documentation.

    Raises:
        UnexpectedLayout: it is not of that shape.

    """
    return _decode_results(data, entry_cache, _decode_described)


def decode_previews_fast(data: bytes, entry_cache: EntryCache) -> dict[str, TopicPreview | Refusal]:
    """Read the body of a CreateTopics answer of one who may see configs; raises as above."""
    return _decode_results(data, entry_cache, _decode_previewed)


_Reader = Callable[[bytes, int, EntryCache, int], tuple[str | None, Result, int]]


def _decode_results(
    data: bytes, entry_cache: EntryCache, read: "_Reader[Result]"
) -> dict[str, Result]:
    """Read an answer: throttle time, results, and no tagged fields anywhere (KIP-482)."""
    found: dict[str, Result] = {}
    try:
        (throttle_ms,) = struct.unpack_from(">i", data)
        size, at = _decode_length(data, 4)
        for _ in range(size):
            name, result, at = read(data, at, entry_cache, throttle_ms)
            if name is None or data[at] != 0:
                raise UnexpectedLayout
            found[name] = result
            at += 1
    except (IndexError, ValueError, struct.error) as failure:
        raise UnexpectedLayout from failure
    if at != len(data) - 1 or data[at] != 0:
        raise UnexpectedLayout
    return found


def _decode_described(
    data: bytes, at: int, entry_cache: EntryCache, throttle_ms: int
) -> tuple[str | None, Configs | Refusal, int]:
    (code,) = struct.unpack_from(">h", data, at)
    message, at = _decode_text(data, at + 2)
    name, at = _decode_text(data, at + 1)  # behind the resource type
    configs, at = _decode_entries(data, at, entry_cache, _DESCRIBED_TAIL)
    if code:
        return name, broker_refusal(code, message, throttle_ms=throttle_ms), at
    return name, configs, at


def _decode_previewed(
    data: bytes, at: int, entry_cache: EntryCache, throttle_ms: int
) -> tuple[str | None, TopicPreview | Refusal, int]:
    name, at = _decode_text(data, at)
    (code,) = struct.unpack_from(">h", data, at + 16)  # behind the topic id
    message, at = _decode_text(data, at + 18)
    partitions, factor = struct.unpack_from(">ih", data, at)
    configs, at = _decode_entries(data, at + 6, entry_cache, _PREVIEWED_TAIL)
    if code:
        return name, broker_refusal(code, message, throttle_ms=throttle_ms), at
    return name, TopicPreview(visible_count(partitions), visible_count(factor), configs), at


def visible_count(number: int) -> int | None:
    """Read a count, which is -1 where we may not see it."""
    return number if number > 0 else None


_DESCRIBED_TAIL = 7
"""Read-only, source, sensitive, synonyms, type, documentation, tagged fields: a byte each."""

_PREVIEWED_TAIL = 4
"""Read-only, source, sensitive, tagged fields: a byte each."""

_EMPTY_TAILS = {_DESCRIBED_TAIL: b"\x01\x00\x00", _PREVIEWED_TAIL: b"\x00"}
"""What the last bytes are where nothing more was asked for; the type of the value aside."""


def _decode_entries(
    data: bytes, at: int, entry_cache: EntryCache, tail: int
) -> tuple[Configs, int]:
    entries, at = _decode_length(data, at)
    configs: Configs = {}
    for _ in range(entries):
        value_at = at + data[at]
        size = data[value_at]
        end = value_at + (size or 1) + tail
        if size >= _MULTI_BYTE or data[at] >= _MULTI_BYTE:
            end = _long_entry_end(data, at) + tail
        raw = data[at:end]
        known = entry_cache.get(raw)
        if known is None:
            known = entry_cache[raw] = _decode_entry(raw, tail)
        configs[known[0]] = known[1]
        at = end
    return configs, at


_MULTI_BYTE = 0x80
"""From here on a length takes more than one byte."""


def _decode_entry(raw: bytes, tail: int) -> tuple[str, ConfigEntry]:
    name, at = _decode_text(raw, 0)
    value, at = _decode_text(raw, at)
    rest = raw[at:]
    more = rest[3:4] + rest[5:] if tail == _DESCRIBED_TAIL else rest[3:]
    if name is None or len(rest) != tail or more != _EMPTY_TAILS[tail]:
        raise UnexpectedLayout
    source = CONFIG_SOURCES.get(rest[1], ConfigSource.OTHER)
    return name, ConfigEntry(value, source, is_sensitive=rest[2] != 0)


def _long_entry_end(data: bytes, at: int) -> int:
    size, at = _decode_length(data, at)
    size, at = _decode_length(data, at + size)
    return at + max(size, 0)


def _decode_text(data: bytes, at: int) -> tuple[str | None, int]:
    size, at = _decode_length(data, at)
    if size < 0:
        return None, at
    return data[at : at + size].decode(), at + size


def _decode_length(data: bytes, at: int) -> tuple[int, int]:
    """Read a compact length: an unsigned varint that is one too high; -1 means null."""
    size = shift = 0
    while True:
        byte = data[at]
        at += 1
        size |= (byte & 0x7F) << shift
        if byte < _MULTI_BYTE:
            return size - 1, at
        shift += 7


TOPIC_RESOURCE = 2
"""Config resource type (Kafka: ConfigResource.Type)."""

TOPICS_PER_REQUEST = 1000
"""Topics per request: 33 keys each make an answer of about 2 MB."""

_CONNECTIONS = 3
"""The broker works on one request per connection at a time; decoding takes one processor anyway."""


def read_topic_configs(
    gateway: Gateway, names: Collection[str], at: Endpoint | None
) -> Mapping[str, Configs | Refusal]:
    """Read all configs of the topics, in requests of a bearable size side by side."""
    wanted = sorted(names)
    chunks = [
        wanted[start : start + TOPICS_PER_REQUEST]
        for start in range(0, len(wanted), TOPICS_PER_REQUEST)
    ]
    seen: EntryCache = {}

    def read(chunk: Sequence[str]) -> dict[str, Configs | Refusal]:
        return gateway.read(lambda node, deadline: _ask_configs(node, chunk, deadline, seen), at=at)

    if len(chunks) <= 1:
        found = read(wanted) if wanted else {}
    else:
        with DaemonThreads(_CONNECTIONS, "configs") as threads:
            found = dict(chain.from_iterable(part.items() for part in threads.map(read, chunks)))
    return dict(sorted(found.items()))


def _ask_configs(
    node: Connection, names: Sequence[str], deadline: Deadline, entry_cache: EntryCache
) -> dict[str, Configs | Refusal]:
    api = messages.DESCRIBE_CONFIGS
    request = messages.DESCRIBE_CONFIGS.request(
        resources=[_topic_resource(name) for name in names],
        include_synonyms=False,
        include_documentation=False,
    )
    version = node.version(api)
    body = node.ask_raw(api, version, request, deadline)
    if version == DESCRIBE_CONFIGS_VERSION:
        with suppress(UnexpectedLayout):
            return decode_configs_fast(bytes(body), entry_cache)
    return decode_configs(node.decode(api, version, body))


def _topic_resource(name: str, keys: Sequence[str] | None = None) -> Message:
    return messages.DESCRIBE_CONFIGS.request.DescribeConfigsResource(
        resource_type=TOPIC_RESOURCE, resource_name=name, configuration_keys=keys
    )


def read_topic_config_fallbacks(
    gateway: Gateway, wanted: Mapping[str, Collection[str]]
) -> Mapping[str, Mapping[str, str] | Refusal]:
    """Read the values without the topic's own override, from the synonyms of each key."""
    found: dict[str, Mapping[str, str] | Refusal] = {}
    names = sorted(wanted)
    for start in range(0, len(names), TOPICS_PER_REQUEST):
        chunk = names[start : start + TOPICS_PER_REQUEST]
        request = messages.DESCRIBE_CONFIGS.request(
            resources=[_topic_resource(name, sorted(wanted[name])) for name in chunk],
            include_synonyms=True,
            include_documentation=False,
        )
        answer = gateway.ask(messages.DESCRIBE_CONFIGS, request)
        for each in answer.results:
            found[each.resource_name] = (
                broker_refusal(each.error_code, each.error_message)
                if each.error_code
                else {
                    entry.name: value
                    for entry in each.configs
                    if (value := _fallback_value(entry)) is not None
                }
            )
    return found


def _fallback_value(entry: Message) -> str | None:
    """Return the value without the topic's override; None if the synonyms do not include it."""
    if CONFIG_SOURCES.get(entry.config_source) is not ConfigSource.TOPIC:
        return None if entry.value is None else str(entry.value)
    others = (
        each.value
        for each in entry.synonyms or ()
        if each.value is not None and CONFIG_SOURCES.get(each.source) is not ConfigSource.TOPIC
    )
    return next((str(value) for value in others), None)


def broker_durations(configs: Mapping[str, ConfigDetail]) -> dict[str, str]:
    """Return the bounds of a broker by the key of topics that falls back to them."""
    found: dict[str, str] = {}
    for key, names in DURATION_KEYS.items():
        values = (
            (configs[name].entry.value, unit) for name, unit in names.items() if name in configs
        )
        result = next(((value, unit) for value, unit in values if value is not None), None)
        if result is not None:
            found[key] = str(max(-1, int(result[0]) * result[1]))
    return found


def decode_configs(answer: Message) -> dict[str, Configs | Refusal]:
    """Read a DescribeConfigs answer of any version."""
    return {
        each.resource_name: broker_refusal(
            each.error_code, each.error_message, throttle_ms=answer.throttle_time_ms
        )
        if each.error_code
        else {entry.name: config_entry(entry) for entry in each.configs}
        for each in answer.results
    }


def config_entry(entry: Message) -> ConfigEntry:
    """Read one entry of a DescribeConfigs or CreateTopics answer."""
    source = CONFIG_SOURCES.get(entry.config_source, ConfigSource.OTHER)
    return ConfigEntry(entry.value, source, is_sensitive=entry.is_sensitive)
