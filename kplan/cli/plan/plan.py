"""`kplan plan`."""

from datetime import timedelta
from pathlib import Path
from typing import Annotated

import typer

from kplan.cli import exit_code
from kplan.cli.diagnostics import timestamp
from kplan.cli.options import InputOptions, PlanningOptions, ReportOptions, StateOptions, duration_s
from kplan.cli.progress import show_progress
from kplan.cli.report.option import check_writable, prepare_reports
from kplan.cli.terminal import Session
from kplan.cli.trust_option import TrustOptions
from kplan.cli.verb import verb
from kplan.model.dataclass import dataclass
from kplan.model.errors import UsageError

_DEFAULT_TTL = "24h"


@dataclass(frozen=True, slots=True)
class SavedPlanOptions(TrustOptions):
    """What to plan, for whom, and where to save it."""

    out: Annotated[
        str,
        typer.Option("--out", metavar="FILE", help="Save the plan to this file, for kplan apply."),
    ] = ""
    plan_ttl: Annotated[
        str,
        typer.Option(
            "--plan-ttl", metavar="SPAN", help="Allow apply of the saved plan for this time (24h)."
        ),
    ] = ""
    destroy: Annotated[
        bool, typer.Option("--destroy", help="Plan to delete every object that the state owns.")
    ] = False
    replay: Annotated[
        str,
        typer.Option(
            "--replay",
            metavar="TABLES",
            help="Compare with the logged requests in these tables of kplan fleet, or of the "
            "fleet.hcl in this folder.",
        ),
    ] = ""

    def time_to_live(self) -> timedelta:
        """Return how long the plan may be applied. Raises UsageError."""
        if self.plan_ttl and not self.out:
            raise UsageError(
                "-plan-ttl limits how long a saved plan can be applied, and this plan is not "
                "saved.",
                "Save it with -out=FILE, or remove -plan-ttl.",
            )
        found = timedelta(seconds=duration_s("-plan-ttl", self.plan_ttl or _DEFAULT_TTL))
        if not found:
            raise UsageError("-plan-ttl must be greater than 0.")
        return found


@verb(
    ("kplan plan", "Show the changes."),
    (
        "kplan plan -out=release.kplan",
        "Save the plan; `kplan apply release.kplan` applies exactly it.",
    ),
    ("kplan plan -max-deletes=0", "Fail if the plan deletes anything."),
    ("kplan plan -detailed-exitcode", "For scripts: 0 no changes, 2 changes, 1 error."),
    (
        "kplan plan -report=md=plan.md -report=html=plan.html",
        "Also write a pull request comment and a page.",
    ),
    (
        "kplan plan -replay=../fleet/tables",
        "Also show which logged requests the plan would have denied.",
    ),
    ("kplan plan -json", "One message a line, as terraform plan -json writes them."),
    ("kplan plan -target='kafka_topic.events[\"orders\"]'", "Plan one resource."),
    (
        "kplan plan -untrusted -trusted-ref=../base",
        "Plan a pull request of somebody who is not trusted yet.",
    ),
    ("kplan plan -var environment=test -var-file=eu.tfvars", "Set input variables."),
)
def plan(
    session: Session,
    what: SavedPlanOptions,
    inputs: InputOptions,
    states: StateOptions,
    planning: PlanningOptions,
    answer: ReportOptions,
) -> int:
    """Show the changes that apply would make.

    kplan compares the configuration, the state and the cluster, and validates the changes on the
    brokers. Nothing is changed.
    """
    from kplan.cli import display, wiring  # noqa: PLC0415 - help needs none of these
    from kplan.report.subject import plan_report  # noqa: PLC0415
    from kplan.workflow.plan.plan import make_plan  # noqa: PLC0415

    ttl = what.time_to_live()
    if what.out:
        check_writable(f"-out={what.out}", Path(what.out))
    options = wiring.build_plan_options(planning, is_destroy=what.destroy)
    reports = prepare_reports(session, "plan", answer.report, is_json=answer.json)
    project = wiring.build_project(session, states, inputs, what)
    with reports.report_errors(), show_progress(session.terminal) as progress:
        ports = wiring.build_ports(session, "plan", states, progress)
        if what.replay:
            ports = wiring.with_replay(ports, what.replay, progress, project.inputs)
        made = make_plan(project, options, ports)
    if answer.json:
        display.stream_plan(session, made, whole=True)
    else:
        display.show_plan(session, made, planning, is_reported=answer.has_report_on_stdout)
    if what.out and not made.plan.has_errors:
        display.warn_of_lost_state(session, project, ports, is_stream=answer.json)
        display.save_plan(session, made, Path(what.out), ports, ttl)
    elif not answer.json:
        display.show_save_hint(session, made)
    code = exit_code.plan_exit(made.plan, detailed=answer.detailed_exitcode)
    return reports.write(plan_report(made.plan, made.configuration.sources, timestamp()), code)
