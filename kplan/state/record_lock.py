"""The lock of a state that is kept as records: a record that says who holds it.

It is written in the same way as the state, so a run that has lost its lock cannot write any more,
whether it noticed or not: each of its writes looks whether the record is still its own.
"""

import contextlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from kplan.model.dataclass import dataclass
from kplan.model.errors import ClusterError, StateError, StateLockedError
from kplan.state.holder import (
    Holder,
    decode_holder,
    encode_holder,
    is_dead,
    is_holder_alive,
    silence_s,
)
from kplan.state.lock import (
    HEARTBEAT_S,
    LockStatus,
    LockTaken,
    acquire_lock,
    lock_lost,
    lock_taken,
    run_heartbeat,
)
from kplan.state.record_document import Changes, View
from kplan.state.record_transaction import RecordTransaction

LOCK = "lock"
SILENT_S = 3 * HEARTBEAT_S
"""For how long a dead holder must have been silent: two containers may share host and numbers."""


@dataclass(frozen=True, slots=True)
class _Held:
    """It is ours; where nothing at all is written yet the record comes with the first change."""

    is_written: bool


class _OccupiedError(StateLockedError):
    """Somebody else was faster; never leaves this module."""

    def __init__(self, taken: LockTaken) -> None:
        super().__init__(taken.who)
        self.taken = taken


class RecordLock:
    """The lock of one run."""

    def __init__(self, desk: RecordTransaction) -> None:
        self._desk = desk
        self._holder: Holder | None = None
        self._is_written = False

    @contextmanager
    def held(
        self, holder: Holder, timeout_s: float, waiting: Callable[[Holder], None]
    ) -> Iterator[None]:
        """Hold it, waiting for it up to `timeout_s`.

        A plan on a cluster where nothing is kept yet leaves nothing there: the record is written
        together with the first change of the state or journal.

        Raises:
            StateLocked: another run still holds it.

        """
        self._is_written = acquire_lock(
            lambda: self._attempt(holder), timeout_s, waiting
        ).is_written
        self._holder = holder
        try:
            with run_heartbeat(self._beat, HEARTBEAT_S):
                yield
        finally:
            self._release(holder)
            self._holder = None

    def kept(self, view: View) -> Changes:
        """Check in a step that the lock is still ours, and give what keeps it.

        Raises:
            StateLocked: it is not.

        """
        holder = self._holder
        if holder is None:
            return {}  # a run that goes without a lock
        if LOCK not in view and not self._is_written:
            return {LOCK: encode_holder(is_holder_alive(holder))}
        if not _is_of(view, holder):
            raise lock_lost(decode_holder(view.get(LOCK, b"")))
        return {}

    def written(self) -> None:
        """Take note that a step with what `kept` gave was taken."""
        self._is_written = True

    def status(self) -> LockStatus:
        """Return who holds it."""
        view = self._desk.glance()
        if view is None or LOCK not in view:
            return LockStatus(is_held=False)
        holder = decode_holder(view[LOCK])
        over = holder is not None and _is_over(holder)
        return LockStatus(not over, holder, over)

    def force(self, id: str) -> Holder:  # noqa: A002 - the word on the command line
        """Take it away from the run with this id.

        Raises:
            StateError: nobody holds it, or a run with another id does.

        """
        gone: list[Holder] = []

        def step(view: View) -> Changes:
            holder = decode_holder(view[LOCK]) if LOCK in view else None
            if LOCK not in view:
                raise StateError("The state is not locked.")
            if holder is None:
                raise StateError("The state is not locked by any run that can be named.")
            if holder.id != id:
                raise StateError(f"The lock has the id {holder.id}: {holder}.")
            gone.append(holder)
            return {LOCK: None}

        if self._desk.glance() is None:
            step({})
        self._desk.change(step)
        return gone[-1]

    def _attempt(self, holder: Holder) -> _Held | LockTaken:
        view = self._desk.glance()
        if view is None:
            return _Held(is_written=False)
        if taken := _taken(view):
            return taken

        def step(now: View) -> Changes:
            if other := _taken(now):
                raise _OccupiedError(other)
            return {LOCK: encode_holder(is_holder_alive(holder))}

        try:
            self._desk.change(step)
        except _OccupiedError as faster:
            self._desk.close()
            return faster.taken
        return _Held(is_written=True)

    def _beat(self) -> None:
        holder = self._holder
        if holder is None or not self._is_written:
            return

        def step(view: View) -> Changes:
            return {LOCK: encode_holder(is_holder_alive(holder))} if _is_of(view, holder) else {}

        # A cluster that is away for a while must not end an apply; the next write tells.
        with contextlib.suppress(ClusterError, StateError):
            self._desk.change(step)

    def _release(self, holder: Holder) -> None:
        if not self._is_written:
            return
        # A record that cannot be removed is one of a dead process soon.
        with contextlib.suppress(ClusterError, StateError):
            self._desk.change(lambda view: {LOCK: None} if _is_of(view, holder) else {})


def _is_of(view: View, holder: Holder) -> bool:
    found = decode_holder(view.get(LOCK, b""))
    return found is not None and found.id == holder.id


def _is_over(holder: Holder) -> bool:
    return is_dead(holder) and silence_s(holder) >= SILENT_S


def _taken(view: View) -> LockTaken | None:
    """Return who keeps us from taking the lock; None where it is free, or its run provably over."""
    if LOCK not in view:
        return None
    holder = decode_holder(view[LOCK])
    if holder is None:
        return LockTaken(
            None, "Another run holds the lock, and left no readable note.", "Wait for it."
        )
    if _is_over(holder):
        return None
    if is_dead(holder):
        left = SILENT_S - silence_s(holder)
        return lock_taken(holder, f" Its process is gone: the lock is free in {left:.0f} s.")
    return lock_taken(holder)
