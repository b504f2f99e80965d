"""Replicas on their way, sizes and elections of a cluster in memory."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace

from kplan.cluster.contents import Contents, HeldTopic
from kplan.cluster.errors import refusal
from kplan.cluster.faults import Call, Item
from kplan.cluster.memory_serving import CLUSTER_NAME
from kplan.cluster.memory_usage import UsageRequests
from kplan.cluster.reassignments import Election, Moving, Replicas, Targets
from kplan.cluster.rights import RIGHTS
from kplan.cluster.specs import Verdict
from kplan.cluster.usage import PartitionUse, TopicPartition, TopicUse
from kplan.model.errors import Unread
from kplan.model.refusal import Refusal

NO_LEADER = -1
_METHODS = frozenset(("reassignments", "reassign", "replica_sizes", "elect_leaders"))
"""What is served here; a cluster without authorizer lets everybody do it."""


class MoveRequests(UsageRequests):
    """Serves reassignments and elections.

    A move makes progress whenever somebody lists reassignments, and is done after as many lists as
    `move_slowly` says; replicas that only go, or change places, do so at once.
    """

    def move_slowly(self, lists: int) -> None:
        """Let moves that are begun from now on take so many lists of reassignments."""
        self._store.move_lists = lists

    def reassignments(
        self, partitions: Collection[TopicPartition] | None = None
    ) -> Mapping[TopicPartition, Moving]:
        """List what is being moved, and move it on; raises Unread."""
        wanted = None if partitions is None else frozenset(partitions)
        contents, struck = self._read(Call("reassignments", _topics(partitions or ())))
        self._check(Call("reassignments"), struck.refused.get(""), "Reassignments")
        shown = {
            key: moving
            for key, (moving, _) in sorted(contents.moves.items())
            if wanted is None or key in wanted
        }
        with self._store.lock:
            self._commit(_moved_on(self._store.contents, frozenset(shown)))
        return shown

    def reassign(self, targets: Targets) -> Mapping[TopicPartition, Verdict]:
        """Begin to move replicas, or go back."""

        def begun(contents: Contents, key: TopicPartition) -> Contents | Refusal:
            target = targets[key]
            if target is None:
                return _cancelled(contents, key)
            if fault := self._fault(target):
                return refusal(39, fault)
            return _begun(contents, key, target, self._store.move_lists)

        return self._each("reassign", targets, begun)

    def replica_sizes(self, topics: Collection[str]) -> Mapping[TopicPartition, Mapping[int, int]]:
        """Tell the bytes of each replica: a replica that is to come holds none; raises Unread."""
        call = Call("replica_sizes", tuple(sorted(topics)))
        contents, struck = self._read(call)
        self._check(call, struck.refused.get(""), "Sizes of replicas")
        return {
            (name, number): {
                broker: 0
                if _is_new(contents, (name, number), broker)
                else self._bytes(name, number)
                for broker in replicas
                if broker not in self._store.site.fenced
            }
            for name in sorted(topics)
            if (held := contents.topics.get(name)) is not None
            for number, replicas in enumerate(held.assignment)
        }

    def elect_leaders(
        self, partitions: Collection[TopicPartition] | None, election: Election
    ) -> Mapping[TopicPartition, Verdict]:
        """Elect leaders."""
        contents = self._store.contents
        fenced = self._store.site.fenced
        if partitions is None:
            partitions = [
                (name, number)
                for name, held in sorted(contents.topics.items())
                for number in range(len(held.assignment))
                if not isinstance(elected(contents, (name, number), fenced, election), Refusal)
            ]

        def done(found: Contents, key: TopicPartition) -> Contents | Refusal:
            return elected(found, key, fenced, election)

        return self._each("elect_leaders", partitions, done)

    def _each(
        self,
        method: str,
        keys: Collection[TopicPartition],
        work: Callable[[Contents, TopicPartition], Contents | Refusal],
    ) -> Mapping[TopicPartition, Verdict]:
        """Carry out one item after the other; faults strike topics by name."""
        call = Call(method, _topics(keys))
        self._enter(call)
        with self._store.lock:
            struck = self._meet(call)
            if struck.lost is not None and not struck.is_carried_out:
                return dict.fromkeys(keys, struck.lost)
            verdicts: dict[TopicPartition, Verdict] = {}
            for key in sorted(keys):
                barred = struck.refused.get(key[0]) or self._barred(call, CLUSTER_NAME)
                found = barred or work(self._store.contents, key)
                if isinstance(found, Contents):
                    self._commit(found)
                if key[0] not in struck.unanswered:
                    verdicts[key] = found if isinstance(found, Refusal) else None
        return verdicts if struck.lost is None else dict.fromkeys(keys, struck.lost)

    def _barred(self, call: Call, item: Item) -> Refusal | None:
        if call.method not in _METHODS:
            return super()._barred(call, item)
        operation, sort = RIGHTS[call.method]
        is_barred = (operation, sort, "*") in self._denied
        return refusal(31, self._missing(call, item)) if is_barred else None

    def _fault(self, target: Replicas) -> str:
        known = {broker.id for broker in self._store.site.brokers}
        if not target:
            return "The manual partition assignment includes an empty replica list."
        if len(set(target)) < len(target):
            return "The manual partition assignment includes a broker more than once."
        if strangers := sorted(set(target) - known):
            return (
                f"The manual partition assignment includes broker {strangers[0]}, but no such "
                "broker is registered."
            )
        return ""

    def _bytes(self, name: str, number: int) -> int:
        used = self._store.used.get(name, TopicUse())
        return used.partitions.get(number, PartitionUse()).size_bytes or 0

    def _check(self, call: Call, struck: Refusal | None, what: str) -> None:
        if refused := struck or self._barred(call, CLUSTER_NAME):
            raise Unread(f"{what}: {refused}")


def leader_of(contents: Contents, key: TopicPartition, fenced: Collection[int]) -> int:
    """Tell who leads: whoever did, as long as it is in sync, else the first that is."""
    in_sync = in_sync_of(contents, key, fenced)
    led = contents.leaders.get(key, NO_LEADER)
    return led if led in in_sync else next(iter(in_sync), NO_LEADER)


def in_sync_of(contents: Contents, key: TopicPartition, fenced: Collection[int]) -> Replicas:
    """List the replicas that have all records: those that are up and were there before."""
    replicas = contents.topics[key[0]].assignment[key[1]]
    return tuple(
        each for each in replicas if each not in fenced and not _is_new(contents, key, each)
    )


def elected(
    contents: Contents, key: TopicPartition, fenced: Collection[int], election: Election
) -> Contents | Refusal:
    """Elect one leader, as the controller does; no replica in memory ever lacks records."""
    held = _partition(contents, key)
    if isinstance(held, Refusal):
        return held
    leader = leader_of(contents, key, fenced)
    if election is Election.UNCLEAN:
        return refusal(84) if leader != NO_LEADER else refusal(83)
    if leader == held[0]:
        return refusal(84)
    if held[0] not in in_sync_of(contents, key, fenced):
        return refusal(80)
    return replace(contents, leaders={**contents.leaders, key: held[0]})


def with_leaders(contents: Contents, fenced: Collection[int]) -> Contents:
    """Write down who leads what now, so that nothing but an election changes it back."""
    leaders = {
        (name, number): leader_of(contents, (name, number), fenced)
        for name, held in contents.topics.items()
        for number in range(len(held.assignment))
    }
    return replace(contents, leaders=leaders)


def _partition(contents: Contents, key: TopicPartition) -> Replicas | Refusal:
    name, number = key
    held = contents.topics.get(name)
    if held is None or not 0 <= number < len(held.assignment):
        return refusal(3, "The topic or partition does not exist.")
    return held.assignment[number]


def _begun(
    contents: Contents, key: TopicPartition, target: Replicas, lists: int
) -> Contents | Refusal:
    held = _partition(contents, key)
    if isinstance(held, Refusal):
        return held
    contents = replace(contents, leaders={**contents.leaders, key: leader_of(contents, key, ())})
    before, _ = contents.moves.get(key, (Moving(held), 0))
    origin = before.origin
    adding = tuple(each for each in target if each not in origin)
    removing = tuple(each for each in origin if each not in target)
    if not adding or lists == 0:
        return _standing(contents, key, target)
    moving = Moving((*target, *removing), adding, removing)
    contents = _standing(contents, key, moving.replicas)
    return replace(contents, moves={**contents.moves, key: (moving, lists)})


def _cancelled(contents: Contents, key: TopicPartition) -> Contents | Refusal:
    held = _partition(contents, key)
    if isinstance(held, Refusal):
        return held
    if key not in contents.moves:
        return refusal(85)
    return _standing(contents, key, contents.moves[key][0].origin)


def _moved_on(contents: Contents, keys: Collection[TopicPartition]) -> Contents:
    for key in keys:
        moving, lists = contents.moves.get(key, (None, 0))
        if moving is None:
            continue
        if lists > 1:
            contents = replace(contents, moves={**contents.moves, key: (moving, lists - 1)})
        else:
            contents = _standing(contents, key, moving.target)
    return contents


def _standing(contents: Contents, key: TopicPartition, replicas: Replicas) -> Contents:
    """Let a partition stand at these replicas, with nothing moving."""
    name, number = key
    held = contents.topics[name]
    rows = (*held.assignment[:number], replicas, *held.assignment[number + 1 :])
    topics: Mapping[str, HeldTopic] = {**contents.topics, name: replace(held, assignment=rows)}
    moves = {each: found for each, found in contents.moves.items() if each != key}
    return replace(contents, topics=topics, moves=moves)


def _is_new(contents: Contents, key: TopicPartition, broker: int) -> bool:
    return key in contents.moves and broker in contents.moves[key][0].adding


def _topics(keys: Collection[TopicPartition]) -> tuple[str, ...]:
    return tuple(sorted({name for name, _ in keys}))
