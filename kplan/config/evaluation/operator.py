"""Operators, and access to attributes, elements and keys of values."""

from collections.abc import Callable, Iterable, Mapping

from kplan.config.diagnostic import OperandError, suggestion
from kplan.config.evaluation.call import evaluation_error
from kplan.config.evaluation.scope import Evaluator, Scope
from kplan.config.syntax import tree as ast
from kplan.config.values.conversion import ConversionError, convert
from kplan.config.values.equality import equal
from kplan.config.values.number import (
    NumberError,
    add,
    divide,
    modulo,
    multiply,
    subtract,
)
from kplan.config.values.sensitive import has_sensitive, mark, unmark
from kplan.config.values.value import (
    BOOL,
    NUMBER,
    PLAIN_TYPES,
    STRING,
    Number,
    PrimitiveType,
    TMap,
    TSet,
    Value,
    type_name,
    type_of,
)

ARITHMETIC: Mapping[str, Callable[[Number, Number], Number]] = {
    "+": add,
    "-": subtract,
    "*": multiply,
    "/": divide,
    "%": modulo,
}
_COMPARISONS: Mapping[str, Callable[[Number, Number], bool]] = {
    "<": lambda left, right: left < right,
    "<=": lambda left, right: left <= right,
    ">": lambda left, right: left > right,
    ">=": lambda left, right: left >= right,
}


def apply_binary(operator: str, left: Value, right: Value) -> Value:
    """Apply an operator other than `&&` and `||`, which the evaluator short-circuits.

    Raises:
        OperandError: an operand is null or does not convert; division by zero.

    """
    if operator in {"==", "!="}:
        if type(left) is type(right) and type(left) in PLAIN_TYPES:
            return (left == right) is (operator == "==")
        marked = has_sensitive(left) or has_sensitive(right)
        return mark(equal(left, right) is (operator == "=="), sensitive=marked)
    one, other, marked = _numbers(left, right)
    compare = _COMPARISONS.get(operator)
    if compare is not None:
        return mark(compare(one, other), sensitive=marked)
    try:
        result = ARITHMETIC[operator](one, other)
    except NumberError as fault:
        code = "KP159" if other == 0 else "KP150"
        raise OperandError(code, _sentence(str(fault))) from None
    return mark(result, sensitive=marked)


def _numbers(left: Value, right: Value) -> tuple[Number, Number, bool]:
    if type(left) is int and type(right) is int:  # nearly all numbers are
        return left, right, False
    one, left_marked = to_number(left, "left operand")
    other, right_marked = to_number(right, "right operand")
    return one, other, left_marked or right_marked


def apply_unary(operator: str, operand: Value) -> Value:
    """Negate a number or a bool.

    Raises:
        OperandError: the operand is null or does not convert.

    """
    if operator == "!":
        decided, marked = to_bool(operand, "operand")
        return mark(not decided, sensitive=marked)
    value, marked = to_number(operand, "operand")
    return mark(subtract(0, value), sensitive=marked)


def to_number(value: Value, place: str) -> tuple[Number, bool]:
    """Take a value as a number, and show whether it is sensitive.

    Raises:
        OperandError: it is null or does not convert.

    """
    converted, marked = _convert_operand(value, NUMBER, place)
    return converted, marked  # type: ignore[return-value] # converted to a number


def to_bool(value: Value, place: str) -> tuple[bool, bool]:
    """Take a value as a bool, and show whether it is sensitive.

    Raises:
        OperandError: it is null or does not convert.

    """
    if isinstance(value, bool):
        return value, False
    converted, marked = _convert_operand(value, BOOL, place)
    return converted is True, marked


def _convert_operand(value: Value, wanted: PrimitiveType, place: str) -> tuple[Value, bool]:
    bare, marked = unmark(value)
    detail = f"Unsuitable value for {place}: "
    summary = "Null condition" if place == "condition" else ""
    if bare is None:
        detail += f"it is null, and a {wanted.value} is required."
        raise OperandError("KP150", detail, summary=summary, operand=place)
    try:
        return convert(bare, wanted), marked
    except ConversionError as fault:
        shown = "" if marked else _got_phrase(bare)
        raise OperandError("KP150", f"{detail}{fault}{shown}.", operand=place) from None


def _got_phrase(value: Value) -> str:
    if isinstance(value, str):
        return f', got string "{value}"'
    return f", got {type_name(type_of(value))}"


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def get_attribute(value: Value, name: str) -> Value:
    """Return `value.name` of an object or a map.

    Raises:
        OperandError: there is none.

    """
    bare, marked = unmark(value)
    if isinstance(bare, dict):
        if name in bare:
            return mark(bare[name], sensitive=marked)
        raise _missing_attribute_error(bare, name, is_secret=marked)
    if bare is None:
        raise OperandError("KP162", f'The value is null, so it has no attribute "{name}".')
    detail = f'This value is a {type_name(type_of(bare))}; it has no attributes, so no "{name}".'
    hint = ""
    if isinstance(bare, tuple) and not isinstance(bare, TSet):
        hint = f"Take one element by its index, or that attribute of all: [*].{name}"
    raise OperandError("KP144", detail, hint)


def _missing_attribute_error(
    value: dict[str, Value], name: str, *, is_secret: bool
) -> OperandError:
    hint = "" if is_secret else suggestion(name, value) or _keys_hint(value)
    if isinstance(value, TMap):
        detail = f'The map has no element with the key "{name}".'
        return OperandError("KP151", detail, hint)
    return OperandError("KP144", f'This object has no attribute "{name}".', hint)


def get_element(value: Value, key: Value) -> Value:
    """Return `value[key]` of a map, object, list or tuple.

    Raises:
        OperandError: there is none, or the key is of the wrong type.

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
        detail = "Elements of a set have no index and no key."
        return OperandError("KP151", detail, "Turn it into a list first: tolist(...).")
    return OperandError("KP151", f"A {type_name(type_of(value))} has no elements.")


def _element_at_key(value: dict[str, Value], key: Value, *, is_secret: bool) -> Value:
    try:
        text = convert(key, STRING)
    except ConversionError:
        detail = f"The key of a map or object is a string, got {type_name(type_of(key))}."
        raise OperandError("KP151", detail) from None
    if isinstance(text, str) and text in value:
        return value[text]
    word = "map" if isinstance(value, TMap) else "object"
    detail = f"The given key does not identify an element in this {word}"
    if is_secret:
        raise OperandError("KP151", f"{detail}.")
    detail += f': there is no "{text}".'
    raise OperandError("KP151", detail, suggestion(str(text), value) or _keys_hint(value))


def _element_at_index(value: tuple[Value, ...], key: Value) -> Value:
    try:
        place = convert(key, NUMBER)
    except ConversionError:
        detail = f"The index of a list or tuple is a number, got {type_name(type_of(key))}."
        raise OperandError("KP151", detail) from None
    if not isinstance(place, int):
        raise OperandError("KP151", "The index of a list or tuple is a whole number.")
    if 0 <= place < len(value):
        return value[place]
    if place < 0:
        detail = "Indexes count from the start and cannot be negative."
        raise OperandError("KP151", detail, "The last element is value[length(value) - 1].")
    count = "1 element" if len(value) == 1 else f"{len(value)} elements"
    raise OperandError("KP151", f"There is no element {place}: the collection has {count}.")


def element_pairs(value: Value) -> tuple[Iterable[tuple[Value, Value]], bool]:
    """Return key and element for each element of a collection, and whether it is sensitive.

    The keys of lists and tuples are places; a set's elements are their own keys.

    Raises:
        OperandError: the value is no collection.

    """
    bare, marked = unmark(value)
    if isinstance(bare, dict):
        return bare.items(), marked
    if isinstance(bare, TSet):
        return ((each, each) for each in bare), marked
    if isinstance(bare, tuple):
        return enumerate(bare), marked
    if bare is None:
        detail = "The value is null, so there is nothing to go over."
        raise OperandError("KP157", detail, summary="Iteration over null value")
    detail = (
        f"A {type_name(type_of(bare))} is not a collection; use a list, set, map, tuple or object."
    )
    raise OperandError("KP157", detail)


_MAX_KEYS_SHOWN = 5


def _keys_hint(value: dict[str, Value]) -> str:
    names = sorted(value)
    if not names:
        return "It is empty."
    more = f" and {len(names) - _MAX_KEYS_SHOWN} more" if len(names) > _MAX_KEYS_SHOWN else ""
    return f"There are {', '.join(names[:_MAX_KEYS_SHOWN])}{more}."


KEY_SUMMARIES = "Incorrect key type", "Null value as key"
"""How Terraform names keys of `{ (key) = value }` that are no strings; a `for` has one summary."""


def key_text(
    key: Value,
    node: ast.Node,
    scope: Scope,
    evaluate: Evaluator,
    summaries: tuple[str, str] = ("", ""),
) -> tuple[str, bool]:
    """Return the text of a key, and whether it is sensitive.

    `summaries` are those of a key that is no string, and of one that is null.

    Raises:
        EvaluationError: it is null, or has no text.

    """
    bare, marked = unmark(key)
    try:
        text = convert(bare, STRING)
    except ConversionError:
        detail = f"The key of an element must be a string, got {type_name(type_of(bare))}."
        fault = OperandError("KP161", detail, summary=summaries[0])
        raise evaluation_error(fault, node, scope, evaluate) from None
    if not isinstance(text, str):
        detail = "The key of an element must not be null."
        fault = OperandError("KP161", detail, summary=summaries[1])
        raise evaluation_error(fault, node, scope, evaluate)
    return text, marked


def sort_by_key(value: dict[str, Value]) -> dict[str, Value]:
    """Sort elements in iteration order of objects."""
    return dict(sorted(value.items())) if len(value) > 1 else value
