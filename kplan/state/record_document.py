"""States as records: compressed, in parts, with a manifest; and their history."""

import gzip
import hashlib
import json
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from kplan.cluster.topology import CURRENT_STATE
from kplan.model.dataclass import dataclass
from kplan.model.errors import StateCorruptError, StateError
from kplan.model.state import State, StateVersion, diff_owned
from kplan.state.codec import StateHeader, decode_move_note, decode_state, moved_state_error
from kplan.state.history import MAX_BACKUPS

FORMAT = 1
PART_BYTES = 512 * 1024

CURRENT_RECORD = CURRENT_STATE
_STATES = "states/"

RecordView = Mapping[str, bytes]
"""Records by name."""

RecordChanges = Mapping[str, bytes | None]
"""Records to put, and those to remove: None."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a state among records must be. `written_at` is ISO 8601 in UTC, `size` in bytes."""

    lineage: str
    serial: int
    cluster_id: str
    sha256: str
    size: int
    parts: int
    written_at: str
    kplan_version: str

    @property
    def header(self) -> StateHeader:
        """The key of the state among others."""
        return StateHeader(self.lineage, self.serial, self.cluster_id)


def encode_records(
    document: bytes, heading: StateHeader, view: RecordView, *, at: str, by: str
) -> RecordChanges:
    """Make this the current state; of the states before it the newest are kept.

    `at` is the time, ISO 8601 in UTC, and `by` the version of kplan.
    """
    packed = gzip.compress(document, mtime=0)
    pieces = list(split_document(packed))
    manifest = Manifest(
        heading.lineage,
        heading.serial,
        heading.cluster_id,
        hashlib.sha256(document).hexdigest(),
        len(document),
        len(pieces),
        at,
        by,
    )
    name = _record_name(heading.serial)
    parts = {f"{name}/{number:04}": each for number, each in enumerate(pieces)}
    found = _encode_json({"format": FORMAT, **asdict(manifest)})
    old = stored_serials(view)[:-MAX_BACKUPS]
    gone = [each for each in view if _record_serial(each) in {*old, heading.serial}]
    return {**dict.fromkeys(gone), **parts, name: found, CURRENT_RECORD: found}


def move_note_records(to: str) -> RecordChanges:
    """Leave a note that the state was moved; earlier states stay."""
    return {CURRENT_RECORD: _encode_json({"format": FORMAT, "moved_to": to})}


def current_manifest(view: RecordView) -> Manifest | None:
    """Return the manifest of the current state, None where none was ever written.

    Raises:
        StateCorruptError: it is missing, or cannot be read.
        StateError: the state was moved away.

    """
    if CURRENT_RECORD not in view:
        if any(each.startswith(_STATES) for each in view):
            raise StateCorruptError("The record that names the current state is missing.")
        return None
    if to := decode_move_note(view[CURRENT_RECORD]):
        raise moved_state_error(to)
    return _parse_manifest(view[CURRENT_RECORD])


def read_move_note(view: RecordView) -> str:
    """Return where the state was moved to, "" where it was not."""
    return decode_move_note(view.get(CURRENT_RECORD, b""))


def stored_serials(view: RecordView) -> list[int]:
    """List the states that are kept, oldest first; also those that may be damaged."""
    return sorted({found for each in view if (found := _record_serial(each)) is not None})


def read_manifest(view: RecordView, serial: int) -> Manifest:
    """Return the manifest of a state; raises StateCorruptError."""
    if _record_name(serial) not in view:
        raise StateCorruptError(f"The record is missing that describes serial {serial}.")
    return _parse_manifest(view[_record_name(serial)])


def is_current(view: RecordView, serial: int) -> bool:
    """Whether a state that is kept is the current one."""
    return CURRENT_RECORD in view and view[CURRENT_RECORD] == view.get(_record_name(serial))


def read_document(view: RecordView, manifest: Manifest) -> bytes:
    """Put a document together.

    Raises:
        StateCorruptError: a part is missing or changed.

    """
    name = _record_name(manifest.serial)
    names = [f"{name}/{number:04}" for number in range(manifest.parts)]
    missing = [each for each in names if each not in view]
    if missing:
        raise StateCorruptError(
            f"{len(missing)} of the {manifest.parts} parts of serial {manifest.serial} are missing."
        )
    try:
        found = gzip.decompress(b"".join(view[each] for each in names))
    except (OSError, EOFError, zlib.error) as failure:
        raise StateCorruptError(f"Serial {manifest.serial} is damaged: {failure}.") from failure
    if len(found) != manifest.size or hashlib.sha256(found).hexdigest() != manifest.sha256:
        raise StateCorruptError(
            f"The checksum of serial {manifest.serial} is wrong: it is not what kplan wrote."
        )
    return found


def split_document(data: bytes) -> Iterator[bytes]:
    """Cut data to the size of records."""
    for start in range(0, len(data), PART_BYTES):
        yield data[start : start + PART_BYTES]


def _parse_manifest(data: bytes) -> Manifest:
    try:
        found: Mapping[str, Any] = json.loads(data)
        if found["format"] > FORMAT:
            raise StateCorruptError(
                f"Its format is {found['format']}; this version of kplan reads up to {FORMAT}.",
                f"Use kplan {found.get('kplan_version', '')} or later.",
            )
        return Manifest(
            lineage=str(found["lineage"]),
            serial=int(found["serial"]),
            cluster_id=str(found["cluster_id"]),
            sha256=str(found["sha256"]),
            size=int(found["size"]),
            parts=int(found["parts"]),
            written_at=str(found["written_at"]),
            kplan_version=str(found["kplan_version"]),
        )
    except (AttributeError, KeyError, TypeError, ValueError) as failure:
        raise StateCorruptError(
            f"The record that describes the state is damaged: {failure}."
        ) from failure


def _record_serial(name: str) -> int | None:
    if not name.startswith(_STATES):
        return None
    number = name.removeprefix(_STATES).partition("/")[0]
    return int(number) if number.isdecimal() else None


def _record_name(serial: int) -> str:
    return f"{_STATES}{serial:010}"


def _encode_json(found: Mapping[str, object]) -> bytes:
    return json.dumps(found, ensure_ascii=False).encode("utf-8", "surrogatepass")


def list_versions(view: RecordView, place: str) -> Iterator[StateVersion]:
    """List them, oldest first, each with its changes."""
    previous: State | None = None
    for serial in stored_serials(view):
        where = f"{place}, serial {serial}"
        is_now = is_current(view, serial)
        try:
            state = _read_state(view, serial)
        except StateError as fault:
            yield StateVersion(where, "", serial, is_current=is_now, read_error=fault.detail)
            continue
        yield StateVersion(
            where,
            read_manifest(view, serial).written_at,
            state.serial,
            state.lineage,
            len(state.owned),
            None if previous is None else diff_owned(previous.owned, state.owned),
            is_now,
        )
        previous = state


def read_version(view: RecordView, serial: int, place: str) -> State:
    """Read one.

    Raises:
        StateError: there is none with that serial, or it is damaged.

    """
    kept = stored_serials(view)
    if serial not in kept:
        text = ", ".join(str(each) for each in kept) or "none"
        raise StateError(f"There is no state of serial {serial} in {place}; available: {text}.")
    try:
        return _read_state(view, serial)
    except StateCorruptError as fault:
        raise StateCorruptError(f"{place}: {fault.detail}", fault.hint) from fault


def restore_hint(view: RecordView) -> str:
    """Name the newest state that is whole."""
    for serial in reversed(stored_serials(view)):
        try:
            _read_state(view, serial)
        except StateError:
            continue
        return f"Restore serial {serial}: kplan state restore {serial}"
    return "No complete state is left. Build a new one: kplan state rebuild"


def _read_state(view: RecordView, serial: int) -> State:
    return decode_state(read_document(view, read_manifest(view, serial)))
