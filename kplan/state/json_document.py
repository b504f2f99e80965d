"""JSON as bytes, and JSON documents with a checksum as last line."""

import hashlib
import json
from collections.abc import Mapping

import orjson


def indented_json(document: object) -> bytes:
    """Write what `json.dumps(indent=2, ensure_ascii=False)` writes."""
    try:
        return orjson.dumps(document, option=orjson.OPT_INDENT_2)
    except TypeError:
        text = json.dumps(document, ensure_ascii=False, allow_nan=False, indent=2)
        return text.encode("utf-8", "surrogatepass")


def compact_json(document: object) -> bytes:
    """Write it on one line, without a blank."""
    try:
        return orjson.dumps(document)
    except TypeError:
        text = json.dumps(document, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return text.encode("utf-8", "surrogatepass")


_MARK = b',\n  "sha256": "'
_CLOSE = b'"\n}\n'


def seal_document(document: Mapping[str, object]) -> bytes:
    """Write a document of at least one member; the checksum covers every byte before it."""
    body = indented_json(document).removesuffix(b"\n}")
    return body + _MARK + _digest(body) + _CLOSE


def is_sealed(data: bytes) -> bool:
    """Whether the bytes are exactly what `seal` wrote."""
    body, mark, tail = data.rpartition(_MARK)
    return bool(mark) and tail == _digest(body) + _CLOSE


def _digest(body: bytes) -> bytes:
    return hashlib.sha256(body).hexdigest().encode()
