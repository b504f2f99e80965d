"""Use cases: list, verify and cancel reassignments of a cluster, without a plan."""

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from fnmatch import fnmatchcase
from functools import partial

from kplan.cluster.errors import Handling, handling
from kplan.cluster.port import Cluster
from kplan.cluster.request import ItemResult, TopicDescription
from kplan.cluster.topic import is_internal_topic
from kplan.cluster.topology import Reassignment, Replicas
from kplan.cluster.usage import TopicPartition
from kplan.kinds.throttle import (
    CANCEL_MOVES,
    awaited_broker_text,
    broker_rates,
    brokers_with_own_rates,
    foreign_rate_text,
    foreign_rates,
    kept_rate_text,
    rate_removal_command,
    running_brokers,
    throttled_brokers,
    topic_throttles,
)
from kplan.kinds.throttle_removal import (
    ThrottleRemoval,
    remove_leftover_throttles,
    remove_throttles,
    repeat_removal,
)
from kplan.kinds.transfer import bytes_left
from kplan.model.errors import Refusal
from kplan.model.table import Figures, FigureTable

TargetAssignment = Mapping[TopicPartition, Replicas]
_SECOND_LOOK_S = 1.5
"""Longer than a mover waits between two looks."""
FAILED = "failed"
"""A sort of finding: something asked for was not done."""


class MoveProgress(StrEnum):
    """How far a partition is: KIP-4's -1, 0 and 1."""

    FAILED = "failed"
    IN_PROGRESS = "in_progress"
    COMPLETED = "completed"


def list_moves(cluster: Cluster) -> Figures:
    """List the partitions under reassignment, with the bytes left to copy.

    Raises:
        ClusterError: the cluster does not answer, or refuses to.

    """
    moving = cluster.reassignments()
    left = bytes_left(cluster, moving)
    rows = tuple(
        (
            name,
            number,
            _format_ids(each.origin),
            _format_ids(each.target),
            _format_ids(each.adding),
            left.get(key),
        )
        for key, each in sorted(moving.items())
        for name, number in (key,)
    )
    columns = ("topic", "partition", "from", "to", "adding", "bytes_left")
    notes = tuple(_awaited_brokers(cluster, moving) if rows else _idle_rates(cluster))
    return Figures("Reassignments", (FigureTable("partitions", columns, rows),), notes=notes)


def _awaited_brokers(
    cluster: Cluster, moving: Mapping[TopicPartition, Reassignment]
) -> Iterator[str]:
    """Name the brokers that are down and are to get replicas, or keep the throttle of a move."""
    adding = {broker for each in moving.values() for broker in each.adding}
    down = sorted(adding - running_brokers(cluster, adding))
    yield from map(awaited_broker_text, down)
    if down:
        yield CANCEL_MOVES
    yield from _kept_rates(cluster, _throttled_brokers(cluster, {name for name, _ in moving}))


def _throttled_brokers(cluster: Cluster, topics: Collection[str]) -> set[int]:
    """Name the brokers with a throttle for replicas of the topics."""
    return throttled_brokers(topic_throttles(cluster, topics)) if topics else set()


def _kept_rates(cluster: Cluster, throttled: Collection[int]) -> Iterator[str]:
    """Name the throttled brokers that are down: no one can take their rates away meanwhile."""
    found = cluster.describe()
    for broker in sorted(set(throttled) - {each.id for each in found.brokers}):
        yield kept_rate_text(broker, found.security_protocol)


def _foreign_rates(cluster: Cluster, throttled: Collection[int]) -> Iterator[str]:
    """Name the throttled brokers with rates that kplan did not set: a cancellation leaves them."""
    found = cluster.describe()
    running = {each.id for each in found.brokers} & set(throttled)
    for broker in sorted(foreign_rates(cluster, running)):
        yield foreign_rate_text(broker, found.security_protocol)


def _idle_rates(cluster: Cluster) -> Iterator[str]:
    """Name the brokers with throttle rates while nothing moves: one that died in a move keeps them.

    They limit the next move, too. Only a running broker shows its rates.
    """
    yield "No replicas are being moved."
    found = cluster.describe()
    for broker in sorted(broker_rates(cluster, [each.id for each in found.brokers])):
        yield (
            f"Broker {broker} has throttle rates that no move needs. If they should not stay: "
            f"{rate_removal_command(broker, found.security_protocol)}"
        )
    for broker in sorted(each.id for each in found.fenced):
        yield (
            f"Broker {broker} is down, and whether it has throttle rates is unknown: it keeps "
            "those of a move in which it went down. To remove them once it is back: "
            f"{rate_removal_command(broker, found.security_protocol)}"
        )


def verify_moves(cluster: Cluster, targets: TargetAssignment) -> Figures:
    """Return how far each partition of an assignment is (K4o-10); raises ClusterError."""
    moving = cluster.reassignments(list(targets))
    topics = cluster.topics(sorted({name for name, _ in targets}))
    left = bytes_left(cluster, moving)
    rows = []
    for key, target in sorted(targets.items()):
        how, why = _partition_progress(target, key, topics.get(key[0]), moving)
        rows.append((*key, _format_ids(target), how.value, left.get(key), why))
    columns = ("topic", "partition", "replicas", "status", "bytes_left", "why")
    found = frozenset(str(row[3]) for row in rows)
    table = FigureTable("partitions", columns, tuple(rows))
    return Figures("Reassignment", (table,), findings=found)


def _partition_progress(
    target: Replicas,
    key: TopicPartition,
    topic: TopicDescription | Refusal | None,
    moving: Mapping[TopicPartition, Reassignment],
) -> tuple[MoveProgress, str]:
    if key in moving:
        if moving[key].target == target:
            return MoveProgress.IN_PROGRESS, ""
        return MoveProgress.FAILED, f"it is moving to {_format_ids(moving[key].target)}"
    if not isinstance(topic, TopicDescription):
        return MoveProgress.FAILED, str(topic or "no answer")
    if key[1] >= len(topic.assignment):
        return MoveProgress.FAILED, "the partition does not exist"
    current = topic.assignment[key[1]]
    if current != target:
        return MoveProgress.FAILED, f"it is on {_format_ids(current)}"
    if missing := sorted(set(target) - set(topic.in_sync[key[1]])):
        return MoveProgress.IN_PROGRESS, f"not in sync: {_format_ids(tuple(missing))}"
    return MoveProgress.COMPLETED, ""


def cancel_moves(
    cluster: Cluster,
    partitions: Collection[TopicPartition] | None,
    pause: Callable[[float], None] = time.sleep,
) -> Figures:
    """Cancel reassignments and remove their throttles; None cancels all of them.

    The cluster is read again after a pause: another client may start the same moves again.

    Raises:
        ClusterError: the cluster does not answer, or refuses the request.

    """
    moving = cluster.reassignments(partitions)
    topics = {name for name, _ in [*moving, *(partitions or ())]}
    throttled = _throttled_brokers(cluster, topics)  # a run that moves them removes the marks too
    results = cluster.reassign(dict.fromkeys(moving)) if moving else {}
    free: set[int] = set()
    if not (moving or partitions) and (free := brokers_with_own_rates(cluster)):
        topics = set(cluster.topics())  # of a run that was killed, whose moves have ended
    lifted = remove_leftover_throttles(cluster, topics, pause) if topics else ThrottleRemoval()
    left = free - lifted.brokers - lifted.kept_rates.keys()
    if left and not cluster.reassignments():
        removal = repeat_removal(partial(remove_throttles, cluster, (), left), pause)
        kept_rates = {**lifted.kept_rates, **removal.kept_rates}
        lifted = replace(lifted.after(removal), kept_rates=kept_rates)
    if moving:
        pause(_SECOND_LOOK_S)
    again = cluster.reassignments(moving) if moving else {}
    rows = tuple(
        (
            name,
            number,
            _format_ids(each.origin),
            "moving again" if key in again else _cancel_outcome(results.get(key)),
        )
        for key, each in sorted(moving.items())
        for name, number in (key,)
    )
    notes = [] if rows else ["No replicas are being moved."]
    notes += [f"Removed the throttles of: {', '.join(lifted.topics)}."] if lifted.topics else []
    if gone := sorted(free & lifted.brokers):
        notes.append(f"Removed the throttle rates of brokers: {_format_ids(gone)}.")
    notes += lifted.kept_texts(cluster.describe().security_protocol)
    notes += _kept_rates(cluster, throttled)
    notes += _foreign_rates(cluster, throttled)
    notes += ["Another client started the moves again; stop it first."] if again else []
    columns = ("topic", "partition", "back_to", "outcome")
    table = FigureTable("partitions", columns, rows)
    is_failed = lifted.is_refused or any(row[3] != "cancelled" for row in rows)
    failed = frozenset({FAILED}) if is_failed else frozenset()
    return Figures("Cancelled", (table,), notes=tuple(notes), findings=failed)


def _cancel_outcome(result: ItemResult) -> str:
    is_gone = result is None or handling(result) is Handling.CONVERGED
    return "cancelled" if is_gone else str(result)


def read_live_assignment(
    cluster: Cluster, match: str = "*", *, takes_internal: bool = False
) -> dict[TopicPartition, Replicas]:
    """Return the replicas of topics whose names fit a pattern; raises ClusterError."""
    return {
        (name, number): replicas
        for name, found in sorted(cluster.topics().items())
        if fnmatchcase(name, match) and not isinstance(found, Refusal)
        if takes_internal or not (found.is_internal or is_internal_topic(name))
        for number, replicas in enumerate(found.assignment)
    }


def _format_ids(replicas: Sequence[int]) -> str:
    return ", ".join(map(str, replicas))
