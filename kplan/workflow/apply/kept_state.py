"""Whether a state that is written to a file outlives the CI job that writes it."""

import subprocess
from pathlib import Path

from kplan.model.codes import SUMMARIES
from kplan.model.diagnostic import Diagnostic, Severity
from kplan.model.errors import StateError
from kplan.workflow.ports import Ports, Project

_GIT_TIMEOUT_S = 30
_KEEP_HINT = (
    'Store it with state { backend = "kafka" } (kplan state migrate -help), commit it, or name '
    "a file on a disk that is kept with -state=FILE or KPLAN_STATE."
)


def check_state_is_kept(project: Project, ports: Ports) -> None:
    """Refuse to apply in a CI job whose state is lost with its checkout.

    What the next job does not know it does not delete: a right that was revoked would stay. A file
    that somebody named is meant to be there the next time, one that git tracks is committed.

    Raises:
        StateError: the state is in a file that git does not track.

    """
    if _is_lost(project, ports):
        path = project.file_store.path
        raise StateError(
            f"The state is in {path}, which git does not track: it is lost with this CI job, and "
            "the next job deletes nothing that this one creates.",
            _KEEP_HINT,
        )


def lost_state_warning(project: Project, ports: Ports) -> Diagnostic | None:
    """Warn of what `check_state_is_kept` refuses when a plan is saved to be applied by a CI job."""
    if not _is_lost(project, ports):
        return None
    detail = f"The state is in {project.file_store.path}, which git does not track. In a CI job "
    detail += "apply refuses that, because the state is lost with the job."
    return Diagnostic("KP252", Severity.WARNING, SUMMARIES["KP252"], detail, _KEEP_HINT)


def _is_lost(project: Project, ports: Ports) -> bool:
    if not ports.ci or project.is_state_named:
        return False
    is_file = project.store.location == project.file_store.location
    return is_file and not _is_tracked(project.file_store.path)


def check_move_is_kept(path: Path, ports: Ports) -> None:
    """Refuse to move the state into a file that is lost with the CI job.

    The place it is moved from is marked as moved: afterwards no job has a state, and none can make
    another there.

    Raises:
        StateError: git does not track the file.

    """
    if not ports.ci or _is_tracked(path):
        return
    raise StateError(
        f"The state would be in {path}, which git does not track: it is lost with this CI job. It "
        "stays where it is.",
        "Move it where the file is kept, and commit it, or name a file on a disk that is kept with "
        "-state=FILE or KPLAN_STATE.",
    )


def _is_tracked(path: Path) -> bool:
    """Whether git has the file in its index; without git nothing is tracked."""
    command = ["git", "-c", "safe.directory=*", "ls-files", "--error-unmatch", "--", path.name]
    try:
        done = subprocess.run(  # noqa: S603 - no shell
            command, cwd=path.parent, capture_output=True, check=False, timeout=_GIT_TIMEOUT_S
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0
