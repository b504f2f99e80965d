"""How many changes there are, by kind and by risk."""

from collections.abc import Callable, Iterable, Sequence

from kplan.model.plan import Action, Change, Plan, Risk
from kplan.report.data import Counts
from kplan.report.document import Span, Tally, Tone

_COLUMNS = (
    (Action.CREATE, Span("create", Tone.ADD)),
    (Action.UPDATE, Span("update", Tone.CHANGE)),
    (Action.REPLACE, Span("replace", Tone.DANGER)),
    (Action.DELETE, Span("destroy", Tone.REMOVE)),
    (Action.FORGET, Span("forget", Tone.FAINT)),
)
_RISKS = (Risk.DANGEROUS, Risk.REVIEW, Risk.UNKNOWN, Risk.SAFE)


def plan_counts_text(plan: Plan) -> str:
    """Write the counts of a plan in the exact words that tools match."""
    counts = change_counts(plan.allowed_changes)
    imported = f"{plan.import_count} to import, " if plan.import_count else ""
    return (
        f"{imported}{counts.create} to add, {counts.update} to change, {counts.delete} to destroy"
    )


def change_counts(changes: Iterable[Change]) -> Counts:
    """Count what the changes add, change and remove."""
    actions = [each.action for each in changes]
    replaced = actions.count(Action.REPLACE)
    return Counts(
        actions.count(Action.CREATE) + replaced,
        actions.count(Action.UPDATE),
        actions.count(Action.DELETE) + replaced,
    )


def plan_tallies(changes: Iterable[Change]) -> tuple[Tally, ...]:
    """Count the changes; empty columns and bars are left out."""
    touched = [each for each in changes if each.action is not Action.NO_OP]
    if not touched:
        return ()
    kinds = sorted({each.kind for each in touched})
    risks = [each.value for each in _RISKS if any(one.risk is each for one in touched)]
    return (
        _tally("kind", touched, kinds, lambda each: each.kind),
        _tally("risk", touched, risks, lambda each: each.risk.value),
    )


def drift_tallies(changes: Sequence[Change]) -> tuple[Tally, ...]:
    """Count the drifted objects by kind. Drift has no risk: it has happened."""
    columns = (Span("changed", Tone.CHANGE), Span("gone", Tone.REMOVE))
    bars = []
    for kind in sorted({each.kind for each in changes}):
        gone = [each.action is Action.DELETE for each in changes if each.kind == kind]
        bars.append((kind, (gone.count(False), gone.count(True))))
    return (Tally("kind", columns, tuple(bars), "Drift by kind"),) if bars else ()


def _tally(
    noun: str, changes: Sequence[Change], names: Sequence[str], name_of: Callable[[Change], str]
) -> Tally:
    used = [each for each in _COLUMNS if any(one.action is each[0] for one in changes)]
    bars = tuple(
        (
            name,
            tuple(
                sum(1 for each in changes if each.action is action and name_of(each) == name)
                for action, _ in used
            ),
        )
        for name in names
    )
    return Tally(noun, tuple(column for _, column in used), bars)
