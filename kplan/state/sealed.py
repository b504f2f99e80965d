"""JSON documents that tell whether they are whole: indented, with a checksum as last line."""

import hashlib
from collections.abc import Mapping

from kplan.state.json_text import indented

_MARK = b',\n  "sha256": "'
_CLOSE = b'"\n}\n'


def seal(document: Mapping[str, object]) -> bytes:
    """Write a document of at least one member; the checksum covers every byte before it."""
    body = indented(document).removesuffix(b"\n}")
    return body + _MARK + _digest(body) + _CLOSE


def is_sealed(data: bytes) -> bool:
    """Whether the bytes are exactly what `seal` wrote."""
    body, mark, tail = data.rpartition(_MARK)
    return bool(mark) and tail == _digest(body) + _CLOSE


def _digest(body: bytes) -> bytes:
    return hashlib.sha256(body).hexdigest().encode()
