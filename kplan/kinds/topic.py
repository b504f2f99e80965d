"""`kafka_topic`: a topic with its layout and the configs it overrides."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from kplan.cluster.port import Cluster
from kplan.cluster.request import (
    NO_LEADER,
    ConfigAlteration,
    ConfigEntry,
    ConfigSource,
    ItemResult,
    NewTopic,
    TopicDescription,
)
from kplan.cluster.topic import canonical_topic_config, name_collision_key
from kplan.kinds.base import Problem, ResolvedAttributes, config_changes
from kplan.kinds.reassignment import Reassigner, ReassignmentLimits, TopicTargets
from kplan.kinds.topic_deletion import delete_topics
from kplan.kinds.topic_layout import (
    align_topic,
    check_unknown_layout,
    grown_topic,
    layout_problems,
    new_partitions,
    replica_moves,
)
from kplan.kinds.topic_reader import read_topics
from kplan.kinds.topic_retention import retention_step_problems
from kplan.kinds.topic_rules import THROTTLED_REPLICAS, Topic, topic_problems
from kplan.model.errors import Refusal
from kplan.model.plan import Action, Change, Step
from kplan.model.resource import Identity, Path
from kplan.model.state import KindSnapshot, LiveObject

__all__ = ["Topic", "TopicKind"]

_BROKER_DEFAULT = -1

CREATE = Step(40, "create_topics")
ALTER_CONFIG = Step(50, "alter_topic_configs")
GROW = Step(60, "create_partitions")
REASSIGN = Step(70, "reassign")
DELETE = Step(90, "delete_topics")
REPLACE_DELETE = Step(96, "delete_topics")
REPLACE_CREATE = Step(97, "create_topics")


class TopicKind:
    """Topics: created, reconfigured, grown and deleted by topic id; never shrunk or renamed.

    Only where someone asks for it one is replaced, with all its records lost.
    """

    name = "kafka_topic"
    noun = "topic"
    schema = Topic
    is_replaceable = False
    is_deletable = True
    is_always_read = True
    is_shareable = False

    def __init__(self, pace: ReassignmentLimits | None = None) -> None:
        self._reassigner = Reassigner(pace or ReassignmentLimits())

    def identify(self, value: Topic) -> Identity:
        """Name a topic by its name."""
        return Identity(value.name)

    def normalize(self, value: Topic) -> Topic:
        """Leave values of -1 to the broker: Kafka's word for its default (KIP-464).

        Configs are written as Kafka returns them.
        """
        config = canonical_topic_config(value.config)
        if config != value.config:
            value = replace(value, config=config)
        if _BROKER_DEFAULT not in {value.partitions, value.replication_factor}:
            return value
        counts = (value.partitions, value.replication_factor)
        partitions, factor = (None if each == _BROKER_DEFAULT else each for each in counts)
        return replace(value, partitions=partitions, replication_factor=factor)

    def check(self, value: Topic) -> Iterator[Problem]:
        """Hold name, layout and configs against Kafka's rules (K4-17, K4-18, K4-29)."""
        yield from topic_problems(
            value.name,
            (value.partitions, value.replication_factor),
            value.replica_assignment,
            value.config,
        )
        yield from layout_problems(value)
        yield from retention_step_problems(value)

    def check_all(
        self, declared: Collection[Identity], live: Collection[Identity] = ()
    ) -> Iterator[tuple[Identity, Problem]]:
        """Find names that Kafka takes for the same in metrics: `a.b` and `a_b` (K4-29)."""
        holders: dict[str, str] = {name_collision_key(name): name for name in sorted(live)}
        for name in sorted(declared):
            other = holders.setdefault(name_collision_key(name), name)
            if other != name:
                yield (
                    name,
                    Problem(
                        "KP202",
                        f'"{name}" and "{other}" differ only in "." and "_"; '
                        "Kafka refuses the second of them.",
                        "Rename one of the two topics.",
                        ("name",),
                    ),
                )

    def read(self, cluster: Cluster, wanted: Collection[Identity]) -> KindSnapshot:
        """Read all topics, and the configs of the requested ones; see `read_topics`."""
        return read_topics(cluster, wanted)

    def fill_from_state(self, live: Topic, applied: Topic) -> Topic:
        """Keep the live value; a layout that controllers do not return is the last applied one."""
        return live if live.partitions else replace(applied, config=live.config)

    def align(
        self, live: Topic, desired: Topic, ignored: Collection[Path] = ()
    ) -> tuple[Topic, Topic]:
        """Compare the declared value; see `topic_layout`."""
        return align_topic(live, desired, ignored)

    def check_change(self, live: LiveObject, desired: Topic) -> Iterator[Problem]:
        """Refuse to shrink (K4-57)."""
        held: Topic = live.value  # type: ignore[assignment] # a Reading of this kind holds topics
        if not held.partitions:
            yield from check_unknown_layout(desired.name, has_layout=_has_layout(desired))
            return
        wanted, has = _partitions(desired), held.partitions
        if wanted is not None and wanted < has:
            yield Problem(
                "KP211",
                f'Topic "{desired.name}" has {has} partitions and {wanted} are declared; '
                "Kafka cannot remove partitions, and deleting the topic would lose its records.",
                f"Declare partitions = {has}, or create a topic with another name. To delete its "
                "records and start again, use -replace with its address.",
                ("replica_assignment",) if desired.replica_assignment else ("partitions",),
            )

    def steps(self, change: Change) -> tuple[Step, ...]:
        """Create and delete are one request; an update is configs, then partitions, then moves.

        A replacement goes last of all, when everything else is done.
        """
        match change.action:
            case Action.CREATE:
                return (CREATE,)
            case Action.DELETE:
                return (DELETE,)
            case Action.REPLACE:
                return REPLACE_DELETE, REPLACE_CREATE
            case Action.UPDATE:
                before, after = _pair(change)
                grows = (_partitions(after) or 0) > (before.partitions or 0)
                alters = before.config != after.config
                moves_ = bool(replica_moves(before, after))
                return (ALTER_CONFIG,) * alters + (GROW,) * grows + (REASSIGN,) * moves_
            case _:
                return ()

    def value_after(self, held: Topic, after: Topic, steps: Collection[str]) -> Topic:
        """Take over configs that were altered, and partitions that were created."""
        found = replace(held, config=after.config) if ALTER_CONFIG.name in steps else held
        return grown_topic(found, after) if GROW.name in steps else found

    def record_count(self, step: Step, change: Change) -> int:
        """Count as the controller does: topic, partitions and configs (KAFKA-14996)."""
        if step.name == CREATE.name:
            topic: Topic = change.after  # type: ignore[assignment] # CREATE has an `after`
            return 1 + (_partitions(topic) or 1) + len(topic.config)
        if step.name == DELETE.name:
            return 1
        before, after = _pair(change)
        if step == GROW:
            return max(1, (_partitions(after) or 0) - (before.partitions or 0))
        if step == REASSIGN:
            return len(replica_moves(before, after))
        altered = _alteration(before, after)
        return len(altered.set) + len(altered.delete)

    def apply(
        self, cluster: Cluster, step: Step, changes: Sequence[Change]
    ) -> Mapping[Identity, ItemResult]:
        """Send one step for many topics."""
        if step.name == CREATE.name:
            answers = cluster.create_topics([_new_topic(each) for each in changes])
        elif step.name == DELETE.name:
            return delete_topics(cluster, changes, _deleted_name)
        elif step == GROW:
            answers = cluster.create_partitions([new_partitions(*_pair(each)) for each in changes])
        elif step == REASSIGN:
            return self._reassigner.advance(cluster, [_reassignment(each) for each in changes])
        else:
            answers = cluster.alter_topic_configs([_alteration(*_pair(each)) for each in changes])
        return {Identity(name): answer for name, answer in answers.items()}

    def validate(
        self, cluster: Cluster, step: Step, changes: Sequence[Change]
    ) -> Mapping[Identity, Refusal | ResolvedAttributes]:
        """Ask the broker about creates, growth and configs (K117-11); deletes cannot be asked."""
        if step.name == CREATE.name:
            return _preview_creates(cluster, changes)
        if step == REASSIGN or step.name == DELETE.name:
            return {}
        if step == GROW:
            answers = cluster.create_partitions(
                [new_partitions(*_pair(each)) for each in changes], validate_only=True
            )
        else:
            answers = cluster.alter_topic_configs(
                [_alteration(*_pair(each)) for each in changes], validate_only=True
            )
        return {Identity(name): answer or {} for name, answer in answers.items()}

    def is_done(self, step: Step, change: Change, reading: KindSnapshot) -> bool:
        """Check the goal of the step against the live topic."""
        if step.name == DELETE.name:
            # Another topic under the name is not what was planned: that delete is stale (K4-36).
            return _deleted_name(change) not in reading.objects.keys() | reading.hidden.keys()
        live = reading.objects.get(change.identity)
        if live is None or (change.is_recreated and live.uid == change.uid):
            return False
        before, after = self.align(live.value, change.after)  # type: ignore[arg-type] # a topic
        if step == GROW:
            return (before.partitions or 0) >= (after.partitions or 0)
        if step == REASSIGN:
            return before.replica_assignment == after.replica_assignment
        return before.config == after.config if step == ALTER_CONFIG else before == after

    def find_visible(
        self, cluster: Cluster, broker: int, changes: Sequence[Change]
    ) -> Mapping[Identity, str]:
        """Check whether topics have all leaders, are large enough, or are gone (K4-13, K4-53)."""
        names = {name for each in changes for name in (each.identity, _deleted_name(each))}
        answers = cluster.topics(sorted(names), broker=broker)
        done = {
            each.identity: _uid(answers.get(each.identity))
            for each in changes
            if _is_visible(each, answers)
        }
        altered = [
            each for each in changes if each.identity in done and ALTER_CONFIG in self.steps(each)
        ]
        configs = (
            cluster.topic_configs([each.identity for each in altered], broker=broker)
            if altered
            else {}
        )
        late = {
            each.identity for each in altered if not _has_config(each, configs.get(each.identity))
        }
        return {name: uid for name, uid in done.items() if name not in late}


def _has_layout(topic: Topic) -> bool:
    return (topic.partitions, topic.replication_factor, topic.replica_assignment) != (None,) * 3


def _partitions(topic: Topic) -> int | None:
    return topic.partitions if topic.replica_assignment is None else len(topic.replica_assignment)


def _pair(change: Change) -> tuple[Topic, Topic]:
    return change.before, change.after  # type: ignore[return-value] # an UPDATE of a topic has both


def _new_topic(change: Change) -> NewTopic:
    topic: Topic = change.after  # type: ignore[assignment] # CREATE has an `after`
    counts = (topic.partitions, topic.replication_factor)
    return NewTopic(
        topic.name,
        *(counts if topic.replica_assignment is None else (None, None)),
        topic.replica_assignment,
        topic.config,
    )


_LAYOUT_ERRORS = {
    "INVALID_CONFIG",
    "INVALID_PARTITIONS",
    "INVALID_REPLICATION_FACTOR",
    "INVALID_REPLICA_ASSIGNMENT",
}


def _preview_creates(
    cluster: Cluster, changes: Sequence[Change]
) -> Mapping[Identity, Refusal | ResolvedAttributes]:
    """Validate the creation of topics.

    The name of one that is replaced is taken as yet, so another name is asked about, and only what
    does not depend on the name is believed: else the topic would be gone, and refused thereafter.
    """
    asked = {_preview_name(each): each for each in changes}
    specs = [replace(_new_topic(each), name=name) for name, each in asked.items()]
    found: dict[Identity, Refusal | ResolvedAttributes] = {}
    for name, preview in cluster.preview_topics(specs).items():
        identity = asked[name].identity
        if not isinstance(preview, Refusal):
            found[identity] = {
                ("partitions",): preview.partitions,
                ("replication_factor",): preview.replication_factor,
            }
        elif name == identity or preview.error in _LAYOUT_ERRORS:
            found[identity] = preview
    return found


def _preview_name(change: Change) -> str:
    is_taken = change.is_recreated and _deleted_name(change) == change.identity
    return f"{change.identity[:200]}.kplan-preview" if is_taken else change.identity


def _reassignment(change: Change) -> TopicTargets:
    before, after = _pair(change)
    throttles = {key: after.config[key] for key in THROTTLED_REPLICAS if key in after.config}
    return TopicTargets(str(change.identity), change.uid, replica_moves(before, after), throttles)


def _alteration(before: Topic, after: Topic) -> ConfigAlteration:
    return ConfigAlteration(after.name, *config_changes(before.config, after.config))


def _deleted_name(change: Change) -> Identity:
    """Return the topic that a change deletes; its replacement may have another name."""
    before = change.before
    return Identity(before.name) if isinstance(before, Topic) else change.identity


def _uid(described: TopicDescription | Refusal | None) -> str:
    return described.topic_id if isinstance(described, TopicDescription) else ""


def _is_visible(change: Change, answers: Mapping[str, TopicDescription | Refusal]) -> bool:
    if change.action in {Action.DELETE, Action.REPLACE} and not _is_deleted(change, answers):
        return False
    if change.action is Action.DELETE:
        return True
    described = answers.get(change.identity)
    if described is None or isinstance(described, Refusal):
        return False
    after: Topic = change.after  # type: ignore[assignment] # neither DELETE nor FORGET
    is_told = bool(
        described.assignment
    )  # controllers do not return, and are not asked to change it
    enough = not is_told or len(described.assignment) >= (_partitions(after) or 1)
    return enough and (described.leaderless == 0 or _has_new_leaders(change, described))


def _has_new_leaders(change: Change, described: TopicDescription) -> bool:
    """Whether each partition that the change adds has a leader, and it moves none.

    Configs and new partitions are served while an old partition waits for its broker.
    """
    if change.action is not Action.UPDATE:
        return False
    before, after = _pair(change)
    new = described.leaders[_partitions(before) or 0 :]
    return not replica_moves(before, after) and NO_LEADER not in new


def _is_deleted(change: Change, answers: Mapping[str, TopicDescription | Refusal]) -> bool:
    """Whether the deleted topic is absent, or its name belongs to another topic."""
    described = answers.get(_deleted_name(change))
    if isinstance(described, Refusal):
        return described.error == "UNKNOWN_TOPIC_OR_PARTITION"
    return bool(change.uid) and described is not None and described.topic_id != change.uid


def _has_config(change: Change, config: Mapping[str, ConfigEntry] | Refusal | None) -> bool:
    if config is None or isinstance(config, Refusal):
        return False
    sent = _alteration(*_pair(change))
    own = {key: entry.value for key, entry in config.items() if entry.source is ConfigSource.TOPIC}
    return sent.set.items() <= own.items() and not own.keys() & set(sent.delete)
