"""JSON as bytes: by orjson, and by the standard library where orjson refuses.

It refuses what hardly ever comes: lone surrogates, and whole numbers of more than 64 bits.
"""

import json

import orjson


def indented(document: object) -> bytes:
    """Write what `json.dumps(indent=2, ensure_ascii=False)` writes."""
    try:
        return orjson.dumps(document, option=orjson.OPT_INDENT_2)
    except TypeError:
        text = json.dumps(document, ensure_ascii=False, allow_nan=False, indent=2)
        return text.encode("utf-8", "surrogatepass")


def compact(document: object) -> bytes:
    """Write it on one line, without a blank."""
    try:
        return orjson.dumps(document)
    except TypeError:
        text = json.dumps(document, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return text.encode("utf-8", "surrogatepass")
