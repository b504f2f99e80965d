"""What a diagnostic says about the value of an expression."""

from kplan.config.values.numbers import number_text
from kplan.config.values.types import type_name, type_of
from kplan.config.values.value import Null, Sensitive, TMap, Value, is_number

_SHOWN_CHARACTERS = 120


def describe(value: Value) -> str:
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
