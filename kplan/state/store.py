"""The store of a state, as the use cases see it: state, lock, journal, earlier versions."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from kplan.model.plan import Change, Plan
from kplan.model.state import OwnedModules, State, StateVersion
from kplan.state.journal import NO_VARIABLES, Journal, PlanVariables
from kplan.state.journal_writer import JournalWriter
from kplan.state.lock import LockStatus
from kplan.state.lock_holder import LockHolder


class StateStore(Protocol):
    """One state, with its lock, its journal and the states it was before.

    Whatever keeps it raises `StateError` or a subclass where the state cannot be had or written,
    and a `ClusterError` where it is kept on a cluster that cannot be asked.
    """

    @property
    def location(self) -> str:
        """Where that is, as part of a sentence."""
        ...

    def read(self) -> State | None:
        """Read the state; None means that none was ever written, and nothing else does."""
        ...

    def read_modules(self) -> OwnedModules | None:
        """Read only the modules that declare what is owned, in a third of the time; as `read`."""
        ...

    def read_document(self) -> bytes | None:
        """Return the state as it was written, once it has proved to be whole; None as `read`."""
        ...

    def write(self, state: State) -> None:
        """Replace the state at once and durably, keeping the one before.

        The caller holds the lock and has raised the serial. Writing the same again does nothing.
        """
        ...

    def write_document(self, document: bytes) -> None:
        """Copy the state of another store unchanged; it must be a later one of this lineage."""
        ...

    def write_move_note(self, to: str) -> None:
        """Leave a note that the state was moved, so that its absence is not taken for a new one."""
        ...

    def read_move_note(self) -> str:
        """Return where the state was moved to, "" where it was not."""
        ...

    def hold_lock(
        self, holder: LockHolder | None, timeout_s: float, waiting: Callable[[LockHolder], None]
    ) -> AbstractContextManager[None]:
        """Work on the state: under its lock, waited for up to `timeout_s`, or without a holder not.

        `waiting` is reported once of each holder that is waited for. Raises StateLockedError.
        """
        ...

    def lock_status(self) -> LockStatus:
        """Return the holder of the lock, without waiting or changing anything."""
        ...

    def force_unlock(self, id: str) -> LockHolder:  # noqa: A002 - the word on the command line
        """Take the lock away from the run with this id, dead or alive, and return who that was."""
        ...

    def read_journal(self) -> Journal | None:
        """Read the journal of an apply that was interrupted; None where none was."""
        ...

    def has_journal(self) -> bool:
        """Whether an apply was interrupted and its results are not in the state yet."""
        ...

    def check_free_space(self, changes: int) -> None:
        """Check that there is room for the journal and the state of an apply; raises StateError."""
        ...

    def open_journal(
        self,
        plan: Plan,
        nonce: str = "",
        holder: LockHolder | None = None,
        variables: PlanVariables = NO_VARIABLES,
        unanswered: Sequence[Change] = (),
    ) -> AbstractContextManager[JournalWriter]:
        """Keep a journal of the plan, with a nonce for a saved one; it remains when this ends.

        Nothing is written any more once `holder` has lost the lock. With `unanswered` creations of
        an earlier apply it takes the place of the journal that has them. Raises StateLockedError.
        """
        ...

    def replace_journal(self, journal: Journal) -> None:
        """Put another journal in the place of the one of an interrupted apply, at once."""
        ...

    def discard_journal(self) -> None:
        """Remove the journal: all it says is in the state."""
        ...

    def list_versions(self) -> tuple[StateVersion, ...]:
        """List the states that were and the state itself, oldest first."""
        ...

    def read_version(self, serial: int) -> State:
        """Read the state that had this serial."""
        ...

    def list_workspaces(self) -> tuple[str, ...]:
        """Name the workspaces of the configuration that have a state here, but for default."""
        ...

    def for_workspace(self, name: str) -> "StateStore":
        """Return the state of another workspace of the configuration, to read it."""
        ...

    def delete_workspace(self) -> None:
        """Delete the state with all that belongs to it, but for the lock, which the caller has."""
        ...

    def newest_serial(self) -> int:
        """Return a serial as high as any that the state ever had, damaged ones included."""
        ...
