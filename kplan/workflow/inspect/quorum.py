"""Use case: which controllers vote on the metadata of the cluster (KIP-853)."""

from collections.abc import Callable

from kplan.cluster.port import Cluster
from kplan.cluster.request import ItemResult
from kplan.cluster.topology import Quorum, QuorumReplica, Voter
from kplan.model.dataclass import dataclass
from kplan.model.errors import ClusterError, PolicyDeniedError, UnsupportedError, UsageError
from kplan.workflow.inspect.broker import check_controller_access
from kplan.workflow.inspect.query import query_cluster
from kplan.workflow.plan.api_check import check_api
from kplan.workflow.ports import Ports, Project

LIVE_MS = 10_000
"""A node that fetched the metadata within this time runs."""
_FEATURE = "kraft.version"


@dataclass(frozen=True, slots=True)
class VoterChange:
    """A controller that is to vote, or to vote no more, and the voters there are and will be."""

    node: int
    before: tuple[int, ...]
    after: tuple[int, ...]
    live: tuple[int, ...]
    is_leader: bool = False


Approve = Callable[[VoterChange], bool]


@dataclass(frozen=True, slots=True)
class NewVoter:
    """A controller, where it listens, and on which listener: "" is that of the leader."""

    id: int
    host: str
    port: int
    listener: str = ""


def add_voter(
    project: Project, ports: Ports, provider: str, wanted: NewVoter, approve: Approve
) -> tuple[int, ...] | None:
    """Let a controller vote, once it was approved; None where it was not. Gives all voters.

    Raises:
        PolicyDeniedError: it does not follow, or controllers may not be changed directly.
        UnsupportedError: the quorum is a fixed one, or the cluster too old.
        ClusterError: the cluster refused, or did not answer.

    """

    def question(cluster: Cluster) -> tuple[int, ...] | None:
        found = _read_quorum(cluster, "add_voter")
        observer = _find_observer(found, wanted.id)
        change = _voter_change(found, wanted.id, {each.id for each in found.voters} | {wanted.id})
        if not approve(change):
            return None
        listener = wanted.listener or found.listener
        voter = Voter(wanted.id, observer.directory, listener, wanted.host, wanted.port)
        _check_result(cluster.add_voter(voter), f"Controller {wanted.id} does not vote")
        return _read_voter_ids(cluster)

    return query_cluster(project, ports, provider, question)


def remove_voter(
    project: Project, ports: Ports, provider: str, node: int, approve: Approve
) -> tuple[int, ...] | None:
    """Let a controller vote no more, once it was approved; None where it was not.

    Raises:
        PolicyDeniedError: those that are left would not be a majority.
        UnsupportedError: the quorum is a fixed one, or the cluster too old.
        ClusterError: the cluster refused, or did not answer.

    """

    def question(cluster: Cluster) -> tuple[int, ...] | None:
        found = _read_quorum(cluster, "remove_voter")
        voter = next((each for each in found.voters if each.id == node), None)
        if voter is None:
            raise UsageError(
                f"Controller {node} does not vote.",
                f"Voters are {_format_nodes(_voter_ids(found))}.",
            )
        change = _voter_change(found, node, {each.id for each in found.voters} - {node})
        check_majority(change)
        if not approve(change):
            return None
        _check_result(cluster.remove_voter(node, voter.directory), f"Controller {node} still votes")
        return _read_voter_ids(cluster)

    return query_cluster(project, ports, provider, question)


def check_majority(change: VoterChange) -> None:
    """Raise PolicyDeniedError if the voters that stay could not agree on anything any more."""
    needed = len(change.after) // 2 + 1
    live = [each for each in change.after if each in change.live]
    if len(live) >= needed:
        return
    left = f"{_format_nodes(tuple(live))} of them run" if live else "none of them runs"
    left = f"{live[0]} alone of them runs" if len(live) == 1 else left
    raise PolicyDeniedError(
        f"Without controller {change.node} there would be no majority: voters would be "
        f"{_format_nodes(change.after) or 'none'}, of which {needed} have to run, and {left}.",
        "Add a voter first, or bring one back.",
    )


def _read_quorum(cluster: Cluster, method: str) -> Quorum:
    """Read the quorum of a cluster whose voters can be changed."""
    check_controller_access(cluster.describe())
    check_api(cluster, {method})
    level = cluster.versions().finalized.get(_FEATURE, 0)
    if level < 1:
        api = "AddRaftVoter" if method == "add_voter" else "RemoveRaftVoter"
        raise UnsupportedError(
            f"{api} needs {_FEATURE} at level 1; the cluster is at level {level}: its voters are "
            "those of controller.quorum.voters.",
            f'Raise it with a kafka_feature named "{_FEATURE}" (Kafka 4.1 and later), or change '
            "the setting on every node.",
        )
    return cluster.quorum()


def _find_observer(quorum: Quorum, node: int) -> QuorumReplica:
    if node in _voter_ids(quorum):
        raise UsageError(
            f"Controller {node} votes already.", f"Voters are {_format_nodes(_voter_ids(quorum))}."
        )
    observer = next((each for each in quorum.observers if each.id == node), None)
    if observer is None or not _is_live(observer):
        raise PolicyDeniedError(
            f"Controller {node} does not follow the metadata, so it cannot vote on it.",
            "Format its storage with --no-initial-controllers, start it, and wait until kplan "
            "quorum describe lists it as an observer.",
        )
    return observer


def _voter_change(quorum: Quorum, node: int, after: set[int]) -> VoterChange:
    live = tuple(each.id for each in quorum.voters if each.id == quorum.leader or _is_live(each))
    return VoterChange(
        node, _voter_ids(quorum), tuple(sorted(after)), live, is_leader=node == quorum.leader
    )


def _is_live(node: QuorumReplica) -> bool:
    return node.fetched_ms is not None and node.fetched_ms < LIVE_MS


def _voter_ids(quorum: Quorum) -> tuple[int, ...]:
    return tuple(each.id for each in quorum.voters)


def _read_voter_ids(cluster: Cluster) -> tuple[int, ...]:
    return _voter_ids(cluster.quorum())


def _format_nodes(nodes: tuple[int, ...]) -> str:
    return ", ".join(map(str, nodes))


def _check_result(result: ItemResult, failed: str) -> None:
    if result is not None:
        raise ClusterError(f"{failed}: {result}")
