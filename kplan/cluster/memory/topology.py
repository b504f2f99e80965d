"""Reassignments, leader elections, brokers and the controller quorum of the cluster in memory."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

from kplan.cluster.authorization import REQUIRED_OPERATIONS
from kplan.cluster.errors import refusal
from kplan.cluster.memory.faults import Call, Item
from kplan.cluster.memory.store import (
    CLUSTER_NAME,
    Contents,
    MemoryConnection,
    Response,
    StoredTopic,
)
from kplan.cluster.memory.usage import UsageRequests
from kplan.cluster.request import NO_LEADER, ItemResult
from kplan.cluster.topology import (
    ElectionType,
    Quorum,
    QuorumReplica,
    Reassignment,
    Replicas,
    TargetReplicas,
    Voter,
)
from kplan.cluster.usage import PartitionUse, TopicPartition, TopicUse
from kplan.model.errors import Refusal, UnreadableError

_TOPOLOGY_METHODS = frozenset(("reassignments", "reassign", "replica_sizes", "elect_leaders"))
"""What is served here; a cluster without authorizer lets everybody do it."""


class ReassignmentRequests(UsageRequests):
    """Serves reassignments and elections.

    A move makes progress whenever someone lists reassignments, and is done after as many lists as
    `slow_reassignments` says; replicas that only go, or change places, do so at once. One that is
    sent back to where it came from has to be cancelled, as on Kafka (`Reassignment.can_turn_to`).
    """

    def slow_reassignments(self, lists: int) -> None:
        """Let moves that begin from now on take so many lists of reassignments."""
        self._store.lists_per_reassignment = lists

    def reassignments(
        self, partitions: Collection[TopicPartition] | None = None
    ) -> Mapping[TopicPartition, Reassignment]:
        """List the ongoing reassignments and advance them; raises UnreadableError."""
        wanted = None if partitions is None else frozenset(partitions)
        contents, faults = self._read(Call("reassignments", _topic_names(partitions or ())))
        self._require_right(Call("reassignments"), faults.refused.get(""), "Reassignments")
        shown = {
            key: moving
            for key, (moving, _) in sorted(contents.reassignments.items())
            if wanted is None or key in wanted
        }
        with self._store.lock:
            self._commit(_advance_reassignments(self._store.contents, frozenset(shown)))
        return shown

    def reassign(self, targets: TargetReplicas) -> Mapping[TopicPartition, ItemResult]:
        """Begin to move replicas, or go back."""

        def begin(contents: Contents, key: TopicPartition) -> Contents | Refusal:
            target = targets[key]
            if target is None:
                return _cancel_reassignment(contents, key)
            if fault := self._target_fault(target):
                return refusal(39, fault)
            return _start_reassignment(contents, key, target, self._store.lists_per_reassignment)

        return self._serve_partitions("reassign", targets, begin)

    def replica_sizes(self, topics: Collection[str]) -> Mapping[TopicPartition, Mapping[int, int]]:
        """Return the bytes of each replica; an adding replica has none; raises UnreadableError."""
        call = Call("replica_sizes", tuple(sorted(topics)))
        contents, faults = self._read(call)
        self._require_right(call, faults.refused.get(""), "Sizes of replicas")
        return {
            (name, number): {
                broker: 0
                if _is_adding(contents, (name, number), broker)
                else self._replica_bytes(name, number)
                for broker in replicas
                if broker not in self._store.setup.fenced
            }
            for name in sorted(topics)
            if (held := contents.topics.get(name)) is not None
            for number, replicas in enumerate(held.assignment)
        }

    def elect_leaders(
        self, partitions: Collection[TopicPartition] | None, election: ElectionType
    ) -> Mapping[TopicPartition, ItemResult]:
        """Elect leaders."""
        contents = self._store.contents
        fenced = self._store.setup.fenced
        if partitions is None:
            partitions = [
                (name, number)
                for name, held in sorted(contents.topics.items())
                for number in range(len(held.assignment))
                if not isinstance(elect_leader(contents, (name, number), fenced, election), Refusal)
            ]

        def done(found: Contents, key: TopicPartition) -> Contents | Refusal:
            return elect_leader(found, key, fenced, election)

        return self._serve_partitions("elect_leaders", partitions, done)

    def _serve_partitions(
        self,
        method: str,
        keys: Collection[TopicPartition],
        work: Callable[[Contents, TopicPartition], Contents | Refusal],
    ) -> Mapping[TopicPartition, ItemResult]:
        """Execute one item after the other; faults strike topics by name."""
        call = Call(method, _topic_names(keys))
        self._record_call(call)
        with self._store.lock:
            faults = self._match_faults(call)
            if faults.lost_response is not None and not faults.is_applied:
                return dict.fromkeys(keys, faults.lost_response)
            results: dict[TopicPartition, ItemResult] = {}
            for key in sorted(keys):
                refused = faults.refused.get(key[0]) or self._check_right(call, CLUSTER_NAME)
                found = refused or work(self._store.contents, key)
                if isinstance(found, Contents):
                    self._commit(found)
                if key[0] not in faults.unanswered:
                    results[key] = found if isinstance(found, Refusal) else None
        return (
            results if faults.lost_response is None else dict.fromkeys(keys, faults.lost_response)
        )

    def _check_right(self, call: Call, item: Item) -> Refusal | None:
        if call.method not in _TOPOLOGY_METHODS:
            return super()._check_right(call, item)
        operation, sort = REQUIRED_OPERATIONS[call.method]
        is_denied = (operation, sort, "*") in self._denied
        return refusal(31, self._missing_message(call, item)) if is_denied else None

    def _target_fault(self, target: Replicas) -> str:
        known = {broker.id for broker in self._store.setup.brokers}
        if not target:
            return "The manual partition assignment includes an empty replica list."
        if len(set(target)) < len(target):
            return "The manual partition assignment includes a broker more than once."
        if unregistered := sorted(set(target) - known):
            return (
                f"The manual partition assignment includes broker {unregistered[0]}, but no such "
                "broker is registered."
            )
        return ""

    def _replica_bytes(self, name: str, number: int) -> int:
        used = self._store.topic_use.get(name, TopicUse())
        return used.partitions.get(number, PartitionUse()).size_bytes or 0

    def _require_right(self, call: Call, faults: Refusal | None, what: str) -> None:
        if refused := faults or self._check_right(call, CLUSTER_NAME):
            failure = UnreadableError(f"{what}: {refused}")
            failure.answer = refused
            raise failure


def partition_leader(contents: Contents, key: TopicPartition, fenced: Collection[int]) -> int:
    """Return the leader: the previous one if it is in sync, otherwise the first in-sync replica."""
    in_sync = in_sync_replicas(contents, key, fenced)
    led = contents.leaders.get(key, NO_LEADER)
    return led if led in in_sync else next(iter(in_sync), NO_LEADER)


def in_sync_replicas(contents: Contents, key: TopicPartition, fenced: Collection[int]) -> Replicas:
    """List the replicas that have all records: those that are up and were there before."""
    replicas = contents.topics[key[0]].assignment[key[1]]
    return tuple(
        each for each in replicas if each not in fenced and not _is_adding(contents, key, each)
    )


def elect_leader(
    contents: Contents, key: TopicPartition, fenced: Collection[int], election: ElectionType
) -> Contents | Refusal:
    """Elect one leader, as the controller does; no replica in memory ever lacks records."""
    held = _partition_replicas(contents, key)
    if isinstance(held, Refusal):
        return held
    leader = partition_leader(contents, key, fenced)
    if election is ElectionType.UNCLEAN:
        return refusal(84) if leader != NO_LEADER else refusal(83)
    if leader == held[0]:
        return refusal(84)
    if held[0] not in in_sync_replicas(contents, key, fenced):
        return refusal(80)
    return replace(contents, leaders={**contents.leaders, key: held[0]})


def record_leaders(contents: Contents, fenced: Collection[int]) -> Contents:
    """Store the current leaders, so that only an election changes them."""
    leaders = {
        (name, number): partition_leader(contents, (name, number), fenced)
        for name, held in contents.topics.items()
        for number in range(len(held.assignment))
    }
    return replace(contents, leaders=leaders)


def _partition_replicas(contents: Contents, key: TopicPartition) -> Replicas | Refusal:
    name, number = key
    held = contents.topics.get(name)
    if held is None or not 0 <= number < len(held.assignment):
        return refusal(3, "The topic or partition does not exist.")
    return held.assignment[number]


def _start_reassignment(
    contents: Contents, key: TopicPartition, target: Replicas, lists: int
) -> Contents | Refusal:
    held = _partition_replicas(contents, key)
    if isinstance(held, Refusal):
        return held
    contents = replace(
        contents, leaders={**contents.leaders, key: partition_leader(contents, key, ())}
    )
    before, _ = contents.reassignments.get(key, (Reassignment(held), 0))
    moving = _next_reassignment(before, target)
    if not _is_held_up(moving) and (not moving.adding or lists == 0):
        return _set_replicas(contents, key, moving.target)
    contents = _set_replicas(contents, key, moving.replicas)
    return replace(contents, reassignments={**contents.reassignments, key: (moving, lists)})


def _next_reassignment(before: Reassignment, target: Replicas) -> Reassignment:
    """Return the reassignment that a request makes of one that is going on, as Kafka 4.3 does.

    Both lists are computed from all replicas there are; one that would be empty stays as it was.
    """
    adding = tuple(sorted({*target} - {*before.replicas}))
    removing = tuple(sorted({*before.replicas} - {*target}))
    return Reassignment((*target, *removing), adding or before.adding, removing or before.removing)


def _is_held_up(moving: Reassignment) -> bool:
    """Whether it waits for a replica that it removes, which ends only when it is cancelled."""
    return not {*moving.adding}.isdisjoint(moving.removing)


def _cancel_reassignment(contents: Contents, key: TopicPartition) -> Contents | Refusal:
    held = _partition_replicas(contents, key)
    if isinstance(held, Refusal):
        return held
    if key not in contents.reassignments:
        return refusal(85)
    return _set_replicas(contents, key, contents.reassignments[key][0].origin)


def _advance_reassignments(contents: Contents, keys: Collection[TopicPartition]) -> Contents:
    for key in keys:
        moving, lists = contents.reassignments.get(key, (None, 0))
        if moving is None or _is_held_up(moving):
            continue
        if lists > 1:
            contents = replace(
                contents, reassignments={**contents.reassignments, key: (moving, lists - 1)}
            )
        else:
            contents = _set_replicas(contents, key, moving.target)
    return contents


def _set_replicas(contents: Contents, key: TopicPartition, replicas: Replicas) -> Contents:
    """Let a partition are at these replicas, with nothing moving."""
    name, number = key
    held = contents.topics[name]
    rows = (*held.assignment[:number], replicas, *held.assignment[number + 1 :])
    topics: Mapping[str, StoredTopic] = {**contents.topics, name: replace(held, assignment=rows)}
    moves = {each: found for each, found in contents.reassignments.items() if each != key}
    return replace(contents, topics=topics, reassignments=moves)


def _is_adding(contents: Contents, key: TopicPartition, broker: int) -> bool:
    return key in contents.reassignments and broker in contents.reassignments[key][0].adding


def _topic_names(keys: Collection[TopicPartition]) -> tuple[str, ...]:
    return tuple(sorted({name for name, _ in keys}))


_DUPLICATE_VOTER, _VOTER_NOT_FOUND = 126, 127


class QuorumRequests(MemoryConnection):
    """Serves the quorum, whose voters may change, and unregisters brokers."""

    def run_controllers(
        self, voters: Collection[int], observers: Collection[int] = (), down: Collection[int] = ()
    ) -> None:
        """Run these controllers; those in `down` have been silent for a minute."""
        with self._store.lock:
            self._store.voters = tuple(voters)
            self._store.observers = tuple(observers)
            self._store.silent_nodes = frozenset(down)

    def quorum(self) -> Quorum:
        """Return a quorum that the first voter leads and every live broker observes.

        Raises:
            UnreadableError: the principal has no right to see it.

        """
        call = Call("quorum")
        contents, faults = self._read(call)
        if refused := faults.refused.get("") or self._check_right(call, CLUSTER_NAME):
            raise UnreadableError(f"The quorum cannot be read: {refused}")
        store, end = self._store, contents.created_count
        brokers = [each.id for each in store.setup.brokers if each.id not in store.setup.fenced]
        addresses = {each: f"127.0.0.1:{8992 + each}" for each in store.voters}
        return Quorum(
            store.voters[0],
            1,
            end,
            tuple(self._follower(each, end) for each in store.voters),
            tuple(self._follower(each, end) for each in (*brokers, *store.observers)),
            addresses,
            "CONTROLLER",
        )

    def _follower(self, node: int, end: int) -> QuorumReplica:
        ago = 60_000 if node in self._store.silent_nodes else 0
        return QuorumReplica(node, end, 0, ago, ago, f"directory-{node}")

    def unregister_broker(self, broker: int) -> ItemResult:
        """Forget a broker, whether it is up or not; its replicas stay assigned to it."""
        site = self._store.setup
        known = None if broker in {each.id for each in site.brokers} else refusal(102)
        result = self._serve_node("unregister_broker", broker, known)
        if result is None:
            left = tuple(each for each in site.brokers if each.id != broker)
            self._store.setup = replace(site, brokers=left, fenced=site.fenced - {broker})
        return result

    def add_voter(self, voter: Voter) -> ItemResult:
        """Let an observer vote."""
        store = self._store
        votes = (
            refusal(_DUPLICATE_VOTER, name="DUPLICATE_VOTER") if voter.id in store.voters else None
        )
        result = self._serve_node("add_voter", voter.id, votes)
        if result is None:
            store.observers = tuple(each for each in store.observers if each != voter.id)
            store.voters = (*store.voters, voter.id)
        return result

    def remove_voter(self, voter: int, directory: str) -> ItemResult:
        """Let a voter observe."""
        store = self._store
        votes = voter in store.voters and directory == f"directory-{voter}"
        missing = None if votes else refusal(_VOTER_NOT_FOUND, name="VOTER_NOT_FOUND")
        result = self._serve_node("remove_voter", voter, missing)
        if result is None:
            store.voters = tuple(each for each in store.voters if each != voter)
            store.observers = (*store.observers, voter)
        return result

    def _serve_node(self, method: str, node: int, item_result: ItemResult) -> ItemResult:
        """Serve a request about one node."""
        name = str(node)

        def request(found: Contents, fine: Sequence[str]) -> Response[str]:
            return Response(found, dict.fromkeys(fine, item_result))

        return self._write(Call(method, (name,)), [(name, name)], request).results[name]
