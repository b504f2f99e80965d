"""What policies said of a plan."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date

from kplan.model.policy import Operation, PolicyHeader, RuleEffect, Violation, ViolationStatus
from kplan.model.table import RunStatus
from kplan.report.data import Case, Data, Finding, Gauge, Level
from kplan.report.document import (
    Block,
    Document,
    Mark,
    Paragraph,
    Row,
    Rows,
    Span,
    Tone,
    Totals,
    faint_span,
    line,
    strong_span,
)
from kplan.report.documents.diagnostic import diagnostic_finding

_TONES: Mapping[ViolationStatus, Tone] = {
    ViolationStatus.REFUSED: Tone.DANGER,
    ViolationStatus.OVERRIDDEN: Tone.WARNING,
    ViolationStatus.WAIVED: Tone.WARNING,
    ViolationStatus.REPORTED: Tone.FAINT,
}
_STATUS_ORDER = list(_TONES)


def policy_blocks(violations: Sequence[Violation]) -> Iterator[Block]:
    """List the violations, refusals first."""
    if violations:
        rows = tuple(
            row for each in sorted(violations, key=_sort_key) for row in _violation_rows(each)
        )
        yield Rows(rows, title=line("Policies:"))


def _sort_key(each: Violation) -> tuple[int, str, str, str]:
    return _STATUS_ORDER.index(each.standing), each.identity, each.policy, each.message


def _violation_rows(each: Violation) -> Iterator[Row]:
    mark = Mark.ALARM if each.standing is ViolationStatus.REFUSED else Mark.NONE
    operation = each.operation.replace("_", " ")
    said = f"  {operation} of {each.identity} by {each.origin} {each.policy}"
    if each.origin == each.policy:
        said = f"  {operation} of {each.identity} by the {each.policy}"
    yield Row(line(Span(effect_word(each), _TONES[each.standing]), said), mark)
    for text in each.message.strip().splitlines():
        yield Row(line(text), column=6)
    if each.reason:
        yield Row(line(faint_span(each.reason)), column=6)


def effect_word(each: Violation) -> str:
    """Say in a word the result of it."""
    if each.standing is not ViolationStatus.REPORTED:
        return each.standing.value
    return {
        RuleEffect.DENY: "would refuse",
        RuleEffect.WARN: "warns",
        RuleEffect.ADVISE: "advises",
    }[each.effect]


def policies_data(violations: Sequence[Violation]) -> list[Data]:
    """Write the violations, each with the places of policy and resource."""
    return [_violation_data(each) for each in sorted(violations, key=_sort_key)]


def _violation_data(each: Violation) -> Data:
    found = each.diagnostic
    places = dict(found.related)
    policy = places.get("the policy") or (None if places else found.subject)
    return {
        "policy": each.policy,
        "origin": each.origin.value,
        "operation": each.operation.value,
        "kind": each.kind,
        "identity": str(each.identity),
        "address": str(found.address) if found.address else None,
        "effect": each.effect.value,
        "level": each.level.value,
        "standing": each.standing.value,
        "code": found.code,
        "message": each.message.strip(),
        "fix": found.hint,
        "reason": each.reason,
        "policy_at": str(policy) if policy else None,
        "resource_at": str(found.subject) if found.subject and places else None,
    }


def policy_list_document(heads: Sequence[PolicyHeader], today: date) -> Document:
    """List policies in the order in which they are asked."""
    rows = [row for head in heads for row in _policy_rows(head, today)]
    if not rows:
        return Document((Paragraph("There are no policies."),))
    return Document((Rows(tuple(rows)),))


def _policy_rows(head: PolicyHeader, today: date) -> Iterator[Row]:
    kinds = ", ".join(sorted(head.kinds)) or "every kind"
    operations = ", ".join(each.value for each in Operation if each in head.operations)
    order = f", order {head.order}" if head.order else ""
    place = f"  {head.declared_at}" if head.declared_at else ""
    yield Row(
        line(
            strong_span(head.name),
            f"  {head.level.value}{order}  {operations} of {kinds}",
            faint_span(place),
        )
    )
    if head.description:
        yield Row(line(head.description), column=6)
    for waiver in head.waivers:
        names = ", ".join(waiver.applies_to)
        ended = waiver.is_expired(today)
        until = waiver.until.isoformat()
        said = f"waived for {names} until {until} by {waiver.owner}: {waiver.reason}"
        found = Span(f"{said} (ended)", Tone.WARNING) if ended else faint_span(said)
        yield Row(line(found), column=6)


def policy_list_data(heads: Sequence[PolicyHeader], today: date) -> Data:
    """Write policies as a JSON list."""
    return [
        {
            "name": head.name,
            "description": head.description,
            "level": head.level.value,
            "order": head.order,
            "on": [each.value for each in Operation if each in head.operations],
            "kinds": sorted(head.kinds),
            "source": head.source,
            "at": str(head.declared_at) if head.declared_at else None,
            "waivers": [
                {
                    "owner": each.owner,
                    "reason": each.reason,
                    "expires": each.until.isoformat(),
                    "expired": each.is_expired(today),
                    "applies_to": list(each.applies_to),
                }
                for each in head.waivers
            ],
        }
        for head in heads
    ]


def policies_document(violations: Sequence[Violation]) -> Document:
    """Show the violations by themselves."""
    title = "Policies"
    if not violations:
        return Document((Paragraph("No policy has anything to say."),), title)
    counts = Counter(each.standing for each in violations)
    sums = ", ".join(f"{counts[each]} {each.value}" for each in _STATUS_ORDER if counts[each])
    return Document((*policy_blocks(violations), Totals((line(f"{sums}."),))), title)


def policy_cases(violations: Sequence[Violation]) -> tuple[Case, ...]:
    """Make a case of each violation; only refusals that hold are failures."""
    found = [
        Case(
            f"{each.operation.replace('_', ' ')} of {each.identity} by {each.policy}",
            "policies",
            RunStatus.FAIL if each.standing is ViolationStatus.REFUSED else RunStatus.PASS,
            f"{effect_word(each)}: {each.message.strip()}",
            (_violation_finding(each),),
            details=Document((Rows(tuple(_violation_rows(each))),)),
        )
        for each in sorted(violations, key=_sort_key)
    ]
    return tuple(found) or (Case("No policy has anything to say", "policies", RunStatus.PASS),)


def _violation_finding(each: Violation) -> Finding:
    found = diagnostic_finding(each.diagnostic, each.policy)
    level = Level.ERROR if each.standing is ViolationStatus.REFUSED else Level.WARNING
    return replace(
        found,
        level=Level.NOTE if each.standing is ViolationStatus.REPORTED else level,
    )


def policy_gauges(violations: Sequence[Violation], cluster_id: str) -> Iterator[Gauge]:
    """Count violations by result; none is a 0 and not an absence."""
    counts = Counter(each.standing for each in violations)
    for each in _STATUS_ORDER:
        labels = {"cluster": cluster_id, "standing": each.value}
        yield Gauge("kplan_plan_policy_verdicts", "Findings of policies.", counts[each], labels)
