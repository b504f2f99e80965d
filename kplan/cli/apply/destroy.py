"""`kplan destroy`."""

from kplan.cli.options import (
    AutoApprove,
    Deadline,
    InputOptions,
    PlanningOptions,
    ReportOptions,
    StateOptions,
)
from kplan.cli.terminal import Session
from kplan.cli.verb import verb
from kplan.model.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class DestroyArguments:
    """How the deletion is approved, and its deadline."""

    auto_approve: AutoApprove = False
    deadline: Deadline = ""


@verb(
    ("kplan destroy", "Show the plan, ask for approval, and delete."),
    ("kplan destroy -target=kafka_topic.customers", "Delete one resource."),
)
def destroy(
    session: Session,
    how: DestroyArguments,
    inputs: InputOptions,
    states: StateOptions,
    planning: PlanningOptions,
    answer: ReportOptions,
) -> int:
    """Delete every object that the state owns.

    Objects that the state does not own, and those with prevent_destroy, are never deleted.
    """
    from kplan.cli.apply.execution import (  # noqa: PLC0415 - help needs none of these
        ApplyOptions,
        run_apply,
    )

    options = ApplyOptions(
        inputs,
        states,
        planning,
        answer,
        auto_approve=how.auto_approve,
        is_destroy=True,
        deadline=how.deadline,
    )
    return run_apply(session, options)
