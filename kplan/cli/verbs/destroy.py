"""`kplan destroy`."""

from kplan.cli.options import (
    AutoApprove,
    InputOptions,
    PlanningOptions,
    ResultOptions,
    StateOptions,
)
from kplan.cli.session import Session
from kplan.cli.verb import verb


@verb(
    ("kplan destroy", "Show what would be deleted, ask for a yes, and delete it."),
    ("kplan destroy -target=kafka_topic.customers", "One resource only."),
)
def destroy(
    session: Session,
    inputs: InputOptions,
    states: StateOptions,
    planning: PlanningOptions,
    answer: ResultOptions,
    *,
    auto_approve: AutoApprove = False,
) -> int:
    """Delete everything that kplan owns here.

    Only what the state of this folder owns is deleted, and nothing that is protected by
    prevent_destroy.
    """
    from kplan.cli.applying import carried_out  # noqa: PLC0415 - help needs none of these
    from kplan.cli.wish import Wish  # noqa: PLC0415

    wish = Wish(inputs, states, planning, answer, auto_approve=auto_approve, is_destroy=True)
    return carried_out(session, wish)
