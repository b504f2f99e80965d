"""Questions to policies: one for a change, two for a replacement."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field

from kplan.kinds.base import ResourceKind
from kplan.model.dataclass import dataclass
from kplan.model.plan import Action, Change
from kplan.model.policy import Operation, Question
from kplan.model.resource import Identity
from kplan.model.snapshot import LiveObject, Snapshot
from kplan.policy.facts import ClusterFacts, object_facts


@dataclass(frozen=True, slots=True)
class QuestionContext:
    """Who asks, and of which cluster. `principal` is "" where it is not known."""

    snapshot: Snapshot
    kinds: Sequence[ResourceKind]
    cluster: ClusterFacts
    principal: str = ""
    ci: Mapping[str, str] = field(default_factory=dict)

    def kind(self, name: str) -> ResourceKind:
        """Return a kind by its name."""
        return next(each for each in self.kinds if each.name == name)

    def live(self, kind: str, identity: Identity) -> LiveObject | None:
        """Return a live object, as far as its kind was read."""
        reading = self.snapshot.readings.get(kind)
        return None if reading is None else reading.objects.get(identity)


def questions(change: Change, setting: QuestionContext) -> Iterator[Question]:
    """Put a change as questions; what does not touch the cluster is none."""
    before, after = _live_before(change, setting), change.after
    match change.action:
        case Action.CREATE:
            yield _question(Operation.CREATE, change, setting, (None, after))
        case Action.UPDATE:
            yield _question(Operation.ALTER, change, setting, (before, after))
        case Action.DELETE:
            yield _question(Operation.DELETE, change, setting, (before, None))
        case Action.REPLACE:
            yield _question(Operation.DELETE, change, setting, (before, None))
            yield _question(Operation.CREATE, change, setting, (None, after))
        case _:
            return


def records_question(
    topic: Identity, offsets: Mapping[int, int], setting: QuestionContext
) -> Question:
    """Ask whether the records of a topic before these offsets may go, by partition (K201-12)."""
    live = setting.live("kafka_topic", topic)
    return Question(
        Operation.DELETE_RECORDS,
        "kafka_topic",
        topic,
        None,
        None
        if live is None
        else object_facts(live.value, setting.snapshot.brokers, live.value, live.uid),
        {"operation": Operation.DELETE_RECORDS.value, "identity": topic, "kind": "kafka_topic"},
        setting.cluster,
        setting.principal or None,
        setting.ci or None,
        offsets=offsets,
    )


def _live_before(change: Change, setting: QuestionContext) -> object | None:
    """Return the object as it stands; the plan has left out of it what is not compared."""
    if change.before is None:
        return None
    live = setting.live(change.kind, setting.kind(change.kind).identify(change.before))
    return change.before if live is None else live.value


def _question(
    operation: Operation,
    change: Change,
    setting: QuestionContext,
    pair: tuple[object | None, object | None],
) -> Question:
    before, after = pair
    brokers = setting.snapshot.brokers
    subject = after if after is not None else before
    at = change.declared_at
    return Question(
        operation,
        change.kind,
        setting.kind(change.kind).identify(subject),
        object_facts(after, brokers, before, change.uid),
        object_facts(before, brokers, before, change.uid),
        {
            "operation": operation.value,
            "address": str(change.address),
            "kind": change.kind,
            "identity": str(change.identity),
            "attributes": [".".join(each.path) for each in change.attributes],
            "reason": change.reason.value,
            "risk": change.risk.value,
            "file": at.file if at else None,
            "line": at.line if at else None,
        },
        setting.cluster,
        setting.principal or None,
        setting.ci or None,
        change.address,
        at,
        sensitive=change.sensitive,
    )
