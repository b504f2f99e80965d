"""Values as a console prints them and as diagnostics describe them."""

from collections.abc import Iterable, Iterator
from itertools import repeat
from typing import Final

from kplan.config.values.number import number_text
from kplan.config.values.types import type_name, type_of
from kplan.config.values.value import (
    ANY,
    AnyType,
    Ephemeral,
    ListType,
    MapType,
    Null,
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
    is_number,
)

SENSITIVE: Final = "(sensitive value)"
"""What stands for a value that is not to be shown."""

EPHEMERAL: Final = "(ephemeral value)"
"""What stands for the value of an ephemeral variable."""

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
    """Write a value as `terraform console` does; what is sensitive is named as such only."""
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
            return f"to{of.name}(null)"
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
    return _enclosed(opening, lines, closing, indent)


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
    return _enclosed(opening, lines, closing, indent)


def _member_type(of: Type, key: str) -> Type:
    if isinstance(of, ObjectType):
        return of.attributes.get(key, ANY)
    return of.element if isinstance(of, MapType) else ANY


def _enclosed(opening: str, lines: list[str], closing: str, indent: int) -> str:
    if not lines:
        return opening + closing
    return "\n".join([opening, *lines, " " * indent + closing])


def _string(text: str, indent: int) -> str:
    if "\n" in text and not _steers_terminal(text):
        return _heredoc(text.split("\n"), indent)
    return f'"{"".join(_escaped(text))}"'


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


def _escaped(text: str) -> Iterator[str]:
    """Escape what does not print, as Go's %q does (strconv.Quote)."""
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

    Collections are told by type and size, objects by their attributes; secrets never.
    """
    match value:
        case Sensitive():
            return "has a sensitive value"
        case None | Null():
            return "is null"
        case bool():
            return "is true" if value else "is false"
        case str():
            return f"is {_quoted(value)}"
        case tuple() | TMap():
            return f"is {_sized(value)}"
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


def _sized(value: tuple[Value, ...] | TMap) -> str:
    name = type_name(type_of(value))
    if not value:
        return f"empty {name}"
    return f"{name} with {len(value)} element{'' if len(value) == 1 else 's'}"


def _quoted(text: str) -> str:
    shown = text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}..."
    escaped = shown.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + escaped.replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t") + '"'
