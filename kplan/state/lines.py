"""Lines of JSON, each with a checksum over itself and all before it.

A line that was changed, lost or moved breaks the chain from there on. Only the end of the file may
be missing a line break: that is where a run was killed in the middle of a write.
"""

import json
import zlib
from collections.abc import Iterator, Mapping
from typing import Any

from kplan.state.json_text import compact

_MARK = b',"crc":"'
_CLOSE = b'"}'


class Chain:
    """Writes lines, one after another."""

    def __init__(self) -> None:
        self._crc = 0

    def line(self, document: Mapping[str, object]) -> bytes:
        """Write the next line; the document has at least one member."""
        body = compact(document)[:-1]  # without its brace
        self._crc = zlib.crc32(body, self._crc)
        return b'%b,"crc":"%08x"}\n' % (body, self._crc)


def whole_lines(data: bytes) -> Iterator[Mapping[str, Any]]:
    """Read all lines but one that was cut off by the end of the file.

    Raises:
        ValueError: a line is not what was written, with its number (from 1).

    """
    crc = 0
    for number, line in enumerate(data.split(b"\n")[:-1], start=1):
        body, mark, tail = line.rpartition(_MARK)
        crc = zlib.crc32(body, crc)
        if not mark or tail != _hex(crc) + _CLOSE:
            raise ValueError(f"line {number} is damaged")
        yield json.loads(line)


def _hex(crc: int) -> bytes:
    return f"{crc:08x}".encode()
