"""DescribeConfigs: effective configs with where each value comes from (KIP-226)."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from kplan.cluster.specs import ConfigEntry, ConfigSource
from kplan.kafka.settings import Endpoint
from kplan.kafka.wire import messages
from kplan.kafka.wire.connection import Connection
from kplan.kafka.wire.gateway import Gateway
from kplan.kafka.wire.link import Deadline
from kplan.kafka.wire.messages import Message
from kplan.kafka.wire.verdict import refused
from kplan.model.refusal import Refusal

TOPIC = 2
"""Config resource type (Kafka: ConfigResource.Type)."""

PER_REQUEST = 1000
"""Topics per request: 33 keys each make an answer of about 2 MB."""

_CONNECTIONS = 3
"""The broker works on one request per connection at a time; decoding takes one processor anyway."""

Configs = Mapping[str, ConfigEntry]

SOURCES = {
    1: ConfigSource.TOPIC,
    2: ConfigSource.DYNAMIC_BROKER,
    3: ConfigSource.DYNAMIC_DEFAULT_BROKER,
    4: ConfigSource.STATIC_BROKER,
    5: ConfigSource.DEFAULT,
}
"""Kafka's numbers for sources (DescribeConfigsResponse.ConfigSource); others are OTHER."""


def topic_configs(
    gateway: Gateway, names: Collection[str], at: Endpoint | None
) -> Mapping[str, Configs | Refusal]:
    """Read all configs of the topics, in requests of a bearable size side by side."""
    wanted = sorted(names)
    chunks = [wanted[start : start + PER_REQUEST] for start in range(0, len(wanted), PER_REQUEST)]

    def read(chunk: Sequence[str]) -> dict[str, Configs | Refusal]:
        return gateway.read(lambda node, deadline: _asked(node, chunk, deadline), at=at)

    if len(chunks) <= 1:
        return read(wanted) if wanted else {}
    found: dict[str, Configs | Refusal] = {}
    with ThreadPoolExecutor(_CONNECTIONS, thread_name_prefix="configs") as threads:
        for part in threads.map(read, chunks):
            found |= part
    return found


def _asked(
    node: Connection, names: Sequence[str], deadline: Deadline
) -> dict[str, Configs | Refusal]:
    api = messages.DESCRIBE_CONFIGS
    request = messages.DESCRIBE_CONFIGS.request(
        resources=[_resource(name) for name in names],
        include_synonyms=False,
        include_documentation=False,
    )
    answer = node.ask(api, request, deadline)
    return dict(_read(answer))


def _resource(name: str) -> Message:
    return messages.DESCRIBE_CONFIGS.request.DescribeConfigsResource(
        resource_type=TOPIC, resource_name=name, configuration_keys=None
    )


def _read(answer: Message) -> Iterator[tuple[str, Configs | Refusal]]:
    for each in answer.results:
        if each.error_code:
            yield each.resource_name, refused(each.error_code, each.error_message)
        else:
            yield each.resource_name, {entry.name: config_entry(entry) for entry in each.configs}


def config_entry(entry: Message) -> ConfigEntry:
    """Read one entry of a DescribeConfigs or CreateTopics answer."""
    source = SOURCES.get(entry.config_source, ConfigSource.OTHER)
    return ConfigEntry(entry.value, source, is_sensitive=entry.is_sensitive)
