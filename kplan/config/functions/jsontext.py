"""JSON as `jsonencode` and `format` write it: safe inside HTML."""

from typing import Final

from kplan.config.values.jsonvalue import json_text
from kplan.config.values.value import Value

_ESCAPES: Final = str.maketrans(
    {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
)


def safe_json_text(value: Value) -> str:
    """Write a value without marks as compact JSON; the escaped characters occur in strings only."""
    return json_text(value).translate(_ESCAPES)
