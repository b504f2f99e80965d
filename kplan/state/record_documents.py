"""States as records: compressed, in parts, each with a record that says what the whole must be.

    state                        which state is the current one: a manifest, or where it was moved
    states/0000000041            the manifest of serial 41
    states/0000000041/0000       its parts, in order

A manifest holds lineage, serial, number of parts, size and SHA-256 of the document, which is the
same, byte for byte, as in a file. Manifest and parts are written as one; whatever does not fit
together is damage, and never the same as no state.
"""

import gzip
import hashlib
import json
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from kplan.model.dataclass import dataclass
from kplan.model.errors import StateCorruptError
from kplan.state.backup import KEEP
from kplan.state.codec import Heading, moved, moved_to

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
    def heading(self) -> Heading:
        """What tells the state from others."""
        return Heading(self.lineage, self.serial, self.cluster_id)


def written(document: bytes, heading: Heading, view: View, *, at: str, by: str) -> Changes:
    """Make this the current state; of the states before it the newest are kept.

    `at` is the time, ISO 8601 in UTC, and `by` the version of kplan.
    """
    packed = gzip.compress(document, mtime=0)
    pieces = list(pieces_of(packed))
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
    old = serials(view)[:-KEEP]
    gone = [each for each in view if _serial(each) in {*old, heading.serial}]
    return {**dict.fromkeys(gone), **parts, name: told, CURRENT: told}


def retired(to: str) -> Changes:
    """Leave a note that the state was moved; those before it stay."""
    return {CURRENT: _encoded({"format": FORMAT, "moved_to": to})}


def current(view: View) -> Manifest | None:
    """Give the manifest of the current state, None where none was ever written.

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
    if to := moved_to(view[CURRENT]):
        raise moved(to)
    return _manifest(view[CURRENT])


def moved_from(view: View) -> str:
    """Tell where the state was moved to, "" where it was not."""
    return moved_to(view.get(CURRENT, b""))


def serials(view: View) -> list[int]:
    """List the states that are kept, oldest first; also those that may be damaged."""
    return sorted({found for each in view if (found := _serial(each)) is not None})


def manifest_of(view: View, serial: int) -> Manifest:
    """Give the manifest of a state; raises StateCorrupt."""
    if _name(serial) not in view:
        raise StateCorruptError(f"The record is missing that describes serial {serial}.")
    return _manifest(view[_name(serial)])


def is_current(view: View, serial: int) -> bool:
    """Whether a state that is kept is the current one."""
    return CURRENT in view and view[CURRENT] == view.get(_name(serial))


def document(view: View, manifest: Manifest) -> bytes:
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


def pieces_of(data: bytes) -> Iterator[bytes]:
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
