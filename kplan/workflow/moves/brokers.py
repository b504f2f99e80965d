"""Where replicas go when brokers are drained or evened out: read, computed, and shown as tables."""

import shlex
from collections.abc import Callable, Collection, Iterator, Mapping
from fnmatch import fnmatchcase
from os.path import commonprefix

from kplan.cluster.port import Cluster
from kplan.cluster.topology import Replicas
from kplan.cluster.usage import TopicPartition
from kplan.config.load import Configuration
from kplan.kinds.throttle import throttled_brokers, topic_throttles
from kplan.kinds.topic_rules import Topic
from kplan.model.codes import SUMMARIES
from kplan.model.dataclass import dataclass
from kplan.model.errors import KplanError, Refusal, UsageError
from kplan.model.table import Figures, FigureTable
from kplan.report.documents.notation import count_text
from kplan.report.documents.plan import names_text
from kplan.workflow.clusters import Connection
from kplan.workflow.moves.balance import (
    LayoutChange,
    ReplicaLayout,
    balance_brokers,
    broker_weights,
    drain_brokers,
    replica_counts,
)

_MAX_NAMED = 20


class DrainError(KplanError):
    """Replicas have no place to go, or must stay. The detail names them with the reasons."""

    code = "KP546"
    summary = SUMMARIES["KP546"]


@dataclass(frozen=True, slots=True)
class Reassignments:
    """Where replicas are to be, and tables of the brokers before and after.

    `throttled` are topics with throttles that an interrupted run may have left.
    """

    targets: Mapping[TopicPartition, Replicas]
    figures: Figures | None = None
    throttled: frozenset[str] = frozenset()


ReassignmentSource = Callable[[Connection, Configuration, str], Reassignments]
"""Says where replicas are to be, for a connection and its key; raises UsageError, ClusterError."""


@dataclass(frozen=True, slots=True)
class DrainRequest:
    """Brokers to drain. `within_rack` moves inside a rack; `fewer_racks` may give up racks."""

    brokers: frozenset[int]
    match: str = "*"
    within_rack: bool = False
    fewer_racks: bool = False

    def __call__(self, at: Connection, configuration: Configuration, key: str) -> Reassignments:
        """Compute where the replicas of the brokers go.

        Raises:
            UsageError: a broker does not exist.
            DrainError: a replica has no place to go, or its topic has a declared placement.
            ClusterError: the cluster does not answer, or refuses the request.

        """
        layout, moving = read_layout(at, configuration, key, self.brokers)
        known = {*layout.racks, *replica_counts(layout)}
        if strange := sorted(self.brokers - known):
            raise UsageError(
                f"The cluster has no broker {', '.join(map(str, strange))}.",
                hint=f"Its brokers are {', '.join(map(str, sorted(known)))}.",
            )
        inside = {
            each: row for each, row in layout.assignment.items() if fnmatchcase(each[0], self.match)
        }
        pinned = {each: why for each, why in layout.pinned.items() if each in inside}
        change = drain_brokers(
            ReplicaLayout(layout.racks, inside, layout.weights, pinned),
            self.brokers,
            within_rack=self.within_rack,
            fewer_racks=self.fewer_racks,
        )
        if change.stuck:
            raise _stuck_error(change.stuck, self.brokers, layout, self.match)
        title = f"Drain of broker {', '.join(map(str, sorted(self.brokers)))}"
        notes = tuple(_notes(layout, change.targets))
        figures = _figures(title, layout, change.targets, self.brokers, notes)
        # What is moving already is waited for: it may be of a drain that was interrupted.
        return Reassignments(
            {**moving, **change.targets},
            figures,
            _throttled_topics(at.cluster, {name for name, _ in inside}, self.brokers),
        )


@dataclass(frozen=True, slots=True)
class BalanceRequest:
    """How even brokers are to be: `tolerance` is a part of the mean, 0.1 for 90 to 110 %.

    With `by_replicas` brokers are to have equally many replicas, instead of bytes.
    """

    tolerance: float = 0.1
    match: str = "*"
    within_rack: bool = False
    by_replicas: bool = False

    def __call__(self, at: Connection, configuration: Configuration, key: str) -> Reassignments:
        """Compute which replicas move; raises ClusterError."""
        layout, moving = read_layout(at, configuration, key)
        pinned = dict(layout.pinned) | {
            each: "" for each in layout.assignment if not fnmatchcase(each[0], self.match)
        }
        weights = dict.fromkeys(layout.assignment, 1) if self.by_replicas else layout.weights
        change = balance_brokers(
            ReplicaLayout(layout.racks, layout.assignment, weights, pinned),
            self.tolerance,
            within_rack=self.within_rack,
        )
        weighed = ReplicaLayout(layout.racks, layout.assignment, weights)
        notes = (*_notes(layout, change.targets), self._evenness_note(weighed, change))
        figures = _figures("Balance of brokers", layout, change.targets, frozenset(), notes)
        matching = {name for name, _ in layout.assignment if fnmatchcase(name, self.match)}
        throttled = _throttled_topics(at.cluster, matching, layout.racks)
        return Reassignments({**moving, **change.targets}, figures, throttled)

    def _evenness_note(self, layout: ReplicaLayout, change: LayoutChange) -> str:
        """Say how even the brokers will be."""
        loads = broker_weights(layout, change.targets)
        uneven = []
        for rack in sorted(set(layout.racks.values())) if self.within_rack else [None]:
            brokers = [each for each in layout.racks if rack in {None, layout.racks[each]}]
            mean = sum(loads[each] for each in brokers) / max(1, len(brokers))
            uneven += [
                f"broker {each} {(loads[each] - mean) / mean:+.0%}"
                for each in brokers
                if mean and abs(loads[each] - mean) > self.tolerance * mean
            ]
        unit = "replicas" if self.by_replicas else "bytes"
        of = " of its rack" if self.within_rack else ""
        limit = f"{self.tolerance:.0%} of the mean{of}"
        if not uneven:
            return f"Every broker is within {limit} then ({unit})."
        return f"Not within {limit} ({unit}): {names_text(uneven)}. No move of a replica helps."


def read_layout(
    at: Connection, configuration: Configuration, key: str, drained: Collection[int] = ()
) -> tuple[ReplicaLayout, Mapping[TopicPartition, Replicas]]:
    """Read where replicas are and how large they are, and the targets of those that are moving.

    Partitions of topics with a declared placement are pinned: the next plan would move them back,
    unless a strategy leaves them on a `drained` broker that is down.

    Raises:
        UnreadableError: no right to describe the cluster.

    """
    cluster = at.cluster
    topics = cluster.topics()
    assignment = {
        (name, number): replicas
        for name, found in sorted(topics.items())
        if not isinstance(found, Refusal)
        for number, replicas in enumerate(found.assignment)
    }
    moving = {
        each: found.target for each, found in cluster.reassignments().items() if each in assignment
    }
    sizes = cluster.replica_sizes(topics) if topics else {}
    weights = {each: max(found.values(), default=0) for each, found in sizes.items()}
    racks = {each.id: each.rack for each in at.description.brokers}
    pinned = _pinned_partitions(assignment, set(drained) - racks.keys(), configuration, key)
    return ReplicaLayout(racks, assignment | moving, weights, pinned), moving


def _pinned_partitions(
    assignment: Mapping[TopicPartition, Replicas],
    lost: Collection[int],
    configuration: Configuration,
    key: str,
) -> dict[TopicPartition, str]:
    """Say which declaration holds a partition; a strategy lets go of those on `lost` brokers.

    It leaves replicas on a broker that is down where they are, so someone has to move them.
    """
    declared: dict[str, str] = {}
    free: set[str] = set()
    for each in configuration.resources:
        topic = each.value
        if each.provider != key or not isinstance(topic, Topic):
            continue
        if topic.placement is not None or topic.replica_assignment is not None:
            word = "placement" if topic.placement is not None else "replica_assignment"
            at = each.declared_at
            declared[topic.name] = f"{each.address} declares {word}, at {at.file}:{at.line}"
            free |= {topic.name} if topic.replica_assignment is None else set()
    return {
        each: declared[each[0]]
        for each, replicas in assignment.items()
        if each[0] in declared and not (each[0] in free and set(lost) & set(replicas))
    }


def _stuck_error(
    stuck: Mapping[TopicPartition, str],
    brokers: Collection[int],
    layout: ReplicaLayout,
    match: str,
) -> DrainError:
    lines = [f"  {name}:{number}: {why}" for (name, number), why in sorted(stuck.items())]
    more = len(lines) - _MAX_NAMED
    lines = lines[:_MAX_NAMED] + ([f"  and {more:,} more"] if more > 0 else [])
    ids = ", ".join(map(str, sorted(brokers)))
    left = len(layout.racks.keys() - set(brokers))
    too_many = {
        each for each in stuck if len(layout.assignment[each]) > left
    } - layout.pinned.keys()
    hints = [] if len(too_many) == len(stuck) else [_STUCK_HINT]
    if too_many:
        factor = max(len(layout.assignment[each]) for each in too_many)
        fewer = f", or a replication factor of {left} at most" if left else ""
        hints.append(f"A full drain needs {count_text(factor - left, 'more broker')}{fewer}.")
    if match == "*":
        held = {name for (name, _), row in layout.assignment.items() if {*row} & {*brokers}}
        hints += _match_hints({name for name, _ in stuck}, held)
    return DrainError(
        f"Partitions that cannot leave broker {ids}: {len(stuck):,}\n" + "\n".join(lines),
        hint=" ".join(hints),
    )


_STUCK_HINT = (
    "Change the declarations of topics with a placement, add brokers, or use -match or "
    "-fewer-racks."
)


def _match_hints(stuck: Collection[str], held: Collection[str]) -> Iterator[str]:
    """Name a -match for the topics that can move, where one pattern leaves out those that cannot.

    Names of internal topics begin with an underscore: they are the usual ones.
    """
    free = set(held) - set(stuck)
    shared = commonprefix(sorted(free))  # noqa: RUF071 - names of topics are no paths
    for pattern in ("[!_]*", f"{shared}*") if shared else ("[!_]*",):
        is_of_free = any(fnmatchcase(each, pattern) for each in free)
        if is_of_free and not any(fnmatchcase(each, pattern) for each in stuck):
            yield f"To leave these topics out, use {shlex.quote(f'-match={pattern}')}."
            return


def _throttled_topics(
    cluster: Cluster, topics: Collection[str], brokers: Collection[int]
) -> frozenset[str]:
    """Find topics with throttles for some brokers; those that hold for all replicas are no move."""
    return frozenset(
        name
        for name, texts in topic_throttles(cluster, topics).items()
        if throttled_brokers({name: texts}) & set(brokers)
    )


def _figures(
    title: str,
    layout: ReplicaLayout,
    targets: Mapping[TopicPartition, Replicas],
    drained: Collection[int],
    notes: tuple[str, ...],
) -> Figures:
    held, kept = replica_counts(layout), replica_counts(layout, targets)
    before, after = broker_weights(layout), broker_weights(layout, targets)
    rows = tuple(
        (
            broker,
            layout.racks.get(broker, ""),
            _broker_status(broker, layout, drained),
            held[broker],
            kept[broker],
            before[broker],
            after[broker],
        )
        for broker in sorted({*before, *after})
    )
    columns = (
        "broker",
        "rack",
        "status",
        "replicas",
        "replicas_after",
        "bytes",
        "bytes_after",
    )
    return Figures(title, (FigureTable("brokers", columns, rows),), notes=notes)


def _broker_status(broker: int, layout: ReplicaLayout, drained: Collection[int]) -> str:
    status = "live" if broker in layout.racks else "not alive"
    return f"{status}, to drain" if broker in drained else status


def _notes(layout: ReplicaLayout, targets: Mapping[TopicPartition, Replicas]) -> Iterator[str]:
    copied = sum(
        layout.weight(key) * len(set(row) - set(layout.assignment[key]))
        for key, row in targets.items()
    )
    yield f"Reassigned partitions: {len(targets):,}. Copied bytes: {copied:,}."
    names = sorted({name for name, _ in layout.pinned} - {name for name, _ in targets})
    if names:
        yield f"Topics with a declared placement stay where they are: {names_text(names)}."
