"""Use cases on workspaces: which one is selected, list, create, select and delete."""

import shutil
import uuid
from collections.abc import Mapping
from pathlib import Path

from kplan.model.dataclass import dataclass
from kplan.model.errors import StateError, UsageError
from kplan.model.workspace import DEFAULT_WORKSPACE, WORKSPACE_VARIABLES, is_workspace_name
from kplan.report.documents.notation import count_text
from kplan.state.atomic_file import make_private_folder, write_atomically
from kplan.state.file import new_state
from kplan.state.file_store import FileStore
from kplan.workflow.open_project import lock_state, read_stored_state
from kplan.workflow.ports import Ports, Project


def selected_workspace(folder: Path, environ: Mapping[str, str]) -> str:
    """Return the workspace that the environment names, or the one selected in the folder.

    Raises:
        UsageError: it is no name of a workspace.

    """
    for name in WORKSPACE_VARIABLES:
        if found := environ.get(name):
            return _checked_name(found, name)
    file = _selection_file(folder, environ)
    try:
        found = file.read_text(encoding="utf-8").strip()
    except (FileNotFoundError, NotADirectoryError):
        return DEFAULT_WORKSPACE
    except (OSError, UnicodeDecodeError) as failure:
        raise UsageError(f"{file} cannot be read: {failure}.") from None
    return _checked_name(found, str(file)) if found else DEFAULT_WORKSPACE


def _selection_file(folder: Path, environ: Mapping[str, str]) -> Path:
    """Return the file in which Terraform keeps the selected workspace, too."""
    return folder / (environ.get("TF_DATA_DIR") or ".terraform") / "environment"


def _checked_name(name: str, source: str) -> str:
    if is_workspace_name(name):
        return name
    raise UsageError(
        f"{source}: {name!r} is not a name of a workspace.",
        "Use up to 90 letters, digits, dots, underscores and dashes.",
    )


@dataclass(frozen=True, slots=True)
class WorkspaceList:
    """The workspaces that have a state, default and the selected one among them."""

    names: tuple[str, ...]
    selected: str


def list_workspaces(project: Project) -> WorkspaceList:
    """List the workspaces of the configuration where its states are."""
    found = project.store.list_workspaces()
    selected = project.inputs.workspace
    names = sorted({*found, selected} - {DEFAULT_WORKSPACE})
    return WorkspaceList((DEFAULT_WORKSPACE, *names), selected)


def check_selectable(
    project: Project, name: str, *, creates: bool = False, is_new: bool = False
) -> bool:
    """Check that a workspace can be selected; return whether it exists.

    Raises:
        UsageError: it exists and must not (`is_new`), or does not exist, or the environment names
            another one, which would win.

    """
    _checked_name(name, "NAME")
    for variable in WORKSPACE_VARIABLES:
        if project.inputs.environ.get(variable):
            raise UsageError(
                f"The workspace is selected by {variable}, which has precedence.",
                f"Unset {variable}, or set it to {name}.",
            )
    known = list_workspaces(project)
    exists = name in known.names
    if exists and is_new:
        raise UsageError(
            f'Workspace "{name}" already exists.', f"Select it: kplan workspace select {name}"
        )
    if not (exists or is_new or creates):
        raise UsageError(
            f'Workspace "{name}" does not exist.',
            f"Create it: kplan workspace new {name}. These exist: {', '.join(known.names)}.",
        )
    return exists


def create_workspace(project: Project, ports: Ports) -> None:
    """Create the workspace that the project is of, with an empty state where no folder says it.

    A state that is still in a file is not written over: it is to be moved to this place. Raises
    StateError and its subclasses, and ClusterError where the state is kept on a cluster.
    """
    if isinstance(project.store, FileStore):
        make_private_folder(project.state_path.parent)
        return
    with lock_state(project, ports):
        if project.store.read() is None and project.file_store.read() is None:
            project.store.write(new_state(str(uuid.uuid4())))


def select_workspace(project: Project) -> None:
    """Select the workspace that the project is of for later runs in the folder."""
    file = _selection_file(project.folder, project.inputs.environ)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(file, project.inputs.workspace.encode())
    except OSError as failure:
        raise StateError(f"{file} cannot be written: {failure.strerror}.") from failure


def check_deletable(project: Project, name: str) -> None:
    """Check that a workspace may be deleted.

    Raises:
        UsageError: it is default, selected, or does not exist.

    """
    known = list_workspaces(project)
    if name == DEFAULT_WORKSPACE:
        raise UsageError(f'The workspace "{DEFAULT_WORKSPACE}" cannot be deleted.')
    if name == known.selected:
        raise UsageError(
            f'Workspace "{name}" is selected.',
            "Select another one first: kplan workspace select default",
        )
    if name not in known.names:
        raise UsageError(
            f'Workspace "{name}" does not exist.', f"These exist: {', '.join(known.names)}."
        )


def delete_workspace(project: Project, ports: Ports, *, is_forced: bool) -> int:
    """Delete the state of the workspace that the project is of; return how many objects it owned.

    The objects stay on the cluster.

    Raises:
        StateError: it owns objects, or an apply was interrupted; `is_forced` lets both pass.

    """
    with lock_state(project, ports):
        state = read_stored_state(project)
        count = 0 if state is None else len(state.owned)
        if not is_forced and (count or project.store.has_journal()):
            raise StateError(
                f'Workspace "{project.inputs.workspace}" is not empty: its state in '
                f"{project.store.location} owns {count_text(count, 'object')}, which kplan would "
                "forget.",
                "Destroy them first (kplan destroy), or forget them with -force.",
            )
        project.store.delete_workspace()
    if isinstance(project.store, FileStore):
        shutil.rmtree(project.state_path.parent)
    return count
