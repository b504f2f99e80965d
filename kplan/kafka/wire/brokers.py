"""DescribeCluster (KIP-700, KIP-919): who is there, and who answers."""

from collections.abc import Iterable

from kplan.kafka.wire import messages
from kplan.kafka.wire.active import CONTROLLERS
from kplan.kafka.wire.api import Message
from kplan.kafka.wire.connection import Connection
from kplan.kafka.wire.gateway import Gateway
from kplan.kafka.wire.link import Deadline
from kplan.kafka.wire.verdict import refused
from kplan.model.errors import ClusterError, Unsupported
from kplan.model.snapshot import Broker

Described = tuple[str, tuple[Broker, ...], str]
"""Cluster id, nodes by id, and the release of the cluster's metadata, "" if unknown."""


def describe(gateway: Gateway) -> Described:
    """Tell the live brokers.

    Raises:
        Unreachable: no node answers.
        AuthError: a node refused us.
        ClusterError: the answer was an error.

    """
    return gateway.read(_described)


def describe_controllers(gateway: Gateway) -> tuple[Described, int | None]:
    """Tell the registered controllers, and which one is active: None during an election.

    Raises:
        Unsupported: the cluster is too old to be asked so (K919-10).
        Unreachable, AuthError, ClusterError: as `describe`.

    """
    return gateway.read(_controllers)


def _described(node: Connection, deadline: Deadline) -> Described:
    if messages.DESCRIBE_CLUSTER.key in node.versions:
        answer = node.ask(messages.DESCRIBE_CLUSTER, messages.DESCRIBE_CLUSTER.request(), deadline)
        if answer.error_code:
            raise ClusterError(f"{refused(answer.error_code, answer.error_message)}")
        return answer.cluster_id or "", _nodes(answer), _release(node)
    # before Kafka 2.8
    request = messages.METADATA.request(topics=[], allow_auto_topic_creation=False)
    answer = node.ask(messages.METADATA, request, deadline)
    rows = ((each.node_id, each) for each in answer.brokers)
    return answer.cluster_id or "", _sorted(rows), _release(node)


def _controllers(node: Connection, deadline: Deadline) -> tuple[Described, int | None]:
    request = messages.DESCRIBE_CLUSTER.request(endpoint_type=CONTROLLERS)
    answer = node.ask(messages.DESCRIBE_CLUSTER, request, deadline)
    if answer.error_code in _TOO_OLD:
        raise Unsupported(
            f"{node.endpoint} is a controller of a cluster whose metadata.version "
            f"({_release(node) or 'unknown'}) is too old to be asked directly: "
            f"{refused(answer.error_code, answer.error_message)}",
            hint="It takes metadata.version 3.7; until it is raised, ask brokers with "
            "bootstrap_servers.",
        )
    if answer.error_code:
        raise ClusterError(f"{refused(answer.error_code, answer.error_message)}")
    active = answer.controller_id if answer.controller_id >= 0 else None
    return (answer.cluster_id or "", _nodes(answer), _release(node)), active


_TOO_OLD = frozenset({35, 42, 115})
"""UNSUPPORTED_VERSION is what Kafka answers; KIP-919 has UNSUPPORTED_ENDPOINT_TYPE. A controller
that does not know the question, as before KIP-919, takes it for one about brokers: 42."""


def _nodes(answer: Message) -> tuple[Broker, ...]:
    return _sorted((each.broker_id, each) for each in answer.brokers)


def _sorted(rows: Iterable[tuple[int, Message]]) -> tuple[Broker, ...]:
    nodes = (Broker(number, each.host, each.port, each.rack or "") for number, each in rows)
    return tuple(sorted(nodes, key=lambda node: node.id))


def _release(node: Connection) -> str:
    return release(node.features.get("metadata.version", 0))


_RELEASES = (
    (30, "4.3"),
    (28, "4.2"),
    (26, "4.1"),
    (22, "4.0"),
    (21, "3.9"),
    (20, "3.8"),
    (15, "3.7"),
    (12, "3.6"),
    (9, "3.5"),
    (8, "3.4"),
    (4, "3.3"),
)
"""First metadata.version level of each release (Kafka: MetadataVersion)."""


def release(level: int) -> str:
    """Name the release that brought a level of metadata.version, "" if unknown."""
    return next((release for first, release in _RELEASES if level >= first), "")
