"""Thresholds of a plan: how many changes may be dangerous, and how much may change at once."""

from collections.abc import Iterator

from kplan.model.codes import SUMMARIES
from kplan.model.diagnostic import Diagnostic, Severity
from kplan.model.plan import Action, Plan, Risk

_MAX_NAMES = 5


def check_thresholds(
    plan: Plan, max_dangerous: int | None, max_change_pct: int | None
) -> Iterator[Diagnostic]:
    """Refuse a plan above a threshold; None is no threshold.

    The part that changes is that of what is owned: changed, replaced or deleted, not created.
    """
    dangerous = [each for each in plan.changes if each.risk is Risk.DANGEROUS]
    if max_dangerous is not None and len(dangerous) > max_dangerous:
        names = ", ".join(str(each.address) for each in dangerous[:_MAX_NAMES])
        what = "1 change is" if len(dangerous) == 1 else f"{len(dangerous)} changes are"
        yield _refusal(
            "KP451",
            f"{what} dangerous, and at most {max_dangerous} may be: {names}.",
            "Review them; a higher -max-dangerous allows the plan.",
        )
    existing = [each for each in plan.changes if each.action is not Action.CREATE]
    touched = [each for each in existing if each.touches_cluster]
    if max_change_pct is not None and len(touched) * 100 > max_change_pct * len(existing):
        yield _refusal(
            "KP452",
            f"{len(touched)} of {len(existing)} objects would be changed, replaced or deleted; at "
            f"most {max_change_pct} % may be.",
            "Look whether this is meant; a higher -max-change-pct lets the plan through.",
        )


def _refusal(code: str, detail: str, hint: str) -> Diagnostic:
    return Diagnostic(code, Severity.ERROR, SUMMARIES[code], detail, hint)
