"""`kplan plan`."""

from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Annotated

import typer

from kplan.cli import exits
from kplan.cli.options import InputOptions, PlanningOptions, ResultOptions, StateOptions, span_s
from kplan.cli.problems import timestamp
from kplan.cli.progress import progress
from kplan.cli.reporting import check_writable, reporting
from kplan.cli.session import Session
from kplan.cli.verb import verb
from kplan.model.errors import UsageError

_TTL = "24h"


@dataclass(frozen=True, slots=True)
class WhatOptions:
    """What to plan, and where to keep the plan."""

    out: Annotated[
        str, typer.Option("--out", metavar="FILE", help="Save the plan, for apply to carry out.")
    ] = ""
    plan_ttl: Annotated[
        str,
        typer.Option(
            "--plan-ttl", metavar="SPAN", help="How long a saved plan may be applied (24h)."
        ),
    ] = ""
    destroy: Annotated[
        bool, typer.Option("--destroy", help="Plan to delete everything that kplan owns here.")
    ] = False

    def time_to_live(self) -> timedelta:
        """Tell how long the plan may be applied; raises UsageError for what is no such time."""
        if self.plan_ttl and not self.out:
            raise UsageError(
                "-plan-ttl tells how long a saved plan may be applied, and this one is not saved.",
                "Save it with -out=FILE, or leave -plan-ttl away.",
            )
        found = timedelta(seconds=span_s("-plan-ttl", self.plan_ttl or _TTL))
        if not found:
            raise UsageError("-plan-ttl must be greater than 0.")
        return found


@verb(
    ("kplan plan", "What apply would change."),
    ("kplan plan -out=release.kplan", "Keep the plan; `kplan apply release.kplan` does just that."),
    ("kplan plan -max-deletes=0", "Fail where something would be deleted."),
    ("kplan plan -detailed-exitcode", "For scripts: 0 nothing to do, 2 changes, 1 error."),
    ("kplan plan -report=md=plan.md -report=html=plan.html", "A comment and a page as well."),
    ("kplan plan -json", "One message a line, as Terraform's plan -json writes them."),
    ("kplan plan -target='kafka_topic.events[\"orders\"]'", "One resource only."),
    ("kplan plan -var environment=test -var-file=eu.tfvars", "With values for input variables."),
)
def plan(
    session: Session,
    what: WhatOptions,
    inputs: InputOptions,
    states: StateOptions,
    planning: PlanningOptions,
    answer: ResultOptions,
) -> int:
    """Show what apply would change.

    Configuration, state and cluster are compared, and the brokers are asked whether they would
    carry the changes out. Nothing is changed anywhere.
    """
    from kplan.cli import showing, wiring  # noqa: PLC0415 - help needs none of these
    from kplan.report.reports import plan_report  # noqa: PLC0415
    from kplan.workflow.plan import plan as planned  # noqa: PLC0415

    ttl = what.time_to_live()
    if what.out:
        check_writable(f"-out={what.out}", Path(what.out))
    options = wiring.plan_options(planning, is_destroy=what.destroy)
    reports = reporting(session, "plan", answer.report, is_json=answer.json)
    project = wiring.project(session, states, inputs)
    with reports.of_failures(), progress(session.terminal) as shown:
        ports = wiring.ports(session, "plan", states, shown)
        made = planned(project, options, ports)
    if answer.json:
        showing.stream_plan(session, made, whole=True)
    else:
        showing.show_plan(session, made, planning, is_told=answer.is_silent)
    if what.out and not made.plan.has_errors:
        showing.save(session, made, Path(what.out), ports, ttl)
    elif not answer.json:
        showing.advise_to_save(session, made)
    code = exits.of_plan(made.plan, detailed=answer.detailed_exitcode)
    return reports.write(plan_report(made.plan, made.configuration.sources, timestamp()), code)
