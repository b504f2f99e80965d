"""The bytes that moves of replicas copy, their throttles, and losses of unclean elections."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from kplan.cluster.port import Cluster
from kplan.cluster.usage import GroupDescription, TopicPartition
from kplan.kinds import KINDS
from kplan.kinds.base import ResourceKind
from kplan.kinds.reassignment import ReassignmentLimits, read_reassignments
from kplan.kinds.throttle import (
    CANCEL_MOVES,
    foreign_pairs,
    foreign_rates,
    list_removal_command,
    rate_removal_command,
    remove_leftover_throttles,
    topic_throttles,
)
from kplan.kinds.topic import TopicKind
from kplan.kinds.topic_layout import added_replicas, held_replicas
from kplan.kinds.topic_rules import Topic
from kplan.model.codes import SUMMARIES
from kplan.model.diagnostic import Diagnostic, Severity, sort_diagnostics
from kplan.model.errors import ClusterError
from kplan.model.plan import Action, BrokerTransfer, Change, ObjectKey, Plan, Risk
from kplan.state.journal import Journal
from kplan.workflow.clusters import Clusters, Connection
from kplan.workflow.moves.progress import replica_moves_of
from kplan.workflow.ports import Ports

Sizes = Mapping[TopicPartition, Mapping[int, int]]
_MAX_BROKERS = 12
_MAX_LIST_TEXT = 60


def kinds_with_limits(pace: ReassignmentLimits) -> tuple[ResourceKind, ...]:
    """Return all kinds; that of topics moves replicas with these limits."""
    return tuple(TopicKind(pace) if each.name == TopicKind.name else each for each in KINDS)


def add_moves(plan: Plan, clusters: Clusters) -> Plan:
    """Note at changes that move replicas how much each broker gets, and sum it up."""
    movers = [each for each in plan.changes if replica_moves_of(each)]
    if not movers:
        return plan
    notes: dict[ObjectKey, str] = {}
    sums: list[BrokerTransfer] = []
    warnings: list[Diagnostic] = []
    for provider in sorted({each.provider for each in movers}):
        mine = [each for each in movers if each.provider == provider]
        sizes = _read_sizes(clusters.connections[provider].cluster, mine)
        notes |= {each.key: _move_note(each, sizes) for each in mine}
        sums += _broker_transfers(mine, sizes, provider)
        with suppress(ClusterError):  # without the right to read configs the plan stands, too
            warnings += _rate_warnings(mine, clusters.connections[provider])
            warnings += _list_warnings(mine, clusters.connections[provider])

    def add_note(change: Change) -> Change:
        more = notes.get(change.key)
        return replace(change, notes=(*change.notes, more)) if more else change

    diagnostics = sort_diagnostics([*plan.diagnostics, *warnings])
    return replace(plan.map_changes(add_note), moves=tuple(sums), diagnostics=diagnostics)


def _rate_warnings(changes: Sequence[Change], connection: Connection) -> Iterator[Diagnostic]:
    """Warn of brokers that have a rate already: it stays, and is used in place of ours."""
    used: set[int] = set()
    for each in changes:
        for number, brokers in added_replicas(each.before, each.after).items():
            assert isinstance(each.before, Topic)  # noqa: S101 - only topics move
            used |= {*brokers, *held_replicas(each.before, number)}
    if not used:
        return
    cluster, found = connection.cluster, connection.description
    live = {each.id for each in found.brokers}
    for broker, rates in sorted(foreign_rates(cluster, used & live).items()):
        known = [int(each) for each in rates.values() if each.isdecimal()]
        lowest = f"{min(known):,} bytes/s" if known else "UNKNOWN bytes/s"
        yield Diagnostic(
            "KP217",
            Severity.WARNING,
            SUMMARIES["KP217"],
            f"Broker {broker} has throttle rates that kplan did not set for these moves: "
            f"{lowest}. They stay, and limit what is copied to and from the broker in "
            "place of -throttle. With -throttle=0 kplan throttles no replicas.",
            "If a move that was interrupted left them, remove them first: "
            f"{rate_removal_command(broker, found.security_protocol)}",
        )


def _list_warnings(changes: Sequence[Change], connection: Connection) -> Iterator[Diagnostic]:
    """Warn of topics with throttled replicas that neither kplan added nor someone declared."""
    movers = {
        str(each.identity): each for each in changes if added_replicas(each.before, each.after)
    }
    held = topic_throttles(connection.cluster, movers) if movers else {}
    for name, lists in sorted(held.items()):
        after: Topic = movers[name].after  # type: ignore[assignment] # only topics move
        others = {
            key: foreign_pairs(text) for key, text in lists.items() if key not in after.config
        }
        if keys := [key for key in others if others[key]]:
            yield Diagnostic(
                "KP218",
                Severity.WARNING,
                SUMMARIES["KP218"],
                f"Topic {name} has throttled replicas that kplan did not set: "
                f"{'; '.join(f'{key} is {_shorten(others[key])}' for key in keys)}. They stay: "
                "kplan adds those of the move, and removes only these.",
                "If a move that was interrupted left them, remove them first: "
                f"{list_removal_command(name, keys, connection.description.security_protocol)}",
                movers[name].address,
                movers[name].declared_at,
            )


def _shorten(text: str) -> str:
    return text if len(text) <= _MAX_LIST_TEXT else f"{text[:_MAX_LIST_TEXT]}..."


def remove_stale_throttles(journal: Journal, clusters: Clusters, ports: Ports) -> None:
    """Take away the throttles that an interrupted apply left, where nothing moves any more."""
    # Journals hold no `before`: any topic that was given a place may have moved.
    movers = [
        each
        for each in journal.changes
        if isinstance(each.after, Topic) and each.after.replica_assignment is not None
    ]
    for provider in sorted({each.provider for each in movers} & clusters.connections.keys()):
        names = {str(each.identity) for each in movers if each.provider == provider}
        try:
            done = remove_leftover_throttles(clusters.connections[provider].cluster, names)
        except ClusterError as failure:
            ports.progress.note(f"Throttles of the interrupted move may be left: {failure.detail}")
        else:
            if done:
                ports.progress.note(f"Took throttles of a former move away: {', '.join(done)}")


def _read_sizes(cluster: Cluster, changes: Sequence[Change]) -> Sizes | None:
    try:
        return cluster.replica_sizes([str(each.identity) for each in changes])
    except ClusterError:
        return None


def _move_note(change: Change, sizes: Sizes | None) -> str:
    added = added_replicas(change.before, change.after)
    if not added:
        return f"KP2214 {_uncopied_note(change)}"
    if sizes is None or _unsized_brokers(change, sizes):
        return "KP2214 copies UNKNOWN bytes: sizes of replicas could not be read"
    copied = _copied_bytes(change, sizes)
    shown = [f"{copied[each]:,} bytes to broker {each}" for each in sorted(copied)]
    more = len(shown) - _MAX_BROKERS
    return f"KP2214 copies {', '.join(shown[:_MAX_BROKERS])}" + (
        f" and more to {more} others" if more > 0 else ""
    )


def _uncopied_note(change: Change) -> str:
    """Say why nothing is copied; a reassignment in progress may be reverted, or go on."""
    before = change.before
    if not isinstance(before, Topic) or before.origin is None:
        return "nothing is copied: replicas only go, or change places"
    moves = replica_moves_of(change).items()
    if all({*replicas} <= {*held_replicas(before, number)} for number, replicas in moves):
        return "nothing is copied: the reassignment in progress is reverted"
    return "nothing is copied beside what the reassignment in progress copies"


def _unsized_brokers(change: Change, sizes: Sizes) -> set[int]:
    """Return the brokers that get or lose replicas whose size no broker tells."""
    found: set[int] = set()
    for number, brokers in added_replicas(change.before, change.after).items():
        if not sizes.get((str(change.identity), number)):
            assert isinstance(change.before, Topic)  # noqa: S101 - only topics move
            found |= {*brokers, *held_replicas(change.before, number)}
    return found


def _copied_bytes(change: Change, sizes: Sizes) -> Counter[int]:
    """Count the bytes that each broker gets: as many as the largest of the replicas there are."""
    copied: Counter[int] = Counter()
    for number, brokers in added_replicas(change.before, change.after).items():
        size = max(sizes.get((str(change.identity), number), {}).values(), default=0)
        copied.update(dict.fromkeys(brokers, size))
    return copied


def _freed_bytes(change: Change, sizes: Sizes) -> Counter[int]:
    """Count the bytes that leave each broker; for one that is down, those of other replicas."""
    freed: Counter[int] = Counter()
    before = change.before
    for number, replicas in replica_moves_of(change).items():
        assert isinstance(before, Topic)  # noqa: S101 - only topics move
        held = sizes.get((str(change.identity), number), {})
        goes = dict(enumerate(before.replica_assignment or ())).get(number, ())
        for each in {*held_replicas(before, number), *goes} - set(replicas):
            freed[each] += held.get(each, max(held.values(), default=0))
    return freed


def _broker_transfers(
    changes: Sequence[Change], sizes: Sizes | None, provider: str
) -> Iterator[BrokerTransfer]:
    """Sum the bytes that the moves of one cluster add to and remove from each broker."""
    gains: Counter[int] = Counter()
    loses: Counter[int] = Counter()
    unknown: set[int] = set()
    for each in changes:
        unknown |= _unsized_brokers(each, sizes or {})
        gains.update(_copied_bytes(each, sizes or {}))
        loses.update(_freed_bytes(each, sizes or {}))
    for broker in sorted(gains.keys() | loses.keys()):
        if sizes is None or broker in unknown:
            yield BrokerTransfer(broker, None, None, provider)
        else:
            yield BrokerTransfer(broker, gains[broker], loses[broker], provider)


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


_MAX_PARTITIONS = 20
UNKNOWN_LOSS = "No running broker knows how many records are lost."


def read_end_offsets(
    cluster: Cluster, partitions: Collection[TopicPartition]
) -> Mapping[TopicPartition, int | None]:
    """Return the offset from which the new leader of each partition continues, None if unknown."""
    uses = cluster.topic_use(sorted({name for name, _ in partitions})) if partitions else {}
    return {
        (name, number): held.end
        for name, number in sorted(partitions)
        if (held := uses[name].partitions.get(number)) is not None
    }


def describe_losses(cluster: Cluster, ends: Mapping[TopicPartition, int | None]) -> Iterator[str]:
    """Describe the loss of each partition; offsets that groups have read give a lower bound."""
    read = _read_furthest_offsets(cluster, ends) if ends else {}
    for (name, number), end in list(ends.items())[:_MAX_PARTITIONS]:
        at = f"{name}:{number}"
        if end is None:
            yield f"{at} has lost records that its new leader lacks; their first offset is unknown."
            continue
        yield f"{at} continues at offset {end:,}: what a former leader had from there on is lost."
        group, offset = read.get((name, number), ("", 0))
        if offset > end:
            yield (
                f"Group {group} had read {at} up to {offset:,}: at least {offset - end:,} records "
                "are lost, and it will skip as many new ones or start again (auto.offset.reset)."
            )
    if len(ends) > _MAX_PARTITIONS:
        yield f"And so do {len(ends) - _MAX_PARTITIONS:,} more partitions."
    if ends and not any(offset > (ends[key] or 0) for key, (_, offset) in read.items()):
        yield UNKNOWN_LOSS


def _read_furthest_offsets(
    cluster: Cluster, partitions: Collection[TopicPartition]
) -> Mapping[TopicPartition, tuple[str, int]]:
    """Find the group that had read furthest, and its offset; none where groups are unreadable."""
    try:
        found = cluster.describe_groups(sorted(cluster.group_names()))
    except ClusterError:
        return {}
    best: dict[TopicPartition, tuple[str, int]] = {}
    for name, each in sorted(found.items()):
        if not isinstance(each, GroupDescription):
            continue
        for key, offset in each.committed_offsets.items():
            if key in partitions and offset > best.get(key, ("", -1))[1]:
                best[key] = (name, offset)
    return best
