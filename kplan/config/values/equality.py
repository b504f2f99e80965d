"""Equality and order of values."""

from fractions import Fraction
from typing import TypeAlias

from kplan.config.values.numbers import number_text
from kplan.config.values.sensitive import bare
from kplan.config.values.types import type_of
from kplan.config.values.value import Null, TList, TMap, TSet, Value, is_null, is_number

SortKey: TypeAlias = tuple[int, bool | int | Fraction | str]


def equal(left: Value, right: Value) -> bool:
    """Tell whether two values are the same, as `==` in the language has it.

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
    return (0, _written(value))


def _written(value: Value) -> str:
    match value:
        case None | Null():
            return "~"
        case bool():
            return "T" if value else "F"
        case str():
            return f'"{value}"'
        case TList() | TSet():
            return f"[{''.join(f'{_written(each)};' for each in value)}]"
        case TMap():
            pairs = (f'"{key}":{_written(each)};' for key, each in value.items())
            return f"{{{''.join(pairs)}}}"
        case tuple():
            return f"<{''.join(f'{_written(each)};' for each in value)}>"
        case dict():
            return f"<{''.join(f'{_written(value[key])};' for key in sorted(value))}>"
        case _:
            return number_text(value) if is_number(value) else ""
