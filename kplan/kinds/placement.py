"""Where replicas of a topic go: the same every time, with as few of them moved as can be."""

from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import field
from itertools import chain
from zlib import crc32

from kplan.cluster.request import Assignment
from kplan.model.dataclass import dataclass
from kplan.model.state import Broker

RACK_AWARE, BALANCED_LEADERS, IN_RACK = "rack-aware", "balanced-leaders", "in-rack"
STATIC = "static"
STRATEGIES = (RACK_AWARE, BALANCED_LEADERS, IN_RACK, STATIC)


@dataclass(frozen=True, slots=True)
class PlacementRequest:
    """Partition count, replica count and strategy; "" moves nothing else."""

    topic: str
    partitions: int
    factor: int
    strategy: str = ""


@dataclass(frozen=True, slots=True)
class BrokerLoad:
    """What brokers have of other topics: how many replicas, and how many partitions they lead."""

    replicas: Counter[int] = field(default_factory=Counter)
    leaders: Counter[int] = field(default_factory=Counter)

    def add(self, rows: Assignment) -> None:
        """Count a topic in."""
        self.replicas.update(chain.from_iterable(rows))
        self.leaders.update(row[0] for row in rows if row)

    def remove(self, rows: Assignment) -> None:
        """Count a topic out again."""
        self.replicas.subtract(chain.from_iterable(rows))
        self.leaders.subtract(row[0] for row in rows if row)


class PlacementError(Exception):
    """The existing brokers cannot hold the topic as requested. The text says why."""


def place_replicas(
    placement_request: PlacementRequest,
    brokers: Sequence[Broker],
    current: Assignment = (),
    others: BrokerLoad | None = None,
) -> Assignment:
    """Place the replicas of a topic whose partitions are at `current`; no partition is removed.

    Where brokers are equally good for the topic, those with the least of the `others` get it.
    Brokers that hold replicas and are not among `brokers` are down: what they have stays, and they
    get nothing. Placing what was placed changes nothing.

    Raises:
        PlacementError: there are too few brokers.

    """
    racks = {each.id: each.rack for each in brokers}
    layout = _Layout(
        placement_request, racks, [list(each) for each in current], others or BrokerLoad()
    )
    for number in range(max(placement_request.partitions, len(current))):
        layout.place_partition(number)
    if placement_request.strategy in {RACK_AWARE, IN_RACK}:
        layout.balance_replicas()
    if placement_request.strategy:
        layout.rotate_leaders()
    if placement_request.strategy == BALANCED_LEADERS:
        layout.balance_leaders()
    return tuple(tuple(each) for each in layout.rows)


@dataclass(slots=True)
class _Layout:
    """The replicas of every partition, while they are being placed."""

    request: PlacementRequest
    racks: dict[int, str]
    rows: list[list[int]]
    others: BrokerLoad
    ring: list[int] = field(default_factory=list)
    places: dict[int, int] = field(default_factory=dict)
    load: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Order brokers so that neighbours are in different racks, from a place of the topic."""
        members: dict[str, list[int]] = {}
        for broker in sorted(self.racks):
            members.setdefault(self.racks[broker], []).append(broker)
        depth = max(map(len, members.values()), default=0)
        in_turn = [
            each[at] for at in range(depth) for _, each in sorted(members.items()) if at < len(each)
        ]
        first = crc32(self.request.topic.encode()) % max(1, len(in_turn))
        self.ring = in_turn[first:] + in_turn[:first]
        self.places = {broker: place for place, broker in enumerate(self.ring)}
        self.load = dict.fromkeys(self.ring, 0)
        for each in chain.from_iterable(self.rows):
            self._count(each, 1)

    def place_partition(self, number: int) -> None:
        """Give a partition the requested number of replicas, placed by the strategy."""
        while number >= len(self.rows):
            self.rows.append([])
        row = self.rows[number]
        if self.request.strategy == IN_RACK:
            self._keep_one_rack(row)
        while len(row) > self.request.factor:
            gone = self._choose_removal(row)
            row.remove(gone)
            self._count(gone, -1)
        while len(row) < self.request.factor:
            row.append(self._choose_broker(number, row))
            self._count(row[-1], 1)
        if self.request.strategy == RACK_AWARE:
            while (swap := self._find_rack_swap(number, row)) is not None:
                self._replace(row, *swap)

    def balance_replicas(self) -> None:
        """Move single replicas from brokers that have more to those that have less."""
        while (move := self._find_balancing_move()) is not None:
            number, out, into = move
            self._replace(self.rows[number], out, into)

    def rotate_leaders(self) -> None:
        """Let brokers lead equally many partitions, as far as their replicas let them."""
        while (path := self._find_handover()) is not None:
            for number, leader in path:
                row = self.rows[number]
                row.remove(leader)
                row.insert(0, leader)

    def balance_leaders(self) -> None:
        """Move replicas to brokers that lead too little."""
        while (move := self._find_leader_move()) is not None:
            number, out, into = move
            row = self.rows[number]
            self._replace(row, out, into)
            row.remove(into)
            row.insert(0, into)
            self.rotate_leaders()

    def _rack(self, broker: int) -> str:
        """Return the rack; brokers without one, and those that are down, are one each."""
        return self.racks.get(broker) or f"\0{broker}"

    def _count(self, broker: int, more: int) -> None:
        """Count the replicas of a broker; a broker that is down does not count."""
        if broker in self.load:
            self.load[broker] += more

    def _replace(self, row: list[int], out: int, into: int) -> None:
        row[row.index(out)] = into
        self._count(out, -1)
        self._count(into, 1)

    def _leader_counts(self) -> dict[int, int]:
        led = dict.fromkeys(self.ring, 0)
        for row in self.rows:
            if row and row[0] in led:
                led[row[0]] += 1
        return led

    def _ring_distance(self, number: int, broker: int) -> int:
        """Return how far in the ring a broker is, which begins one further for each partition."""
        return (self.places[broker] - number) % len(self.ring)

    def _choose_broker(self, number: int, row: list[int]) -> int:
        """Choose who gets one more replica: another rack, then the least loaded, then in turn."""
        used = Counter(self._rack(each) for each in row)

        def place(broker: int) -> tuple[int, ...]:
            return (
                used[self._rack(broker)],
                *self._broker_load(broker, row),
                self._ring_distance(number, broker),
            )

        free = [each for each in self.ring if each not in row]
        if self.request.strategy == IN_RACK:
            rack = self._rack(row[0]) if row else self._next_rack()
            free = [each for each in free if self._rack(each) == rack]
        if not free:
            raise self._placement_error()
        return min(free, key=place)

    def _broker_load(self, broker: int, row: Sequence[int]) -> tuple[int, ...]:
        """Weigh a broker's load: of the topic, then of all; the first of a row is the leader."""
        led = 0 if row else self.others.leaders[broker]
        return self.load[broker], led, self.others.replicas[broker]

    def _placement_error(self) -> PlacementError:
        held = Counter(map(self._rack, self.ring)).values()
        is_in_rack = self.request.strategy == IN_RACK
        room, where = (
            (max(held, default=0), "a rack") if is_in_rack else (len(self.ring), "the cluster")
        )
        return PlacementError(
            f"{self.request.factor} replicas are needed, and {where} has "
            f"{room} live broker{'' if room == 1 else 's'}."
        )

    def _next_rack(self) -> str:
        """Choose the rack of a new partition: the one with the fewest, of those with the room."""
        size = Counter(self._rack(each) for each in self.ring)
        held = Counter(self._rack(row[0]) for row in self.rows if row)
        candidates = [each for each in size if size[each] >= self.request.factor]
        if not candidates:
            raise self._placement_error()
        order = [self._rack(each) for each in self.ring]
        led: Counter[str] = Counter()
        for broker in self.ring:
            led[self._rack(broker)] += self.others.leaders[broker]
        return min(
            candidates, key=lambda each: (held[each], led[each] / size[each], order.index(each))
        )

    def _keep_one_rack(self, row: list[int]) -> None:
        """Drop replicas that are in another rack than most of their partition do."""
        if not row or any(each not in self.racks for each in row):
            return
        size = Counter(self._rack(each) for each in self.ring)
        held = Counter(self._rack(each) for each in row)
        candidates = [rack for rack in held if size[rack] >= self.request.factor]
        target_rack = max(candidates, key=lambda each: held[each], default=None)
        for each in [each for each in row if self._rack(each) != target_rack]:
            row.remove(each)
            self._count(each, -1)

    def _choose_removal(self, row: list[int]) -> int:
        """Choose the replica to remove: on a dead broker, in a rack that has another, ..."""
        used = Counter(self._rack(each) for each in row)

        def worth(broker: int) -> tuple[bool, int, int, int]:
            load = self.load.get(broker, 0)
            return broker not in self.racks, used[self._rack(broker)], load, row.index(broker)

        others = row[1:] if row[0] in self.racks else row
        return max(others or row, key=worth)

    def _find_rack_swap(self, number: int, row: list[int]) -> tuple[int, int] | None:
        """Find a replica whose rack has another one, and a broker in a rack that has none."""
        used = Counter(self._rack(each) for each in row)
        doubled = [each for each in row if used[self._rack(each)] > 1]
        free = [each for each in self.ring if not used[self._rack(each)]]
        if not doubled or not free:
            return None
        into = min(
            free,
            key=lambda each: (*self._broker_load(each, row), self._ring_distance(number, each)),
        )
        return max(doubled, key=lambda each: (self.load.get(each, 0), row.index(each))), into

    def _find_balancing_move(self) -> tuple[int, int, int] | None:
        """Find the move of one replica that evens the loads out most."""
        for out in sorted(self.load, key=lambda each: (-self.load[each], self.places[each])):
            for into in sorted(self.load, key=lambda each: (self.load[each], self.places[each])):
                if self.load[out] - self.load[into] < 2:  # noqa: PLR2004 - one more is as even as can be
                    break
                for number in self._movable_partitions(out, into):
                    return number, out, into
        return None

    def _movable_partitions(self, out: int, into: int) -> Iterator[int]:
        """List partitions whose replica may move from one broker to the other, followers first."""
        fits = [
            number
            for number, row in enumerate(self.rows)
            if out in row and into not in row and self._can_move(row, out, into)
        ]
        yield from sorted(fits, key=lambda number: self.rows[number][0] == out)

    def _can_move(self, row: list[int], out: int, into: int) -> bool:
        others = {self._rack(each) for each in row if each != out}
        if self.request.strategy == IN_RACK:
            return self._rack(out) == self._rack(into)
        return self._rack(into) not in others or self._rack(out) in others

    def _find_handover(self) -> list[tuple[int, int]] | None:
        """Find partitions to be led by others, so that the one who leads most leads one less."""
        led = self._leader_counts()
        for start in sorted(led, key=lambda each: (-led[each], self.places[each])):
            if (path := self._find_handover_path(start, led)) is not None:
                return path
        return None

    def _find_handover_path(self, start: int, led: dict[int, int]) -> list[tuple[int, int]] | None:
        """Search, nearest first, for a broker that leads at least two less than `start`."""
        came: dict[int, tuple[int, int]] = {}
        queue = deque([start])
        while queue:
            leader = queue.popleft()
            for number, row in enumerate(self.rows):
                if row[0] != leader:
                    continue
                for other in row[1:]:
                    if other in came or other == start or other not in led:
                        continue
                    came[other] = (number, leader)
                    if led[other] <= led[start] - 2:
                        return _trace_path(came, start, other)
                    queue.append(other)
        return None

    def _find_leader_move(self) -> tuple[int, int, int] | None:
        """Find a partition of a broker that leads too much, to be led by one that leads least."""
        led = self._leader_counts()
        if not led:
            return None
        into = min(led, key=lambda each: (led[each], self.places[each]))
        out_of = [each for each in led if led[each] - led[into] >= 2]  # noqa: PLR2004 - as above
        for leader in sorted(out_of, key=lambda each: (-led[each], self.places[each])):
            for number, row in enumerate(self.rows):
                if row[0] == leader and into not in row:
                    rest = row[1:] or row
                    out = max(
                        rest,
                        key=lambda each: (
                            self._is_suitable(row, each, into),
                            self.load.get(each, 0),
                        ),
                    )
                    return number, out, into
        return None

    def _is_suitable(self, row: list[int], out: int, into: int) -> bool:
        return out in self.racks and self._can_move(row, out, into)


def _trace_path(came: dict[int, tuple[int, int]], start: int, end: int) -> list[tuple[int, int]]:
    path: list[tuple[int, int]] = []
    while end != start:
        number, before = came[end]
        path.append((number, end))
        end = before
    return path
