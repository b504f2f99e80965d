"""`kplan destroy`."""

from dataclasses import dataclass

from kplan.cli.options import (
    AutoApprove,
    Deadline,
    InputOptions,
    PlanningOptions,
    ResultOptions,
    StateOptions,
)
from kplan.cli.session import Session
from kplan.cli.verb import verb


@dataclass(frozen=True, slots=True)
class HowOptions:
    """Who approves it, and how long it may take."""

    auto_approve: AutoApprove = False
    deadline: Deadline = ""


@verb(
    ("kplan destroy", "Show what would be deleted, ask for a yes, and delete it."),
    ("kplan destroy -target=kafka_topic.customers", "One resource only."),
)
def destroy(
    session: Session,
    how: HowOptions,
    inputs: InputOptions,
    states: StateOptions,
    planning: PlanningOptions,
    answer: ResultOptions,
) -> int:
    """Delete everything that kplan owns here.

    Only what the state of this folder owns is deleted, and nothing that is protected by
    prevent_destroy.
    """
    from kplan.cli.applying import carried_out  # noqa: PLC0415 - help needs none of these
    from kplan.cli.wish import Wish  # noqa: PLC0415

    wish = Wish(
        inputs,
        states,
        planning,
        answer,
        auto_approve=how.auto_approve,
        is_destroy=True,
        deadline=how.deadline,
    )
    return carried_out(session, wish)
