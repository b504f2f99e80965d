"""Read topics and their configs from a cluster."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import TypeVar

from kplan.cluster.errors import Handling, handling
from kplan.cluster.port import Cluster
from kplan.cluster.request import ConfigEntry, ConfigSource, TopicDescription
from kplan.cluster.topic import is_own
from kplan.kinds.reassignment import read_reassignments
from kplan.kinds.topic_layout import has_out_of_sync_replicas, with_reassignments
from kplan.kinds.topic_rules import Topic
from kplan.model.errors import NotListableError, Refusal, UnreadableError
from kplan.model.resource import Identity
from kplan.model.state import KindSnapshot, LiveObject

ResponseT = TypeVar("ResponseT")


def list_topics(cluster: Cluster) -> Mapping[str, TopicDescription | Refusal]:
    """List the topics; empty where listing is impossible and each is read by name."""
    try:
        return cluster.topics()
    except NotListableError:
        return {}


def require_all(
    names: Collection[str], answers: Mapping[str, ResponseT]
) -> Mapping[str, ResponseT]:
    """Return the answers, if there is one for each name: silence is not absence.

    Raises:
        UnreadableError: one is missing.

    """
    if silent := sorted(set(names) - answers.keys()):
        raise UnreadableError(f"Topics: the response is missing {', '.join(silent)}.")
    return answers


def read_topics(cluster: Cluster, wanted: Collection[Identity]) -> KindSnapshot:
    """Read all topics in one request and the configs of the requested ones in another.

    Wanted topics that the list does not contain are requested by name: a list leaves out topics
    without the right to describe them (K117-15). Topics with kplan's own records are left out.
    """
    wanted = [name for name in wanted if not is_own(name)]
    listed = {name: each for name, each in list_topics(cluster).items() if not is_own(name)}
    missing = [name for name in sorted(wanted) if name not in listed]
    if missing:
        listed.update(require_all(missing, cluster.topics(missing)))
    seen = {name: each for name, each in listed.items() if not isinstance(each, Refusal)}
    known = [name for name in sorted(wanted) if name in seen]
    configs = require_all(known, cluster.topic_configs(known))
    objects: dict[Identity, LiveObject] = {}
    hidden = {
        Identity(name): each
        for name, each in listed.items()
        if isinstance(each, Refusal) and each.error != "UNKNOWN_TOPIC_OR_PARTITION"
    }
    for name, described in seen.items():
        config = configs.get(name, {})
        if not isinstance(config, Refusal):
            objects[Identity(name)] = LiveObject(_live(described, config), described.topic_id)
        elif config.error != "UNKNOWN_TOPIC_OR_PARTITION":  # else deleted since the listing
            hidden[Identity(name)] = _hidden_configs(name, config)
    unsettled = [
        (name, number)
        for name in known
        if has_out_of_sync_replicas(seen[name].assignment, seen[name].in_sync)
        for number in range(len(seen[name].assignment))
    ]
    return KindSnapshot(
        with_reassignments(objects, read_reassignments(cluster, unsettled)),
        hidden,
        frozenset(objects) - frozenset(map(Identity, known)),
    )


def read_missing_configs(cluster: Cluster, reading: KindSnapshot) -> KindSnapshot:
    """Read the configs of undeclared topics in one request.

    Those that the cluster does not return are hidden afterwards.

    Raises:
        ClusterError: the cluster does not answer.

    """
    names = sorted(reading.partial)
    configs = require_all(names, cluster.topic_configs(names))
    objects = dict(reading.objects)
    hidden = dict(reading.hidden)
    for name in reading.partial:
        config, live = configs[name], objects.pop(name)
        if not isinstance(config, Refusal):
            value = replace(live.value, config=_overrides(config))  # type: ignore[type-var] # a Topic
            objects[name] = replace(live, value=value)
        elif config.error != "UNKNOWN_TOPIC_OR_PARTITION":
            hidden[name] = _hidden_configs(name, config)
    return KindSnapshot(objects, hidden)


def _live(described: TopicDescription, config: Mapping[str, ConfigEntry]) -> Topic:
    sizes = [len(replicas) for replicas in described.assignment]
    return Topic(
        described.name,
        partitions=len(sizes) or None,  # controllers do not return
        replication_factor=sizes[0] if sizes else None,
        replica_assignment=described.assignment or None,
        config=_overrides(config),
    )


def _overrides(config: Mapping[str, ConfigEntry]) -> dict[str, str]:
    """Return the configs that the topic itself overrides."""
    return {
        key: entry.value
        for key, entry in sorted(config.items())
        if entry.source is ConfigSource.TOPIC and entry.value is not None
    }


def _hidden_configs(name: str, refused: Refusal) -> Refusal:
    """Say that the topic exists, and which right is missing, where only its configs are hidden."""
    if handling(refused) is not Handling.DENIED:
        return refused
    return replace(
        refused,
        message=f"The cluster shows topic {name}, but not its configs. {refused.message}".rstrip(),
        hint="Grant DESCRIBE_CONFIGS on it to the principal kplan runs as.",
    )
