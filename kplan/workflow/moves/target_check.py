"""Whether the brokers that moves of replicas go to are alive."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

from kplan.cluster.port import Cluster
from kplan.cluster.usage import TopicPartition
from kplan.kinds.reassignment import read_reassignments
from kplan.kinds.throttle import CANCEL_MOVES
from kplan.kinds.topic_layout import added_replicas, held_replicas
from kplan.kinds.topic_rules import Topic
from kplan.model.codes import SUMMARIES
from kplan.model.diagnostic import Diagnostic, Severity, sort_diagnostics
from kplan.model.plan import Action, Change, Plan, Risk
from kplan.workflow.clusters import Clusters
from kplan.workflow.moves.progress import replica_moves_of


def check_move_targets(plan: Plan, clusters: Clusters) -> Plan:
    """Refuse replicas on brokers that are not alive; mark moves that keep those and drop others."""
    live = {
        key: frozenset(each.id for each in found.description.brokers)
        for key, found in clusters.connections.items()
    }
    problems: list[Diagnostic] = []

    def check_change(change: Change) -> Change:
        brokers = live.get(change.provider)
        if not brokers or not isinstance(change.after, Topic):
            return change
        cluster = clusters.connections[change.provider].cluster
        problems.extend(_dead_target_diagnostics(change, brokers, cluster))
        notes = tuple(_dead_replica_notes(change, brokers))
        if not notes:
            return change
        return replace(change, risk=Risk.DANGEROUS, notes=(*change.notes, *notes))

    plan = plan.map_changes(check_change)
    return replace(plan, diagnostics=sort_diagnostics([*plan.diagnostics, *problems]))


def _dead_target_diagnostics(
    change: Change, live: frozenset[int], cluster: Cluster
) -> Iterator[Diagnostic]:
    """Report brokers that are to get a replica, and are dead, fenced or unknown."""
    after: Topic = change.after  # type: ignore[assignment] # checked by the caller
    targets: Mapping[int, Collection[int]] = {}
    if change.action is Action.UPDATE:
        targets = added_replicas(change.before, after)
    elif change.action in {Action.CREATE, Action.REPLACE}:
        targets = dict(enumerate(after.replica_assignment or ()))
    dead = sorted({each for brokers in targets.values() for each in brokers} - live)
    if dead:
        first = min(number for number, brokers in targets.items() if set(brokers) & set(dead))
        named = ", ".join(map(str, dead))
        is_moving = change.action is Action.UPDATE and _is_awaited(
            cluster, [(str(change.identity), each) for each in targets], dead
        )
        yield Diagnostic(
            "KP212",
            Severity.ERROR,
            SUMMARIES["KP212"],
            f"Partition {first} of {change.identity} is to have a replica on broker {dead[0]}; "
            f"brokers that are not alive: {named}.",
            "Choose running brokers, or start these first."
            + (f" {CANCEL_MOVES}" if is_moving else ""),
            change.address,
            change.declared_at,
        )


def _is_awaited(
    cluster: Cluster, partitions: Collection[TopicPartition], dead: Collection[int]
) -> bool:
    """Whether a move of a partition to one of the brokers has begun."""
    moves = read_reassignments(cluster, partitions)
    return any(not {*dead}.isdisjoint(each.adding) for each in moves.values())


def _dead_replica_notes(change: Change, live: frozenset[int]) -> Iterator[str]:
    """Name partitions that lose a live replica and keep one on a broker that is not alive."""
    if change.action is not Action.UPDATE or not isinstance(change.before, Topic):
        return
    for number, replicas in sorted(replica_moves_of(change).items()):
        before = set(held_replicas(change.before, number))
        dropped, dead = sorted((before - set(replicas)) & live), sorted(set(replicas) - live)
        if dropped and dead and before & set(dead):
            yield (
                f"KP2215 partition {number} drops its replica on broker {dropped[0]}, which is "
                f"alive, and keeps the one on broker {dead[0]}, which is not"
            )
