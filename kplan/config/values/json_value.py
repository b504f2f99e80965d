"""Values as JSON, and JSON as values; numbers stay exact in text."""

import json
from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Final, TypeAlias

from kplan.config.values.number import clean_text, exact, number_text, parse_number
from kplan.config.values.value import Null, Number, Sensitive, Value, is_null, is_number

MAX_DEPTH: Final = 100
"""Levels that a document may nest."""

Json: TypeAlias = (
    "bool | float | Number | Decimal | str | Sequence[Json] | Mapping[str, Json] | None"
)
"""What `json.loads` yields, whatever its number hooks."""


def to_json_value(value: Value) -> Json:
    """Turn a value into what `json.dumps` takes; sets and tuples become lists.

    Fractions become floats here, the nearest there is; `json_text` keeps every digit.

    Raises:
        ValueError: a part is sensitive. Take the marks off first, where showing it is meant.

    """
    match value:
        case Sensitive():
            raise ValueError("a sensitive value cannot be written")
        case tuple():
            return [to_json_value(each) for each in value]
        case dict():
            return {key: to_json_value(value[key]) for key in sorted(value)}
        case Fraction():
            return float(value)
        case Null():
            return None
        case _:
            return value


def from_json_value(json_value: Json, depth: int = MAX_DEPTH) -> Value:
    """Turn the result of `json.loads` into a value: lists become tuples, mappings objects.

    Raises:
        ValueError: it nests more than `depth` levels.

    """
    if depth < 0:
        raise ValueError(f"the document nests more than {MAX_DEPTH} levels deep")
    match json_value:
        case None | bool():
            return json_value
        case str():
            return clean_text(json_value)
        case int() | Fraction():
            return exact(json_value)
        case float() | Decimal():
            return parse_number(str(json_value))
        case Mapping():
            pairs = {clean_text(key): each for key, each in json_value.items()}
            return {key: from_json_value(pairs[key], depth - 1) for key in sorted(pairs)}
        case _:
            return tuple(from_json_value(each, depth - 1) for each in json_value)


def json_text(value: Value) -> str:
    """Write a value as compact JSON with sorted keys and exact numbers.

    Raises:
        ValueError: a part is sensitive.

    """
    match value:
        case Sensitive():
            raise ValueError("a sensitive value cannot be written")
        case tuple():
            return f"[{','.join(json_text(each) for each in value)}]"
        case dict():
            pairs = (f"{_string(key)}:{json_text(value[key])}" for key in sorted(value))
            return f"{{{','.join(pairs)}}}"
        case str():
            return _string(value)
        case _ if is_number(value):
            return number_text(value)
        case _:
            return "null" if is_null(value) else json.dumps(value)


def _string(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def json_loads(text: str) -> Value:
    """Read JSON text with exact numbers.

    Raises:
        ValueError: the text is not JSON (`json.JSONDecodeError` has the place), or a number in it
            has too many digits.
        RecursionError: it is nested deeper than Python's stack allows.

    """
    loaded: Json = json.loads(
        text, parse_float=parse_number, parse_int=parse_number, parse_constant=_refused
    )
    return from_json_value(loaded)


def _refused(constant: str) -> Value:
    raise ValueError(f"{constant} is not JSON")
