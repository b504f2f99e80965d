"""Attributes, elements and keys of values."""

from collections.abc import Iterable

from kplan.config.diagnostic import OperandError, suggestion
from kplan.config.evaluation.error import evaluation_error
from kplan.config.evaluation.scope import Evaluator, Scope
from kplan.config.syntax import tree as ast
from kplan.config.values.conversion import ConversionError, convert
from kplan.config.values.sensitive import mark, unmark
from kplan.config.values.types import type_name, type_of
from kplan.config.values.value import NUMBER, STRING, TMap, TSet, Value


def get_attribute(value: Value, name: str) -> Value:
    """Return `value.name` of an object or a map.

    Raises:
        Misuse: there is none.

    """
    bare, marked = unmark(value)
    if isinstance(bare, dict):
        if name in bare:
            return mark(bare[name], sensitive=marked)
        raise _missing_attribute_error(bare, name, is_secret=marked)
    if bare is None:
        raise OperandError("KP162", f'The value is null, so it has no attribute "{name}".')
    told = f'This value is a {type_name(type_of(bare))}; it has no attributes, so no "{name}".'
    hint = ""
    if isinstance(bare, tuple) and not isinstance(bare, TSet):
        hint = f"Take one element by its index, or that attribute of all: [*].{name}"
    raise OperandError("KP144", told, hint)


def _missing_attribute_error(
    value: dict[str, Value], name: str, *, is_secret: bool
) -> OperandError:
    hint = "" if is_secret else suggestion(name, value) or _keys_hint(value)
    if isinstance(value, TMap):
        told = f'The map has no element with the key "{name}".'
        return OperandError("KP151", told, hint)
    return OperandError("KP144", f'This object has no attribute "{name}".', hint)


def get_element(value: Value, key: Value) -> Value:
    """Return `value[key]` of a map, object, list or tuple.

    Raises:
        Misuse: there is none, or the key is of the wrong type.

    """
    bare, marked = unmark(value)
    bare_key, key_marked = unmark(key)
    if bare is None:
        raise OperandError("KP166", "The value is null, so it has no elements.")
    if bare_key is None:
        raise OperandError("KP151", "The key is null.")
    if isinstance(bare, dict):
        found = _element_at_key(bare, bare_key, is_secret=marked or key_marked)
    elif isinstance(bare, tuple) and not isinstance(bare, TSet):
        found = _element_at_index(bare, bare_key)
    else:
        raise _not_indexable_error(bare)
    return mark(found, sensitive=marked or key_marked)


def _not_indexable_error(value: Value) -> OperandError:
    if isinstance(value, TSet):
        told = "The elements of a set have no place and no key by which one could be taken."
        return OperandError("KP151", told, "Turn it into a list first: tolist(...).")
    return OperandError("KP151", f"A {type_name(type_of(value))} has no elements.")


def _element_at_key(value: dict[str, Value], key: Value, *, is_secret: bool) -> Value:
    try:
        text = convert(key, STRING)
    except ConversionError:
        told = f"The key of a map or object is a string, got {type_name(type_of(key))}."
        raise OperandError("KP151", told) from None
    if isinstance(text, str) and text in value:
        return value[text]
    word = "map" if isinstance(value, TMap) else "object"
    told = f"The given key does not identify an element in this {word}"
    if is_secret:
        raise OperandError("KP151", f"{told}.")
    told += f': there is no "{text}".'
    raise OperandError("KP151", told, suggestion(str(text), value) or _keys_hint(value))


def _element_at_index(value: tuple[Value, ...], key: Value) -> Value:
    try:
        place = convert(key, NUMBER)
    except ConversionError:
        told = f"The index of a list or tuple is a number, got {type_name(type_of(key))}."
        raise OperandError("KP151", told) from None
    if not isinstance(place, int):
        raise OperandError("KP151", "The index of a list or tuple is a whole number.")
    if 0 <= place < len(value):
        return value[place]
    if place < 0:
        told = "Indexes count from the start; there are no negative ones."
        raise OperandError("KP151", told, "The last element is value[length(value) - 1].")
    count = "1 element" if len(value) == 1 else f"{len(value)} elements"
    raise OperandError("KP151", f"There is no element {place}: the collection has {count}.")


def element_pairs(value: Value) -> tuple[Iterable[tuple[Value, Value]], bool]:
    """Return key and element for each element of a collection, and whether it is sensitive.

    The keys of lists and tuples are places; a set's elements are their own keys.

    Raises:
        Misuse: the value is no collection.

    """
    bare, marked = unmark(value)
    if isinstance(bare, dict):
        return bare.items(), marked
    if isinstance(bare, TSet):
        return ((each, each) for each in bare), marked
    if isinstance(bare, tuple):
        return enumerate(bare), marked
    if bare is None:
        raise OperandError("KP157", "The value is null, so there is nothing to go over.")
    told = f"A {type_name(type_of(bare))} is no collection; a list, set, map or the like is needed."
    raise OperandError("KP157", told)


_MAX_KEYS_SHOWN = 5


def _keys_hint(value: dict[str, Value]) -> str:
    names = sorted(value)
    if not names:
        return "It is empty."
    more = f" and {len(names) - _MAX_KEYS_SHOWN} more" if len(names) > _MAX_KEYS_SHOWN else ""
    return f"There are {', '.join(names[:_MAX_KEYS_SHOWN])}{more}."


def key_text(key: Value, node: ast.Node, scope: Scope, evaluate: Evaluator) -> tuple[str, bool]:
    """Return the text of a key, and whether it is sensitive.

    Raises:
        Failure: it is null, or has no text.

    """
    bare, marked = unmark(key)
    try:
        text = convert(bare, STRING)
    except ConversionError:
        told = f"The key of an element must be a string, got {type_name(type_of(bare))}."
        raise evaluation_error(OperandError("KP161", told), node, scope, evaluate) from None
    if not isinstance(text, str):
        told = "The key of an element must not be null."
        raise evaluation_error(OperandError("KP161", told), node, scope, evaluate)
    return text, marked


def sort_by_key(value: dict[str, Value]) -> dict[str, Value]:
    """Put the elements in the order in which objects are gone over."""
    return dict(sorted(value.items())) if len(value) > 1 else value
