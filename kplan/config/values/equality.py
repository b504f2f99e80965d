"""Equality, order and distinct elements of values."""

from collections.abc import Iterable
from fractions import Fraction
from typing import TypeAlias

from kplan.config.values.number import number_text
from kplan.config.values.sensitive import bare, unmark_deep
from kplan.config.values.value import (
    Null,
    PrimitiveType,
    Sensitive,
    TList,
    TMap,
    TSet,
    Type,
    Value,
    is_null,
    is_number,
    type_of,
)

SortKey: TypeAlias = tuple[int, bool | int | Fraction | str]


def equal(left: Value, right: Value) -> bool:
    """Return whether two values are the same, as `==` in the language has it.

    Values of different types are different: `1 == "1"` is false, and so is
    `[1] == tolist([1])`. A mark makes no difference; the caller marks the answer.
    """
    left, right = bare(left), bare(right)
    if is_null(left) or is_null(right):
        return is_null(left) and is_null(right)
    return _same(left, right) and type_of(left) == type_of(right)


def _same(left: Value, right: Value) -> bool:
    match left, right:
        case (None | Null(), None | Null()):
            return True
        case (bool(), bool()) | (str(), str()):
            return left == right
        case (tuple(), tuple()):
            return (
                type(left) is type(right)
                and len(left) == len(right)
                and all(_same(one, other) for one, other in zip(left, right, strict=True))
            )
        case (dict(), dict()):
            return (
                type(left) is type(right)
                and left.keys() == right.keys()
                and all(_same(left[key], right[key]) for key in left)
            )
        case _:
            return is_number(left) and is_number(right) and left == right


def sort_key(value: Value) -> SortKey:
    """Place of a value in a set: by number, text or false before true; null last.

    Structured values have no order of their own; they go by their written form, as in Terraform.
    """
    value = bare(value)
    if is_null(value):
        return (1, 0)
    if isinstance(value, bool | int | Fraction | str):
        return (0, value)
    return (0, _value_key(value))


def _value_key(value: Value) -> str:
    match value:
        case None | Null():
            return "~"
        case bool():
            return "T" if value else "F"
        case str():
            return f'"{value}"'
        case TList() | TSet():
            return f"[{''.join(f'{_value_key(each)};' for each in value)}]"
        case TMap():
            pairs = (f'"{key}":{_value_key(each)};' for key, each in value.items())
            return f"{{{''.join(pairs)}}}"
        case tuple():
            return f"<{''.join(f'{_value_key(each)};' for each in value)}>"
        case dict():
            return f"<{''.join(f'{_value_key(value[key])};' for key in sorted(value))}>"
        case _:
            return number_text(value) if is_number(value) else ""


class Distinct:
    """Values without repetition, in the order in which they came."""

    def __init__(self, items: Iterable[Value] = ()) -> None:
        self.items: list[Value] = []
        self._buckets: dict[tuple[type, SortKey], list[Value]] = {}
        for each in items:
            self.add(each)

    def add(self, value: Value) -> None:
        """Take a value in, unless one that equals it is there."""
        bucket = self._buckets.setdefault(_bucket(value), [])
        if not any(equal(value, each) for each in bucket):
            bucket.append(value)
            self.items.append(value)

    def __contains__(self, value: Value) -> bool:
        """Return whether a value that equals this one is there."""
        return any(equal(value, each) for each in self._buckets.get(_bucket(value), ()))


def _bucket(value: Value) -> tuple[type, SortKey]:
    """Key that equal values share; the type keeps True and 1 apart."""
    key = sort_key(value)
    return type(key[1]), key


def make_set(items: Iterable[Value], element: Type) -> TSet | Sensitive:
    """Sort and de-duplicate items of the type `element`.

    A set cannot show which of its elements is secret, so one marked element marks the set.
    """
    unmarked = [unmark_deep(each) for each in items]
    values = [value for value, _ in unmarked]
    if isinstance(element, PrimitiveType):
        distinct = list(dict.fromkeys(values))
    else:
        distinct = Distinct(values).items
    made = TSet(sorted(distinct, key=sort_key), element)
    return Sensitive(made) if any(marked for _, marked in unmarked) else made
