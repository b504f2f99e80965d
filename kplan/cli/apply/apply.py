"""`kplan apply`."""

from pathlib import Path
from typing import Annotated

import typer

from kplan.cli.move_options import MoveOptions
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
class ApplyArguments(MoveOptions):
    """What to carry out, and who approves it."""

    planfile: Annotated[
        str, typer.Argument(metavar="PLANFILE", help="A plan saved by `kplan plan -out`.")
    ] = ""
    auto_approve: AutoApprove = False
    destroy: Annotated[bool, typer.Option("--destroy", help="The same as `kplan destroy`.")] = False
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Finish an interrupted apply, without asking again."),
    ] = False
    on_stale: Annotated[
        str,
        typer.Option(
            "--on-stale",
            metavar="WAY",
            help="When something moved since the plan was saved: abort; skip what does not fit "
            "any more and do the rest; or replan, and ask if the actions are others.",
        ),
    ] = "abort"
    expect_checksum: Annotated[
        str | None,
        typer.Option(
            "--expect-checksum",
            metavar="SUM",
            help="Plan, and carry the plan out, without asking, only if it has this checksum.",
        ),
    ] = None
    wait: Annotated[
        bool,
        typer.Option("--wait/--no-wait", help="Wait until every broker serves what was applied."),
    ] = True
    deadline: Deadline = ""


@verb(
    ("kplan apply", "Plan, ask for a yes, and carry the plan out."),
    ("kplan apply release.kplan", "Carry out exactly the plan that was saved and reviewed."),
    ("kplan apply -auto-approve -input=false", "In a pipeline where the change was reviewed."),
    ("kplan apply -expect-checksum=5c2e-91ab-07fe-1d3c", "Exactly the plan of that review."),
    ("kplan apply -on-stale=skip release.kplan", "All of it that nobody changed meanwhile."),
    ("kplan apply -throttle=20M", "Move replicas, if any, at 20 MB a second and broker."),
    ("kplan apply -replace=kafka_topic.orders", "That topic anew and empty; asks for its name."),
    ("kplan apply -deadline=10m", "Send nothing after ten minutes; the rest is resumed."),
    ("kplan apply -resume", "Do the rest of an apply that was interrupted or killed."),
)
def apply(
    session: Session,
    what: ApplyArguments,
    inputs: InputOptions,
    states: StateOptions,
    planning: PlanningOptions,
    answer: ReportOptions,
) -> int:
    """Carry out a plan.

    One refused item never stops its neighbours: what became of each is told at the end, and the
    state records it. The first Ctrl-C lets what is in flight settle, the second one stops at once.
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
    return run_apply(session, wish)
