"""Throttles of reassignments: the configs of topics and brokers that limit copying.

Kafka does not keep who set them. kplan writes its own as no one else does: partitions with a 0
before their number, and for leaders a rate that is a little higher than that of followers. Only
what is written so is changed or removed, by whichever run, after whichever kill (decision 0169).
"""

from collections.abc import Collection, Mapping

from kplan.cluster.port import Cluster
from kplan.cluster.request import PLAINTEXT, ConfigSource
from kplan.cluster.settings import ConfigResource, ConfigResourceAlteration, ConfigScope
from kplan.kinds.topic_rules import THROTTLED_REPLICAS
from kplan.model.errors import Refusal

THROTTLE_RATES = ("follower.replication.throttled.rate", "leader.replication.throttled.rate")
_FOLLOWER_RATE, _LEADER_RATE = THROTTLE_RATES
_LEADER_EXTRA = 463
"""By how many bytes per second the rate of leaders is higher where kplan sets both."""
_ALL_REPLICAS = "*"
ThrottledReplicas = Mapping[str, str]
"""Lists of PARTITION:BROKER by config of a topic."""


def own_rates(bytes_per_s: int) -> Mapping[str, str]:
    """Return the rates that kplan sets; empty for no limit."""
    if not bytes_per_s:
        return {}
    return {_FOLLOWER_RATE: str(bytes_per_s), _LEADER_RATE: str(bytes_per_s + _LEADER_EXTRA)}


def _is_own_rate(rates: Mapping[str, str]) -> bool:
    followers = rates.get(_FOLLOWER_RATE, "")
    return followers.isdecimal() and rates == own_rates(int(followers))


def own_pair(partition: int, broker: int) -> str:
    """Return a throttled replica as kplan writes it."""
    return f"0{partition}:{broker}"


def _is_own_pair(pair: str) -> bool:
    return pair[:1] == "0" and pair[1:2].isdecimal()


def add_own_pairs(held: str, pairs: str) -> str:
    """Add pairs of kplan to a list in place of its former ones; the others stay."""
    others = foreign_pairs(held)
    return others if others == _ALL_REPLICAS else ",".join(filter(None, (others, pairs)))


def foreign_pairs(held: str) -> str:
    """Return a list without the pairs that kplan wrote."""
    return ",".join(each for each in _split_pairs(held) if not _is_own_pair(each))


def _split_pairs(text: str) -> list[str]:
    return [each for part in text.split(",") if (each := part.strip())]


def merge_lists(held: ThrottledReplicas, pairs: ThrottledReplicas) -> dict[str, str]:
    """Add throttled replicas to the lists of a topic, which others may have set."""
    return {key: add_own_pairs(held.get(key, ""), text) for key, text in pairs.items()}


def topic_throttles(cluster: Cluster, topics: Collection[str]) -> Mapping[str, ThrottledReplicas]:
    """Return the throttled replicas of topics, whoever set them; unreadable topics are left out."""
    found = read_throttles(cluster, topics)
    return {name: lists for name, lists in found.items() if not isinstance(lists, Refusal)}


def read_throttles(
    cluster: Cluster, topics: Collection[str]
) -> Mapping[str, ThrottledReplicas | Refusal]:
    """Return the throttled replicas of topics, whoever set them."""
    return {
        name: configs
        if isinstance(configs, Refusal)
        else {
            key: entry.value
            for key in THROTTLED_REPLICAS
            if (entry := configs.get(key)) is not None
            and entry.source is ConfigSource.TOPIC
            and entry.value
        }
        for name, configs in cluster.topic_configs(sorted(topics)).items()
    }


def throttled_brokers(throttles: Mapping[str, ThrottledReplicas]) -> set[int]:
    """Name the brokers in the pairs that kplan wrote."""
    texts = (text for lists in throttles.values() for text in lists.values())
    pairs = (pair for text in texts for pair in _split_pairs(text) if _is_own_pair(pair))
    brokers = (pair.rpartition(":")[2] for pair in pairs)
    return {int(each) for each in brokers if each.isdecimal()}


def brokers_with_own_rates(cluster: Cluster, limited: Collection[int] = ()) -> set[int]:
    """Find the running brokers with rates that kplan has set, in this run or in another one.

    One that this run has `limited` counts also where it does not show its rates, or not yet.
    """
    running = {each.id for each in cluster.describe().brokers}
    found = broker_rates(cluster, running)
    own = {broker for broker, rates in found.items() if _is_own_rate(rates)}
    told = {broker for broker, rates in found.items() if all(rates.values())}
    return own | (running & set(limited)) - told


def foreign_rates(cluster: Cluster, brokers: Collection[int]) -> Mapping[int, Mapping[str, str]]:
    """Return the rates of brokers that kplan did not set: they stay."""
    return without_own_rates(broker_rates(cluster, brokers))


def without_own_rates(found: Mapping[int, Mapping[str, str]]) -> Mapping[int, Mapping[str, str]]:
    """Leave out the brokers with rates that kplan has set."""
    return {broker: rates for broker, rates in found.items() if not _is_own_rate(rates)}


def broker_rates(cluster: Cluster, brokers: Collection[int]) -> Mapping[int, Mapping[str, str]]:
    """Return the rates that brokers have of their own, without brokers that have none."""
    return {broker: rates for broker, rates in shown_rates(cluster, brokers).items() if rates}


def shown_rates(cluster: Cluster, brokers: Collection[int]) -> Mapping[int, Mapping[str, str]]:
    """Return the rates that brokers have of their own; unreadable brokers are left out."""
    found = cluster.configs([broker_resource(each) for each in sorted(brokers)]) if brokers else {}
    return {
        int(resource.name): {
            key: details[key].entry.value or ""
            for key in THROTTLE_RATES
            if key in details and details[key].entry.source is ConfigSource.DYNAMIC_BROKER
        }
        for resource, details in found.items()
        if not isinstance(details, Refusal)
    }


def restore_rates(
    cluster: Cluster, brokers: Collection[int], rates: Mapping[str, str], restored: set[int]
) -> None:
    """Set rates again that another run of kplan has taken from brokers as it ended.

    `restored` are the brokers with rates that were set again and not seen since: they are left
    alone, as a cluster may show no rates at all.
    """
    found = shown_rates(cluster, running_brokers(cluster, brokers))
    gone = {broker for broker, held in found.items() if not held}
    restored &= gone
    if todo := sorted(gone - restored):
        cluster.alter_configs(
            [ConfigResourceAlteration(broker_resource(each), rates) for each in todo]
        )
        restored |= gone


def rate_removal_command(broker: int, security_protocol: str) -> str:
    """Return Kafka's command that removes the rates of a broker, which has to run for that."""
    return _removal_command("brokers", str(broker), THROTTLE_RATES, security_protocol)


def list_removal_command(topic: str, keys: Collection[str], security_protocol: str) -> str:
    """Return Kafka's command that removes the throttled replicas of a topic."""
    return _removal_command("topics", topic, keys, security_protocol)


def _removal_command(entity: str, name: str, keys: Collection[str], security_protocol: str) -> str:
    """FILE is a properties file with the credentials: only PLAINTEXT needs none."""
    login = "" if security_protocol == PLAINTEXT else "--command-config FILE "
    return (
        f"kafka-configs.sh --bootstrap-server HOST:PORT {login}--alter --entity-type {entity} "
        f"--entity-name {name} --delete-config {','.join(keys)}"
    )


def kept_rate_text(broker: int, security_protocol: str) -> str:
    """Say that a broker went down with the throttle of a move: kplan cannot take it away then."""
    return (
        f"Broker {broker} is down and keeps the throttle rates of the moves. To remove them once "
        f"it is back and nothing moves: {rate_removal_command(broker, security_protocol)}"
    )


def foreign_rate_text(broker: int, security_protocol: str) -> str:
    """Say that a broker keeps rates because kplan did not set them."""
    return (
        f"Broker {broker} has throttle rates that kplan did not set, and keeps them. To remove "
        f"them: {rate_removal_command(broker, security_protocol)}"
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
