"""What policies said of a plan."""

from collections.abc import Iterator, Mapping, Sequence

from kplan.model.policy import Effect, Standing, Violation
from kplan.report.data import Data
from kplan.report.document import Block, Mark, Row, Rows, Span, Tone, faint, line

_TONES: Mapping[Standing, Tone] = {
    Standing.REFUSED: Tone.DANGER,
    Standing.OVERRIDDEN: Tone.WARNING,
    Standing.WAIVED: Tone.WARNING,
    Standing.TOLD: Tone.FAINT,
}
_ORDER = list(_TONES)


def policies(violations: Sequence[Violation]) -> Iterator[Block]:
    """List what they said, refusals first."""
    if violations:
        rows = tuple(row for each in sorted(violations, key=_rank) for row in _rows(each))
        yield Rows(rows, title=line("Policies:"))


def _rank(each: Violation) -> tuple[int, str, str, str]:
    return _ORDER.index(each.standing), each.identity, each.policy, each.message


def _rows(each: Violation) -> Iterator[Row]:
    mark = Mark.ALARM if each.standing is Standing.REFUSED else Mark.NONE
    operation = each.operation.replace("_", " ")
    said = f"  {operation} of {each.identity} by {each.origin} {each.policy}"
    if each.origin == each.policy:
        said = f"  {operation} of {each.identity} by the {each.policy}"
    yield Row(line(Span(word(each), _TONES[each.standing]), said), mark)
    for text in each.message.strip().splitlines():
        yield Row(line(text), column=6)
    if each.reason:
        yield Row(line(faint(each.reason)), column=6)


def word(each: Violation) -> str:
    """Say in a word what came of it."""
    if each.standing is not Standing.TOLD:
        return each.standing.value
    return {Effect.DENY: "would refuse", Effect.WARN: "warns", Effect.ADVISE: "advises"}[
        each.effect
    ]


def policies_data(violations: Sequence[Violation]) -> list[Data]:
    """Write what they said, each with the places of policy and resource."""
    return [_data(each) for each in sorted(violations, key=_rank)]


def _data(each: Violation) -> Data:
    told = each.diagnostic
    places = dict(told.related)
    policy = places.get("the policy") or (None if places else told.subject)
    return {
        "policy": each.policy,
        "origin": each.origin.value,
        "operation": each.operation.value,
        "kind": each.kind,
        "identity": str(each.identity),
        "address": str(told.address) if told.address else None,
        "effect": each.effect.value,
        "level": each.level.value,
        "standing": each.standing.value,
        "code": told.code,
        "message": each.message.strip(),
        "fix": told.hint,
        "reason": each.reason,
        "policy_at": str(policy) if policy else None,
        "resource_at": str(told.subject) if told.subject and places else None,
    }
