"""Functions that choose from lists, maps and sets, or ask about them."""

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Final, cast

from kplan.config.functions.function import Function, Parameter, Refusal, check_elements, quote
from kplan.config.functions.numeric import whole_number
from kplan.config.functions.string import graphemes
from kplan.config.values.conversion import ConversionError, convert, unify
from kplan.config.values.equality import Distinct, equal, make_set
from kplan.config.values.sensitive import mark, unmark
from kplan.config.values.value import (
    ANY,
    BOOL,
    NUMBER,
    STRING,
    ListType,
    Number,
    SetType,
    TList,
    TMap,
    TSet,
    TupleType,
    Value,
    is_null,
    null_of,
    type_name,
    type_of,
)

LIST_OF_ANY: Final = ListType(ANY)
LIST_OF_STRING: Final = ListType(STRING)


def alltrue(items: TList) -> bool:
    """Whether no element is false or null."""
    return all(each is True for each in items)


def anytrue(items: TList) -> bool:
    """Whether some element is true."""
    return any(each is True for each in items)


def coalesce(*values: Value) -> Value:
    """First value that is neither null nor an empty string, in the type that all share."""
    shared = unify(type_of(each) for each in values) if values else None
    if shared is None and any(each is None for each in values):
        shared = ANY  # such a null may be of any type, and then the others may differ
    if shared is None:
        raise Refusal("all arguments must have the same type")
    for each in values:
        if not is_null(each) and each != "":
            return convert(each, shared)
    raise Refusal("no non-null, non-empty-string arguments")


def coalescelist(*lists: Value) -> Value:
    """First list or tuple that is not empty; any mark among the arguments marks it."""
    if not lists:
        raise Refusal("at least one argument is required")
    found = [unmark(each)[0] for each in lists]
    marked = any(unmark(each)[1] for each in lists)
    if any(not isinstance(each, tuple) or isinstance(each, TSet) for each in found):
        raise Refusal("coalescelist arguments must be lists or tuples")
    for items in found:
        if items:
            return mark(items, sensitive=marked)
    raise Refusal("no non-null arguments")


def compact(items: TList) -> Value:
    """Elements that are neither null nor empty strings."""
    return TList((each for each in items if not is_null(each) and each != ""), STRING)


def contains(items: Value, wanted: Value) -> bool:
    """Whether some element equals the value."""
    if not isinstance(items, tuple):
        raise Refusal("argument must be list, tuple, or set")
    return any(equal(each, wanted) for each in items)


def element(items: Value, index: Number) -> Value:
    """Element at an index, modulo the length: 0 follows the last index, and -1 is the last."""
    found, marked = unmark(items)
    if not isinstance(found, tuple) or isinstance(found, TSet):
        raise Refusal(f"cannot read elements from {type_name(type_of(found))}")
    place = whole_number(index, prefix="invalid index: ")
    if not found:
        raise Refusal("cannot use element function with an empty list")
    return mark(found[place % len(found)], sensitive=marked)


def index(items: Value, wanted: Value) -> int:
    """Place of the first element that equals the value."""
    if not isinstance(items, tuple) or isinstance(items, TSet):
        raise Refusal("argument must be a list or tuple")
    if not items:
        raise Refusal("cannot search an empty list")
    for place, each in enumerate(items):
        if equal(each, wanted):
            return place
    raise Refusal("item not found")


def keys(mapping: Value) -> Value:
    """Keys of a map as a list, attribute names of an object as a tuple."""
    found, marked = unmark(mapping)
    if not isinstance(found, dict):
        raise Refusal("must have map or object type", argument=0)
    names = tuple(sorted(found))
    return mark(TList(names, STRING) if isinstance(found, TMap) else names, sensitive=marked)


def values(mapping: Value) -> Value:
    """Values of a map as a list, attributes of an object as a tuple, by the order of their keys."""
    found, marked = unmark(mapping)
    if not isinstance(found, dict):
        raise Refusal("values() requires a map as the first argument")
    items = tuple(found[key] for key in sorted(found))
    made = TList(items, found.element) if isinstance(found, TMap) else items
    return mark(made, sensitive=marked)


def length(value: Value) -> Value:
    """Count of elements or attributes; of a string, its grapheme clusters."""
    found, marked = unmark(value)
    match found:
        case str():
            count = len(graphemes(found))
        case tuple() | dict():
            count = len(found)
        case _:
            reason = "argument must be a string, a collection type, or a structural type"
            raise Refusal(reason)
    return mark(count, sensitive=marked)


def lookup(mapping: Value, key: Value, *default: Value) -> Value:
    """Value under a key, or the default if there is none."""
    found, marked = unmark(mapping)
    name, name_marked = unmark(key)
    if len(default) > 1:
        count = len(default) + 2
        raise Refusal(f"lookup() takes two or three arguments, got {count}")
    if not isinstance(found, dict) or not isinstance(name, str):
        raise Refusal("lookup() requires a map as the first argument", argument=0)
    fallback = _fallback(found, default[0]) if default else None
    if name in found:
        return mark(found[name], sensitive=marked or name_marked)
    if not default:
        raise _not_found(found, name)
    return mark(fallback, sensitive=marked or name_marked)


def _fallback(found: dict[str, Value], default: Value) -> Value:
    if not isinstance(found, TMap):
        return default
    try:
        return convert(default, found.element)
    except ConversionError:
        reason = "the default value must have the same type as the map elements"
        raise Refusal(reason, argument=2) from None


def _not_found(found: dict[str, Value], name: str) -> Refusal:
    if isinstance(found, TMap):
        return Refusal("lookup failed to find key {}", quote(name))
    return Refusal("the given object has no attribute {}", quote(name), argument=0)


def matchkeys(items: TList, names: TList, wanted: TList) -> Value:
    """Elements whose counterpart in the second list is in the third."""
    shared = unify((names.element, wanted.element))
    if shared is None:
        raise Refusal("keys and searchset must be of the same type")
    if len(items) != len(names):
        raise Refusal("length of keys and values should be equal")
    sought = Distinct(convert(each, shared) for each in wanted)
    kept = (
        item for item, name in zip(items, names, strict=True) if convert(name, shared) in sought
    )
    return TList(kept, items.element)


def one(items: Value) -> Value:
    """Only element of a list, set or tuple; null if it is empty."""
    found, marked = unmark(items)
    if not isinstance(found, tuple) or len(found) > 1:
        reason = "must be a list, set, or tuple value with either zero or one elements"
        raise Refusal(reason, argument=0)
    if not found and isinstance(found, TList | TSet):
        return mark(null_of(found.element), sensitive=marked)
    return mark(found[0] if found else None, sensitive=marked)


_LIST: Final = Parameter("list")
_MARKED_LIST: Final = Parameter("list", marked=True)
_BOOLS: Final = Parameter("list", ListType(BOOL))
_VALUE: Final = Parameter("value")

CHOICES: Final = (
    Function("alltrue", (_BOOLS,), alltrue),
    Function("anytrue", (_BOOLS,), anytrue),
    Function("coalesce", (), coalesce, Parameter("vals", nullable=True)),
    Function("coalescelist", (), coalescelist, Parameter("vals", nullable=True, marked=True)),
    Function("compact", (Parameter("list", LIST_OF_STRING),), compact),
    Function("contains", (_LIST, _VALUE), contains),
    Function("element", (_MARKED_LIST, Parameter("index", NUMBER)), element),
    Function("index", (_LIST, _VALUE), index),
    Function("keys", (Parameter("inputMap", marked=True),), keys),
    Function("length", (Parameter("value", marked=True),), length),
    Function(
        "lookup",
        (Parameter("inputMap", marked=True), Parameter("key", STRING, marked=True)),
        lookup,
        Parameter("default", nullable=True, marked=True),
    ),
    Function(
        "matchkeys",
        (
            Parameter("values", LIST_OF_ANY),
            Parameter("keys", LIST_OF_ANY),
            Parameter("searchset", LIST_OF_ANY),
        ),
        matchkeys,
    ),
    Function("one", (_MARKED_LIST,), one),
    Function("values", (Parameter("mapping", marked=True),), values),
)


def union(*sets: TSet) -> Value:
    """Elements of any of the sets."""
    alike = _alike(sets)
    check_elements(sum(map(len, alike)))
    return make_set((each for one in alike for each in one), alike[0].element)


def intersection(*sets: TSet) -> Value:
    """Elements of all the sets."""
    return _filter_elements(_alike(sets), all)


def subtract(left: TSet, right: TSet) -> Value:
    """Elements of the first set that are not in the second."""
    return _filter_elements(_alike((left, right)), lambda found: not any(found))


def _filter_elements(sets: Sequence[TSet], keep: Callable[[Sequence[bool]], bool]) -> Value:
    """Keep the elements of the first set by whether each of the others has them."""
    first, *others = sets
    found = [Distinct(each) for each in others]
    kept = [each for each in first if keep([each in other for other in found])]
    return make_set(kept, first.element)


def _alike(sets: Sequence[TSet]) -> list[TSet]:
    """Bring the sets to one element type."""
    element = unify(each.element for each in sets)
    if element is None:
        raise Refusal("given sets must all have compatible element types")
    return [_convert_set(each, SetType(element)) for each in sets]


def _convert_set(one: TSet, wanted: SetType) -> TSet:
    return cast("TSet", convert(one, wanted))


def product(*sets: Value) -> Value:
    """All combinations of one element of each: a set if any is a set, else a list."""
    if len(sets) < len(("one", "other")):
        raise Refusal("at least two arguments are required")
    found = [unmark(each) for each in sets]
    marked = any(each for _, each in found)
    lists = [_factor(each, place) for place, (each, _) in enumerate(found)]
    check_elements(math.prod(map(len, lists)) * len(lists))
    rows = itertools.product(*lists)
    element = TupleType(tuple(each.element for each in lists))
    if any(isinstance(each, TSet) for each, _ in found):
        return mark(make_set(rows, element), sensitive=marked)
    return mark(TList(rows, element), sensitive=marked)


def _factor(value: Value, place: int) -> TList:
    if not isinstance(value, tuple):
        raise Refusal("a set or a list is required", argument=place)
    try:
        return cast("TList", convert(value, ListType(ANY)))
    except ConversionError:
        raise Refusal("all elements must be of the same type", argument=place) from None


_SET: Final = SetType(ANY)
_FIRST: Final = Parameter("first_set", _SET)
_OTHERS: Final = Parameter("other_sets", _SET)

SETS: Final = (
    Function("setintersection", (_FIRST,), intersection, _OTHERS),
    Function("setproduct", (), product, Parameter("sets", marked=True)),
    Function("setsubtract", (Parameter("a", _SET), Parameter("b", _SET)), subtract),
    Function("setunion", (_FIRST,), union, _OTHERS),
)
