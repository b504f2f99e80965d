"""`kplan init`."""

from typing import Annotated

import typer

from kplan.cli.exits import Exit
from kplan.cli.options import InputOptions, StateOptions
from kplan.cli.problems import tell
from kplan.cli.session import Session
from kplan.cli.verb import verb
from kplan.model.diagnostic import has_errors
from kplan.workflow.project import Project


@verb(
    ("kplan init", "There is nothing to install: this only checks."),
    ("kplan -chdir=topics init", "In another folder."),
)
def init(
    session: Session,
    inputs: InputOptions,
    states: StateOptions,
    *,
    upgrade: Annotated[
        bool, typer.Option("--upgrade", help="Accepted for Terraform's sake; does nothing.")
    ] = False,
) -> int:
    """Check that a folder is ready to plan.

    kplan has no plugins to install and nothing to set up. This reads the configuration and says
    where the state is; nothing is changed anywhere, and no network is asked.
    """
    from kplan.cli.wiring import project as located  # noqa: PLC0415 - help needs none of these
    from kplan.workflow.validate import validate  # noqa: PLC0415

    del upgrade
    project = located(session, states, inputs)
    found = validate(project)
    tell(found.diagnostics, session.terminal, sources=found.sources)
    if has_errors(found.diagnostics):
        return Exit.ERROR
    session.terminal.data(
        "kplan is ready.\n"
        f"Files: {', '.join(sorted(found.sources))}\n"
        f"Resources: {len(found.resources)}\n"
        f"State: {project.store.place}{_owned(project)}"
    )
    return Exit.DONE


def _owned(project: Project) -> str:
    """Tell what a state in a file owns; to know it of one on a cluster takes the network."""
    if project.store.place != project.file.place:
        return ""
    state = project.file.read()
    return f", objects owned: {len(state.owned)}" if state else ", begins with the first apply"
