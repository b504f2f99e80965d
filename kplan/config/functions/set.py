"""Functions on sets."""

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Final, cast

from kplan.config.functions.function import Function, Parameter, Refusal, check_elements
from kplan.config.values.conversion import ConversionError, convert, unify
from kplan.config.values.equality import Distinct, make_set
from kplan.config.values.sensitive import mark, unmark
from kplan.config.values.value import ANY, ListType, SetType, TList, TSet, TupleType, Value


def union(*sets: TSet) -> Value:
    """Elements of any of the sets."""
    alike = _alike(sets)
    check_elements(sum(map(len, alike)))
    return make_set((each for one in alike for each in one), alike[0].element)


def intersection(*sets: TSet) -> Value:
    """Elements of all the sets."""
    return _filtered(_alike(sets), all)


def subtract(left: TSet, right: TSet) -> Value:
    """Elements of the first set that are not in the second."""
    return _filtered(_alike((left, right)), lambda found: not any(found))


def _filtered(sets: Sequence[TSet], keep: Callable[[Sequence[bool]], bool]) -> Value:
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
    return [_converted(each, SetType(element)) for each in sets]


def _converted(one: TSet, wanted: SetType) -> TSet:
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
