"""States as records: compressed, in parts, with a manifest; and their history."""

import gzip
import hashlib
import json
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from kplan.model.dataclass import dataclass
from kplan.model.errors import StateCorruptError, StateError
from kplan.model.state import State, StateVersion, diff_owned
from kplan.state.codec import StateHeading, decode_state, is_moved, read_moved_to
from kplan.state.history import KEEP

FORMAT = 1
PART_BYTES = 512 * 1024

CURRENT = "state"
_STATES = "states/"

View = Mapping[str, bytes]
"""Records by name."""

Changes = Mapping[str, bytes | None]
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
    def heading(self) -> StateHeading:
        """What tells the state from others."""
        return StateHeading(self.lineage, self.serial, self.cluster_id)


def encode_records(
    document: bytes, heading: StateHeading, view: View, *, at: str, by: str
) -> Changes:
    """Make this the current state; of the states before it the newest are kept.

    `at` is the time, ISO 8601 in UTC, and `by` the version of kplan.
    """
    packed = gzip.compress(document, mtime=0)
    pieces = list(document_pieces(packed))
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
    name = _name(heading.serial)
    parts = {f"{name}/{number:04}": each for number, each in enumerate(pieces)}
    told = _encoded({"format": FORMAT, **asdict(manifest)})
    old = stored_serials(view)[:-KEEP]
    gone = [each for each in view if _serial(each) in {*old, heading.serial}]
    return {**dict.fromkeys(gone), **parts, name: told, CURRENT: told}


def retire_records(to: str) -> Changes:
    """Leave a note that the state was moved; those before it stay."""
    return {CURRENT: _encoded({"format": FORMAT, "moved_to": to})}


def current_serial(view: View) -> Manifest | None:
    """Return the manifest of the current state, None where none was ever written.

    Raises:
        StateCorrupt: it is missing, or cannot be read.
        StateError: the state was moved away.

    """
    if CURRENT not in view:
        if any(each.startswith(_STATES) for each in view):
            raise StateCorruptError(
                "The record is missing that says which state is the current one."
            )
        return None
    if to := read_moved_to(view[CURRENT]):
        raise is_moved(to)
    return _manifest(view[CURRENT])


def read_moved_from(view: View) -> str:
    """Return where the state was moved to, "" where it was not."""
    return read_moved_to(view.get(CURRENT, b""))


def stored_serials(view: View) -> list[int]:
    """List the states that are kept, oldest first; also those that may be damaged."""
    return sorted({found for each in view if (found := _serial(each)) is not None})


def read_manifest(view: View, serial: int) -> Manifest:
    """Return the manifest of a state; raises StateCorrupt."""
    if _name(serial) not in view:
        raise StateCorruptError(f"The record is missing that describes serial {serial}.")
    return _manifest(view[_name(serial)])


def is_current(view: View, serial: int) -> bool:
    """Whether a state that is kept is the current one."""
    return CURRENT in view and view[CURRENT] == view.get(_name(serial))


def read_record_document(view: View, manifest: Manifest) -> bytes:
    """Put a document together.

    Raises:
        StateCorrupt: a part is missing or changed.

    """
    name = _name(manifest.serial)
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


def document_pieces(data: bytes) -> Iterator[bytes]:
    """Cut data to the size of records."""
    for start in range(0, len(data), PART_BYTES):
        yield data[start : start + PART_BYTES]


def _manifest(data: bytes) -> Manifest:
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


def _serial(name: str) -> int | None:
    if not name.startswith(_STATES):
        return None
    number = name.removeprefix(_STATES).partition("/")[0]
    return int(number) if number.isdecimal() else None


def _name(serial: int) -> str:
    return f"{_STATES}{serial:010}"


def _encoded(found: Mapping[str, object]) -> bytes:
    return json.dumps(found, ensure_ascii=False).encode("utf-8", "surrogatepass")


def list_versions(view: View, place: str) -> Iterator[StateVersion]:
    """List them, oldest first, each told by what it changed."""
    previous: State | None = None
    for serial in stored_serials(view):
        where = f"{place}, serial {serial}"
        is_now = is_current(view, serial)
        try:
            state = _state(view, serial)
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


def read_earlier(view: View, serial: int, place: str) -> State:
    """Read one.

    Raises:
        StateError: there is none with that serial, or it is damaged.

    """
    kept = stored_serials(view)
    if serial not in kept:
        told = ", ".join(str(each) for each in kept) or "none"
        raise StateError(f"There is no state of serial {serial} in {place}; kept are: {told}.")
    try:
        return _state(view, serial)
    except StateCorruptError as fault:
        raise StateCorruptError(f"{place}: {fault.detail}", fault.hint) from fault


def restore_hint(view: View) -> str:
    """Name the newest state that is whole."""
    for serial in reversed(stored_serials(view)):
        try:
            _state(view, serial)
        except StateError:
            continue
        return f"Restore serial {serial}: kplan state restore {serial}"
    return "No whole state is left; make one anew: kplan state rebuild"


def _state(view: View, serial: int) -> State:
    return decode_state(read_record_document(view, read_manifest(view, serial)))
