"""`kplan show`."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kplan.cli.environment import docs_url, signature_check
from kplan.cli.exit_code import ExitCode
from kplan.cli.options import Group, InputOptions, Json, StateOptions
from kplan.cli.terminal import Session
from kplan.cli.verb import verb
from kplan.model.dataclass import dataclass
from kplan.model.errors import UsageError

if TYPE_CHECKING:
    from kplan.model.plan import Plan
    from kplan.model.state import State
    from kplan.report.format import Format


@dataclass(frozen=True, slots=True)
class FormatOptions:
    """The format of the output."""

    group: Group = None
    json: Json = False
    format: Annotated[
        str,
        typer.Option(
            "--format",
            metavar="FORMAT",
            help="Write a saved plan as markdown (md), html, junit, sarif, gitlab, json or ndjson.",
        ),
    ] = "text"
    only: Annotated[
        str,
        typer.Option(
            "--only",
            metavar="PART",
            help="Show one part of a saved plan: permissions gained and lost (access), results "
            "of policies (policies) or the impact of deletes (blast). Not with gitlab.",
        ),
    ] = ""


@verb(
    ("kplan show", "Show the objects in the state."),
    ("kplan show release.kplan", "Show a saved plan."),
    ("kplan show -format=markdown release.kplan", "Write a pull request comment."),
    ("kplan show -format=html release.kplan", "Write a self-contained page."),
    (
        "kplan show -only=access -format=html release.kplan",
        "Write the permissions gained and lost as a page.",
    ),
    ("kplan show -json", "Write the state as terraform show -json does."),
    ("kplan show -json release.kplan", "Write a saved plan as terraform show -json does."),
)
def show(
    session: Session,
    inputs: InputOptions,
    states: StateOptions,
    how: FormatOptions,
    planfile: Annotated[
        str, typer.Argument(metavar="FILE", help="A plan saved with kplan plan -out, or a state.")
    ] = "",
) -> int:
    """Show the state or a saved plan.

    kplan connects to the cluster only if the state is in a topic.
    """
    from kplan.cli import display, wiring  # noqa: PLC0415 - help needs none of these
    from kplan.model.state import State  # noqa: PLC0415
    from kplan.report import views  # noqa: PLC0415
    from kplan.workflow.open_project import read_stored_state  # noqa: PLC0415
    from kplan.workflow.plan.saved import read_saved_plan  # noqa: PLC0415

    state = _read_state_file(planfile) if planfile else None
    _check_options(how, is_plan=bool(planfile) and state is None)
    if planfile and state is None:
        saved = read_saved_plan(Path(planfile), signature_check(session.environ))
        if saved.signer:
            session.terminal.write_stderr(f"The plan is signed by {saved.signer}.")
        plan = saved.plan
        text = (
            views.plan_json(plan, docs_url(session.environ))
            if how.json
            else _format_plan(session, plan, how)
        )
    else:
        if state is None:
            state = read_stored_state(wiring.build_project(session, states, inputs)) or State("")
        text = views.state_json(state) if how.json else display.state_text(session, state)
    session.terminal.write_stdout(text or "The state is empty. No objects are owned.")
    return ExitCode.DONE


def _read_state_file(file: str) -> "State | None":
    """Read a state of kplan, as Terraform's show does; None where the file is something else.

    Raises StateError for a state that cannot be read.
    """
    from kplan.state.codec import decode_state  # noqa: PLC0415 - only this argument needs it

    try:
        data = Path(file).read_bytes()
    except OSError:
        return None
    is_state = data.startswith(b"{") and b'"lineage"' in data
    return decode_state(data) if is_state else None


def _check_options(how: FormatOptions, *, is_plan: bool) -> None:
    for option in ("-format" if how.format != "text" else "", "-only" if how.only else ""):
        if option and how.json:
            raise UsageError(f"-json cannot be combined with {option}.", "Use -format=json.")
        if option and not is_plan:
            message = f"{option} requires a saved plan. The state is shown as text or with -json."
            raise UsageError(message)


def _format_plan(session: Session, plan: "Plan", how: FormatOptions) -> str:
    from kplan.cli import display  # noqa: PLC0415 - as above
    from kplan.cli.report.option import format_name  # noqa: PLC0415
    from kplan.cli.report.writer import report_setting  # noqa: PLC0415
    from kplan.report.format import Format  # noqa: PLC0415
    from kplan.report.render import render_report  # noqa: PLC0415
    from kplan.report.subject import plan_report  # noqa: PLC0415

    format_ = Format(format_name("-format", how.format))
    if how.only:
        return _format_part(session, plan, how.only, format_)
    if format_ is Format.TEXT:
        return display.plan_text(session, plan, group=how.group)
    return render_report(plan_report(plan, {}, plan.created_at), format_, report_setting(session))


def _format_part(session: Session, plan: "Plan", name: str, format_: "Format") -> str:
    from kplan.cli.report.option import check_format  # noqa: PLC0415
    from kplan.cli.report.writer import report_setting  # noqa: PLC0415 - as above
    from kplan.report.format import UNCOUNTED_FORMATS  # noqa: PLC0415
    from kplan.report.render import render_report  # noqa: PLC0415
    from kplan.report.subject import PlanPart, plan_part_report  # noqa: PLC0415

    if name not in list(PlanPart):
        raise UsageError(f"-only has no part {name!r}.", f"Use one of {', '.join(PlanPart)}.")
    check_format(f"-format={format_}", format_, f"-only={name}", UNCOUNTED_FORMATS)
    look = replace(report_setting(session), style=session.terminal.stdout_style)
    return render_report(plan_part_report(plan, PlanPart(name), plan.created_at), format_, look)
