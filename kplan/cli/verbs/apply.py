"""`kplan apply`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from kplan.cli.options import (
    AnswerOptions,
    AutoApprove,
    InputOptions,
    PlanningOptions,
    StateOptions,
)
from kplan.cli.session import Session
from kplan.cli.verb import verb


@dataclass(frozen=True, slots=True)
class WhatOptions:
    """What to carry out, and who approves it."""

    planfile: Annotated[
        str, typer.Argument(metavar="[PLANFILE]", help="A plan saved by `kplan plan -out`.")
    ] = ""
    auto_approve: AutoApprove = False
    destroy: Annotated[bool, typer.Option("--destroy", help="The same as `kplan destroy`.")] = False
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Finish an interrupted apply, without asking again."),
    ] = False


@verb(
    ("kplan apply", "Plan, ask for a yes, and carry the plan out."),
    ("kplan apply release.kplan", "Carry out exactly the plan that was saved and reviewed."),
    ("kplan apply -auto-approve -input=false", "In a pipeline where the change was reviewed."),
    ("kplan apply -resume", "Do the rest of an apply that was interrupted or killed."),
)
def apply(
    session: Session,
    what: WhatOptions,
    inputs: InputOptions,
    states: StateOptions,
    planning: PlanningOptions,
    answer: AnswerOptions,
) -> int:
    """Carry out a plan.

    One refused item never stops its neighbours: what became of each is told at the end, and the
    state records it. The first Ctrl-C lets what is in flight settle, the second one stops at once.
    """
    from kplan.cli.applying import Wish, carried_out  # noqa: PLC0415 - help needs none of this

    wish = Wish(
        inputs,
        states,
        planning,
        answer,
        auto_approve=what.auto_approve,
        is_destroy=what.destroy,
        is_resume=what.resume,
        saved=Path(what.planfile) if what.planfile else None,
    )
    return carried_out(session, wish)
