"""Values as text: JSON, the console's notation, and descriptions for diagnostics."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import repeat
from typing import Final, TypeAlias

from kplan.config.values.number import clean_text, exact, number_text, parse_number
from kplan.config.values.value import (
    ANY,
    AnyType,
    Ephemeral,
    ListType,
    MapType,
    Null,
    Number,
    ObjectType,
    PrimitiveType,
    Sensitive,
    SetType,
    TList,
    TMap,
    TSet,
    TupleType,
    Type,
    Value,
    is_null,
    is_number,
    type_name,
    type_of,
)

SENSITIVE: Final = "(sensitive value)"
"""What means a value that is not to be shown."""

EPHEMERAL: Final = "(ephemeral value)"
"""What means the value of an ephemeral variable."""

_STEP: Final = 2
_MARKER: Final = "EOT"
_SHORT_ESCAPES: Final = {
    "\\": "\\\\",
    '"': '\\"',
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
}


def value_text(value: Value) -> str:
    """Write a value as `terraform console` does; sensitive values are masked."""
    return _text(value, type_of(value), 0)


def _text(value: Value, of: Type, indent: int) -> str:
    if isinstance(of, AnyType):
        of = type_of(value)
    match value:
        case Sensitive():
            return EPHEMERAL if isinstance(value, Ephemeral) else SENSITIVE
        case None | Null():
            return _null(of)
        case bool():
            return "true" if value else "false"
        case str():
            return _string(value, indent)
        case tuple():
            return _sequence(value, of, indent)
        case dict():
            return _mapping(value, of, indent)
        case _:
            return number_text(value)


def _null(of: Type) -> str:
    match of:
        case AnyType():
            return "null"
        case PrimitiveType():
            return f"to{of.value}(null)"
        case ListType() | SetType() | MapType():
            name = type_name(of).partition(" ")[0]
            return f"to{name}(null) /* of {type_name(of.element)} */"
        case TupleType() | ObjectType():
            return f"null /* {type_name(of)} */"


def _sequence(value: tuple[Value, ...], of: Type, indent: int) -> str:
    opening, closing = "[", "]"
    if isinstance(value, TList | TSet):
        opening, closing = ("tolist([" if isinstance(value, TList) else "toset(["), "])"
    inner = indent + _STEP
    lines = [
        f"{' ' * inner}{_text(each, part, inner)},"
        for each, part in zip(value, _element_types(of), strict=False)
    ]
    return _enclose_lines(opening, lines, closing, indent)


def _element_types(of: Type) -> Iterable[Type]:
    if isinstance(of, TupleType):
        return of.elements
    return repeat(of.element if isinstance(of, ListType | SetType) else ANY)


def _mapping(value: dict[str, Value], of: Type, indent: int) -> str:
    opening, closing = ("tomap({", "})") if isinstance(value, TMap) else ("{", "}")
    inner = indent + _STEP
    lines = [
        f"{' ' * inner}{_string(key, inner)} = {_text(value[key], _member_type(of, key), inner)}"
        for key in sorted(value)
    ]
    return _enclose_lines(opening, lines, closing, indent)


def _member_type(of: Type, key: str) -> Type:
    if isinstance(of, ObjectType):
        return of.attributes.get(key, ANY)
    return of.element if isinstance(of, MapType) else ANY


def _enclose_lines(opening: str, lines: list[str], closing: str, indent: int) -> str:
    if not lines:
        return opening + closing
    return "\n".join([opening, *lines, " " * indent + closing])


def _string(text: str, indent: int) -> str:
    if "\n" in text and not _steers_terminal(text):
        return _heredoc(text.split("\n"), indent)
    return f'"{"".join(_escape_characters(text))}"'


def _steers_terminal(text: str) -> bool:
    """Return whether a text may do more to a terminal than go on in the next line or column."""
    plain = text.replace("\r\n", "\n").replace("\n", "").replace("\t", "")
    return any(each < " " or "\x7f" <= each < "\xa0" for each in plain)


def _heredoc(lines: list[str], indent: int) -> str:
    marker = _MARKER
    taken = {each.strip() for each in lines}
    while marker in taken:
        marker += "_"
    before = " " * indent
    opening = f"<<-{marker}" if indent else f"<<{marker}"
    return "\n".join([opening, *(f"{before}{each}" for each in lines), f"{before}{marker}"])


def _escape_characters(text: str) -> Iterator[str]:
    """Escape non-printable characters as Go's %q does (strconv.Quote)."""
    if text.isprintable() and "\\" not in text and '"' not in text:
        yield text
        return
    for each in text:
        number = ord(each)
        if each in _SHORT_ESCAPES:
            yield _SHORT_ESCAPES[each]
        elif each.isprintable():
            yield each
        elif number < 0x80:  # noqa: PLR2004 - the width decides the notation
            yield f"\\x{number:02x}"
        else:
            yield f"\\u{number:04x}" if number <= 0xFFFF else f"\\U{number:08x}"  # noqa: PLR2004


_SHOWN_CHARACTERS = 120


def describe_value(value: Value) -> str:
    """Describe a value for the line `local.want ...` of a diagnostic: `is "payments"`.

    Collections are reported by type and size, objects by their attributes; secrets never.
    """
    match value:
        case Sensitive():
            return "has a sensitive value"
        case None | Null():
            return "is null"
        case bool():
            return "is true" if value else "is false"
        case str():
            return f"is {_quote(value)}"
        case tuple() | TMap():
            return f"is {_size_text(value)}"
        case dict():
            return f"is {_object(value)}"
        case _:
            return f"is {number_text(value)}" if is_number(value) else ""


def _object(value: dict[str, Value]) -> str:
    if not value:
        return "object with no attributes"
    if len(value) == 1:
        return f'object with 1 attribute "{next(iter(value))}"'
    return f"object with {len(value)} attributes"


def _size_text(value: tuple[Value, ...] | TMap) -> str:
    name = type_name(type_of(value))
    if not value:
        return f"empty {name}"
    return f"{name} with {len(value)} element{'' if len(value) == 1 else 's'}"


def _quote(text: str) -> str:
    shown = text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}..."
    escaped = shown.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + escaped.replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t") + '"'


MAX_DEPTH: Final = 100
"""Levels that a document may nest."""

Json: TypeAlias = (
    "bool | float | Number | Decimal | str | Sequence[Json] | Mapping[str, Json] | None"
)
"""What `json.loads` yields, whatever its number hooks."""


def to_json_value(value: Value) -> Json:
    """Turn a value into JSON types for `json.dumps`; sets and tuples become lists.

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
            pairs = (f"{_json_value_string(key)}:{json_text(value[key])}" for key in sorted(value))
            return f"{{{','.join(pairs)}}}"
        case str():
            return _json_value_string(value)
        case _ if is_number(value):
            return number_text(value)
        case _:
            return "null" if is_null(value) else json.dumps(value)


def _json_value_string(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def json_loads(text: str) -> Value:
    """Read JSON text with exact numbers.

    Raises:
        ValueError: the text is not JSON (`json.JSONDecodeError` has the place), or a number in it
            has too many digits.
        RecursionError: it is nested deeper than Python's stack allows.

    """
    loaded: Json = json.loads(
        text, parse_float=parse_number, parse_int=parse_number, parse_constant=_refuse_constant
    )
    return from_json_value(loaded)


def _refuse_constant(constant: str) -> Value:
    raise ValueError(f"{constant} is not JSON")
