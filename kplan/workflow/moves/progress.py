"""How far moves of replicas are: what is told of them when a run ends."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from kplan.cluster.port import Cluster
from kplan.cluster.request import TopicDescription
from kplan.cluster.topology import Reassignment, Replicas
from kplan.cluster.usage import TopicPartition
from kplan.kinds.reassignment import ReassignmentLimits
from kplan.kinds.topic_layout import replica_moves
from kplan.kinds.topic_rules import Topic
from kplan.kinds.transfer import bytes_left
from kplan.model.errors import ClusterError
from kplan.model.outcome import Outcome, OutcomeStatus
from kplan.model.plan import Action, Change, ObjectKey
from kplan.report.documents.notation import count_text

_MAX_PARTITIONS = 12


def describe_moves(
    cluster: Cluster, outcomes: Iterable[Outcome], limits: ReassignmentLimits
) -> Iterator[Outcome]:
    """Note at moves in progress which partitions move, the bytes left, and the throttle.

    At those that failed note how many partitions have moved nonetheless.
    """
    outcomes = tuple(outcomes)
    failed = [each.change for each in outcomes if each.status is OutcomeStatus.FAILED]
    moved = moved_partitions(cluster, failed)
    moving: Mapping[TopicPartition, Reassignment] = {}
    left: Mapping[TopicPartition, int] = {}
    is_read = is_known = False
    for each in outcomes:
        if each.status is not OutcomeStatus.IN_PROGRESS:
            done, total = moved.get(each.change.key, (0, 0))
            text = f"{done:,} of {count_text(total, 'partition')} moved"
            yield replace(each, note=each.note or text) if total else each
            continue
        if not is_read:
            is_read = True
            with suppress(ClusterError):
                moving = cluster.reassignments()
                is_known = True
            left = bytes_left(cluster, moving)
        keys = sorted(key for key in moving if key[0] == each.change.identity)
        if is_known and not keys:  # its turn had not come, or the last replica has just arrived
            yield replace(each, status=OutcomeStatus.SKIPPED, note="none of its replicas moves")
        else:
            yield replace(each, note=_move_progress_text(keys, left, limits))


def moved_partitions(
    cluster: Cluster, changes: Collection[Change]
) -> Mapping[ObjectKey, tuple[int, int]]:
    """Count the partitions that each change moves: those in place, and all; {} if unreadable."""
    moves = {each.key: found for each in changes if (found := replica_moves_of(each))}
    movers = [each for each in changes if each.key in moves]
    try:
        topics = cluster.topics(sorted(str(each.identity) for each in movers)) if movers else {}
        going = cluster.reassignments() if movers else {}
    except ClusterError:
        return {}
    counts: dict[ObjectKey, tuple[int, int]] = {}
    for each in movers:
        topic = topics.get(str(each.identity))
        held = topic.assignment if isinstance(topic, TopicDescription) else ()
        placed = (
            number < len(held)
            and held[number] == tuple(replicas)
            and (str(each.identity), number) not in going
            for number, replicas in moves[each.key].items()
        )
        counts[each.key] = (sum(placed), len(moves[each.key]))
    return counts


def replica_moves_of(change: Change) -> Mapping[int, Replicas]:
    """Return where a change puts the replicas of which partitions; {} if it moves none."""
    if change.action is not Action.UPDATE or not isinstance(change.before, Topic):
        return {}
    assert isinstance(change.after, Topic)  # noqa: S101 - both are of one kind
    return replica_moves(change.before, change.after)


def _move_progress_text(
    keys: Sequence[TopicPartition], left: Mapping[TopicPartition, int], limits: ReassignmentLimits
) -> str:
    numbers = ", ".join(str(number) for _, number in keys[:_MAX_PARTITIONS]) or "unknown"
    more = f" and {len(keys) - _MAX_PARTITIONS:,} more" if len(keys) > _MAX_PARTITIONS else ""
    known = all(key in left for key in keys) and keys
    size = f"{sum(left[key] for key in keys):,}" if known else "an unknown number of"
    rate = f"{limits.bytes_per_s:,} bytes/s per broker" if limits.bytes_per_s else "none"
    return f"partitions {numbers}{more}; {size} bytes left to copy; throttle {rate}"
