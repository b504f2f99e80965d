"""Which replicas move to drain brokers, or to even out brokers, with the fewest bytes copied."""

from bisect import bisect_left, bisect_right, insort
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import field, replace

from kplan.cluster.topology import Replicas
from kplan.cluster.usage import TopicPartition
from kplan.model.dataclass import dataclass
from kplan.report.documents.notation import count_text

_MAX_SWAP_REPLICAS = 200
"""How many replicas of two brokers are compared for a swap: it is looked for in their square."""


@dataclass(frozen=True, slots=True)
class ReplicaLayout:
    """Where the replicas of a cluster are.

    `racks` has the live brokers, with "" for one that names no rack. `weights` are bytes of one
    replica of a partition (or 1 for each, to count replicas); a partition that is missing weighs 0.
    `pinned` are partitions that must stay, with the reason.
    """

    racks: Mapping[int, str]
    assignment: Mapping[TopicPartition, Replicas]
    weights: Mapping[TopicPartition, int]
    pinned: Mapping[TopicPartition, str] = field(default_factory=dict)

    def weight(self, key: TopicPartition) -> int:
        """Return what one replica of a partition weighs."""
        return self.weights.get(key, 0)


@dataclass(frozen=True, slots=True)
class LayoutChange:
    """New replicas of the partitions that move, and the partitions that cannot, with the reason."""

    targets: Mapping[TopicPartition, Replicas]
    stuck: Mapping[TopicPartition, str] = field(default_factory=dict)


def broker_weights(
    layout: ReplicaLayout, targets: Mapping[TopicPartition, Replicas] | None = None
) -> Counter[int]:
    """Sum the weights of the replicas on each broker, before or after the targets."""
    found = Counter(dict.fromkeys(layout.racks, 0))
    for key, replicas in layout.assignment.items():
        for broker in (targets or {}).get(key, replicas):
            found[broker] += layout.weight(key)
    return found


def replica_counts(
    layout: ReplicaLayout, targets: Mapping[TopicPartition, Replicas] | None = None
) -> Counter[int]:
    """Count the replicas on each broker, before or after the targets."""
    return broker_weights(replace(layout, weights=dict.fromkeys(layout.assignment, 1)), targets)


def drain_brokers(
    layout: ReplicaLayout,
    drained: Collection[int],
    *,
    within_rack: bool = False,
    fewer_racks: bool = False,
) -> LayoutChange:
    """Move every replica off the brokers, each to the broker with the least that may have it.

    Each of these replicas is copied once, which is the least that can be copied; no other one is.
    The largest go first, so that brokers end up even. A partition keeps as many racks as it had,
    unless with `fewer_racks`; `within_rack` takes brokers of the same rack only.
    """
    brokers = [each for each in layout.racks if each not in drained]
    weights, counts = broker_weights(layout), replica_counts(layout)
    rule = _RackRule(layout.racks, is_within=within_rack)
    targets: dict[TopicPartition, Replicas] = {}
    stuck: dict[TopicPartition, str] = {}
    held = [key for key, replicas in layout.assignment.items() if set(replicas) & set(drained)]
    for key in sorted(held, key=lambda key: (-layout.weight(key), key)):
        if why := _why_stuck(layout, key):
            stuck[key] = why
            continue
        row, weight = list(layout.assignment[key]), layout.weight(key)
        for place, old in enumerate(row):
            if old not in drained:
                continue
            free = [each for each in brokers if each not in row]
            fit = [each for each in free if rule.allows(row, old, each)]
            if not fit and not (fewer_racks and free and not within_rack):
                stuck[key] = rule.refusal_text(row, old, free)
                break
            new = min(
                fit or free,
                key=lambda each: (
                    (weights[each], counts[each], each)
                    if weight
                    else (counts[each], weights[each], each)
                ),
            )
            row[place] = new
            weights[new] += weight
            counts[new] += 1
        else:
            targets[key] = tuple(row)
    return LayoutChange(targets, stuck)


def _why_stuck(layout: ReplicaLayout, key: TopicPartition) -> str:
    if key in layout.pinned:
        return layout.pinned[key]
    if not any(each in layout.racks for each in layout.assignment[key]):
        return "none of its replicas is on a live broker"
    return ""


@dataclass(frozen=True, slots=True)
class _RackRule:
    """Where a replica may go: a partition keeps its racks, or with `is_within` each replica its."""

    racks: Mapping[int, str]
    is_within: bool = False

    def allows(self, row: Sequence[int], old: int, new: int) -> bool:
        """Whether a partition has as many racks with `new` in the place of `old`.

        The rack of a broker that is down is not known; it counts as one of its own.
        """
        racks = self.racks
        if self.is_within:
            return racks.get(old) == racks[new]
        if not any(racks.values()):
            return True
        others = {racks[each] for each in row if each != old and each in racks}
        before = len(others) + (racks.get(old) not in others)
        return len(others | {racks[new]}) >= min(before, len(set(racks.values())))

    def refusal_text(self, row: Sequence[int], old: int, free: Sequence[int]) -> str:
        """Say why a replica has no place to go; `free` are brokers without a replica."""
        if not free:
            return f"{count_text(len(row), 'replica')}, and no other broker that is not drained"
        if self.is_within:
            return f"no other broker of rack {self.racks.get(old) or '(none)'} without a replica"
        return "every other broker is in a rack that has a replica already"


def balance_brokers(
    layout: ReplicaLayout, tolerance: float = 0.1, *, within_rack: bool = False
) -> LayoutChange:
    """Bring every live broker to within `tolerance` of the mean weight with few copies.

    `tolerance` is a part of the mean: 0.1 allows 90 to 110 %. Where replicas are too large for that
    the brokers come as near as single moves and swaps of two replicas bring them. `within_rack`
    moves replicas between brokers of one rack only, and evens out each rack by itself.
    """
    targets: dict[TopicPartition, Replicas] = {}
    groups: dict[str, list[int]] = defaultdict(list)
    for broker, rack in sorted(layout.racks.items()):
        groups[rack if within_rack else ""].append(broker)
    for brokers in groups.values():
        _Balancing.of(layout, brokers, tolerance, targets).run()
    return LayoutChange(targets)


Weighted = tuple[int, TopicPartition]


@dataclass(slots=True)
class _Balancing:
    """The replicas of some brokers by weight, while they are moved among these brokers."""

    layout: ReplicaLayout
    low: float
    high: float
    mean: float
    targets: dict[TopicPartition, Replicas]
    loads: dict[int, int]
    held: dict[int, list[Weighted]]
    unfit: dict[tuple[int, int], set[TopicPartition]] = field(
        default_factory=lambda: defaultdict(set)
    )
    """Partitions that cannot move between two brokers; they are many, and met again and again."""

    @classmethod
    def of(
        cls,
        layout: ReplicaLayout,
        brokers: Sequence[int],
        tolerance: float,
        targets: dict[TopicPartition, Replicas],
    ) -> "_Balancing":
        held: dict[int, list[Weighted]] = {each: [] for each in brokers}
        loads = dict.fromkeys(brokers, 0)
        for key, replicas in layout.assignment.items():
            weight = layout.weight(key)
            for broker in targets.get(key, replicas):
                if broker in loads:
                    loads[broker] += weight
                    if weight and key not in layout.pinned:
                        held[broker].append((weight, key))
        for each in held.values():
            each.sort()
        mean = sum(loads.values()) / max(1, len(loads))
        return cls(
            layout, mean * (1 - tolerance), mean * (1 + tolerance), mean, targets, loads, held
        )

    def run(self) -> None:
        """Move and swap replicas until all brokers are even enough, or nothing helps."""
        while not self._is_even:
            if not (self._move_one() or self._swap_two()):
                return
        self._take_back()

    @property
    def _is_even(self) -> bool:
        return all(self.low <= each <= self.high for each in self.loads.values())

    def _take_back(self) -> None:
        """Leave partitions where they were that need not move after all, the largest first."""
        for key in sorted(self.targets, key=lambda key: (-self.layout.weight(key), key)):
            before, after = set(self.layout.assignment[key]), set(self.targets[key])
            if not before | after <= self.loads.keys():
                continue
            weight = self.layout.weight(key)
            changed = dict.fromkeys(before - after, weight) | dict.fromkeys(after - before, -weight)
            if all(self.low <= self.loads[each] + by <= self.high for each, by in changed.items()):
                for each, by in changed.items():
                    self.loads[each] += by
                del self.targets[key]

    def _pairs(self) -> Iterator[tuple[int, int]]:
        """Pair the brokers, the most loaded with the least loaded first."""
        ranked = sorted(self.loads, key=lambda each: (self.loads[each], each))
        for out in reversed(ranked):
            for into in ranked:
                if self.loads[out] <= self.loads[into]:
                    break
                if self.loads[out] > self.high or self.loads[into] < self.low:
                    yield out, into

    def _move_one(self) -> bool:
        for out, into in self._pairs():
            chosen = self._choose(out, into)
            if chosen is not None:
                self._move(chosen, out, into)
                return True
        return False

    def _choose(self, out: int, into: int) -> Weighted | None:
        """Choose the smallest replica that is enough, else the largest one that is not too much."""
        gap = self.loads[out] - self.loads[into]
        need = max(self.loads[out] - self.high, self.low - self.loads[into])
        room = max(min(self.loads[out] - self.low, self.high - self.loads[into]), gap / 2)
        rows = self.held[out]
        first = bisect_left(rows, (need, ("", -1)))
        limit = bisect_right(rows, (min(room, gap - 1), ("\U0010ffff", 2**31)))
        last = bisect_left(rows, (gap, ("", -1)))
        unfit = self.unfit[out, into]
        for places in (
            range(first, limit),
            range(min(first, limit) - 1, -1, -1),
            range(max(first, limit), last),
        ):
            for at in places:
                if rows[at][1] not in unfit and self._fits(rows[at][1], out, into):
                    return rows[at]
        return None

    def _swap_two(self) -> bool:
        """Exchange two replicas where no single one helps: what goes is a little larger."""
        for out, into in self._pairs():
            gap = self.loads[out] - self.loads[into]
            best: tuple[float, int, Weighted, Weighted] | None = None
            for large in self.held[out][-_MAX_SWAP_REPLICAS:]:
                for small in self.held[into][-_MAX_SWAP_REPLICAS:]:
                    gain = large[0] - small[0]
                    if not 0 < gain < gap or not self._can_swap(large[1], small[1], out, into):
                        continue
                    rank = (abs(gap / 2 - gain), large[0] + small[0], large, small)
                    best = min(best, rank) if best else rank
            if best is not None:
                self._move(best[2], out, into)
                self._move(best[3], into, out)
                return True
        return False

    def _can_swap(self, large: TopicPartition, small: TopicPartition, out: int, into: int) -> bool:
        return self._fits(large, out, into) and self._fits(small, into, out)

    def _row(self, key: TopicPartition) -> Replicas:
        return self.targets.get(key) or self.layout.assignment[key]

    def _fits(self, key: TopicPartition, out: int, into: int) -> bool:
        unfit = self.unfit[out, into]
        if key in unfit:
            return False
        row = self._row(key)
        if into not in row and _RackRule(self.layout.racks).allows(row, out, into):
            return True
        unfit.add(key)
        return False

    def _move(self, replica: Weighted, out: int, into: int) -> None:
        weight, key = replica
        row = tuple(into if each == out else each for each in self._row(key))
        if set(row) == set(self.layout.assignment[key]):
            row = self.layout.assignment[key]  # it came back to where it was: nothing is copied
        self.targets[key] = row
        if row == self.layout.assignment[key]:
            del self.targets[key]
        del self.held[out][bisect_left(self.held[out], replica)]
        insort(self.held[into], replica)
        self.loads[out] -= weight
        self.loads[into] += weight
        for each in self.unfit.values():
            each.discard(key)
