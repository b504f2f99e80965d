"""Effective config values without a change, from brokers: risks compare values in force (K4-31)."""

from collections.abc import Iterator, Mapping, Sequence

from kplan.cluster.port import Cluster
from kplan.cluster.settings import DURATION_KEYS, ConfigDetail, ConfigResource, ConfigScope
from kplan.kinds.broker_config import BROKER_CONFIG, DEFAULT_BROKER, RETENTION_KEYS, BrokerConfig
from kplan.kinds.topic_rules import Topic
from kplan.model.errors import ClusterError, Refusal
from kplan.model.plan import Change, ObjectKey, Plan
from kplan.model.resource import Identity
from kplan.policy.risk import Fallbacks, overridden_configs
from kplan.workflow.clusters import Clusters

_JUDGED_KEYS = (*RETENTION_KEYS, "unclean.leader.election.enable")

KnownKeys = Mapping[str, ConfigDetail]


def read_fallbacks(plan: Plan, clusters: Clusters) -> Fallbacks:
    """Read the values in force without an override, for changes that set or remove one."""
    found: dict[ObjectKey, Mapping[str, str]] = {}
    asked = {each.key: each for each in plan.changes if overridden_configs(each)}
    for key, connection in clusters.connections.items():
        found.update(_read_broker_values(plan, key, connection.cluster))
        mine = [each for each in asked.values() if each.provider == key]
        wanted = {_name(each): overridden_configs(each) for each in mine}
        if not wanted:
            continue
        try:
            result = connection.cluster.topic_config_fallbacks(wanted)
        except ClusterError:
            continue  # the values are unknown then, and judged so
        for each in mine:
            values = result.get(_name(each))
            if values is not None and not isinstance(values, Refusal):
                found[each.key] = values
    return found


def _read_broker_values(
    plan: Plan, key: str, cluster: Cluster
) -> Iterator[tuple[ObjectKey, Mapping[str, str]]]:
    """Read the brokers' current values of the keys that the plan sets or resets at brokers."""
    changes = [
        each
        for each in plan.changes
        if each.provider == key and each.touches_cluster and each.kind == BROKER_CONFIG.name
    ]
    if not changes:
        return
    try:
        found = _read_values_in_force(cluster, changes)
    except ClusterError:
        return  # unknown, and judged so
    for each in changes:
        if each.identity in found:
            yield each.key, found[each.identity]


def _name(change: Change) -> str:
    assert isinstance(change.before, Topic)  # noqa: S101 - no others have overrides
    return change.before.name


def _read_values_in_force(
    cluster: Cluster, changes: Sequence[Change]
) -> Mapping[Identity, Mapping[str, str]]:
    """Read the brokers' values of keys with a risk, including files and defaults.

    Of several brokers that differ it is the value from which the change is the furthest: the
    longest retention, and no unclean election. A broker that does not answer leaves it unknown.
    """
    live = [str(each.id) for each in cluster.describe().brokers]
    found: dict[Identity, Mapping[str, str]] = {}
    concerned = [each for each in changes if {*_JUDGED_KEYS} & _touched_keys(each)]
    wanted = {
        each.identity: live if each.identity == DEFAULT_BROKER else [str(each.identity)]
        for each in concerned
    }
    names = sorted({name for each in wanted.values() for name in each})
    if not names:
        return found
    answers = cluster.configs([ConfigResource(ConfigScope.BROKER, name) for name in names])
    for identity, brokers in wanted.items():
        items = [answers.get(ConfigResource(ConfigScope.BROKER, each)) for each in brokers]
        known = [each for each in items if each is not None and not isinstance(each, Refusal)]
        if known and len(known) == len(items):
            found[identity] = _values_in_force(known)
    return found


def _touched_keys(change: Change) -> set[str]:
    sides = (change.before, change.after)
    return {key for each in sides if isinstance(each, BrokerConfig) for key in each.config}


def _values_in_force(brokers: Sequence[KnownKeys]) -> Mapping[str, str]:
    values = {
        key: [value for each in brokers if (value := _value_in_force(key, each)) is not None]
        for key in _JUDGED_KEYS
    }
    return {
        key: min(found) if key not in RETENTION_KEYS else max(found, key=_unbounded_last)
        for key, found in values.items()
        if len(found) == len(brokers)
    }


def _value_in_force(key: str, keys: KnownKeys) -> str | None:
    """Return a value in the unit of the key; a retention may be set in hours or minutes."""
    names = DURATION_KEYS["retention.ms"] if key == "log.retention.ms" else {key: 1}
    for name, unit in names.items():
        found = keys[name].entry.value if name in keys else None
        if found:
            return found if unit == 1 or int(found) < 0 else str(int(found) * unit)
    return None


def _unbounded_last(value: str) -> float:
    return float("inf") if int(value) < 0 else int(value)
