"""Where the reading of logs ended, and which of these logs a file is: by checksums of its bytes."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import BinaryIO, NamedTuple

HEAD_BYTES = 4096
UNKNOWN_END = -1


class KnownEnd(NamedTuple):
    """Where the reading of a log ended, and how to see that a file is this log.

    `end` is UNKNOWN_END where the log is to be read from its beginning again.
    """

    end: int
    head_length: int
    head: str
    tail: str


KnownEnds = Mapping[int, Mapping[str, Sequence[tuple[int, KnownEnd]]]]
"""Ends of logs with their places, by `head_length` and `head`: of a file there are as many
checksums to compute as there are lengths, and not as there are logs."""


def index_ends(ends: Iterable[KnownEnd]) -> KnownEnds:
    """Index ends of logs; the place of each is that among those that are given."""
    found: dict[int, dict[str, list[tuple[int, KnownEnd]]]] = {}
    for place, each in enumerate(ends):
        found.setdefault(each.head_length, {}).setdefault(each.head, []).append((place, each))
    return found


def find_known_end(file: BinaryIO, length: int, ends: KnownEnds) -> tuple[int, int]:
    """Find the furthest end that the file has gone on from: its place, and where it is read from.

    The place is -1 where there is none.
    """
    fitting = sorted(
        (each.end, place, each.tail)
        for place, each in _of_head(read_head(file), ends)
        if each.head_length <= (length if each.end == UNKNOWN_END else each.end) <= length
    )
    for end, place, tail in reversed(fitting):
        if end == UNKNOWN_END or tail_checksum(file, end) == tail:
            return place, max(end, 0)
    return -1, 0


def find_known_head(held: bytes, ends: KnownEnds) -> int:
    """Find the log that was packed, by what it begins with; -1 is none."""
    fitting = [(each.head_length, each.end, place) for place, each in _of_head(held, ends)]
    return max(fitting)[2] if fitting else -1


def _of_head(held: bytes, ends: KnownEnds) -> Iterator[tuple[int, KnownEnd]]:
    for length, logs in ends.items():
        if 0 < length <= len(held):
            yield from logs.get(checksum(held[:length]), ())


def read_head(file: BinaryIO) -> bytes:
    """Return the first bytes of a file, HEAD_BYTES at most."""
    file.seek(0)
    return file.read(HEAD_BYTES)


def head_checksum(file: BinaryIO, length: int) -> str:
    """Return the checksum of so many bytes at the beginning."""
    file.seek(0)
    return checksum(file.read(length))


def tail_checksum(file: BinaryIO, end: int) -> str:
    """Return the checksum of what is before an end, HEAD_BYTES at most."""
    begin = max(0, end - HEAD_BYTES)
    file.seek(begin)
    return checksum(file.read(end - begin))


def checksum(held: bytes) -> str:
    """Return the checksum of some bytes: 32 hexadecimal digits."""
    return hashlib.sha256(held).hexdigest()[:32]
