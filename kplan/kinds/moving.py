"""Moving replicas: a little at a time, throttled, and from wherever a former run stopped (KIP-455).

Nothing is remembered between runs: what is under way, done, or still to do is read from the
cluster each time. So a move that was interrupted at any moment is taken up by the next run.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from kplan.cluster.errors import CLIENT_STALE, Handling, client_refusal, handling, under_way
from kplan.cluster.port import Cluster
from kplan.cluster.reassignments import Election, Moving, Replicas
from kplan.cluster.setting_specs import ConfigResource, ConfigScope, ResourceAlteration
from kplan.cluster.specs import ConfigAlteration, ConfigSource, TopicDescription, Verdict
from kplan.cluster.usage import TopicPartition
from kplan.kinds.topic_value import THROTTLED_REPLICAS
from kplan.model.errors import Unreachable, Unread
from kplan.model.refusal import Refusal
from kplan.model.resource import Identity

RATES = ("follower.replication.throttled.rate", "leader.replication.throttled.rate")
_FOLLOWERS, _LEADERS = THROTTLED_REPLICAS
_PATIENCE = 120
"""Looks in a row that nobody answers, before a move is given up; it goes on in the cluster."""


@dataclass(frozen=True, slots=True)
class MovePace:
    """How replicas are moved: bytes per second and broker (0 is no limit), partitions at a time."""

    bytes_per_s: int = 120_000_000
    partitions: int = 50
    look_ms: int = 500


@dataclass(frozen=True, slots=True)
class Relocation:
    """Where partitions of a topic are to stand; of another incarnation than `uid` nothing moves."""

    topic: str
    uid: str
    targets: Mapping[int, Replicas]

    @property
    def keys(self) -> tuple[TopicPartition, ...]:
        """Name the partitions."""
        return tuple((self.topic, number) for number in sorted(self.targets))


@dataclass(frozen=True, slots=True)
class Seen:
    """The cluster at one moment: topics, and all that is moving on it."""

    topics: Mapping[str, TopicDescription | Refusal]
    moving: Mapping[TopicPartition, Moving]

    def stands(self, key: TopicPartition) -> Replicas:
        """Tell the replicas of a partition, () where it is not seen."""
        found = self.topics.get(key[0])
        if not isinstance(found, TopicDescription) or key[1] >= len(found.assignment):
            return ()
        return found.assignment[key[1]]


def moving_of(
    cluster: Cluster, partitions: Collection[TopicPartition]
) -> Mapping[TopicPartition, Moving]:
    """Tell what of the partitions is moving; nothing where we may not know."""
    try:
        return cluster.reassignments(partitions) if partitions else {}
    except Unread:
        return {}


@dataclass(slots=True)
class Mover:
    """Moves replicas of topics.

    `limited` are brokers that have a rate of ours, `foreign` those that have one of somebody else.
    `met` are the topics that were looked at for what a former run left on them.
    """

    pace: MovePace
    limited: set[int] = field(default_factory=set)
    foreign: set[int] = field(default_factory=set)
    met: set[str] = field(default_factory=set)
    misses: int = 0

    def moved(self, cluster: Cluster, wanted: Sequence[Relocation]) -> Mapping[Identity, Verdict]:
        """Take all moves one step on; what is not there yet is refused as `UnderWay`.

        A topic that stands as wanted has its throttle taken away and its first replicas elected.
        """
        try:
            found = self._moved(cluster, wanted)
        except Unreachable as failure:  # the move goes on without us: look again
            self.misses += 1
            if self.misses > _PATIENCE:
                raise
            return {Identity(each.topic): under_way(failure.detail, 0, 0) for each in wanted}
        self.misses = 0
        return found

    def _moved(self, cluster: Cluster, wanted: Sequence[Relocation]) -> Mapping[Identity, Verdict]:
        seen = Seen(cluster.topics([each.topic for each in wanted]), cluster.reassignments())
        verdicts: dict[Identity, Verdict] = {
            Identity(each.topic): fault for each in wanted if (fault := _fault(each, seen))
        }
        sound = [each for each in wanted if each.topic not in verdicts]
        self._adopt(cluster, {each.topic for each in sound} - self.met)
        running = [key for each in sound for key in each.keys if key in seen.moving]
        waiting = [(each, key) for each in sound for key in each.keys if _waits(each, key, seen)]
        room = max(0, self.pace.partitions - len(running))
        refused = self._begun(cluster, waiting[:room], seen)
        going = [each for each in sound if each.topic not in refused]
        done = [each for each in going if _is_done(each, seen)]
        is_last = len(done) == len(going) and not _others(seen, sound)
        busy = {name for name, _ in cluster.reassignments()} if refused else set()
        self._finish(cluster, done, set(refused) - busy, is_last=is_last and not busy)
        return verdicts | refused | self._told(going, done, seen)

    def _adopt(self, cluster: Cluster, topics: Collection[str]) -> None:
        """Take over the rates of a run that was interrupted: its marks are on the topics."""
        self.met |= set(topics)
        brokers = _throttled_brokers(_throttles(cluster, topics)) if topics else set()
        self._limit(cluster, brokers - self.limited)

    def _limit(self, cluster: Cluster, brokers: Collection[int]) -> Verdict:
        """Set the rates of brokers, or with a pace without limit take them away."""
        if not brokers:
            return None
        rate = dict.fromkeys(RATES, str(self.pace.bytes_per_s)) if self.pace.bytes_per_s else {}
        wanted = [
            ResourceAlteration(_broker(each), rate, () if rate else RATES)
            for each in sorted(brokers)
        ]
        self.limited |= set(brokers)
        answers = cluster.alter_configs(wanted).values()
        return next((each for each in answers if each is not None), None)

    def _begun(
        self, cluster: Cluster, chosen: Sequence[tuple[Relocation, TopicPartition]], seen: Seen
    ) -> dict[Identity, Verdict]:
        """Throttle and begin; topics that are refused for good come with their refusal.

        What cannot be throttled is not begun.
        """
        if not chosen:
            return {}
        refused = self._throttle(cluster, chosen, seen)
        targets = {key: each.targets[key[1]] for each, key in chosen if each.topic not in refused}
        answers = cluster.reassign(targets) if targets else {}
        for (name, number), answer in answers.items():
            if answer is not None and handling(answer) not in _LATER:
                told = f"Partition {number}: {answer.message}"
                refused[Identity(name)] = Refusal(answer.error, answer.code, told)
        return refused

    def _throttle(
        self, cluster: Cluster, chosen: Sequence[tuple[Relocation, TopicPartition]], seen: Seen
    ) -> dict[Identity, Verdict]:
        """Let replicas that move, and the leaders they copy from, take so much and no more."""
        moving = {key for _, key in chosen} | seen.moving.keys()
        pairs = {each.topic: _throttled(each, moving, seen) for each, _ in chosen}
        pairs = {name: found for name, found in pairs.items() if found[_FOLLOWERS]}
        if not pairs or not self.pace.bytes_per_s:
            return {}
        answers = cluster.alter_topic_configs(
            [ConfigAlteration(name, set_) for name, set_ in pairs.items()]
        )
        lists = {name: tuple(found.values()) for name, found in pairs.items()}
        new = _throttled_brokers(lists) - self.limited - self.foreign
        self.foreign |= _limited_already(cluster, new)
        fault = self._limit(cluster, new - self.foreign)
        found = {name: fault or answers.get(name) for name in pairs}
        return {Identity(name): each for name, each in found.items() if each is not None}

    def _finish(
        self,
        cluster: Cluster,
        done: Sequence[Relocation],
        refused: Collection[Identity],
        *,
        is_last: bool,
    ) -> None:
        """Take throttles away where nothing moves, and let the first replicas lead."""
        topics = [each.topic for each in done] + [str(name) for name in refused]
        if topics:
            lift(cluster, topics, self.limited if is_last else ())
            self.limited -= self.limited if is_last else set()
        if done:
            keys = [key for each in done for key in each.keys]
            cluster.elect_leaders(keys, Election.PREFERRED)

    def _told(
        self, going: Sequence[Relocation], done: Sequence[Relocation], seen: Seen
    ) -> dict[Identity, Verdict]:
        total = sum(len(each.targets) for each in going)
        left = sum(not _stands(each, key, seen) for each in going for key in each.keys)
        told = f"{left:,} of {total:,} partitions are to move still."
        way = under_way(told, left, total, self.pace.look_ms)
        return {Identity(each.topic): None if each in done else way for each in going}


_LATER = frozenset((Handling.RETRY, Handling.THROTTLED, Handling.IN_DOUBT, Handling.CONVERGED))
"""Answers after which the next look decides."""


def lift(cluster: Cluster, topics: Collection[str], brokers: Collection[int] = ()) -> None:
    """Take the throttles of a reassignment away."""
    if topics:
        cluster.alter_topic_configs(
            [ConfigAlteration(name, {}, THROTTLED_REPLICAS) for name in sorted(topics)]
        )
    if brokers:
        cluster.alter_configs(
            [ResourceAlteration(_broker(each), {}, RATES) for each in sorted(brokers)]
        )


def lift_left_over(cluster: Cluster, topics: Collection[str]) -> tuple[str, ...]:
    """Take away what an interrupted reassignment left on topics; give those that had something.

    Brokers lose their rate when nothing moves on the whole cluster any more. While a topic still
    moves, it keeps its throttle: whoever finishes the move takes it away.

    Raises:
        ClusterError: the cluster does not answer, or refuses to tell what moves.

    """
    throttled = _throttles(cluster, topics) if topics else {}
    if not throttled:
        return ()
    moving = cluster.reassignments()
    brokers = _throttled_brokers(throttled)
    free = sorted(throttled.keys() - {name for name, _ in moving})
    lift(cluster, free, () if moving else brokers)
    return tuple(free)


def _throttles(cluster: Cluster, topics: Collection[str]) -> Mapping[str, tuple[str, ...]]:
    """Give the throttles that topics have, without topics that have none."""
    found = {
        name: tuple(
            entry.value
            for key in THROTTLED_REPLICAS
            if (entry := configs.get(key)) is not None
            and entry.source is ConfigSource.TOPIC
            and entry.value
        )
        for name, configs in cluster.topic_configs(sorted(topics)).items()
        if not isinstance(configs, Refusal)
    }
    return {name: texts for name, texts in found.items() if texts}


def _throttled_brokers(throttles: Mapping[str, tuple[str, ...]]) -> set[int]:
    """Name the brokers in lists of PARTITION:BROKER."""
    pairs = (pair for texts in throttles.values() for text in texts for pair in text.split(","))
    brokers = (pair.rpartition(":")[2] for pair in pairs)
    return {int(each) for each in brokers if each.isdecimal()}


def _fault(wanted: Relocation, seen: Seen) -> Verdict:
    found = seen.topics.get(wanted.topic)
    if isinstance(found, Refusal):
        return found
    if found is None or (wanted.uid and found.topic_id != wanted.uid):
        return client_refusal(CLIENT_STALE)
    if (lost := max(wanted.targets, default=0)) >= len(found.assignment):
        return Refusal("UNKNOWN_TOPIC_OR_PARTITION", 3, f"There is no partition {lost}.")
    return None


def _stands(wanted: Relocation, key: TopicPartition, seen: Seen) -> bool:
    return key not in seen.moving and seen.stands(key) == wanted.targets[key[1]]


def _waits(wanted: Relocation, key: TopicPartition, seen: Seen) -> bool:
    """Whether nobody has begun to move the partition where it is to stand."""
    if key in seen.moving:
        return seen.moving[key].target != wanted.targets[key[1]]
    return not _stands(wanted, key, seen)


def _is_done(wanted: Relocation, seen: Seen) -> bool:
    return all(_stands(wanted, key, seen) for key in wanted.keys)


def _others(seen: Seen, wanted: Sequence[Relocation]) -> bool:
    """Whether somebody else moves replicas, who may need the rates."""
    ours = {key for each in wanted for key in each.keys}
    return any(key not in ours for key in seen.moving)


def _throttled(
    wanted: Relocation, moving: Collection[TopicPartition], seen: Seen
) -> dict[str, str]:
    """List the pairs PARTITION:BROKER to throttle: who copies, and whom it may be copied from.

    Partitions that wait for their turn are left out: a config has room for some thousands of pairs.
    """
    copying: list[str] = []
    copied: list[str] = []
    for key in wanted.keys:
        held = seen.moving.get(key)
        origin = held.origin if held else seen.stands(key)
        adding = [each for each in wanted.targets[key[1]] if each not in origin]
        if key in moving and adding:
            copying += [f"{key[1]}:{each}" for each in adding]
            copied += [f"{key[1]}:{each}" for each in origin]
    return {_FOLLOWERS: ",".join(copying), _LEADERS: ",".join(copied)}


def _limited_already(cluster: Cluster, brokers: Collection[int]) -> set[int]:
    """Find brokers that have a rate of their own: somebody set it, and it stays."""
    found = cluster.configs([_broker(each) for each in sorted(brokers)]) if brokers else {}
    return {
        int(resource.name)
        for resource, details in found.items()
        if not isinstance(details, Refusal)
        and any(
            key in details and details[key].entry.source is ConfigSource.DYNAMIC_BROKER
            for key in RATES
        )
    }


def _broker(number: int) -> ConfigResource:
    return ConfigResource(ConfigScope.BROKER, str(number))
