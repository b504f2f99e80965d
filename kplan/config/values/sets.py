"""How sets are made: of distinct elements, in a fixed order."""

from collections.abc import Iterable

from kplan.config.values.equality import equal, sort_key
from kplan.config.values.sensitive import unmark_deep
from kplan.config.values.value import PrimitiveType, Sensitive, TSet, Type, Value


def make_set(items: Iterable[Value], element: Type) -> TSet | Sensitive:
    """Sort and de-duplicate items of the type `element`.

    A set cannot tell which of its elements is secret, so one marked element marks the set.
    """
    unmarked = [unmark_deep(each) for each in items]
    ordered = sorted((value for value, _ in unmarked), key=sort_key)
    made = TSet(_distinct(ordered, element), element)
    return Sensitive(made) if any(marked for _, marked in unmarked) else made


def _distinct(ordered: list[Value], element: Type) -> list[Value]:
    if isinstance(element, PrimitiveType):
        return list(dict.fromkeys(ordered))
    kept: list[Value] = []
    for each in ordered:
        if not kept or not equal(kept[-1], each):
            kept.append(each)
    return kept
