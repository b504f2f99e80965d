"""Partitions and replicas of topics: compare them, and find the moves."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from kplan.cluster.request import Assignment, NewPartitions
from kplan.cluster.topology import Reassignment, Replicas
from kplan.cluster.usage import TopicPartition
from kplan.kinds.base import Problem, merge_config
from kplan.kinds.placement import (
    STATIC,
    STRATEGIES,
    BrokerLoad,
    PlacementError,
    PlacementRequest,
    place_replicas,
)
from kplan.kinds.throttle import foreign_pairs
from kplan.kinds.topic_retention import limit_retention_cut
from kplan.kinds.topic_rules import THROTTLED_REPLICAS, Topic
from kplan.model.resource import Identity, Path, Resource
from kplan.model.state import Broker, KindSnapshot, LiveObject

_LAYOUT_ATTRIBUTES = {"partitions", "replication_factor", "replica_assignment", "placement"}

PlacementProblem = tuple[Resource, Problem]


def align_topic(live: Topic, desired: Topic, ignored: Collection[Path]) -> tuple[Topic, Topic]:
    """Compare the declared value; broker defaults are never a difference (design law 5).

    Replicas are compared where someone declared them or how they are placed. Where only the
    replication factor was declared it alone counts, in every partition.
    """
    declared = _without_ignored(desired, ignored)
    target = declared.replica_assignment
    if target is not None and declared.is_generated and not declared.strategy:
        target = None if _has_factor(live, declared.replica_count) else target
    current = _without_throttles(live, desired)
    config = merge_config(current, desired.config, ignored)
    config, retention_target = limit_retention_cut(live, desired, config)
    after = Topic(
        desired.name,
        _first(declared.partition_count, live.partitions),
        _first(declared.replica_count, live.replication_factor),
        target,
        config,
        desired.placement,
        declared.is_generated and target is not None,
        retention_step=desired.retention_step,
        retention_target=retention_target,
    )
    before = Topic(
        live.name,
        live.partitions,
        _deviating_factor(live, after.replication_factor),
        live.replica_assignment if target is not None else None,
        current,
        desired.placement,
        after.is_generated,
        retention_step=desired.retention_step,
    )
    if target is not None and _is_moving_elsewhere(live, target):
        before = replace(before, replica_assignment=live.moving_to, origin=live.replica_assignment)
    return before, after


def replica_moves(before: Topic, after: Topic) -> Mapping[int, Replicas]:
    """Return where replicas of which partitions go, those of new partitions included.

    New partitions are made with as many replicas as the others have; more or less is a move.
    """
    target, current = after.replica_assignment, before.replica_assignment
    if target is None or current is None:
        return {}
    factor = len(current[0]) if current else 0
    found = {
        number: replicas
        for number, replicas in enumerate(target[: len(current)])
        if replicas != current[number]
    }
    if target and len(target[0]) != factor:
        found |= {number: target[number] for number in range(len(current), len(target))}
    return found


def added_replicas(before: object, after: object) -> Mapping[int, Sequence[int]]:
    """Return which brokers get a copy of which partitions, beside those of a move in progress."""
    if not isinstance(before, Topic) or not isinstance(after, Topic):
        return {}
    found = {
        number: [each for each in replicas if each not in _kept_replicas(before, number, replicas)]
        for number, replicas in replica_moves(before, after).items()
    }
    return {number: each for number, each in found.items() if each}


def held_replicas(topic: Topic, number: int) -> Replicas:
    """Return the replicas of a partition; of one that is moving those from before the move."""
    held = topic.replica_assignment if topic.origin is None else topic.origin
    return held[number] if held is not None and number < len(held) else ()


def _kept_replicas(before: Topic, number: int, target: Replicas) -> Replicas:
    """Return the replicas that a move may keep: copies in progress are lost if it is cancelled."""
    held = held_replicas(before, number)
    assignment = before.replica_assignment or ()
    if before.origin is None or number >= len(assignment):
        return held
    adding = tuple(each for each in assignment[number] if each not in held)
    removing = tuple(each for each in held if each not in assignment[number])
    moving = Reassignment((*assignment[number], *removing), adding, removing)
    return moving.replicas if moving.can_turn_to(target) else held


def new_partitions(before: Topic, after: Topic) -> NewPartitions:
    """Return where new partitions go, as far as they can go there at once."""
    target, current = after.replica_assignment, before.replica_assignment
    new = None
    if target is not None:
        factor = len(current[0]) if current else len(target[0])
        new = tuple(replicas[:factor] for replicas in target[before.partitions or 0 :])
        new = new if all(len(each) == factor for each in new) else None
    return NewPartitions(after.name, after.partition_count or 0, new)


def grown_topic(held: Topic, after: Topic) -> Topic:
    """Return the topic with the partitions of another, where those that it had have not moved."""
    spec = new_partitions(replace(held, partitions=held.partition_count), after)
    rows = held.replica_assignment
    if rows is not None:  # without an assignment brokers have placed the new ones
        rows = None if spec.assignment is None else (*rows, *spec.assignment)
    return replace(
        held,
        partitions=spec.total,
        replication_factor=held.replica_count,
        replica_assignment=rows,
        is_generated=held.is_generated and rows is not None,
    )


def with_reassignments(
    live: Mapping[Identity, LiveObject], found: Mapping[TopicPartition, Reassignment]
) -> Mapping[Identity, LiveObject]:
    """Show topics under reassignment as they were before, with their new replicas."""
    rows: dict[str, dict[int, Reassignment]] = {}
    for (name, number), moving in found.items():
        rows.setdefault(name, {})[number] = moving
    return {
        name: replace(each, value=_with_reassignment(each.value, rows[name]))
        if name in rows
        else each
        for name, each in live.items()
    }


def place_topics(
    declared: Mapping[Identity, Resource], reading: KindSnapshot, brokers: Sequence[Broker]
) -> tuple[dict[Identity, Resource], tuple[PlacementProblem, ...]]:
    """Compute undeclared replica assignments, and report where that is impossible."""
    found = dict(declared)
    unfit: list[PlacementProblem] = []
    load = _broker_load(declared, reading)
    for name, each in sorted(declared.items()):
        if not isinstance(each.value, Topic):
            continue
        try:
            value = _place_topic(each, reading, brokers, load)
            found[name] = each if value is each.value else replace(each, value=value)
        except PlacementError as fault:
            path = "placement" if each.value.placement else "replication_factor"
            detail = f'Replicas of topic "{each.value.name}" cannot be placed: {fault}'
            unfit.append((each, Problem("KP212", detail, _TOO_FEW_BROKERS, (path,))))
    return found, tuple(unfit)


_TOO_FEW_BROKERS = (
    "Declare fewer replicas, or bring more brokers in. A broker that is down does not count."
)


def _broker_load(declared: Mapping[Identity, Resource], reading: KindSnapshot) -> BrokerLoad:
    """Count the replicas of brokers for placed topics: as declared, or as live."""
    load = BrokerLoad()
    for name, each in declared.items():
        if isinstance(each.value, Topic) and (each.value.strategy or each.value.replica_assignment):
            load.add(each.value.replica_assignment or _current_assignment(name, reading))
    return load


def _current_assignment(name: Identity, reading: KindSnapshot) -> Assignment:
    held = reading.objects.get(name)
    live: Topic | None = held.value if held else None  # type: ignore[assignment] # a Reading of topics holds them
    return (live.moving_to or live.replica_assignment or ()) if live else ()


def _place_topic(
    resource: Resource, reading: KindSnapshot, brokers: Sequence[Broker], load: BrokerLoad
) -> Topic:
    topic: Topic = resource.value  # type: ignore[assignment] # the caller has looked
    declared = _without_ignored(topic, resource.lifecycle.ignore_changes)
    held = reading.objects.get(resource.identity)
    live: Topic | None = held.value if held else None  # type: ignore[assignment] # as above
    request = None if topic.replica_assignment is not None else _placement_request(declared, live)
    if request is None or resource.identity in reading.hidden:
        return topic
    current = _current_assignment(resource.identity, reading)
    if topic.strategy:
        load.remove(current)
    assignment = place_replicas(request, brokers, current, load)
    if topic.strategy:
        load.add(assignment)
    return replace(topic, replica_assignment=assignment, is_generated=True)


def _placement_request(declared: Topic, live: Topic | None) -> PlacementRequest | None:
    """Return the desired layout of a topic, None if kplan is not to place it."""
    if live is None:
        if not declared.strategy or not (declared.partitions and declared.replication_factor):
            return None
        return PlacementRequest(
            declared.name, declared.partitions, declared.replication_factor, declared.strategy
        )
    has, factor = live.partitions, _first(declared.replication_factor, live.replication_factor)
    wanted = _first(declared.partitions, has)
    if not (has and wanted and factor) or wanted < has:  # not told, or refused elsewhere
        return None
    if not declared.strategy and _has_factor(live, declared.replication_factor):
        return None
    return PlacementRequest(declared.name, wanted, factor, declared.strategy)


def _has_factor(live: Topic, factor: int | None) -> bool:
    """Whether every partition has so many replicas."""
    if factor is None:
        return True
    if not live.replica_assignment:
        return live.replication_factor == factor
    return all(len(each) == factor for each in live.replica_assignment)


def _deviating_factor(live: Topic, wanted: int | None) -> int | None:
    """Return the number of replicas of the partitions that have not as many as they should."""
    sizes = [len(each) for each in live.replica_assignment or ()]
    return next((each for each in sizes if each != wanted), live.replication_factor)


def _is_moving_elsewhere(live: Topic, target: Assignment) -> bool:
    """Whether replicas move elsewhere than desired: they count at their destination."""
    return live.moving_to is not None and live.moving_to != target[: len(live.moving_to)]


def _without_throttles(live: Topic, desired: Topic) -> Mapping[str, str]:
    """Leave throttles of a reassignment out, unless they are declared: they are never drift."""
    if live.config.keys().isdisjoint(THROTTLED_REPLICAS):
        return live.config
    declared = set(THROTTLED_REPLICAS) & desired.config.keys() & live.config.keys()
    others = {key: foreign_pairs(live.config[key]) for key in declared}
    rest = {key: value for key, value in live.config.items() if key not in THROTTLED_REPLICAS}
    # An empty list can be declared, too: then it is there, and not what a move has left.
    return rest | {key: value for key, value in others.items() if value or not desired.config[key]}


def _with_reassignment(topic: object, rows: Mapping[int, Reassignment]) -> Topic:
    held: Topic = topic  # type: ignore[assignment] # a Reading of topics holds them
    current = enumerate(held.replica_assignment or ())
    origin: list[Replicas] = []
    assignment: list[Replicas] = []
    for number, replicas in current:
        moving = rows.get(number, Reassignment(replicas))
        origin.append(moving.origin)
        assignment.append(moving.target)
    return replace(
        held,
        replica_assignment=tuple(origin),
        replication_factor=len(origin[0]) if origin else held.replication_factor,
        moving_to=tuple(assignment),
    )


def has_out_of_sync_replicas(assignment: Iterable[Replicas], in_sync: Iterable[Replicas]) -> bool:
    """Whether some replica is not in sync, as those on their way never are."""
    return any(set(one) != set(other) for one, other in zip(assignment, in_sync, strict=False))


def _first(declared: int | None, live: int | None) -> int | None:
    return live if declared is None else declared


def _without_ignored(topic: Topic, ignored: Collection[Path]) -> Topic:
    """Leave the layout that is ignored undeclared."""
    if not ignored:
        return topic
    gone = {path[0] for path in ignored if path} | (_LAYOUT_ATTRIBUTES if () in ignored else set())
    if not gone & _LAYOUT_ATTRIBUTES:
        return topic
    is_left = topic.is_generated and "placement" in gone
    return replace(
        topic,
        partitions=None if "partitions" in gone else topic.partitions,
        replication_factor=None if "replication_factor" in gone else topic.replication_factor,
        replica_assignment=None
        if is_left or "replica_assignment" in gone
        else topic.replica_assignment,
        placement=None if "placement" in gone else topic.placement,
    )


def layout_problems(topic: Topic) -> Iterator[Problem]:
    """Check a placement without a cluster."""
    if topic.placement is None:
        return
    strategy, path = topic.strategy, ("placement",)
    if topic.placement.keys() != {"strategy"} or strategy not in STRATEGIES:
        known = ", ".join(STRATEGIES)
        yield Problem(
            "KP215",
            f'Topic "{topic.name}" declares placement = {dict(topic.placement)}.',
            f"placement takes strategy alone, which is one of {known}.",
            path,
        )
    elif strategy == STATIC and topic.replica_assignment is None:
        yield Problem(
            "KP215",
            f'The static placement of topic "{topic.name}" needs a replica_assignment.',
            "Name the brokers of each partition; or choose another strategy.",
            path,
        )
    elif strategy != STATIC and topic.replica_assignment is not None:
        yield Problem(
            "KP203",
            f'Topic "{topic.name}" declares replica_assignment, and that kplan places replicas.',
            "Remove one of the two, or declare the strategy static.",
            path,
        )
    elif strategy != STATIC and not (topic.partitions and topic.replication_factor):
        yield Problem(
            "KP215",
            f'To place topic "{topic.name}" kplan must know partitions and replication_factor.',
            "Declare both beside placement.",
            path,
        )


def without_generated_assignment(value: object) -> object:
    """Leave out assignments that kplan computed; declared ones stay."""
    if not isinstance(value, Topic) or not value.is_generated:
        return value
    return replace(value, replica_assignment=None, is_generated=False)


def check_unknown_layout(name: str, *, has_layout: bool) -> Iterator[Problem]:
    """Refuse to lay out a topic that kplan does not own, where controllers are asked (K919-23)."""
    if has_layout:
        yield Problem(
            "KP214",
            f'Topic "{name}" exists, and controllers do not return its layout.',
            "Adopt it through brokers first; or leave its layout out for now.",
            ("partitions",),
        )
