"""Reassign replicas in small throttled steps; resume those of an earlier run (KIP-455)."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import field, replace

from kplan.cluster.errors import (
    CLIENT_CANCELLED,
    CLIENT_STALE,
    Handling,
    client_refusal,
    handling,
    in_progress_refusal,
)
from kplan.cluster.port import Cluster
from kplan.cluster.request import ConfigAlteration, ItemResult
from kplan.cluster.settings import ConfigResourceAlteration
from kplan.cluster.topology import ElectionType, Reassignment, Replicas
from kplan.cluster.usage import TopicPartition
from kplan.kinds.reassignment_snapshot import ReassignmentSnapshot
from kplan.kinds.throttle import (
    THROTTLE_RATES,
    broker_rates,
    broker_resource,
    brokers_with_own_rates,
    merge_lists,
    own_rates,
    read_throttles,
    restore_rates,
    running_brokers,
    throttled_brokers,
    topic_throttles,
    without_own_rates,
)
from kplan.kinds.throttle_removal import ThrottleRemoval, needs_own_rates, remove_throttles
from kplan.kinds.topic_rules import THROTTLED_REPLICAS
from kplan.kinds.transfer import CopyMeter
from kplan.model.dataclass import dataclass
from kplan.model.errors import Refusal, UnreachableError, UnreadableError
from kplan.model.resource import Identity

_FOLLOWERS = THROTTLED_REPLICAS[0]
_MAX_MISSED_READS = 120
"""Looks in a row that no one answers, before a move is given up; it goes on in the cluster. So many
times in a row the removal of a throttle may be refused for the moment, before it is left."""


_MAX_VANISHED_READS = 6
"""Reads in a row after which a move that is neither going on nor done was cancelled: brokers learn
of the end of a move a little later than the controller."""


@dataclass(frozen=True, slots=True)
class ReassignmentLimits:
    """How replicas are moved: bytes per second and broker (0 is no limit), partitions at a time."""

    bytes_per_s: int = 120_000_000
    max_partitions: int = 50
    poll_ms: int = 500


@dataclass(frozen=True, slots=True)
class TopicTargets:
    """Where partitions of a topic are to be; of another incarnation than `uid` nothing moves.

    `throttles` are the configs of throttled replicas that are declared for the topic: the move has
    its own while it goes on.
    """

    topic: str
    uid: str
    targets: Mapping[int, Replicas]
    throttles: Mapping[str, str] = field(default_factory=dict)

    @property
    def keys(self) -> tuple[TopicPartition, ...]:
        """Name the partitions."""
        return tuple((self.topic, number) for number in sorted(self.targets))


def read_reassignments(
    cluster: Cluster, partitions: Collection[TopicPartition]
) -> Mapping[TopicPartition, Reassignment]:
    """Return the ongoing reassignments of the partitions; empty without permission."""
    try:
        return cluster.reassignments(partitions) if partitions else {}
    except UnreadableError:
        return {}


@dataclass(slots=True)
class Reassigner:
    """Moves replicas of topics.

    `begun` are the targets of moves that were seen or accepted, and are not in place yet;
    `vanished` counts the reads in a row in which such a move was neither going on nor done, and
    `arrived` those in which it seemed done without its replicas being in sync: a broker may still
    show the replicas of a move that was cancelled.
    `limited_brokers` have rates of ours; for `restored_brokers` see `restore_rates`. `inspected`
    are the topics that were searched for what a former run left on them.
    """

    limits: ReassignmentLimits
    begun: dict[TopicPartition, Replicas] = field(default_factory=dict)
    vanished: Counter[TopicPartition] = field(default_factory=Counter)
    arrived: Counter[TopicPartition] = field(default_factory=Counter)
    limited_brokers: set[int] = field(default_factory=set)
    restored_brokers: set[int] = field(default_factory=set)
    inspected: set[str] = field(default_factory=set)
    missed_reads: int = 0
    missed_removals: int = 0
    meter: CopyMeter = field(default_factory=CopyMeter)

    def advance(
        self, cluster: Cluster, wanted: Sequence[TopicTargets]
    ) -> Mapping[Identity, ItemResult]:
        """Advance all moves by one step; topics that do not exist yet are refused as `InProgress`.

        A topic that is as wanted has its throttle taken away and its first replicas elected.
        """
        try:
            found = self._advance(cluster, wanted)
        except UnreachableError as failure:  # the move goes on without us: look again
            self.missed_reads += 1
            if self.missed_reads > _MAX_MISSED_READS:
                raise
            return {Identity(each.topic): in_progress_refusal(failure.detail) for each in wanted}
        self.missed_reads = 0
        return found

    def _advance(
        self, cluster: Cluster, wanted: Sequence[TopicTargets]
    ) -> Mapping[Identity, ItemResult]:
        seen = ReassignmentSnapshot(
            cluster.topics([each.topic for each in wanted]), cluster.reassignments()
        )
        results: dict[Identity, ItemResult] = {
            Identity(each.topic): fault for each in wanted if (fault := _find_refusal(each, seen))
        }
        results |= self._find_cancelled(wanted, seen)
        sound = [each for each in wanted if each.topic not in results]
        self._adopt_throttles(cluster, {each.topic for each in sound} - self.inspected)
        keys = [(each, key) for each in sound for key in each.keys]
        behind = [(each, key) for each, key in keys if _is_waiting(each, key, seen)]
        waiting = [(each, key) for each, key in behind if key not in self.begun]
        # What goes elsewhere takes no room: it may never end, and makes way for its own turn.
        running = {key for _, key in keys} & seen.reassignments.keys() - {key for _, key in behind}
        room = max(0, self.limits.max_partitions - len(running))
        if running:
            restore_rates(
                cluster,
                self.limited_brokers,
                own_rates(self.limits.bytes_per_s),
                self.restored_brokers,
            )
        refused = self._start(cluster, waiting[:room], seen)
        going = [each for each in sound if each.topic not in refused]
        done = [
            each for each in going if all(self._is_settled(each, key, seen) for key in each.keys)
        ]
        results |= refused
        lost = {name for name in results if seen.topics.get(name) is not None}
        busy = {name for name, _ in cluster.reassignments()} if lost else set()
        others = {name for name, _ in seen.reassignments} - {each.topic for each in sound}
        is_last = len(done) == len(going) and not lost & busy
        needs = needs_own_rates(cluster, others) if is_last and (done or lost) else True
        free = [each.topic for each in done] + sorted(lost - busy)
        declared = {each.topic: each.throttles for each in wanted}
        removal = self._remove_throttles(cluster, free, declared, seen, needs=needs)
        throttled = self._wait_for_removal(removal, free)
        if over := [key for each in done if each.topic not in throttled for key in each.keys]:
            cluster.elect_leaders(over, ElectionType.PREFERRED)
        results |= self._progress(cluster, going, done, throttled, seen)
        settled = [name for name in free if name not in throttled or Identity(name) in lost]
        is_tried_again = len(settled) < len(free)
        return removal.note(cluster, results, settled, has_rates=not is_tried_again)

    def _is_settled(
        self, wanted: TopicTargets, key: TopicPartition, seen: ReassignmentSnapshot
    ) -> bool:
        """Whether a partition is where it is to be, by more than one stale answer of a broker."""
        return _is_in_place(wanted, key, seen) and (
            key not in self.begun
            or seen.is_in_sync(key, wanted.targets[key[1]])
            or self.arrived[key] > _MAX_VANISHED_READS
        )

    def _find_cancelled(
        self, wanted: Sequence[TopicTargets], seen: ReassignmentSnapshot
    ) -> dict[Identity, ItemResult]:
        """Find topics with a move that another client cancelled, or sent elsewhere."""
        found: dict[Identity, ItemResult] = {}
        for each in wanted:
            for key in each.keys:
                if why := self._follow_move(each, key, seen):
                    detail = f"Partition {key[1]}: another client {why}."
                    found[Identity(each.topic)] = client_refusal(CLIENT_CANCELLED, detail)
        return found

    def _follow_move(
        self, wanted: TopicTargets, key: TopicPartition, seen: ReassignmentSnapshot
    ) -> str:
        """Record the progress of a partition; return another client's interference, "" if none."""
        if _is_in_place(wanted, key, seen):
            self.arrived[key] += key in self.begun
            if self._is_settled(wanted, key, seen):
                self.begun.pop(key, None)
            return ""
        self.arrived.pop(key, None)
        held = seen.reassignments.get(key)
        if held is not None and held.target == wanted.targets[key[1]]:
            self.begun[key] = held.target
            self.vanished.pop(key, None)
        elif key in self.begun:
            self.vanished[key] += 1
            if held is not None:
                return "moves it elsewhere"
        return "cancelled the reassignment" if self.vanished[key] > _MAX_VANISHED_READS else ""

    def _adopt_throttles(self, cluster: Cluster, topics: Collection[str]) -> None:
        """Take over the rates of a run that was interrupted: its marks are on the topics."""
        self.inspected |= set(topics)
        if topics:
            self._limit(cluster, throttled_brokers(topic_throttles(cluster, topics)))

    def _limit(self, cluster: Cluster, brokers: Collection[int]) -> ItemResult:
        """Set the rates of running brokers, or with a pace without limit take them away.

        Those that someone else has set stay. Another run of kplan may have removed ours since the
        last time.
        """
        running = running_brokers(cluster, brokers)
        found = broker_rates(cluster, running)
        running -= without_own_rates(found).keys()
        rate = own_rates(self.limits.bytes_per_s)
        self.limited_brokers |= running if rate else set()
        late = [
            ConfigResourceAlteration(broker_resource(each), rate, () if rate else THROTTLE_RATES)
            for each in sorted(running)
            if found.get(each, {}) != rate
        ]
        answers = cluster.alter_configs(late).values() if late else ()
        return next((each for each in answers if each is not None), None)

    def _start(
        self,
        cluster: Cluster,
        chosen: Sequence[tuple[TopicTargets, TopicPartition]],
        seen: ReassignmentSnapshot,
    ) -> dict[Identity, ItemResult]:
        """Throttle and begin; permanently refused topics are returned with their refusal.

        What cannot be throttled is not begun.
        """
        if not chosen:
            return {}
        refused = self._throttle(cluster, chosen, seen)
        targets: dict[TopicPartition, Replicas | None] = {}
        for each, key in chosen:
            if each.topic not in refused:
                held, target = seen.reassignments.get(key), each.targets[key[1]]
                targets[key] = target if held is None or held.can_turn_to(target) else None
        answers = cluster.reassign(targets) if targets else {}
        for key, goal in targets.items():
            if goal is not None and key in answers and answers[key] is None:
                self.begun[key] = goal
        for (name, number), answer in answers.items():
            if answer is not None and handling(answer) not in _RETRIED_LATER:
                detail = f"Partition {number}: {answer.message}"
                refused[Identity(name)] = Refusal(answer.error, answer.code, detail)
        return refused

    def _throttle(
        self,
        cluster: Cluster,
        chosen: Sequence[tuple[TopicTargets, TopicPartition]],
        seen: ReassignmentSnapshot,
    ) -> dict[Identity, ItemResult]:
        """Let replicas that move, and the leaders they copy from, take so much and no more."""
        moving = {key for _, key in chosen} | seen.reassignments.keys()
        pairs = {
            each.topic: seen.throttled_pairs(each.topic, each.targets, moving) for each, _ in chosen
        }
        pairs = {name: found for name, found in pairs.items() if found[_FOLLOWERS]}
        if not pairs or not self.limits.bytes_per_s:
            return {}
        merged: list[ConfigAlteration] = []
        found: dict[str, ItemResult] = {}
        for name, held in read_throttles(cluster, pairs).items():
            if isinstance(held, Refusal):  # what is there would be lost
                found[name] = held
            else:
                merged.append(ConfigAlteration(name, merge_lists(held, pairs[name])))
        found |= cluster.alter_topic_configs(merged) if merged else {}
        fault = self._limit(cluster, throttled_brokers(pairs))
        found = {name: fault or found.get(name) for name in pairs}
        return {Identity(name): each for name, each in found.items() if each is not None}

    def _remove_throttles(
        self,
        cluster: Cluster,
        topics: Sequence[str],
        declared: Mapping[str, Mapping[str, str]],
        seen: ReassignmentSnapshot,
        *,
        needs: bool | None,
    ) -> ThrottleRemoval:
        """Take throttles away where nothing moves; rates stay where other moves may need them."""
        if not topics:
            return ThrottleRemoval()
        own = brokers_with_own_rates(cluster, self.limited_brokers) if needs is not True else set()
        if needs is None:
            return replace(remove_throttles(cluster, topics, (), declared), doubtful=frozenset(own))
        begun = seen.new_brokers(cluster.reassignments()) if own else set()
        free = own & self.limited_brokers - begun if begun else own
        held = dict.fromkeys(own & begun, in_progress_refusal("Other replicas began to move."))
        removal = remove_throttles(cluster, () if held else topics, free, declared)
        if needs is False:
            running = running_brokers(cluster, self.limited_brokers)
            self.limited_brokers -= running - removal.kept_rates.keys()
        return replace(removal, kept_rates={**removal.kept_rates, **held})

    def _wait_for_removal(
        self, removal: ThrottleRemoval, topics: Sequence[str]
    ) -> Mapping[str, Refusal]:
        """Return the topics with a throttle whose removal is tried again at the next look."""
        self.missed_removals = self.missed_removals + 1 if removal.is_passing else 0
        if not removal.is_passing or self.missed_removals > _MAX_MISSED_READS:
            return {}
        if removal.kept_rates:
            return dict.fromkeys(topics, next(iter(removal.kept_rates.values())))
        return removal.kept_lists

    def _progress(
        self,
        cluster: Cluster,
        going: Sequence[TopicTargets],
        done: Sequence[TopicTargets],
        throttled: Mapping[str, Refusal],
        seen: ReassignmentSnapshot,
    ) -> dict[Identity, ItemResult]:
        total = sum(len(each.targets) for each in going)
        left = {
            each.topic: sum(not self._is_settled(each, key, seen) for key in each.keys)
            for each in going
        }
        keys = {key for each in going for key in each.keys} & seen.reassignments.keys()
        adding = {broker for key in keys for broker in seen.reassignments[key].adding}
        behind = {
            key: seen.move_to(key, each.targets[key[1]])
            for each in going
            for key in each.keys
            if not _is_in_place(each, key, seen)
        }  # those whose turn has not come, too
        copying = self.meter.read(cluster, behind)
        answer = cluster.describe()
        down = (adding | self.limited_brokers) - {each.id for each in answer.brokers}
        return {
            Identity(each.topic): None
            if each in done and each.topic not in throttled
            else in_progress_refusal(
                f"{left[each.topic]:,} of {len(each.targets):,} partitions are to move still."
                if each not in done
                else f"Its throttle is to be removed still ({throttled[each.topic]}).",
                (sum(left.values()), total),
                (down & adding, down & self.limited_brokers),
                self.limits.poll_ms,
                answer.security_protocol,
                copying,
            )
            for each in going
        }


_RETRIED_LATER = frozenset(
    (Handling.RETRY, Handling.THROTTLED, Handling.IN_DOUBT, Handling.CONVERGED)
)
"""Answers after which the next look decides."""


def _find_refusal(wanted: TopicTargets, seen: ReassignmentSnapshot) -> ItemResult:
    found = seen.topics.get(wanted.topic)
    if isinstance(found, Refusal):
        return found
    if found is None or (wanted.uid and found.topic_id != wanted.uid):
        return client_refusal(CLIENT_STALE)
    if (lost := max(wanted.targets, default=0)) >= len(found.assignment):
        return Refusal("UNKNOWN_TOPIC_OR_PARTITION", 3, f"There is no partition {lost}.")
    return None


def _is_in_place(wanted: TopicTargets, key: TopicPartition, seen: ReassignmentSnapshot) -> bool:
    return key not in seen.reassignments and seen.replicas(key) == wanted.targets[key[1]]


def _is_waiting(wanted: TopicTargets, key: TopicPartition, seen: ReassignmentSnapshot) -> bool:
    """Whether no reassignment to the desired replicas has begun."""
    if key in seen.reassignments:
        return seen.reassignments[key].target != wanted.targets[key[1]]
    return not _is_in_place(wanted, key, seen)
