"""`kplan init`."""

from pathlib import Path
from typing import Annotated

import typer

from kplan.cli.exits import Exit
from kplan.cli.founding import Pipeline, is_new, pipeline_files, project_files, write_new
from kplan.cli.options import InputOptions, StateOptions
from kplan.cli.problems import tell
from kplan.cli.session import Session
from kplan.cli.verb import verb
from kplan.model.diagnostic import has_errors
from kplan.workflow.project import Project


@verb(
    ("kplan init", "Begin a project, or check one; there is nothing to install."),
    ("kplan init -ci=gitlab", "With a pipeline of GitLab; in a project, only that is added."),
    ("kplan -chdir=topics init", "In another folder."),
)
def init(
    session: Session,
    inputs: InputOptions,
    states: StateOptions,
    *,
    ci: Annotated[
        Pipeline | None,
        typer.Option(
            "--ci",
            help="The pipeline of a new project, or one to add.",
            show_default="github in a new project",
        ),
    ] = None,
    upgrade: Annotated[
        bool, typer.Option("--upgrade", help="Accepted for Terraform's sake; does nothing.")
    ] = False,
) -> int:
    """Begin a project, or check that one is ready to plan.

    Where nothing is declared yet, a configuration with comments, .gitignore, hooks for pre-commit
    and a pipeline are written; nothing is ever written over. Where something is declared, it is
    read, and told where the state is. There are no plugins to install, and no network is asked.
    """
    from kplan.cli.wiring import project as located  # noqa: PLC0415 - help needs none of these
    from kplan.workflow.validate import validate  # noqa: PLC0415

    del upgrade
    written = _begun(ci)
    project = located(session, states, inputs)
    found = validate(project)
    tell(found.diagnostics, session.terminal, sources=found.sources)
    if has_errors(found.diagnostics):
        return Exit.ERROR
    session.terminal.data(
        "".join(f"Written: {each}\n" for each in written) + "kplan is ready.\n"
        f"Files: {', '.join(sorted(found.sources))}\n"
        f"Resources: {len(found.resources)}\n"
        f"State: {project.store.place}{_owned(project)}"
    )
    return Exit.DONE


def _begun(ci: Pipeline | None) -> list[str]:
    """Write what is to be written, and give the names."""
    folder = Path.cwd()
    if is_new(folder):
        files = project_files(ci or Pipeline.GITHUB)
    else:
        files = pipeline_files(ci or Pipeline.NONE)
    write_new(folder, files)
    return list(files)


def _owned(project: Project) -> str:
    """Tell what a state in a file owns; to know it of one on a cluster takes the network."""
    if project.store.place != project.file.place:
        return ""
    state = project.file.read()
    return f", objects owned: {len(state.owned)}" if state else ", begins with the first apply"
