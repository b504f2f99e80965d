"""Marks of secrecy: put on, taken off, looked for."""

from kplan.config.values.value import (
    Ephemeral,
    Null,
    Sensitive,
    TList,
    TMap,
    TSet,
    Value,
    null_of,
    type_of,
)


def is_sensitive(value: Value) -> bool:
    """Return whether the value itself is marked; its parts may still be."""
    return isinstance(value, Sensitive) and not isinstance(value, Ephemeral)


def has_sensitive(value: Value) -> bool:
    """Return whether the value or any part of it is marked."""
    match value:
        case Sensitive():
            return True
        case tuple():
            return any(has_sensitive(each) for each in value)
        case dict():
            return any(has_sensitive(each) for each in value.values())
        case _:
            return False


def mark(value: Value, *, sensitive: bool = True) -> Value:
    """Mark the value as a whole, unless it is marked or `sensitive` is false."""
    return Sensitive(value) if sensitive and not isinstance(value, Sensitive) else value


def mark_ephemeral(value: Value) -> Value:
    """Mark the value as that of an ephemeral variable."""
    return Ephemeral(value.value if isinstance(value, Sensitive) else value)


def without_ephemeral(value: Value) -> Value:
    """Put nulls in the place of the values of ephemeral variables."""
    match value:
        case Ephemeral():
            return null_of(type_of(value))
        case Sensitive():
            return Sensitive(without_ephemeral(value.value))
        case TList() | TSet():
            return type(value)((without_ephemeral(each) for each in value), value.element)
        case TMap():
            parts = {key: without_ephemeral(each) for key, each in value.items()}
            return TMap(parts, value.element)
        case tuple():
            return tuple(without_ephemeral(each) for each in value)
        case dict():
            return {key: without_ephemeral(each) for key, each in value.items()}
        case _:
            return value


def unmark(value: Value) -> tuple[Value, bool]:
    """Take the mark off the value itself, and show whether there was one.

    A null becomes None, whatever its type: what asks for what is inside finds nothing in either.
    """
    if isinstance(value, Sensitive):
        return (None if type(value.value) is Null else value.value), True
    return (None if type(value) is Null else value), False


def unmark_deep(value: Value) -> tuple[Value, bool]:
    """Take every mark off the value and its parts, and show whether there was one."""
    return (bare(value), True) if has_sensitive(value) else (value, False)


def bare(value: Value) -> Value:
    """Take every mark off the value and its parts."""
    match value:
        case Sensitive():
            return bare(value.value)
        case TList() | TSet():
            return type(value)((bare(each) for each in value), value.element)
        case TMap():
            return TMap({key: bare(each) for key, each in value.items()}, value.element)
        case tuple():
            return tuple(bare(each) for each in value)
        case dict():
            return {key: bare(each) for key, each in value.items()}
        case _:
            return value
