"""DescribeCluster (KIP-700): who is there, and who answers."""

from kplan.kafka.wire import messages
from kplan.kafka.wire.connection import Connection
from kplan.kafka.wire.gateway import Gateway
from kplan.kafka.wire.link import Deadline
from kplan.kafka.wire.verdict import refused
from kplan.model.errors import ClusterError
from kplan.model.snapshot import Broker


def describe(gateway: Gateway) -> tuple[str, tuple[Broker, ...], str]:
    """Give cluster id, live brokers by id, and the cluster's metadata version ("" if unknown).

    Raises:
        Unreachable: no node answers.
        AuthError: a node refused us.
        ClusterError: the answer was an error.

    """
    return gateway.read(_described)


def _described(node: Connection, deadline: Deadline) -> tuple[str, tuple[Broker, ...], str]:
    if messages.DESCRIBE_CLUSTER.key in node.versions:
        answer = node.ask(messages.DESCRIBE_CLUSTER, messages.DESCRIBE_CLUSTER.request(), deadline)
        if answer.error_code:
            raise ClusterError(f"{refused(answer.error_code, answer.error_message)}")
        rows = [(each.broker_id, each) for each in answer.brokers]
    else:  # before Kafka 2.8
        request = messages.METADATA.request(topics=[], allow_auto_topic_creation=False)
        answer = node.ask(messages.METADATA, request, deadline)
        rows = [(each.node_id, each) for each in answer.brokers]
    brokers = (Broker(number, each.host, each.port, each.rack or "") for number, each in rows)
    return (
        answer.cluster_id or "",
        tuple(sorted(brokers, key=lambda broker: broker.id)),
        release(node.features.get("metadata.version", 0)),
    )


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
