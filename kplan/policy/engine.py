"""The policy engine: evaluates policies for changes, and applies waivers and overrides."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from datetime import date
from itertools import combinations

from kplan.kinds.base import ResourceKind, redact_refusal
from kplan.model.codes import SUMMARIES
from kplan.model.dataclass import dataclass
from kplan.model.diagnostic import Diagnostic, Severity
from kplan.model.errors import Refusal
from kplan.model.plan import Action, Change
from kplan.model.policy import (
    Finding,
    Level,
    Operation,
    Policy,
    PolicyHeader,
    Question,
    RuleEffect,
    Violation,
    ViolationStatus,
)
from kplan.model.resource import Identity
from kplan.model.state import LiveObject, Snapshot
from kplan.policy.facts import ClusterFacts, object_facts


@dataclass(frozen=True, slots=True)
class QuestionContext:
    """Who asks, and of which cluster. `principal` is "" where it is not known."""

    snapshot: Snapshot
    kinds: Sequence[ResourceKind]
    cluster: ClusterFacts
    principal: str = ""
    ci: Mapping[str, str] = field(default_factory=dict)
    replay: Mapping[str, object] | None = None

    def kind(self, name: str) -> ResourceKind:
        """Return a kind by its name."""
        return next(each for each in self.kinds if each.name == name)

    def live(self, kind: str, identity: Identity) -> LiveObject | None:
        """Return a live object, as far as its kind was read."""
        reading = self.snapshot.readings.get(kind)
        return None if reading is None else reading.objects.get(identity)


def questions(change: Change, context: QuestionContext) -> Iterator[Question]:
    """Turn a change into operations; changes that do not touch the cluster have none."""
    before, after = _live_before(change, context), change.after
    match change.action:
        case Action.CREATE:
            yield _question(Operation.CREATE, change, context, (None, after))
        case Action.UPDATE:
            yield _question(Operation.ALTER, change, context, (before, after))
        case Action.DELETE:
            yield _question(Operation.DELETE, change, context, (before, None))
        case Action.REPLACE:
            yield _question(Operation.DELETE, change, context, (before, None))
            yield _question(Operation.CREATE, change, context, (None, after))
        case _:
            return


def records_question(
    topic: Identity, offsets: Mapping[int, int], context: QuestionContext
) -> Question:
    """Ask whether the records of a topic before these offsets may go, by partition (K201-12)."""
    live = context.live("kafka_topic", topic)
    return Question(
        Operation.DELETE_RECORDS,
        "kafka_topic",
        topic,
        None,
        None
        if live is None
        else object_facts(live.value, context.snapshot.brokers, live.value, live.uid),
        {"operation": Operation.DELETE_RECORDS.value, "identity": topic, "kind": "kafka_topic"},
        context.cluster,
        context.principal or None,
        context.ci or None,
        offsets=offsets,
    )


def _live_before(change: Change, context: QuestionContext) -> object | None:
    """Return the object unchanged; the plan has left out what is not compared."""
    if change.before is None:
        return None
    live = context.live(change.kind, context.kind(change.kind).identify(change.before))
    return change.before if live is None else live.value


def _question(
    operation: Operation,
    change: Change,
    context: QuestionContext,
    pair: tuple[object | None, object | None],
) -> Question:
    before, after = pair
    brokers = context.snapshot.brokers
    subject = after if after is not None else before
    at = change.declared_at
    return Question(
        operation,
        change.kind,
        context.kind(change.kind).identify(subject),
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
        context.cluster,
        context.principal or None,
        context.ci or None,
        change.address,
        at,
        sensitive=change.sensitive,
        replay=context.replay,
    )


@dataclass(frozen=True, slots=True)
class EvaluationOptions:
    """What a run brings: the day, and the reasons for which soft policies are overridden."""

    today: date
    overrides: Mapping[str, str] = field(default_factory=dict)


def evaluate_changes(
    changes: Iterable[Change],
    policies: Sequence[Policy],
    context: QuestionContext,
    options: EvaluationOptions,
) -> tuple[Violation, ...]:
    """Ask about each change, in the order in which they will be executed.

    Every policy is asked, so that all that is wrong is reported at once. What is refused does not
    count in the totals that later changes see.
    """
    asked = sort_policies(policies)
    found: list[Violation] = []
    for change in changes:
        before = context.cluster.so_far
        context.cluster.so_far = before.add_change(change.kind, change.before, change.after)
        said = [
            _redact_violation(each, change)
            for question in questions(change, context)
            for each in evaluate_question(question, asked, options)
        ]
        if any(each.standing is ViolationStatus.REFUSED for each in said):
            context.cluster.so_far = before
        found += said
    return tuple(found)


def sort_policies(policies: Sequence[Policy]) -> list[Policy]:
    """Sort by `order`, keeping the order of discovery otherwise."""
    return sorted(policies, key=lambda each: each.header.order)


def evaluate_question(
    question: Question, policies: Sequence[Policy], options: EvaluationOptions
) -> Iterator[Violation]:
    """Ask the policies that decide the operation on this kind."""
    for policy in policies:
        if policy.header.applies_to(question.operation, question.kind):
            for finding in policy.evaluate(question):
                yield _violation(question, policy.header, finding, options)


def expired_waivers(policies: Iterable[Policy], today: date) -> Iterator[Diagnostic]:
    """Report expired waivers; the operations they allowed are refused again."""
    for policy in policies:
        for waiver in policy.header.waivers:
            if waiver.is_expired(today):
                yield Diagnostic(
                    "KP325",
                    Severity.WARNING,
                    SUMMARIES["KP325"],
                    f"The waiver of policy {policy.header.name} for {', '.join(waiver.applies_to)} "
                    f"({waiver.owner}: {waiver.reason}) ended with {waiver.until.isoformat()}.",
                    f"Take it out, or let {waiver.owner} renew it.",
                    subject=waiver.declared_at,
                )


def order_conflicts(policies: Sequence[Policy]) -> Iterator[Diagnostic]:
    """Find old policies beside others that decide the same and do not say who is first (K201-22).

    All other policies are asked about everything, whoever is first: their order changes nothing.
    """
    items: set[tuple[str, str]] = set()
    for one, other in combinations([each.header for each in policies], 2):
        if one.name == other.name:
            yield _name_conflict(other, f'There are two policies "{one.name}".', one)
        pair = (one.source, other.source)
        if one.source == other.source or one.order != other.order or pair in items:
            continue
        if one.is_legacy is other.is_legacy:
            continue
        if same := _common_decision(one, other):
            items.add(pair)
            yield Diagnostic(
                "KP328",
                Severity.ERROR,
                SUMMARIES["KP328"],
                f"{one.name} ({one.source or 'the configuration'}) and {other.name} "
                f"({other.source or 'the configuration'}) both decide {same}, and their "
                "order is not defined.",
                "Give the policies of one of them another order: order = 10",
                subject=other.declared_at,
                related=((one.name, one.declared_at),) if one.declared_at else (),
            )


def unused_overrides(
    policies: Iterable[Policy], options: EvaluationOptions
) -> Iterator[Diagnostic]:
    """Find overrides of unknown policies, or of those that cannot be overridden."""
    heads = {each.header.name: each.header for each in policies}
    for name in sorted(options.overrides):
        head = heads.get(name)
        if head is not None and head.level is Level.SOFT:
            continue
        why = "no policy has this name" if head is None else f"its level is {head.level}"
        yield Diagnostic(
            "KP330",
            Severity.ERROR,
            SUMMARIES["KP330"],
            f"{name} cannot be overridden: {why}.",
            "kplan policy list shows the policies with their levels; only soft ones give way.",
            subject=head.declared_at if head else None,
        )


def _common_decision(one: PolicyHeader, other: PolicyHeader) -> str:
    operations = sorted(one.operations & other.operations)
    kinds = one.kinds & other.kinds if one.kinds and other.kinds else one.kinds | other.kinds
    is_same = bool(operations) and (bool(kinds) or not (one.kinds and other.kinds))
    return f"{operations[0]} of {min(kinds, default='every kind')}" if is_same else ""


def _name_conflict(head: PolicyHeader, text: str, other: PolicyHeader) -> Diagnostic:
    return Diagnostic(
        "KP327",
        Severity.ERROR,
        SUMMARIES["KP327"],
        text,
        "Rename one of them: waivers and overrides go by the name.",
        subject=head.declared_at,
        related=(("the first", other.declared_at),) if other.declared_at else (),
    )


def _violation(
    question: Question, head: PolicyHeader, finding: Finding, options: EvaluationOptions
) -> Violation:
    standing, reason = _standing(question, head, finding, options)
    return Violation(
        head.name,
        question.operation,
        question.kind,
        question.identity,
        finding.effect,
        head.level,
        standing,
        finding.message,
        _diagnostic(question, head, finding, (standing, reason)),
        reason,
    )


def _standing(
    question: Question, head: PolicyHeader, finding: Finding, options: EvaluationOptions
) -> tuple[ViolationStatus, str]:
    if finding.effect is not RuleEffect.DENY:
        return ViolationStatus.REPORTED, ""
    for waiver in head.waivers:
        if waiver.covers(question.identity, question.address, options.today):
            until = waiver.until.isoformat()
            return (
                ViolationStatus.WAIVED,
                f"waived by {waiver.owner} until {until}: {waiver.reason}",
            )
    if head.level is Level.ADVISORY:
        return ViolationStatus.REPORTED, ""
    if head.level is Level.SOFT and (why := options.overrides.get(head.name)):
        return ViolationStatus.OVERRIDDEN, f"overridden: {why}"
    return ViolationStatus.REFUSED, ""


def _code(finding: Finding, standing: ViolationStatus) -> str:
    if finding.effect is RuleEffect.WARN:
        return "KP321"
    if finding.effect is RuleEffect.ADVISE:
        return "KP333"
    if finding.is_failure and standing is ViolationStatus.REFUSED:
        return "KP326"
    return {
        ViolationStatus.REFUSED: "KP320",
        ViolationStatus.OVERRIDDEN: "KP323",
        ViolationStatus.WAIVED: "KP324",
        ViolationStatus.REPORTED: "KP322",
    }[standing]


def _diagnostic(
    question: Question, head: PolicyHeader, finding: Finding, came_of: tuple[ViolationStatus, str]
) -> Diagnostic:
    """Return a finding at the line of the policy, with the line of the resource beside it."""
    standing, reason = came_of
    code = _code(finding, standing)
    place = finding.subject or head.declared_at
    at = question.declared_at
    what = f"{question.operation.replace('_', ' ')} of {question.identity}"
    detail = f"{what}: {finding.message.strip()}\n\nPolicy {head.name}"
    detail += f" at {place}." if place else "."
    if reason:
        detail += f" It was {reason}"
    return Diagnostic(
        code,
        Severity.ERROR if standing is ViolationStatus.REFUSED else Severity.WARNING,
        SUMMARIES[code],
        detail,
        _hint(finding.hint, head, standing),
        question.address,
        at or place,
        related=((POLICY_LABEL, place),) if at and place else (),
        values=finding.values,
    )


POLICY_LABEL = "the policy"
"""What the place of a policy is called beside the place of the resource."""


def _hint(fix: str, head: PolicyHeader, standing: ViolationStatus) -> str:
    """Return the fix that a policy names, and the option that overrides a soft one."""
    if standing is not ViolationStatus.REFUSED or head.level is not Level.SOFT:
        return fix
    change = fix.rstrip(".") or "Change it"
    return f"{change}, or say why it must be: -override '{head.name}=REASON'"


def _redact_violation(violation: Violation, change: Change) -> Violation:
    """Remove secrets of the change from a policy's message."""
    if not change.sensitive:
        return violation

    def clean(text: str) -> str:
        return redact_refusal(Refusal("POLICY_VIOLATION", 44, text), change).message

    found = violation.diagnostic
    return replace(
        violation,
        message=clean(violation.message),
        diagnostic=replace(found, detail=clean(found.detail), hint=clean(found.hint)),
    )
