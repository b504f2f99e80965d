"""What policies may know of the cluster, worked out when they ask for it."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from kplan.kinds.topic import Topic
from kplan.model.policy import Unknowable
from kplan.model.snapshot import Snapshot
from kplan.policy.topic_state import facts

_TOPIC = "kafka_topic"


@dataclass(frozen=True, slots=True)
class Totals:
    """How much there is of what costs the cluster something."""

    partitions: int = 0
    replicas: int = 0
    objects: Mapping[str, int] = field(default_factory=dict)

    def plus(self, kind: str, before: object | None, after: object | None) -> "Totals":
        """Count a change of one object."""
        grown = (after is not None) - (before is not None)
        counted = {**self.objects, kind: self.objects.get(kind, 0) + grown}
        partitions, replicas = (
            new - old for new, old in zip(_size(after), _size(before), strict=True)
        )
        return Totals(self.partitions + partitions, self.replicas + replicas, counted)

    def document(self) -> dict[str, object]:
        """Write the counts, those of objects under the names of their kinds too."""
        plain = {name.removeprefix("kafka_") + "s": count for name, count in self.objects.items()}
        return {**plain, "partitions": self.partitions, "replicas": self.replicas}


def _size(value: object | None) -> tuple[int, int]:
    """Count partitions and replicas."""
    if not isinstance(value, Topic):
        return 0, 0
    if value.replica_assignment is not None:
        return len(value.replica_assignment), sum(map(len, value.replica_assignment))
    partitions = value.partitions or 1
    return partitions, partitions * (value.replication_factor or 1)


class ClusterFacts(Mapping[str, object]):
    """The cluster as `cluster` in a policy: one snapshot, so that all of it fits together.

    `topics`, `acls` and every kind by its name (`kafka_topic`): objects by identity. `brokers`,
    `racks`, `size`. `totals` counts what is there, `planned` what will be after the whole plan,
    `so_far` what will be after this change and those before it that were not refused (K201-16).
    """

    def __init__(
        self, snapshot: Snapshot, kinds: tuple[str, ...], planned: Totals | None = None
    ) -> None:
        self._snapshot = snapshot
        self._kinds = kinds
        self._made: dict[str, object] = {}
        self.totals = _totals(snapshot)
        self.planned = planned or self.totals
        self.so_far = self.totals
        self._makers: Mapping[str, Callable[[], object]] = {
            "brokers": lambda: [
                {"id": each.id, "host": each.host, "port": each.port, "rack": each.rack}
                for each in snapshot.brokers
            ],
            "racks": lambda: sorted({each.rack for each in snapshot.brokers if each.rack}),
            "size": lambda: len(snapshot.brokers),
            "topics": lambda: self[_TOPIC],
            "acls": lambda: list(self._objects("kafka_acl").values()),
            "totals": lambda: self._counts(self.totals),
            "planned": lambda: self._counts(self.planned),
        }

    def __getitem__(self, name: str) -> object:
        if name == "so_far":
            return self._counts(self.so_far)
        if name not in self._made:
            if name in self._makers:
                self._made[name] = self._makers[name]()
            elif name in self._kinds:
                self._made[name] = self._objects(name)
            else:
                raise KeyError(name)
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        yield from sorted({*self._makers, *self._kinds, "so_far"})

    def __len__(self) -> int:
        return len(self._makers) + len(self._kinds) + 1

    def _objects(self, kind: str) -> Mapping[str, object]:
        self._check_read(kind)
        brokers = self._snapshot.brokers
        return {
            identity: facts(live.value, brokers, live.value, live.uid)
            for identity, live in sorted(self._snapshot.readings[kind].objects.items())
        }

    def _counts(self, totals: Totals) -> object:
        self._check_read(_TOPIC)
        return totals.document()

    def _check_read(self, kind: str) -> None:
        if kind in self._snapshot.unread:
            why = self._snapshot.unread[kind].rstrip(".")
            raise Unknowable(f"{kind} objects could not be read: {why}.")
        if kind not in self._snapshot.readings:
            raise Unknowable(f"No {kind} is declared or owned here, so none was read.")


def _totals(snapshot: Snapshot) -> Totals:
    sizes = [
        _size(live.value)
        for reading in snapshot.readings.values()
        for live in reading.objects.values()
    ]
    return Totals(
        sum(partitions for partitions, _ in sizes),
        sum(replicas for _, replicas in sizes),
        {kind: len(reading.objects) for kind, reading in snapshot.readings.items()},
    )
