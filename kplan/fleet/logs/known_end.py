"""Where the reading of logs ended, and which of these logs a file is: by checksums of its bytes."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import BinaryIO, NamedTuple

HEAD_BYTES = 4096
UNKNOWN_END = -1


class KnownEnd(NamedTuple):
    """Where the reading of a log ended, and how to see that a file is this log.

    With `is_read_again` the log is to be read from its beginning.
    """

    end: int
    head_length: int
    head: str
    tail: str
    is_read_again: bool = False


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
        (not each.is_read_again, each.end, place, each.tail)
        for place, each in _of_head(read_head(file), ends)
        if max(each.head_length, each.end) <= length
    )
    for is_read_on, end, place, tail in reversed(fitting):
        if tail_checksum(file, end) == tail:
            return place, end if is_read_on else 0
    return -1, 0


def packed_ends(held: bytes, ends: KnownEnds) -> list[tuple[int, KnownEnd]]:
    """List the logs that a packed file may be, with their places: those that begin like it.

    In: its first bytes. Of logs with a request, which tells more, there is none.
    """
    found = [each for each in _of_head(held, ends) if each[1].is_read_again]
    return sorted(found, key=lambda each: each[1].end, reverse=True)


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
