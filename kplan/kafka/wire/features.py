"""What nodes offer, and features of the cluster: ApiVersions, UpdateFeatures (KIP-584)."""

from collections.abc import Mapping, Sequence

from kplan.cluster.setting_specs import Downgrade, FeatureUpdate, NodeVersions
from kplan.cluster.specs import Verdict
from kplan.kafka.settings import Endpoint
from kplan.kafka.wire import messages
from kplan.kafka.wire.api import Message
from kplan.kafka.wire.brokers import release
from kplan.kafka.wire.connection import Connection
from kplan.kafka.wire.gateway import Gateway
from kplan.kafka.wire.link import Deadline
from kplan.kafka.wire.verdict import verdict
from kplan.model.refusal import Refusal

_UPGRADE = {Downgrade.NONE: 1, Downgrade.SAFE: 2, Downgrade.UNSAFE: 3}
"""Kafka's numbers (FeatureUpdate.UpgradeType)."""


def versions(gateway: Gateway, at: Endpoint | None) -> NodeVersions:
    """Tell what a node said of itself when the connection was made."""
    return gateway.read(_versions, at=at)


def _versions(node: Connection, deadline: Deadline) -> NodeVersions:
    # Asked anew: levels of features change while a connection lives.
    answer = _asked(node, deadline)
    supported = {
        each.name: (each.min_version, each.max_version) for each in answer.supported_features or ()
    }
    return NodeVersions(
        apis={
            messages.api_name(each.api_key): (each.min_version, each.max_version)
            for each in sorted(answer.api_keys, key=lambda each: int(each.api_key))
        },
        supported=dict(sorted(supported.items())),
        finalized={
            each.name: each.max_version_level
            for each in sorted(answer.finalized_features or (), key=lambda each: str(each.name))
        },
        release=release(supported.get("metadata.version", (0, 0))[1]),
    )


def _asked(node: Connection, deadline: Deadline) -> Message:
    return node.ask(messages.API_VERSIONS, messages.introduction(), deadline)


def update_features(
    gateway: Gateway, updates: Sequence[FeatureUpdate], *, validate_only: bool
) -> Mapping[str, Verdict]:
    """Update features one by one: together they would succeed or fail as one (version 2)."""
    return {each.name: _updated(gateway, each, validate_only=validate_only) for each in updates}


def _updated(gateway: Gateway, update: FeatureUpdate, *, validate_only: bool) -> Verdict:
    part = messages.UPDATE_FEATURES.request.FeatureUpdateKey
    request = messages.UPDATE_FEATURES.request(
        timeout_ms=gateway.operation_timeout_ms,
        feature_updates=[
            part(
                feature=update.name,
                max_version_level=update.level,
                upgrade_type=_UPGRADE[update.downgrade],
            )
        ],
        validate_only=validate_only,
    )
    answer = gateway.send(messages.UPDATE_FEATURES, request)
    if isinstance(answer, Refusal):
        return answer
    own = [each for each in answer.results or () if each.error_code]
    said = own[0] if own else answer
    return verdict(said.error_code, said.error_message, throttle_ms=answer.throttle_time_ms)
