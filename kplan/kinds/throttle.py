"""Throttles of reassignments: the configs of topics and brokers that limit copying."""

from collections.abc import Collection, Mapping
from types import MappingProxyType

from kplan.cluster.port import Cluster
from kplan.cluster.request import PLAINTEXT, ConfigAlteration, ConfigSource
from kplan.cluster.settings import ConfigResource, ConfigResourceAlteration, ConfigScope
from kplan.kinds.topic_rules import THROTTLED_REPLICAS
from kplan.model.errors import Refusal

THROTTLE_RATES = ("follower.replication.throttled.rate", "leader.replication.throttled.rate")


def remove_throttles(
    cluster: Cluster,
    topics: Collection[str],
    brokers: Collection[int] = (),
    declared: Mapping[str, Mapping[str, str]] = MappingProxyType({}),
) -> None:
    """Remove the throttles of a reassignment; those that are `declared` for topics are restored."""
    if topics:
        cluster.alter_topic_configs(
            [_throttle_alteration(name, declared.get(name, {})) for name in sorted(topics)]
        )
    if brokers:
        cluster.alter_configs(
            [
                ConfigResourceAlteration(broker_resource(each), {}, THROTTLE_RATES)
                for each in sorted(brokers)
            ]
        )


def _throttle_alteration(topic: str, declared: Mapping[str, str]) -> ConfigAlteration:
    removed = tuple(each for each in THROTTLED_REPLICAS if each not in declared)
    return ConfigAlteration(topic, declared, removed)


def remove_leftover_throttles(cluster: Cluster, topics: Collection[str]) -> tuple[str, ...]:
    """Remove throttles of an interrupted reassignment from topics; return the topics that had some.

    Brokers lose their rate when nothing moves on the whole cluster any more. While a topic still
    moves, it keeps its throttle: whoever finishes the move takes it away.

    Raises:
        ClusterError: the cluster does not answer, or refuses to show what moves.

    """
    throttled = topic_throttles(cluster, topics) if topics else {}
    if not throttled:
        return ()
    moving = cluster.reassignments()
    brokers = set() if moving else running_brokers(cluster, throttled_brokers(throttled))
    free = sorted(throttled.keys() - {name for name, _ in moving})
    remove_throttles(cluster, free, brokers)
    return tuple(free)


def topic_throttles(cluster: Cluster, topics: Collection[str]) -> Mapping[str, tuple[str, ...]]:
    """Return the throttles that topics have, without topics that have none."""
    found = {
        name: tuple(
            entry.value
            for key in THROTTLED_REPLICAS
            if (entry := configs.get(key)) is not None
            and entry.source is ConfigSource.TOPIC
            and entry.value
        )
        for name, configs in cluster.topic_configs(sorted(topics)).items()
        if not isinstance(configs, Refusal)
    }
    return {name: texts for name, texts in found.items() if texts}


def throttled_brokers(throttles: Mapping[str, tuple[str, ...]]) -> set[int]:
    """Name the brokers in lists of PARTITION:BROKER."""
    pairs = (pair for texts in throttles.values() for text in texts for pair in text.split(","))
    brokers = (pair.rpartition(":")[2] for pair in pairs)
    return {int(each) for each in brokers if each.isdecimal()}


def brokers_with_rates(cluster: Cluster, brokers: Collection[int]) -> set[int]:
    """Find brokers that have a rate of their own: someone set it, and it stays."""
    return set(broker_rates(cluster, brokers))


def broker_rates(cluster: Cluster, brokers: Collection[int]) -> Mapping[int, tuple[str, ...]]:
    """Return the rates that brokers have of their own, without brokers that have none."""
    found = cluster.configs([broker_resource(each) for each in sorted(brokers)]) if brokers else {}
    rates = {
        int(resource.name): tuple(
            details[key].entry.value or ""
            for key in THROTTLE_RATES
            if key in details and details[key].entry.source is ConfigSource.DYNAMIC_BROKER
        )
        for resource, details in found.items()
        if not isinstance(details, Refusal)
    }
    return {broker: values for broker, values in rates.items() if values}


def rate_removal_command(broker: int, security_protocol: str) -> str:
    """Return Kafka's command that removes the rates of a broker, which has to run for that.

    FILE is a properties file with the credentials: only PLAINTEXT needs none.
    """
    login = "" if security_protocol == PLAINTEXT else "--command-config FILE "
    return (
        f"kafka-configs.sh --bootstrap-server HOST:PORT {login}--alter --entity-type brokers "
        f"--entity-name {broker} --delete-config {','.join(THROTTLE_RATES)}"
    )


def kept_rate_text(broker: int, security_protocol: str) -> str:
    """Say that a broker went down with the throttle of a move: kplan cannot take it away then."""
    return (
        f"Broker {broker} is down and keeps the throttle rates of the moves. To remove them once "
        f"it is back and nothing moves: {rate_removal_command(broker, security_protocol)}"
    )


CANCEL_MOVES = "To take the replicas back: kplan reassign cancel -all"


def awaited_broker_text(broker: int) -> str:
    """Say why a move does not end."""
    return f"Broker {broker} is down, and the replicas that are to move to it wait for it."


def running_brokers(cluster: Cluster, brokers: Collection[int]) -> set[int]:
    """Leave out brokers that are down: they copy nothing, and only they take their own rates."""
    return {each.id for each in cluster.describe().brokers} & set(brokers) if brokers else set()


def broker_resource(number: int) -> ConfigResource:
    """Return the config resource of a broker."""
    return ConfigResource(ConfigScope.BROKER, str(number))
