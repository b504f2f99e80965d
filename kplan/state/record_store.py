"""A state, its lock and its journal kept as records of a Kafka topic."""

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from kplan.cluster.records import Records
from kplan.model.errors import ClusterError, StateCorruptError, StateError
from kplan.model.plan import Plan
from kplan.model.state import State, StateVersion
from kplan.model.version import VERSION
from kplan.state import record_document as documents
from kplan.state.codec import StateHeading, decode_heading, decode_state, encode_state, read_heading
from kplan.state.file import check_follows, save_emergency_copy
from kplan.state.holder import Holder, utc_now
from kplan.state.journal import Journal, decode_journal
from kplan.state.journal_writer import JournalWriter, journal_start, read_interrupted
from kplan.state.lock import LockStatus
from kplan.state.record_document import (
    CURRENT,
    Changes,
    Manifest,
    View,
    document_pieces,
    list_versions,
    read_earlier,
    restore_hint,
)
from kplan.state.record_lock import RecordLock
from kplan.state.record_transaction import RecordTransaction, Step

_JOURNAL = "journal/"

Write = Callable[[Callable[[View], Changes]], None]
"""Takes a step on the records."""


def has_journal(view: View) -> bool:
    """Whether there is one."""
    return any(name.startswith(_JOURNAL) for name in view)


def journal_bytes(view: View) -> bytes:
    """Put it together.

    Raises:
        StateCorrupt: a piece is missing.

    """
    names = _names(view)
    for number, name in enumerate(names):
        if name != _name(number):
            raise StateCorruptError(f"Piece {number} of the journal is missing.")
    return b"".join(view[name] for name in names)


def journal_tombstones(view: View) -> Changes:
    """Remove it."""
    return dict.fromkeys(_names(view))


def journal_records(lines: bytes) -> Changes:
    """Begin one."""
    return {_name(number): each for number, each in enumerate(document_pieces(lines))}


class RecordSink:
    """Appends to a journal that was begun; `sync` is one write, whatever was added before it."""

    def __init__(self, write: Write, pieces: int) -> None:
        self._write = write
        self._pieces = pieces
        self._waiting = b""

    def add(self, lines: bytes) -> None:
        """Keep lines for the next write."""
        self._waiting += lines

    def sync(self) -> None:
        """Write what was added.

        Raises:
            StateLocked: the lock was lost.
            StateError: it cannot be written.

        """
        pieces = {
            _name(self._pieces + number): each
            for number, each in enumerate(document_pieces(self._waiting))
        }
        try:
            self._write(lambda _: pieces)
        except ClusterError as failure:
            raise StateError(
                f"The journal cannot be written: {failure.detail} Nothing more was sent.",
                "Once the cluster answers again: kplan apply -resume",
            ) from failure
        self._pieces += len(pieces)
        self._waiting = b""


def _names(view: View) -> list[str]:
    return sorted(name for name in view if name.startswith(_JOURNAL))


def _name(number: int) -> str:
    return f"{_JOURNAL}{number:06}"


_NOT_READ = object()


class RecordStore:
    """The state in the records; implements `StateStore`.

    Every change is one step, which is taken only if the lock is still ours and the state still the
    one that was read.
    """

    def __init__(self, records: Records) -> None:
        self._desk = RecordTransaction(records)
        self._lock = RecordLock(self._desk)
        self._seen: object = _NOT_READ

    @property
    def place(self) -> str:
        """The topic and the key."""
        return self._desk.place

    def read(self) -> State | None:
        """Read the state."""
        found = self._read()
        return None if found is None else found[1]

    def document(self) -> bytes | None:
        """Return the document, once it has proved to be whole."""
        found = self._read()
        return None if found is None else found[0]

    def write(self, state: State) -> None:
        """Write the state; one that cannot be written is kept in a file, which the hint names."""
        data = encode_state(state, VERSION)
        try:
            self._replace(data, read_heading(state), documents.current_serial)
        except ClusterError as failure:
            reason = StateError(f"The state cannot be written: {failure.detail}")
            raise save_emergency_copy(reason, data) from failure
        except StateError as conflict:
            raise save_emergency_copy(conflict, data) from conflict

    def put(self, document: bytes) -> None:
        """Write exactly this document."""
        self._replace(
            document,
            decode_heading(document),
            lambda view: (
                None if documents.read_moved_from(view) else documents.current_serial(view)
            ),
        )

    def retire(self, to: str) -> None:
        """Put a note in the place of the state, which is kept among those before it."""
        self._change(lambda _: documents.retire_records(to))

    def moved_to(self) -> str:
        """Read the note in the place of the state."""
        return documents.read_moved_from(self._desk.read() or {})

    @contextmanager
    def held(
        self, holder: Holder | None, timeout_s: float, waiting: Callable[[Holder], None]
    ) -> Iterator[None]:
        """Hold the lock, and let go of the cluster at the end."""
        try:
            if holder is None:
                yield
            else:
                with self._lock.held(holder, timeout_s, waiting):
                    yield
        finally:
            self._desk.close()

    def lock_status(self) -> LockStatus:
        """Look at the lock."""
        return self._lock.status()

    def force_unlock(self, id: str) -> Holder:  # noqa: A002 - the word on the command line
        """Remove the lock; the run that had it cannot write any more."""
        try:
            return self._lock.force(id)
        finally:
            self._desk.close()

    def journal(self) -> Journal | None:
        """Read the journal."""
        view = self._desk.read() or {}
        if not has_journal(view):
            return None
        way_out = "Remove its records from the topic; kplan plan then shows what was done."
        return decode_journal(journal_bytes(view), self.place, way_out)

    def has_journal(self) -> bool:
        """Whether there is a journal."""
        return has_journal(self._desk.read() or {})

    def check_room(self, changes: int) -> None:
        """Check nothing: a cluster does not tell how much room there is."""

    @contextmanager
    def recording(
        self,
        plan: Plan,
        nonce: str = "",
        holder: Holder | None = None,  # noqa: ARG002 - every record is written under the lock
    ) -> Iterator[JournalWriter]:
        """Keep a journal."""
        first = journal_start(plan, nonce)
        changes = journal_records(first.lines)

        def step(view: View) -> Changes:
            if has_journal(view):
                raise read_interrupted(f"in {self.place}")
            return changes

        self._change(step)
        yield first.writer(RecordSink(self._change, len(changes)))

    def discard_journal(self) -> None:
        """Remove the journal."""
        self._change(journal_tombstones)

    def history(self) -> tuple[StateVersion, ...]:
        """List the states that were, and the state."""
        return tuple(list_versions(self._desk.read() or {}, self.place))

    def earlier(self, serial: int) -> State:
        """Read the state that had this serial."""
        return read_earlier(self._desk.read() or {}, serial, self.place)

    def newest_serial(self) -> int:
        """Look at all states that are kept."""
        return max(documents.stored_serials(self._desk.read() or {}), default=0)

    def _read(self) -> tuple[bytes, State] | None:
        view = self._desk.read() or {}
        self._seen = view.get(CURRENT)
        try:
            manifest = documents.current_serial(view)
            if manifest is None:
                return None
            data = documents.read_record_document(view, manifest)
            return data, decode_state(data)
        except StateCorruptError as fault:
            hint = fault.hint or restore_hint(view)
            raise StateCorruptError(f"{self.place}: {fault.detail}", hint) from fault
        except StateError as fault:
            raise StateError(f"{self.place}: {fault.detail}", fault.hint) from fault

    def _replace(
        self, data: bytes, heading: StateHeading, before: Callable[[View], Manifest | None]
    ) -> None:
        digest = hashlib.sha256(data).hexdigest()

        def step(view: View) -> Changes:
            if self._seen not in (_NOT_READ, view.get(CURRENT)):
                raise StateError(f"{self.place} was written meanwhile by another run.")
            previous = _whole(before, view)
            if previous is not None:
                if previous.sha256 == digest:
                    return {}
                check_follows(previous.heading, heading, self.place)
            return documents.encode_records(data, heading, view, at=utc_now(), by=VERSION)

        self._change(step)

    def _change(self, step: Step) -> None:
        """Take a step under the lock."""
        taken: Changes = {}

        def locked_step(view: View) -> Changes:
            nonlocal taken
            kept = self._lock.kept(view)
            taken = step(view)
            return {**kept, **taken} if taken else {}

        self._desk.change(locked_step)
        if taken:
            self._lock.written()
        self._seen = taken.get(CURRENT, self._seen)


def _whole(before: Callable[[View], Manifest | None], view: View) -> Manifest | None:
    """Return the state that is to be replaced; one that is damaged stands in nobody's way."""
    try:
        manifest = before(view)
        if manifest is not None:
            documents.read_record_document(view, manifest)
    except StateCorruptError:
        return None
    return manifest
