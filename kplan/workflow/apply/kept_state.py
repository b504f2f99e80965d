"""Whether a state that is written to a file outlives the CI job that writes it."""

import subprocess
from pathlib import Path

from kplan.model.errors import StateError
from kplan.workflow.ports import Ports, Project

_GIT_TIMEOUT_S = 30


def check_state_is_kept(project: Project, ports: Ports) -> None:
    """Refuse to apply in a CI job whose state is lost with its checkout.

    What the next job does not know it does not delete: a right that was revoked would stay. A file
    that somebody named is meant to be there the next time, one that git tracks is committed.

    Raises:
        StateError: the state is in a file that git does not track.

    """
    if not ports.ci or project.is_state_named:
        return
    path = project.file_store.path
    if project.store.location != project.file_store.location or _is_tracked(path):
        return
    raise StateError(
        f"The state is in {path}, which git does not track: it is lost with this CI job, and the "
        "next job deletes nothing that this one creates.",
        'Store it with state { backend = "kafka" } (kplan state migrate -help), commit it, or name '
        "a file on a disk that is kept with -state=FILE or KPLAN_STATE.",
    )


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
