"""How sets are made: of distinct elements, in a fixed order."""

from collections.abc import Iterable

from kplan.config.values.distinct import Distinct
from kplan.config.values.equality import sort_key
from kplan.config.values.sensitive import unmark_deep
from kplan.config.values.value import PrimitiveType, Sensitive, TSet, Type, Value


def make_set(items: Iterable[Value], element: Type) -> TSet | Sensitive:
    """Sort and de-duplicate items of the type `element`.

    A set cannot tell which of its elements is secret, so one marked element marks the set.
    """
    unmarked = [unmark_deep(each) for each in items]
    values = [value for value, _ in unmarked]
    if isinstance(element, PrimitiveType):
        distinct = list(dict.fromkeys(values))
    else:
        distinct = Distinct(values).items
    made = TSet(sorted(distinct, key=sort_key), element)
    return Sensitive(made) if any(marked for _, marked in unmarked) else made
