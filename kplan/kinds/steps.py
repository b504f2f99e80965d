"""The steps of kinds whose objects are set whole: an update is the same request as a create."""

from kplan.model.plan import Action, Change, Step


def settings_steps(
    change: Change, set_: Step, swap: tuple[Step, Step], remove: Step
) -> tuple[Step, ...]:
    """List the steps of a change; a replacement is `swap`, first out and then in."""
    match change.action:
        case Action.CREATE | Action.UPDATE:
            return (set_,)
        case Action.REPLACE:
            return swap
        case Action.DELETE:
            return (remove,)
        case _:
            return ()
