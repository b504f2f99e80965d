"""The bytes that moves of replicas copy to brokers and remove from them."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from kplan.cluster.port import Cluster
from kplan.cluster.usage import TopicPartition
from kplan.kinds.topic_layout import added_replicas, held_replicas
from kplan.kinds.topic_rules import Topic
from kplan.model.diagnostic import Diagnostic, sort_diagnostics
from kplan.model.errors import ClusterError
from kplan.model.plan import BrokerTransfer, Change, ObjectKey, Plan
from kplan.workflow.clusters import Clusters
from kplan.workflow.moves.progress import replica_moves_of
from kplan.workflow.moves.throttle import throttle_warnings

Sizes = Mapping[TopicPartition, Mapping[int, int]]
_MAX_BROKERS = 12


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
            warnings += throttle_warnings(mine, clusters.connections[provider])

    def add_note(change: Change) -> Change:
        more = notes.get(change.key)
        return replace(change, notes=(*change.notes, more)) if more else change

    diagnostics = sort_diagnostics([*plan.diagnostics, *warnings])
    return replace(plan.map_changes(add_note), moves=tuple(sums), diagnostics=diagnostics)


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
