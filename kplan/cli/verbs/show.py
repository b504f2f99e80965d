"""`kplan show`."""

from pathlib import Path
from typing import Annotated

import typer

from kplan.cli.exits import Exit
from kplan.cli.options import Group, InputOptions, Json, StateOptions
from kplan.cli.session import Session
from kplan.cli.verb import verb


@verb(
    ("kplan show", "What kplan owns here, as last applied."),
    ("kplan show release.kplan", "A saved plan, as it was shown."),
    ("kplan show -json", "The state as Terraform's show -json writes one."),
    ("kplan show -json release.kplan", "A saved plan as Terraform's show -json writes one."),
)
def show(
    session: Session,
    inputs: InputOptions,
    states: StateOptions,
    planfile: Annotated[
        str, typer.Argument(metavar="[PLANFILE]", help="A plan saved by `kplan plan -out`.")
    ] = "",
    *,
    group: Group = None,
    json_: Json = False,
) -> int:
    """Show the state, or a saved plan. No cluster is asked, unless it keeps the state."""
    from kplan.cli import showing, wiring  # noqa: PLC0415 - help needs none of these
    from kplan.model.state import State  # noqa: PLC0415
    from kplan.report import views  # noqa: PLC0415
    from kplan.state.plan_file import read_plan  # noqa: PLC0415
    from kplan.workflow.opened import stored  # noqa: PLC0415

    if planfile:
        plan = read_plan(Path(planfile)).plan
        text = views.plan_json(plan) if json_ else showing.plan_text(session, plan, group=group)
    else:
        state = stored(wiring.project(session, states, inputs)) or State("")
        text = views.state_json(state) if json_ else showing.state_text(session, state)
    session.terminal.data(text or "The state is empty: nothing has been applied here yet.")
    return Exit.DONE
