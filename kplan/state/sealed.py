"""JSON documents that tell whether they are whole: indented, with a checksum as last line."""

import hashlib
import json
from collections.abc import Mapping

_MARK = b',\n  "sha256": "'
_CLOSE = b'"\n}\n'


def seal(document: Mapping[str, object]) -> bytes:
    """Write a document of at least one member; the checksum covers every byte before it."""
    text = json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)
    body = text.encode("utf-8", "surrogatepass").removesuffix(b"\n}")
    return body + _MARK + _digest(body) + _CLOSE


def is_sealed(data: bytes) -> bool:
    """Whether the bytes are exactly what `seal` wrote."""
    body, mark, tail = data.rpartition(_MARK)
    return bool(mark) and tail == _digest(body) + _CLOSE


def _digest(body: bytes) -> bytes:
    return hashlib.sha256(body).hexdigest().encode()
