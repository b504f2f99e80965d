"""Configs of brokers, groups and metrics subscriptions, each asked where it is known."""

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence

from kplan.cluster.errors import CLIENT_DISCONNECTED, CLIENT_NOT_SENT, client_refusal
from kplan.cluster.request import ItemResult
from kplan.cluster.settings import (
    ConfigDetail,
    ConfigResource,
    ConfigResourceAlteration,
    ConfigScope,
)
from kplan.cluster.topic import ConfigType
from kplan.kafka.settings.connection import Endpoint
from kplan.kafka.wire import messages
from kplan.kafka.wire.gateway import Gateway
from kplan.kafka.wire.messages import Message, broker_refusal, item_result, unread_error
from kplan.kafka.wire.topic import config_changes
from kplan.kafka.wire.topic_config import config_entry
from kplan.model.errors import Refusal, UnreachableError

_TYPES = {
    1: ConfigType.BOOLEAN,
    2: ConfigType.STRING,
    3: ConfigType.INT,
    4: ConfigType.SHORT,
    5: ConfigType.LONG,
    6: ConfigType.DOUBLE,
    7: ConfigType.LIST,
    8: ConfigType.CLASS,
    9: ConfigType.PASSWORD,
}
"""Kafka's numbers (DescribeConfigsResponse.ConfigType); from version 3 on."""

AddressLookup = Callable[[int | None], Endpoint | None]
"""Finds where a broker listens; raises UnreachableError."""

ConfigDetails = Mapping[ConfigResource, Mapping[str, ConfigDetail] | Refusal]


def read_config_names(gateway: Gateway, scope: ConfigScope) -> frozenset[str] | None:
    """Name all resources with configs in the scope; None if the cluster cannot list them."""
    api = messages.LIST_CONFIG_RESOURCES
    answer = gateway.read(
        lambda node, deadline: (
            node.ask(api, api.request(resource_types=[scope]), deadline)
            if _can_list(scope, node.versions.get(api.key))
            else None
        )
    )
    if answer is None:
        return None
    if answer.error_code:
        raise unread_error("Configs", answer.error_code, None, "config_names")
    return frozenset(each.resource_name for each in answer.config_resources)


def _can_list(scope: ConfigScope, offered: tuple[int, int] | None) -> bool:
    """Whether a node can list the scope: metrics subscriptions before all others."""
    return offered is not None and (scope is ConfigScope.CLIENT_METRICS or offered[1] > 0)


def read_configs(
    gateway: Gateway,
    resources: Collection[ConfigResource],
    address: AddressLookup,
    broker: int | None,
) -> ConfigDetails:
    """Read effective configs, with one request for each node that is to be asked."""
    found: dict[ConfigResource, Mapping[str, ConfigDetail] | Refusal] = {}
    for node, members in _resources_by_node(resources, broker).items():
        try:
            found.update(_describe_configs(gateway, members, address(node)))
        except UnreachableError as failure:
            if node is None or broker is not None:
                raise
            found |= dict.fromkeys(members, client_refusal(CLIENT_DISCONNECTED, failure.detail))
    return found


def _resources_by_node(
    resources: Collection[ConfigResource], broker: int | None
) -> Mapping[int | None, list[ConfigResource]]:
    """Say which broker is to be asked about each: a broker knows its own configs only."""
    nodes: dict[int | None, list[ConfigResource]] = defaultdict(list)
    for each in sorted(resources):
        nodes[_own_node(each) if broker is None else broker].append(each)
    return nodes


def _own_node(resource: ConfigResource) -> int | None:
    is_one = resource.scope in {ConfigScope.BROKER, ConfigScope.LOGGER} and resource.name
    return int(resource.name) if is_one else None


def _describe_configs(
    gateway: Gateway, resources: Sequence[ConfigResource], at: Endpoint | None
) -> ConfigDetails:
    part = messages.DESCRIBE_CONFIGS.request.DescribeConfigsResource
    request = messages.DESCRIBE_CONFIGS.request(
        resources=[
            part(resource_type=each.scope, resource_name=each.name, configuration_keys=None)
            for each in resources
        ],
        include_synonyms=False,
        include_documentation=False,
    )
    answer = gateway.ask(messages.DESCRIBE_CONFIGS, request, at=at)
    return {
        ConfigResource(ConfigScope(each.resource_type), each.resource_name): broker_refusal(
            each.error_code, each.error_message, throttle_ms=answer.throttle_time_ms
        )
        if each.error_code
        else {entry.name: _config_detail(entry) for entry in each.configs}
        for each in answer.results
    }


def _config_detail(entry: Message) -> ConfigDetail:
    return ConfigDetail(
        config_entry(entry), is_read_only=entry.read_only, type=_TYPES.get(entry.config_type)
    )


def alter_configs(
    gateway: Gateway,
    specs: Sequence[ConfigResourceAlteration],
    address: AddressLookup,
    *,
    validate_only: bool,
) -> Mapping[ConfigResource, ItemResult]:
    """Set and reset keys, with one request for each node that is to be asked."""
    by_resource = {spec.resource: spec for spec in specs}
    results: dict[ConfigResource, ItemResult] = {}
    for node, members in _resources_by_node(by_resource, None).items():
        wanted = [by_resource[each] for each in members]
        try:
            at = address(node)
        except UnreachableError as failure:
            lost = client_refusal(CLIENT_NOT_SENT, f"Nothing was sent. {failure.detail}")
            results |= dict.fromkeys(members, lost)
        else:
            results.update(_alter_configs(gateway, wanted, at, validate_only=validate_only))
    return results


def _alter_configs(
    gateway: Gateway,
    specs: Sequence[ConfigResourceAlteration],
    at: Endpoint | None,
    *,
    validate_only: bool,
) -> Mapping[ConfigResource, ItemResult]:
    request = messages.ALTER_CONFIGS.request(
        resources=[
            config_changes(spec.resource.scope, spec.resource.name, spec.set, spec.delete)
            for spec in specs
        ],
        validate_only=validate_only,
    )
    answer = gateway.send(messages.ALTER_CONFIGS, request, at=at)
    if isinstance(answer, Refusal):
        return {spec.resource: answer for spec in specs}
    return {
        ConfigResource(ConfigScope(each.resource_type), each.resource_name): item_result(
            each.error_code, each.error_message, throttle_ms=answer.throttle_time_ms
        )
        for each in answer.responses
    }
