"""What we may do: the bits that brokers add to their answers when asked for them (KIP-430)."""

from collections.abc import Collection

from kplan.cluster.specs import Rights
from kplan.kafka.wire import messages, topic_id
from kplan.kafka.wire.active import CONTROLLERS
from kplan.kafka.wire.connection import Connection
from kplan.kafka.wire.gateway import Gateway
from kplan.kafka.wire.link import Deadline

_OPERATIONS = (
    "READ", "WRITE", "CREATE", "DELETE", "ALTER", "DESCRIBE", "CLUSTER_ACTION", "DESCRIBE_CONFIGS",
    "ALTER_CONFIGS", "IDEMPOTENT_WRITE", "CREATE_TOKENS", "DESCRIBE_TOKENS", "TWO_PHASE_COMMIT",
)  # fmt: skip
_FIRST_BIT = 3
"""The bit of READ; those below stand for unknown, any and all (Kafka: AclOperation)."""
_FIRST_WITH_BITS = 8
"""The first version of Metadata that tells the bits."""


def rights(gateway: Gateway, topics: Collection[str]) -> Rights:
    """Ask what we may do on the cluster and on these topics, as far as we see them.

    Raises:
        Unreachable: nobody answers.
        AuthError: a node refused us.

    """
    return gateway.read(lambda node, deadline: _rights(node, deadline, topics))


def _rights(node: Connection, deadline: Deadline, topics: Collection[str]) -> Rights:
    if messages.METADATA.key not in node.versions or messages.DESCRIBE_CLUSTER.key not in (
        node.versions
    ):
        return Rights()
    if node.versions[messages.METADATA.key][1] < _FIRST_WITH_BITS:
        return Rights()
    request = messages.DESCRIBE_CLUSTER.request(include_cluster_authorized_operations=True)
    cluster = node.ask(messages.DESCRIBE_CLUSTER, request, deadline)
    bits = None if cluster.error_code else cluster.authorized_operations
    on_topics: dict[str, frozenset[str]] = {}
    if topics:
        wanted = messages.METADATA.request.MetadataRequestTopic
        request = messages.METADATA.request(
            topics=[wanted(topic_id=topic_id.NO_ID, name=name) for name in sorted(topics)],
            allow_auto_topic_creation=False,
            include_topic_authorized_operations=True,
        )
        for each in node.ask(messages.METADATA, request, deadline).topics:
            if not each.error_code and (bits_of := each.authorized_operations) is not None:
                on_topics[each.name] = operations(bits_of)
    # No bit at all is the answer to those who may not describe the cluster: it tells nothing.
    return Rights(operations(bits) if bits else None, on_topics)


def rights_at_controllers(gateway: Gateway) -> Rights:
    """Ask controllers what we may do on the cluster; topics they leave out. Raises as `rights`."""
    request = messages.DESCRIBE_CLUSTER.request(
        include_cluster_authorized_operations=True, endpoint_type=CONTROLLERS
    )
    answer = gateway.ask(messages.DESCRIBE_CLUSTER, request)
    bits = None if answer.error_code else answer.authorized_operations
    return Rights(operations(bits) if bits else None)


def operations(bits: Collection[int]) -> frozenset[str]:
    """Name the operations whose bits are set."""
    return frozenset(name for place, name in enumerate(_OPERATIONS, _FIRST_BIT) if place in bits)
