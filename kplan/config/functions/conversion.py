"""Conversions, and functions about marks."""

from typing import Final

from kplan.config.functions.function import Function, Parameter, Refusal, quote
from kplan.config.values.conversion import ConversionError, convert
from kplan.config.values.sensitive import is_sensitive, mark, unmark, without_ephemeral
from kplan.config.values.value import (
    ANY,
    BOOL,
    NUMBER,
    STRING,
    ListType,
    MapType,
    PrimitiveType,
    Sensitive,
    SetType,
    Type,
    Value,
    constraint_name,
    type_name,
    type_of,
)

_STRING_RULES: Final = {
    NUMBER: "given string must be a decimal representation of a number",
    BOOL: 'only the strings "true" or "false" are allowed',
}


def to_bool(value: Value) -> Value:
    """Value as a bool."""
    return _to(value, BOOL)


def to_number(value: Value) -> Value:
    """Value as a number."""
    return _to(value, NUMBER)


def to_string(value: Value) -> Value:
    """Value as a string."""
    return _to(value, STRING)


def to_list(value: Value) -> Value:
    """Sequence as a list, its elements in the one type they share."""
    return _to(value, ListType(ANY))


def to_set(value: Value) -> Value:
    """Sequence as a set, its elements in the one type they share."""
    return _to(value, SetType(ANY))


def to_map(value: Value) -> Value:
    """Object as a map, its values in the one type they share."""
    return _to(value, MapType(ANY))


def _to(value: Value, wanted: Type) -> Value:
    try:
        return convert(value, wanted)
    except ConversionError:
        raise _unsuitable(value, wanted) from None


def _unsuitable(value: Value, wanted: Type) -> Refusal:
    found, marked = unmark(value)
    name = constraint_name(wanted)
    if isinstance(found, str) and isinstance(wanted, PrimitiveType):
        if marked:
            return Refusal(f"cannot convert this sensitive string to {name}", argument=0)
        rule = _STRING_RULES.get(wanted, "")
        return Refusal(f"cannot convert {{}} to {name}; {rule}", quote(found), argument=0)
    return Refusal(f"cannot convert {type_name(type_of(found))} to {name}", argument=0)


def sensitive(value: Value) -> Value:
    """Value that is not to be shown."""
    return mark(value)


def nonsensitive(value: Value) -> Value:
    """Value that may be shown after all; marks on its parts stay."""
    return value.value if isinstance(value, Sensitive) else value


def issensitive(value: Value) -> bool:
    """Whether the value is not to be shown."""
    return is_sensitive(value)


def ephemeral_as_null(value: Value) -> Value:
    """Value with nulls in the place of its ephemeral parts."""
    return without_ephemeral(value)


_V: Final = Parameter("v", nullable=True, marked=True)
_VALUE: Final = Parameter("value", nullable=True, marked=True)

CONVERSIONS: Final = (
    Function("ephemeralasnull", (_VALUE,), ephemeral_as_null),
    Function("issensitive", (_VALUE,), issensitive),
    Function("nonsensitive", (_VALUE,), nonsensitive),
    Function("sensitive", (_VALUE,), sensitive),
    Function("tobool", (_V,), to_bool),
    Function("tolist", (_V,), to_list),
    Function("tomap", (_V,), to_map),
    Function("tonumber", (_V,), to_number),
    Function("toset", (_V,), to_set),
    Function("tostring", (_V,), to_string),
)
