"""Objects that another service than the brokers holds, and why they are not in effect yet."""

from collections.abc import Mapping, Sequence

from kplan.cluster.connect import FAILED
from kplan.cluster.port import Cluster
from kplan.kinds.base import redact_refusal
from kplan.model.errors import ClusterError, Refusal
from kplan.model.plan import Change
from kplan.model.resource import Identity

_CONNECTOR = "kafka_connector"
SERVICES: Mapping[str, str] = {_CONNECTOR: "Kafka Connect", "kafka_schema": "the schema registry"}
"""The service that serves the objects of a kind; those of other kinds are served by brokers."""


def pending_reasons(
    cluster: Cluster, kind: str, changes: Sequence[Change]
) -> Mapping[Identity, str]:
    """Say why each of the applied changes of a service is not in effect yet."""
    service = SERVICES[kind]
    found = {
        each.identity: f"{service} still shows it"
        if each.after is None
        else f"{service} does not show it yet"
        for each in changes
    }
    connect = cluster.kafka_connect() if kind == _CONNECTOR else None
    if connect is None:
        return found
    try:
        live = connect.connectors()
    except ClusterError:
        return found
    for each in changes:
        held = live.get(str(each.identity))
        if held is not None and held.state == FAILED and each.after is not None:
            why = f": {held.failure}" if held.failure else ""
            text = Refusal("", 0, f"connector {held.name} is failed{why}")
            found[each.identity] = redact_refusal(text, each).message
    return found
