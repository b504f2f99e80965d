"""DescribeConfigs: effective configs with where each value comes from (KIP-226)."""

from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import chain

from kplan.cluster.specs import ConfigEntry, ConfigSource
from kplan.kafka.settings import Endpoint
from kplan.kafka.wire import messages
from kplan.kafka.wire.api import Message
from kplan.kafka.wire.config_decoder import (
    DESCRIBE_CONFIGS_VERSION,
    SOURCES,
    Configs,
    Seen,
    Unusual,
    read_configs,
)
from kplan.kafka.wire.connection import Connection
from kplan.kafka.wire.gateway import Gateway
from kplan.kafka.wire.link import Deadline
from kplan.kafka.wire.verdict import refused
from kplan.model.refusal import Refusal

TOPIC = 2
"""Config resource type (Kafka: ConfigResource.Type)."""

PER_REQUEST = 1000
"""Topics per request: 33 keys each make an answer of about 2 MB."""

_CONNECTIONS = 3
"""The broker works on one request per connection at a time; decoding takes one processor anyway."""


def topic_configs(
    gateway: Gateway, names: Collection[str], at: Endpoint | None
) -> Mapping[str, Configs | Refusal]:
    """Read all configs of the topics, in requests of a bearable size side by side."""
    wanted = sorted(names)
    chunks = [wanted[start : start + PER_REQUEST] for start in range(0, len(wanted), PER_REQUEST)]
    seen: Seen = {}

    def read(chunk: Sequence[str]) -> dict[str, Configs | Refusal]:
        return gateway.read(lambda node, deadline: _asked(node, chunk, deadline, seen), at=at)

    if len(chunks) <= 1:
        found = read(wanted) if wanted else {}
    else:
        with ThreadPoolExecutor(_CONNECTIONS, thread_name_prefix="configs") as threads:
            found = dict(chain.from_iterable(part.items() for part in threads.map(read, chunks)))
    return dict(sorted(found.items()))


def _asked(
    node: Connection, names: Sequence[str], deadline: Deadline, seen: Seen
) -> dict[str, Configs | Refusal]:
    api = messages.DESCRIBE_CONFIGS
    request = messages.DESCRIBE_CONFIGS.request(
        resources=[_resource(name) for name in names],
        include_synonyms=False,
        include_documentation=False,
    )
    version = node.version(api)
    body = node.ask_raw(api, version, request, deadline)
    if version == DESCRIBE_CONFIGS_VERSION:
        with suppress(Unusual):
            return read_configs(bytes(body), seen)
    return described_configs(node.decoded(api, version, body))


def _resource(name: str) -> Message:
    return messages.DESCRIBE_CONFIGS.request.DescribeConfigsResource(
        resource_type=TOPIC, resource_name=name, configuration_keys=None
    )


def described_configs(answer: Message) -> dict[str, Configs | Refusal]:
    """Read a DescribeConfigs answer of any version."""
    return {
        each.resource_name: refused(
            each.error_code, each.error_message, throttle_ms=answer.throttle_time_ms
        )
        if each.error_code
        else {entry.name: config_entry(entry) for entry in each.configs}
        for each in answer.results
    }


def config_entry(entry: Message) -> ConfigEntry:
    """Read one entry of a DescribeConfigs or CreateTopics answer."""
    source = SOURCES.get(entry.config_source, ConfigSource.OTHER)
    return ConfigEntry(entry.value, source, is_sensitive=entry.is_sensitive)
