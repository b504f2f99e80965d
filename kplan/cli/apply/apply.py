"""`kplan apply`."""

from pathlib import Path
from typing import Annotated

import typer

from kplan.cli.moves.execution import MoveOptions
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
class ApplyArguments(MoveOptions):
    """What to apply, and how it is approved."""

    planfile: Annotated[
        str, typer.Argument(metavar="PLANFILE", help="A plan saved with kplan plan -out.")
    ] = ""
    auto_approve: AutoApprove = False
    destroy: Annotated[bool, typer.Option("--destroy", help="Same as kplan destroy.")] = False
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Finish an interrupted apply without asking again."),
    ] = False
    on_stale: Annotated[
        str,
        typer.Option(
            "--on-stale",
            metavar="MODE",
            help="If objects changed since the plan was saved: abort, skip those changes, or "
            "replan and ask if the actions differ.",
        ),
    ] = "abort"
    expect_checksum: Annotated[
        str | None,
        typer.Option(
            "--expect-checksum",
            metavar="SUM",
            help="Plan, and apply the plan without asking only if it has this checksum.",
        ),
    ] = None
    wait: Annotated[
        bool,
        typer.Option(
            "--wait/--no-wait", help="Wait until every broker serves the applied changes."
        ),
    ] = True
    deadline: Deadline = ""


@verb(
    ("kplan apply", "Plan, ask for approval, and apply."),
    ("kplan apply release.kplan", "Apply exactly the saved plan."),
    ("kplan apply -auto-approve -input=false", "Apply in a pipeline after a review."),
    (
        "kplan apply -expect-checksum=5c2e-91ab-07fe-1d3c",
        "Apply only the plan with the reviewed checksum.",
    ),
    (
        "kplan apply -on-stale=skip release.kplan",
        "Apply a saved plan without objects that changed since.",
    ),
    ("kplan apply -throttle=20M", "Copy replicas at no more than 20 MB/s per broker."),
    ("kplan apply -replace=kafka_topic.orders", "Delete and create a topic; asks for its name."),
    ("kplan apply -deadline=10m", "Send no requests after ten minutes."),
    ("kplan apply -resume", "Finish an apply that was interrupted or killed."),
)
def apply(
    session: Session,
    what: ApplyArguments,
    inputs: InputOptions,
    states: StateOptions,
    planning: PlanningOptions,
    answer: ReportOptions,
) -> int:
    """Make the planned changes to the cluster.

    A refused change does not stop the others: kplan shows the outcome of each one and records it in
    the state. The first Ctrl-C finishes the requests in flight, the second one stops at once.
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
        auto_approve=what.auto_approve,
        is_destroy=what.destroy,
        is_resume=what.resume,
        plan_file=Path(what.planfile) if what.planfile else None,
        on_stale=what.on_stale,
        expected_checksum=what.expect_checksum,
        waits=what.wait,
        move_limits=what.move_limits(),
        deadline=what.deadline,
    )
    return run_apply(session, options)
