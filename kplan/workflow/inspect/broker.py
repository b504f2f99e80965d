"""Use case: unregister a broker that will not come back (KIP-631)."""

from collections.abc import Callable

from kplan.cluster.port import Cluster
from kplan.cluster.request import ClusterDescription, ItemResult
from kplan.model.dataclass import dataclass
from kplan.model.errors import ClusterError, PolicyDeniedError, Refusal
from kplan.workflow.inspect.query import query_cluster
from kplan.workflow.ports import Ports, Project

_LIVE_MS = 10_000
"""Of a broker that fetched the metadata within this time it is taken that it runs."""
_MAX_NAMES = 5


@dataclass(frozen=True, slots=True)
class BrokerStatus:
    """The known facts of a broker. `topics` have replicas on it; None is unknown."""

    broker: int
    is_live: bool
    topics: tuple[str, ...] | None

    @property
    def objections(self) -> tuple[str, ...]:
        """Reasons to keep it, none for a broker that is gone and empty (K919-22)."""
        items: list[str] = []
        if self.is_live:
            items.append("it is running, and would be cut off")
        if self.topics is None:
            items.append("controllers do not return whether it has replicas")
        elif self.topics:
            more = len(self.topics) - _MAX_NAMES
            named = ", ".join(self.topics[:_MAX_NAMES]) + (f" and {more} more" if more > 0 else "")
            items.append(f"it has replicas of {named}")
        return tuple(items)


Approve = Callable[[BrokerStatus], bool]


def unregister_broker(
    project: Project,
    ports: Ports,
    wanted: tuple[str, int],
    approve: Approve,
    *,
    is_forced: bool = False,
) -> bool:
    """Unregister a broker after approval; False without it. `wanted`: provider, id.

    Kafka itself takes out any broker, whether it runs or holds the only replica of something.

    Raises:
        PolicyDeniedError: the broker runs or has replicas, and `is_forced` is not said.
        ClusterError: the cluster refused, or did not answer.

    """
    provider, broker = wanted

    def question(cluster: Cluster) -> bool:
        status = read_broker_status(cluster, broker)
        if status.objections and not is_forced:
            raise PolicyDeniedError(
                f"Broker {broker} cannot be removed: {'; '.join(status.objections)}.",
                "Stop it, and move its replicas away; or take it out as it is with -force.",
            )
        if not approve(status):
            return False
        raise_refusal(cluster.unregister_broker(broker), broker)
        return True

    return query_cluster(project, ports, provider, question)


def read_broker_status(cluster: Cluster, broker: int) -> BrokerStatus:
    """Determine whether a broker runs, and its replicas.

    Raises:
        PolicyDeniedError: controllers are asked directly, and changes there are not allowed.
        ClusterError: the cluster does not answer.

    """
    described = cluster.describe()
    check_controller_access(described)
    if described.controller_access is None:
        return BrokerStatus(
            broker, broker in described.verifying_node_ids, _topics_on_broker(cluster, broker)
        )
    return BrokerStatus(broker, _is_fetching(cluster, broker), None)


def check_controller_access(described: ClusterDescription) -> None:
    """Refuse changes at controllers unless they are allowed (K919-06). Raises PolicyDeniedError."""
    if described.controller_access is not None and not described.controller_access.is_allowed:
        raise PolicyDeniedError(
            "The connection is directly to controllers, and allow_direct is not set.",
            'Set allow_direct = true in provider "kafka", or KPLAN_ALLOW_DIRECT=true.',
        )


def _is_fetching(cluster: Cluster, broker: int) -> bool:
    return any(
        each.id == broker and each.fetched_ms is not None and each.fetched_ms < _LIVE_MS
        for each in cluster.quorum().observers
    )


def _topics_on_broker(cluster: Cluster, broker: int) -> tuple[str, ...]:
    return tuple(
        name
        for name, found in sorted(cluster.topics().items())
        if not isinstance(found, Refusal)
        and any(broker in replicas for replicas in found.assignment)
    )


def raise_refusal(result: ItemResult, broker: int) -> None:
    """Raise a refusal as the error that stops the run. Raises ClusterError."""
    if result is not None:
        raise ClusterError(
            f"Broker {broker} was not unregistered: {result}",
            "kplan cluster describe lists the running brokers." if result.code == 102 else "",  # noqa: PLR2004 - BROKER_ID_NOT_REGISTERED
        )
