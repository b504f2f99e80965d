"""What becomes of the output values."""

from kplan.model.plan import Action, OutputChange
from kplan.model.state import OutputValue
from kplan.plan.request import PlanRequest


def output_changes(request: PlanRequest) -> tuple[OutputChange, ...]:
    """Compare declared outputs with those of the state, in order of name.

    A sensitive value is not kept in the state; it counts as unchanged while it stays sensitive.
    """
    before = request.state.outputs
    after = {} if request.is_destroy else request.outputs
    return tuple(
        _change(name, before.get(name), after.get(name))
        for name in sorted(before.keys() | after.keys())
    )


def _change(name: str, before: OutputValue | None, after: OutputValue | None) -> OutputChange:
    hidden = any(each is not None and each.is_sensitive for each in (before, after))
    if after is None:
        action = Action.DELETE
    elif before is None:
        action = Action.CREATE
    elif before.is_sensitive and after.is_sensitive:
        action = Action.NO_OP
    else:
        action = Action.NO_OP if before.value == after.value else Action.UPDATE
    return OutputChange(
        name, action, None if hidden or before is None else before.value,
        None if hidden or after is None else after.value, hidden,
    )  # fmt: skip
