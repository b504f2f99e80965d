"""`kplan workspace`: several states for one configuration."""

from typing import Annotated

import typer

from kplan.cli.exit_code import ExitCode
from kplan.cli.options import InputOptions, StateOptions
from kplan.cli.progress import show_progress
from kplan.cli.terminal import Session
from kplan.cli.verb import verb

Name = Annotated[str, typer.Argument(metavar="NAME", help="The name of the workspace.")]


@verb(("kplan workspace list", "List the workspaces; the selected one has a star."))
def list_(session: Session, inputs: InputOptions) -> int:
    """List the workspaces.

    Those that have a state are listed, and the selected one. The state of a workspace is in a file
    of its own beside that of the workspace default (state/kplan.json.d/NAME/kplan.json), or under
    the key KEY@NAME of the state block.
    terraform.workspace is the name of the selected one.
    """
    from kplan.cli.wiring import build_project  # noqa: PLC0415 - help needs none of these
    from kplan.workflow.state.workspace import list_workspaces  # noqa: PLC0415

    found = list_workspaces(build_project(session, StateOptions(), inputs))
    marks = ("*" if each == found.selected else " " for each in found.names)
    rows = (f"{mark} {each}" for mark, each in zip(marks, found.names, strict=True))
    session.terminal.write_stdout("\n".join(rows))
    return ExitCode.DONE


@verb(("kplan workspace show", "Show the name, for scripts."))
def show(session: Session) -> int:
    """Show the name of the selected workspace.

    KPLAN_WORKSPACE is read first, then TF_WORKSPACE, then .terraform/environment.
    """
    from kplan.cli.wiring import build_project  # noqa: PLC0415 - help needs none of these

    session.terminal.write_stdout(build_project(session, StateOptions()).inputs.workspace)
    return ExitCode.DONE


@verb(
    ("kplan workspace select prod", "Work on the state of prod from now on."),
    ("kplan workspace select -or-create prod", "Create it if it does not exist."),
)
def select(
    session: Session,
    name: Name,
    inputs: InputOptions,
    *,
    or_create: Annotated[
        bool, typer.Option("--or-create", help="Create the workspace if it does not exist.")
    ] = False,
) -> int:
    """Select a workspace for later runs.

    The name is written to .terraform/environment, which Terraform reads as well.
    """
    is_made = _select(session, name, inputs, creates=or_create)
    verb_text = "Created and selected" if is_made else "Selected"
    session.terminal.write_stdout(f'{verb_text} workspace "{name}".')
    return ExitCode.DONE


def _select(
    session: Session,
    name: str,
    inputs: InputOptions,
    *,
    creates: bool = False,
    is_new: bool = False,
) -> bool:
    """Select a workspace; returns whether it was created for that."""
    from kplan.cli import wiring  # noqa: PLC0415 - help needs none of these
    from kplan.workflow.state import workspace  # noqa: PLC0415

    states = StateOptions()
    project = wiring.build_project(session, states, inputs)
    exists = workspace.check_selectable(project, name, creates=creates, is_new=is_new)
    project = wiring.build_project(session, states, inputs, workspace=name)
    if not exists:
        with show_progress(session.terminal) as progress:
            ports = wiring.build_ports(session, "workspace new", states, progress)
            workspace.create_workspace(project, ports)
    workspace.select_workspace(project)
    return not exists


@verb(("kplan workspace new staging", "Create a workspace with an empty state."))
def new(session: Session, name: Name, inputs: InputOptions) -> int:
    """Create a workspace and select it.

    Its state is empty. Objects of other workspaces are not in it.
    """
    _select(session, name, inputs, is_new=True)
    session.terminal.write_stdout(f'Created and selected workspace "{name}".')
    return ExitCode.DONE


@verb(
    ("kplan workspace delete staging", "Delete a workspace whose state is empty."),
    ("kplan workspace delete -force staging", "Forget all objects that it owns."),
)
def delete(
    session: Session,
    name: Name,
    inputs: InputOptions,
    states: StateOptions,
    *,
    force: Annotated[
        bool, typer.Option("--force", help="Delete the state although it owns objects.")
    ] = False,
) -> int:
    """Delete the state of a workspace.

    Its backups are deleted as well. The cluster is not changed. A state that owns objects is
    deleted only with -force, and kplan forgets those objects.
    """
    from kplan.cli import wiring  # noqa: PLC0415 - help needs none of these
    from kplan.model.errors import UsageError  # noqa: PLC0415
    from kplan.report.documents.notation import count_text  # noqa: PLC0415
    from kplan.workflow.state.workspace import check_deletable, delete_workspace  # noqa: PLC0415

    if states.state:
        raise UsageError(
            "-state names one file, which belongs to no workspace.", "Leave -state out."
        )
    check_deletable(wiring.build_project(session, states, inputs), name)
    project = wiring.build_project(session, states, inputs, workspace=name)
    with show_progress(session.terminal) as progress:
        ports = wiring.build_ports(session, "workspace delete", states, progress)
        count = delete_workspace(project, ports, is_forced=force)
    stay = "stays" if count == 1 else "stay"
    gone = f"; forgot {count_text(count, 'object')}, which {stay} on the cluster" if count else ""
    session.terminal.write_stdout(f'Deleted workspace "{name}"{gone}.')
    return ExitCode.DONE
