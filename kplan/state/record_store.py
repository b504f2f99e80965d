"""A state, its lock and its journal kept as records of a Kafka topic."""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

from kplan.cluster.topology import Records
from kplan.model.errors import (
    ClusterError,
    ObjectStoreAuthError,
    ObjectStoreUnreachableError,
    StateCorruptError,
    StateError,
)
from kplan.model.plan import Change, Plan
from kplan.model.state import OwnedModules, State, StateVersion
from kplan.model.version import VERSION
from kplan.model.workspace import base_key, workspace_key, workspaces_of_keys
from kplan.state import record_document as documents
from kplan.state.codec import (
    StateHeader,
    decode_header,
    decode_modules,
    decode_state,
    encode_state,
    state_header,
)
from kplan.state.file import check_successor, save_emergency_copy
from kplan.state.journal import (
    NO_VARIABLES,
    Journal,
    PlanVariables,
    decode_journal,
    encode_journal,
)
from kplan.state.journal_writer import JournalWriter, interrupted_apply_error, journal_start
from kplan.state.lock import LockStatus
from kplan.state.lock_holder import LockHolder, utc_now
from kplan.state.record_document import (
    CURRENT_RECORD,
    Manifest,
    RecordChanges,
    RecordView,
    list_versions,
    read_version,
    restore_hint,
    split_document,
)
from kplan.state.record_lock import LOCK_RECORD, RecordLock, RecordTransaction, RecordUpdate

T = TypeVar("T")

_JOURNAL_PREFIX = "journal/"

RecordsWriter = Callable[[Callable[[RecordView], RecordChanges]], None]
"""Takes a step on the records."""


def has_journal(view: RecordView) -> bool:
    """Whether there is one."""
    return any(name.startswith(_JOURNAL_PREFIX) for name in view)


def journal_bytes(view: RecordView) -> bytes:
    """Put it together.

    Raises:
        StateCorruptError: a piece is missing.

    """
    names = _journal_record_names(view)
    for number, name in enumerate(names):
        if name != _journal_record_name(number):
            raise StateCorruptError(f"Piece {number} of the journal is missing.")
    return b"".join(view[name] for name in names)


def journal_tombstones(view: RecordView) -> RecordChanges:
    """Remove it."""
    return dict.fromkeys(_journal_record_names(view))


def journal_records(lines: bytes) -> RecordChanges:
    """Begin one."""
    return {_journal_record_name(number): each for number, each in enumerate(split_document(lines))}


class RecordSink:
    """Appends to an existing journal; `sync` is one write for everything added before it."""

    def __init__(self, write: RecordsWriter, pieces: int) -> None:
        self._write = write
        self._part_count = pieces
        self._buffer = b""

    def add(self, lines: bytes) -> None:
        """Keep lines for the next write."""
        self._buffer += lines

    def sync(self) -> None:
        """Write the added lines.

        Raises:
            StateLockedError: the lock was lost.
            StateError: it cannot be written.

        """
        pieces = {
            _journal_record_name(self._part_count + number): each
            for number, each in enumerate(split_document(self._buffer))
        }
        try:
            self._write(lambda _: pieces)
        except ClusterError as failure:
            raise StateError(
                f"The journal cannot be written: {failure.detail} Nothing more was sent.",
                _resume_hint(failure),
            ) from failure
        self._part_count += len(pieces)
        self._buffer = b""


def _resume_hint(failure: ClusterError) -> str:
    """Name the party that has to be repaired: the state may be elsewhere than on the cluster."""
    match failure:
        case ObjectStoreUnreachableError():
            return "Once the object store answers again: kplan apply -resume"
        case ObjectStoreAuthError():
            return f"{failure.hint} Then: kplan apply -resume"
        case _:
            return "Once the cluster answers again: kplan apply -resume"


def _journal_record_names(view: RecordView) -> list[str]:
    return sorted(name for name in view if name.startswith(_JOURNAL_PREFIX))


def _journal_record_name(number: int) -> str:
    return f"{_JOURNAL_PREFIX}{number:06}"


_NOT_READ = object()


class RecordStore:
    """The state in the records; implements `StateStore`.

    Every change is one step, which is taken only if the lock is still ours and the state still the
    one that was read.
    """

    def __init__(self, records: Records) -> None:
        self._transaction = RecordTransaction(records)
        self._lock = RecordLock(self._transaction)
        self._seen_manifest: object = _NOT_READ

    @property
    def location(self) -> str:
        """The topic and the key."""
        return self._transaction.location

    def read(self) -> State | None:
        """Read the state."""
        found = self._read(decode_state)
        return None if found is None else found[1]

    def read_modules(self) -> OwnedModules | None:
        """Read them from the state."""
        found = self._read(decode_modules)
        return None if found is None else found[1]

    def read_document(self) -> bytes | None:
        """Return the document, once it has proved to be whole."""
        found = self._read(decode_state)
        return None if found is None else found[0]

    def write(self, state: State) -> None:
        """Write the state; if that fails it is saved to a file that the hint names."""
        data = encode_state(state, VERSION)
        try:
            self._replace(data, state_header(state), documents.current_manifest)
        except ClusterError as failure:
            reason = StateError(f"The state cannot be written: {failure.detail}")
            raise save_emergency_copy(reason, data) from failure
        except StateError as conflict:
            raise save_emergency_copy(conflict, data) from conflict

    def write_document(self, document: bytes) -> None:
        """Write exactly this document."""
        self._replace(
            document,
            decode_header(document),
            lambda view: (
                None if documents.read_move_note(view) else documents.current_manifest(view)
            ),
        )

    def write_move_note(self, to: str) -> None:
        """Put a note in the place of the state, which is kept among those before it."""
        self._update(lambda _: documents.move_note_records(to))

    def read_move_note(self) -> str:
        """Read the note in the place of the state."""
        return documents.read_move_note(self._transaction.read() or {})

    @contextmanager
    def hold_lock(
        self, holder: LockHolder | None, timeout_s: float, waiting: Callable[[LockHolder], None]
    ) -> Iterator[None]:
        """Hold the lock, and forgotten the cluster at the end."""
        try:
            if holder is None:
                yield
            else:
                with self._lock.hold(holder, timeout_s, waiting):
                    yield
        finally:
            self._transaction.close()

    def lock_status(self) -> LockStatus:
        """Look at the lock."""
        return self._lock.status()

    def force_unlock(self, id: str) -> LockHolder:  # noqa: A002 - the word on the command line
        """Remove the lock; the run that had it cannot write any more."""
        try:
            return self._lock.force_unlock(id)
        finally:
            self._transaction.close()

    def read_journal(self) -> Journal | None:
        """Read the journal."""
        view = self._transaction.read() or {}
        if not has_journal(view):
            return None
        way_out = "Remove its records from the topic; kplan plan then shows what was done."
        return decode_journal(journal_bytes(view), self.location, way_out)

    def has_journal(self) -> bool:
        """Whether there is a journal."""
        return has_journal(self._transaction.read() or {})

    def check_free_space(self, changes: int) -> None:
        """Check nothing: a cluster does not show how much room there is."""

    @contextmanager
    def open_journal(
        self,
        plan: Plan,
        nonce: str = "",
        holder: LockHolder | None = None,  # noqa: ARG002 - every record is written under the lock
        variables: PlanVariables = NO_VARIABLES,
        unanswered: Sequence[Change] = (),
    ) -> Iterator[JournalWriter]:
        """Keep a journal."""
        first = journal_start(plan, nonce, variables, unanswered)
        changes = journal_records(first.lines)

        def step(view: RecordView) -> RecordChanges:
            if has_journal(view) and not unanswered:
                raise interrupted_apply_error(f"in {self.location}")
            return {**journal_tombstones(view), **changes}

        self._update(step)
        yield first.open_writer(RecordSink(self._update, len(changes)))

    def replace_journal(self, journal: Journal) -> None:
        """Replace the records of the journal."""
        records = journal_records(encode_journal(journal))
        self._update(lambda view: {**journal_tombstones(view), **records})

    def discard_journal(self) -> None:
        """Remove the journal."""
        self._update(journal_tombstones)

    def list_versions(self) -> tuple[StateVersion, ...]:
        """List the states that were, and the state."""
        return tuple(list_versions(self._transaction.read() or {}, self.location))

    def read_version(self, serial: int) -> State:
        """Read the state that had this serial."""
        return read_version(self._transaction.read() or {}, serial, self.location)

    def list_workspaces(self) -> tuple[str, ...]:
        """Look at the states beside this one."""
        return workspaces_of_keys(self._transaction.key, self._transaction.list_keys())

    def for_workspace(self, name: str) -> "RecordStore":
        """Return the state beside this one."""
        key = workspace_key(base_key(self._transaction.key), name)
        return RecordStore(self._transaction.records_beside(key))

    def delete_workspace(self) -> None:
        """Remove all records but the lock."""
        self._update(lambda view: dict.fromkeys(name for name in view if name != LOCK_RECORD))

    def newest_serial(self) -> int:
        """Look at all states that are kept."""
        return max(documents.stored_serials(self._transaction.read() or {}), default=0)

    def _read(self, decode: Callable[[bytes], T]) -> tuple[bytes, T] | None:
        view = self._transaction.read() or {}
        self._seen_manifest = view.get(CURRENT_RECORD)
        try:
            manifest = documents.current_manifest(view)
            if manifest is None:
                return None
            data = documents.read_document(view, manifest)
            return data, decode(data)
        except StateCorruptError as fault:
            hint = fault.hint or restore_hint(view)
            raise StateCorruptError(f"{self.location}: {fault.detail}", hint) from fault
        except StateError as fault:
            raise StateError(f"{self.location}: {fault.detail}", fault.hint) from fault

    def _replace(
        self, data: bytes, heading: StateHeader, before: Callable[[RecordView], Manifest | None]
    ) -> None:
        digest = hashlib.sha256(data).hexdigest()

        def step(view: RecordView) -> RecordChanges:
            if self._seen_manifest not in (_NOT_READ, view.get(CURRENT_RECORD)):
                raise StateError(f"{self.location} was written by another run.")
            previous = _intact_manifest(before, view)
            if previous is not None:
                if previous.sha256 == digest:
                    return {}
                check_successor(previous.header, heading, self.location)
            return documents.encode_records(data, heading, view, at=utc_now(), by=VERSION)

        self._update(step)

    def _update(self, step: RecordUpdate) -> None:
        """Take a step under the lock."""
        taken: RecordChanges = {}

        def locked_step(view: RecordView) -> RecordChanges:
            nonlocal taken
            kept = self._lock.check_held(view)
            taken = step(view)
            return {**kept, **taken} if taken else {}

        self._transaction.update(locked_step)
        if taken:
            self._lock.confirm_write()
        self._seen_manifest = taken.get(CURRENT_RECORD, self._seen_manifest)


def _intact_manifest(
    before: Callable[[RecordView], Manifest | None], view: RecordView
) -> Manifest | None:
    """Return the state to be replaced; a damaged one does not prevent it."""
    try:
        manifest = before(view)
        if manifest is not None:
            documents.read_document(view, manifest)
    except StateCorruptError:
        return None
    return manifest
