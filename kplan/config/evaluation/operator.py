"""Operators on values. Operands are converted as in Terraform; null is one only for == and !=."""

from collections.abc import Callable, Mapping

from kplan.config.diagnostic import OperandError
from kplan.config.values.conversion import ConversionError, convert
from kplan.config.values.equality import equal
from kplan.config.values.number import (
    PRECISION,
    NumberError,
    add,
    divide,
    modulo,
    multiply,
    subtract,
)
from kplan.config.values.sensitive import has_sensitive, mark, unmark
from kplan.config.values.types import type_name, type_of
from kplan.config.values.value import BOOL, NUMBER, Number, PrimitiveType, Value

_ARITHMETIC: Mapping[str, Callable[[Number, Number], Number]] = {
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

_INTEGER_ARITHMETIC: Mapping[str, Callable[[int, int], int]] = {
    "+": lambda left, right: left + right,
    "-": lambda left, right: left - right,
    "*": lambda left, right: left * right,
}


def apply_binary(operator: str, left: Value, right: Value) -> Value:
    """Apply an operator other than `&&` and `||`, which the evaluator short-circuits.

    Raises:
        Misuse: an operand is null or does not convert; division by zero.

    """
    if operator in {"==", "!="}:
        if type(left) is str and type(right) is str:
            return (left == right) is (operator == "==")
        marked = has_sensitive(left) or has_sensitive(right)
        return mark(equal(left, right) is (operator == "=="), sensitive=marked)
    if type(left) is int and type(right) is int and operator in _INTEGER_ARITHMETIC:
        quick = _INTEGER_ARITHMETIC[operator](left, right)
        if quick.bit_length() <= PRECISION:
            return quick
    one, left_marked = to_number(left, "left operand")
    other, right_marked = to_number(right, "right operand")
    compare = _COMPARISONS.get(operator)
    if compare is not None:
        return mark(compare(one, other), sensitive=left_marked or right_marked)
    try:
        result = _ARITHMETIC[operator](one, other)
    except NumberError as fault:
        code = "KP159" if other == 0 else "KP150"
        raise OperandError(code, _sentence(str(fault))) from None
    return mark(result, sensitive=left_marked or right_marked)


def apply_unary(operator: str, operand: Value) -> Value:
    """Negate a number or a bool.

    Raises:
        Misuse: the operand is null or does not convert.

    """
    if operator == "!":
        decided, marked = to_bool(operand, "operand")
        return mark(not decided, sensitive=marked)
    value, marked = to_number(operand, "operand")
    return mark(subtract(0, value), sensitive=marked)


def to_number(value: Value, place: str) -> tuple[Number, bool]:
    """Take a value as a number, and tell whether it is sensitive.

    Raises:
        Misuse: it is null or does not convert.

    """
    if type(value) is int:
        return value, False
    converted, marked = _convert_operand(value, NUMBER, place)
    return converted, marked  # type: ignore[return-value] # converted to a number


def to_bool(value: Value, place: str) -> tuple[bool, bool]:
    """Take a value as a bool, and tell whether it is sensitive.

    Raises:
        Misuse: it is null or does not convert.

    """
    if isinstance(value, bool):
        return value, False
    converted, marked = _convert_operand(value, BOOL, place)
    return converted is True, marked


def _convert_operand(value: Value, wanted: PrimitiveType, place: str) -> tuple[Value, bool]:
    bare, marked = unmark(value)
    told = f"Unsuitable value for {place}: "
    if bare is None:
        raise OperandError("KP150", f"{told}it is null, and a {wanted.name} is required.")
    try:
        return convert(bare, wanted), marked
    except ConversionError as fault:
        shown = "" if marked else _got_phrase(bare)
        raise OperandError("KP150", f"{told}{fault}{shown}.") from None


def _got_phrase(value: Value) -> str:
    if isinstance(value, str):
        return f', got string "{value}"'
    return f", got {type_name(type_of(value))}"


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."
