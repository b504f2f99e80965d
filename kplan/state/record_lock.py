"""The lock of a state that is kept as records, and the checks against concurrent writers."""

import contextlib
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from kplan.cluster.topology import Records, UncertainWriteError
from kplan.model.dataclass import dataclass
from kplan.model.errors import ClusterError, StateError, StateLockedError
from kplan.state.lock import (
    HEARTBEAT_S,
    MIN_SILENCE_S,
    LockConflict,
    LockStatus,
    acquire_lock,
    lock_conflict,
    lock_lost_error,
    lock_taken_error,
    run_heartbeat,
)
from kplan.state.lock_holder import (
    LockHolder,
    decode_holder,
    encode_holder,
    is_dead,
    renew_heartbeat,
    silence_s,
)
from kplan.state.record_document import RecordChanges, RecordView

_MAX_ATTEMPTS = 5

RecordUpdate = Callable[[RecordView], RecordChanges]
"""Works out changes from what exists, or raises: then nothing is changed."""


class RecordTransaction:
    """Where one run works on records. May be used from several threads."""

    def __init__(self, records: Records) -> None:
        self._records = records
        self._view: RecordView | None = None
        self._mutex = threading.RLock()

    @property
    def location(self) -> str:
        """Where the records are."""
        return self._records.location

    @property
    def key(self) -> str:
        """The key of this state among others in the same place."""
        return self._records.key

    def list_keys(self) -> tuple[str, ...]:
        """List the keys of all states in the same place."""
        with self._mutex:
            return self._records.list_keys()

    def records_beside(self, key: str) -> Records:
        """Return the records of another state in the same place, to read them."""
        return self._records.beside(key)

    def peek(self) -> RecordView | None:
        """Return the committed records; None if there is no place for records yet."""
        with self._mutex:
            return self._records.peek()

    def read(self) -> RecordView | None:
        """Return all that was written before the call; None as `peek`."""
        with self._mutex:
            found = self._records.read()
            if found != self._view:
                self._view = None  # another writer came; the next step claims again
            return found

    def update(self, step: RecordUpdate) -> None:
        """Take a step on the current records, retried once if another writer intervened.

        Raises:
            StateLockedError: other writers came between again and again.

        """
        with self._mutex:
            self._update(step)

    def update_now(self, step: RecordUpdate) -> None:
        """Take a step that is repeated soon, without waiting for a store that is away."""
        with self._mutex, self._records.without_retries():
            self._update(step)

    def _update(self, step: RecordUpdate) -> None:
        reason = ""
        for _ in range(_MAX_ATTEMPTS):
            view, is_fresh = self._current_view()
            try:
                changes = step(view)
            except StateError:
                if is_fresh:
                    raise
                self._view = None  # nothing is refused because of what was there a while ago
                continue
            if not changes:
                return
            try:
                self._records.write(changes)
            except UncertainWriteError as failure:
                reason = str(failure)
                if self._is_written(changes):
                    return
                continue
            self._view = _apply_changes(view, changes)
            return
        raise StateLockedError(
            f"Another run is writing to {self.location}, or it cannot be written: {reason}.",
            "See who holds the lock: kplan lock status",
        )

    def _current_view(self) -> tuple[RecordView, bool]:
        """Return the current records, and whether they were just read."""
        if self._view is None:
            return self._claim_view(), True
        return self._view, False

    def _claim_view(self) -> RecordView:
        self._view = None
        self._view = self._records.claim()
        return self._view

    def _is_written(self, changes: RecordChanges) -> bool:
        """Look up whether a write without an answer was executed."""
        view = self._claim_view()
        return all(view.get(name) == each for name, each in changes.items())

    def close(self) -> None:
        """Let go of the cluster, until the next change."""
        with self._mutex:
            self._view = None
            self._records.close()


def _apply_changes(view: RecordView, changes: RecordChanges) -> RecordView:
    merged = {**view, **changes}
    return {name: each for name, each in merged.items() if each is not None}


LOCK_RECORD = "lock"


@dataclass(frozen=True, slots=True)
class _LockRecord:
    """The lock is ours; the first record is written with the first change."""

    is_written: bool


class _LockConflictError(StateLockedError):
    """Another writer was faster; never leaves this module."""

    def __init__(self, taken: LockConflict) -> None:
        super().__init__(taken.detail)
        self.conflict = taken


class RecordLock:
    """The lock of one run."""

    def __init__(self, transaction: RecordTransaction) -> None:
        self._transaction = transaction
        self._holder: LockHolder | None = None
        self._is_written = False

    @contextmanager
    def hold(
        self, holder: LockHolder, timeout_s: float, waiting: Callable[[LockHolder], None]
    ) -> Iterator[None]:
        """Hold it, waiting for it up to `timeout_s`.

        A plan on a cluster where nothing is kept yet leaves nothing there: the record is written
        together with the first change of the state or journal.

        Raises:
            StateLockedError: another run still holds it.

        """
        self._is_written = acquire_lock(
            lambda: self._try_lock(holder), timeout_s, waiting
        ).is_written
        self._holder = holder
        try:
            with run_heartbeat(self._write_heartbeat, HEARTBEAT_S):
                yield
        finally:
            self._release(holder)
            self._holder = None

    def check_held(self, view: RecordView) -> RecordChanges:
        """Check in a step that the lock is still ours, and return the records that keep it.

        Raises:
            StateLockedError: it is not.

        """
        holder = self._holder
        if holder is None:
            return {}  # a run that goes without a lock
        if not self._is_written and not view:
            return {LOCK_RECORD: encode_holder(renew_heartbeat(holder))}
        if not _is_of(view, holder):
            other = decode_holder(view.get(LOCK_RECORD, b""))
            raise lock_lost_error(other) if self._is_written else lock_taken_error(other)
        return {}

    def confirm_write(self) -> None:
        """Record that a step with the records of `check_held` was taken."""
        self._is_written = True

    def status(self) -> LockStatus:
        """Return the holder."""
        view = self._settled_view()
        if view is None or LOCK_RECORD not in view:
            return LockStatus(is_held=False)
        holder = decode_holder(view[LOCK_RECORD])
        over = holder is not None and _is_provably_over(holder)
        return LockStatus(not over, holder, over)

    def force_unlock(self, id: str) -> LockHolder:  # noqa: A002 - the word on the command line
        """Take it away from the run with this id.

        Raises:
            StateError: it is not locked, or a run with another id does.

        """
        gone: list[LockHolder] = []

        def step(view: RecordView) -> RecordChanges:
            holder = decode_holder(view[LOCK_RECORD]) if LOCK_RECORD in view else None
            if LOCK_RECORD not in view:
                raise StateError("The state is not locked.")
            if holder is None:
                raise StateError("The state is not locked by any run that can be named.")
            if holder.id != id:
                raise StateError(f"The lock has the id {holder.id}: {holder}.")
            gone.append(holder)
            return {LOCK_RECORD: None}

        if self._transaction.peek() is None:
            step({})
        self._transaction.update(step)
        return gone[-1]

    def _settled_view(self) -> RecordView | None:
        """Return the committed records; where they are locked, once every open write has ended.

        A broker acknowledges a commit before its marker is in the topic (KIP-98): for a moment the
        last stable offset is before the record that released the lock.
        """
        view = self._transaction.peek()
        if view is None or LOCK_RECORD not in view:
            return view
        try:
            return self._transaction.read()
        except ClusterError:
            return view  # the write of a killed run stays open until its time is over

    def _try_lock(self, holder: LockHolder) -> _LockRecord | LockConflict:
        view = self._settled_view()
        if view is None:
            return _LockRecord(is_written=False)
        if taken := _find_conflict(view):
            return taken

        def step(now: RecordView) -> RecordChanges:
            if other := _find_conflict(now):
                raise _LockConflictError(other)
            return {LOCK_RECORD: encode_holder(renew_heartbeat(holder))}

        try:
            self._transaction.update(step)
        except _LockConflictError as faster:
            self._transaction.close()
            return faster.conflict
        return _LockRecord(is_written=True)

    def _write_heartbeat(self) -> None:
        holder = self._holder
        if holder is None or not self._is_written:
            return

        def step(view: RecordView) -> RecordChanges:
            return (
                {LOCK_RECORD: encode_holder(renew_heartbeat(holder))}
                if _is_of(view, holder)
                else {}
            )

        # A cluster that is away for a while must not end an apply; the next write tells.
        with contextlib.suppress(ClusterError, StateError):
            self._transaction.update_now(step)

    def _release(self, holder: LockHolder) -> None:
        if not self._is_written:
            return
        # A record that cannot be removed is one of a dead process soon.
        with contextlib.suppress(ClusterError, StateError):
            self._transaction.update(
                lambda view: {LOCK_RECORD: None} if _is_of(view, holder) else {}
            )


def _is_of(view: RecordView, holder: LockHolder) -> bool:
    found = decode_holder(view.get(LOCK_RECORD, b""))
    return found is not None and found.id == holder.id


def _is_provably_over(holder: LockHolder) -> bool:
    return is_dead(holder) and (silence_s(holder) or 0) >= MIN_SILENCE_S


def _find_conflict(view: RecordView) -> LockConflict | None:
    """Return who keeps us from taking the lock; None where it is free, or its run provably over."""
    if LOCK_RECORD not in view:
        return None
    holder = decode_holder(view[LOCK_RECORD])
    if holder is None:
        return LockConflict(
            None, "Another run holds the lock, and left no readable note.", "Wait for it."
        )
    if _is_provably_over(holder):
        return None
    return lock_conflict(holder)
