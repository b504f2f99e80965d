"""`kplan destroy`."""

from kplan.cli.options import (
    AutoApprove,
    Deadline,
    InputOptions,
    PlanningOptions,
    ReportOptions,
    StateOptions,
)
from kplan.cli.session import Session
from kplan.cli.verb import verb
from kplan.model.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class DestroyArguments:
    """Who approves it, and how long it may take."""

    auto_approve: AutoApprove = False
    deadline: Deadline = ""


@verb(
    ("kplan destroy", "Show what would be deleted, ask for a yes, and delete it."),
    ("kplan destroy -target=kafka_topic.customers", "One resource only."),
)
def destroy(
    session: Session,
    how: DestroyArguments,
    inputs: InputOptions,
    states: StateOptions,
    planning: PlanningOptions,
    answer: ReportOptions,
) -> int:
    """Delete everything that kplan owns here.

    Only what the state of this folder owns is deleted, and nothing that is protected by
    prevent_destroy.
    """
    from kplan.cli.apply.execution import (  # noqa: PLC0415 - help needs none of these
        ApplyOptions,
        run_apply,
    )

    wish = ApplyOptions(
        inputs,
        states,
        planning,
        answer,
        auto_approve=how.auto_approve,
        is_destroy=True,
        deadline=how.deadline,
    )
    return run_apply(session, wish)
