"""A state in a file, with its lock, journal and backups beside it: the default."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path

from kplan.model.dataclass import dataclass
from kplan.model.plan import Change, Plan
from kplan.model.state import OwnedModules, State, StateVersion
from kplan.model.workspace import base_path, is_workspace_name, workspace_path
from kplan.state import file, history, lock
from kplan.state.codec import decode_header
from kplan.state.journal import (
    NO_VARIABLES,
    Journal,
    PlanVariables,
    discard_journal,
    journal_path,
    read_journal,
)
from kplan.state.journal_writer import JournalWriter, open_journal, replace_journal
from kplan.state.lock import LockStatus
from kplan.state.lock_holder import LockHolder


@dataclass(frozen=True, slots=True)
class FileStore:
    """The state in the file at `path`."""

    path: Path

    @property
    def location(self) -> str:
        """The path."""
        return str(self.path)

    def read(self) -> State | None:
        """Read the file."""
        return file.read_state(self.path)

    def read_modules(self) -> OwnedModules | None:
        """Read them from the file."""
        return file.read_modules(self.path)

    def read_document(self) -> bytes | None:
        """Return the file as it is, once it has proved to be whole."""
        found = file.read_document(self.path)
        return None if found is None else found[0]

    def write(self, state: State) -> None:
        """Replace the file."""
        file.write_state(self.path, state)

    def write_document(self, document: bytes) -> None:
        """Write a file with exactly these bytes."""
        file.remove_move_note(self.path)
        file.write_document(self.path, document, decode_header(document))

    def write_move_note(self, to: str) -> None:
        """Put a note in the place of the file, which is kept among the backups."""
        file.write_move_note(self.path, to)

    def read_move_note(self) -> str:
        """Read the note in the place of the file."""
        return file.read_move_note(self.path)

    @contextmanager
    def hold_lock(
        self, holder: LockHolder | None, timeout_s: float, waiting: Callable[[LockHolder], None]
    ) -> Iterator[None]:
        """Hold the lock beside the file."""
        if holder is None:
            yield
            return
        with lock.lock_state_file(self.path, holder, timeout_s, waiting):
            yield

    def lock_status(self) -> LockStatus:
        """Look at the lock beside the file."""
        return lock.lock_status(self.path)

    def force_unlock(self, id: str) -> LockHolder:  # noqa: A002 - the word on the command line
        """Remove the lock beside the file."""
        return lock.force_unlock(self.path, id)

    def read_journal(self) -> Journal | None:
        """Read the journal beside the file."""
        return read_journal(self.path)

    def has_journal(self) -> bool:
        """Whether there is a journal beside the file."""
        return journal_path(self.path).exists()

    def check_free_space(self, changes: int) -> None:
        """Check the free space of the disk."""
        file.check_free_space(self.path, changes)

    def open_journal(
        self,
        plan: Plan,
        nonce: str = "",
        holder: LockHolder | None = None,
        variables: PlanVariables = NO_VARIABLES,
        unanswered: Sequence[Change] = (),
    ) -> AbstractContextManager[JournalWriter]:
        """Keep a journal beside the file, as long as the lock is ours."""
        return open_journal(self.path, plan, nonce, holder, variables, unanswered)

    def replace_journal(self, journal: Journal) -> None:
        """Replace the journal beside the file."""
        replace_journal(self.path, journal)

    def discard_journal(self) -> None:
        """Remove the journal beside the file."""
        discard_journal(self.path)

    def list_versions(self) -> tuple[StateVersion, ...]:
        """List the backups, and the file."""
        return history.list_versions(self.path)

    def read_version(self, serial: int) -> State:
        """Read a backup."""
        return history.read_backup(self.path, serial)

    def list_workspaces(self) -> tuple[str, ...]:
        """Look at the folders beside the file of default."""
        return _list_workspace_folders(self.path)

    def for_workspace(self, name: str) -> "FileStore":
        """Return the file of another workspace."""
        return replace(self, path=workspace_path(base_path(self.path), name))

    def delete_workspace(self) -> None:
        """Remove the file; the rest of its folder is removed when the lock in it is released."""
        self.path.unlink(missing_ok=True)

    def newest_serial(self) -> int:
        """Look at the file and its backups."""
        return history.newest_serial(self.path)


def _list_workspace_folders(path: Path) -> tuple[str, ...]:
    """Name the workspaces that have a folder beside the file of default."""
    base = base_path(path)
    folder = base.parent / f"{base.name}.d"
    if not folder.is_dir():
        return ()
    names = (each.name for each in folder.iterdir() if each.is_dir() and not each.is_symlink())
    return tuple(sorted(name for name in names if is_workspace_name(name)))
