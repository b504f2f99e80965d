"""The last line of an apply: what was added, changed and destroyed, and what was not planned."""

from collections.abc import Sequence

from kplan.model.diagnostic import CONNECTION_CODES
from kplan.model.outcome import Outcome
from kplan.model.plan import Action, Plan, Reason
from kplan.model.resource import connection_name


def unplanned_names(plan: Plan) -> tuple[str, ...]:
    """Name clusters that cannot be had, and other kinds that could not be read.

    That controllers do not show every kind is no news.
    """
    found = [each.detail for each in plan.diagnostics if each.code in CONNECTION_CODES]
    lost = {each.partition(": ")[0] for each in found}
    places = {what: what.partition(" on ")[2] or connection_name("") for what in plan.unread}
    if any(each.code == "KP245" for each in plan.diagnostics):
        places = {what: at for what, at in places.items() if at in lost}
    names = (at if at in lost else what for what, at in places.items())
    return tuple(dict.fromkeys(sorted(names)))


def complete_text(done: Sequence[Outcome], imported: int) -> str:
    """Say it in Terraform's sentence, which tools look for."""
    adopted = sum(each.is_adopted for each in done)
    actions = [each.change.action for each in done if not each.is_adopted]
    replaced = actions.count(Action.REPLACE)
    destroyed = actions.count(Action.DELETE) + replaced
    if is_destroy(done):
        return f"Destroy complete! Resources: {destroyed} destroyed."
    added, changed = actions.count(Action.CREATE) + replaced, actions.count(Action.UPDATE)
    taken = f"{imported} imported, " if imported else ""
    detail = f"{taken}{added} added, {changed} changed, {destroyed} destroyed."
    said = f"Apply complete! Resources: {detail}"
    return f"{said} Adopted: {adopted} that existed already." if adopted else said


def is_destroy(outcomes: Sequence[Outcome]) -> bool:
    """Whether all that was owned was to go."""
    return bool(outcomes) and all(each.change.reason is Reason.DESTROY for each in outcomes)
