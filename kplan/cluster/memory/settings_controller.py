"""How a KRaft controller answers requests about quotas, credentials, configs and features."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from kplan.cluster.errors import CLIENT_NOT_SENT, client_refusal, refusal
from kplan.cluster.memory.store import ClusterSetup, Contents, Response, StoredCredential
from kplan.cluster.request import ItemResult
from kplan.cluster.setting_keys import ROOT_LOGGER, known_configs
from kplan.cluster.settings import (
    QUOTA_KEYS,
    SUPPORTED_FEATURES,
    ConfigResource,
    ConfigResourceAlteration,
    ConfigScope,
    Downgrade,
    FeatureUpdate,
    QuotaAlteration,
    QuotaEntity,
    ScramAlteration,
    ScramUser,
)
from kplan.cluster.topic import value_fault
from kplan.model.errors import Refusal

MIN_ITERATIONS, MAX_ITERATIONS = 4096, 16384
"""What a controller takes for a SCRAM credential (Kafka: ScramMechanism, ScramControlManager)."""


def alter_quotas(contents: Contents, specs: Sequence[QuotaAlteration]) -> Response[QuotaEntity]:
    """AlterClientQuotas: an entity without values is removed."""
    held = dict(contents.quotas)
    results: dict[QuotaEntity, ItemResult] = {}
    for spec in specs:
        fault = _quota_fault(spec)
        results[spec.entity] = refusal(42, fault) if fault else None
        if fault:
            continue
        values = {**held.pop(spec.entity, {}), **spec.set}
        left = {key: value for key, value in values.items() if key not in spec.remove}
        if left:
            held[spec.entity] = left
    return Response(replace(contents, quotas=held), results)


def _quota_fault(spec: QuotaAlteration) -> str:
    entity = spec.entity
    is_client = entity.user is not None or entity.client_id is not None
    if is_client is (entity.ip is not None):
        return f"Invalid or empty client quota entity: {entity}"
    allowed = QUOTA_KEYS["user" if is_client else "ip"]
    for key in (*spec.set, *spec.remove):
        if key not in allowed:
            return f"Invalid configuration key {key}"
    for key, value in spec.set.items():
        if value <= 0:
            return f"Quota {key} must be greater than 0"
        if allowed[key] and value != int(value):
            return f"{key} cannot be represented as an integer"
    return ""


def alter_scram_users(contents: Contents, specs: Sequence[ScramAlteration]) -> Response[ScramUser]:
    """AlterUserScramCredentials: an absent credential cannot be deleted."""
    results: dict[ScramUser, ItemResult] = {
        spec.name: _check_credential(contents, spec) for spec in specs
    }
    held = dict(contents.scram)
    for spec in specs:
        if results[spec.name] is not None:
            continue
        if spec.password is None:
            del held[spec.name]
        else:
            held[spec.name] = StoredCredential(spec.iterations, spec.password)
    return Response(replace(contents, scram=held), results)


def _check_credential(contents: Contents, spec: ScramAlteration) -> Refusal | None:
    if not spec.name.user:
        return refusal(93, "Username must not be empty")
    if spec.password is None:
        is_there = spec.name in contents.scram
        gone = "Attempt to delete a user credential that does not exist"
        return None if is_there else refusal(91, gone)
    if spec.iterations < MIN_ITERATIONS:
        return refusal(93, "Too few iterations")
    if spec.iterations > MAX_ITERATIONS:
        return refusal(93, "Too many iterations")
    return None


def alter_configs(
    contents: Contents, site: ClusterSetup, specs: Sequence[ConfigResourceAlteration]
) -> Response[ConfigResource]:
    """IncrementalAlterConfigs for all but topics."""
    held = dict(contents.configs)
    results: dict[ConfigResource, ItemResult] = {}
    for spec in specs:
        found = _alter_config(held.get(spec.resource, {}), site, spec)
        results[spec.resource] = found if isinstance(found, Refusal) else None
        if isinstance(found, Refusal):
            continue
        held.pop(spec.resource, None)
        if found:
            held[spec.resource] = found
    return Response(replace(contents, configs=held), results)


def _alter_config(
    has: Mapping[str, str], site: ClusterSetup, spec: ConfigResourceAlteration
) -> Mapping[str, str] | Refusal:
    if (refused := _resource_fault(site, spec)) is not None:
        return refused
    scope = spec.resource.scope
    known = known_configs(scope)
    if fixed := sorted(
        key
        for key in spec.set
        if scope is ConfigScope.BROKER and key in known and known[key].is_read_only
    ):
        return refusal(42, f"Cannot update these configs dynamically: {', '.join(fixed)}")
    for key, value in spec.set.items():
        if key not in known:
            if scope is ConfigScope.BROKER:
                continue
            return refusal(40, f"Unknown config: {key}")
        if fault := value_fault(known[key].definition, value):
            return refusal(40, f"Invalid value {value} for configuration {key}: {fault}")
    left = {key: value for key, value in has.items() if key not in spec.delete}
    return {**left, **spec.set}


def _resource_fault(site: ClusterSetup, spec: ConfigResourceAlteration) -> Refusal | None:
    scope, name = spec.resource.scope, spec.resource.name
    if scope is ConfigScope.BROKER and name not in {"", *(str(each.id) for each in site.brokers)}:
        return refusal(42, f"No broker {name}.")
    if scope is ConfigScope.BROKER and name in map(str, site.fenced):
        return client_refusal(CLIENT_NOT_SENT, f"Broker {name} is not there.")
    if scope is ConfigScope.LOGGER and ROOT_LOGGER in spec.delete:
        return refusal(42, "Removing the log level of the root logger is not allowed")
    return None


def update_features(contents: Contents, updates: Sequence[FeatureUpdate]) -> Response[str]:
    """UpdateFeatures: lowering a level must be requested explicitly (KIP-584)."""
    levels = dict(contents.features)
    results: dict[str, ItemResult] = {}
    for update in updates:
        fault = _feature_fault(levels, update)
        results[update.name] = refusal(95, fault) if fault else None
        if not fault:
            levels[update.name] = update.level
    return Response(replace(contents, features=levels), results)


def _feature_fault(levels: Mapping[str, int], update: FeatureUpdate) -> str:
    begins = f"Invalid update version {update.level} for feature {update.name}."
    if update.name not in SUPPORTED_FEATURES:
        return f"{begins} The controller does not support the given feature."
    lowest, highest = SUPPORTED_FEATURES[update.name]
    if not lowest <= update.level <= highest:
        return f"{begins} The controller supports versions {lowest}-{highest}."
    has = levels.get(update.name, 0)
    if update.level < has and update.downgrade is Downgrade.NONE:
        return f"{begins} Can't downgrade without setting the upgrade type."
    if update.level > has and update.downgrade is not Downgrade.NONE:
        return f"{begins} Can't downgrade to a newer version."
    return ""
