"""Numeric functions; logarithm and power as Terraform rounds them, to the last digit."""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Final

from kplan.config.functions.function import Function, Parameter, Refusal, quote
from kplan.config.values.conversion import ConversionError, convert
from kplan.config.values.number import MAX_DIGITS, add, parse_number
from kplan.config.values.value import NUMBER, Number, Value, type_name, type_of

_LN2_HIGH: Final = 6.93147180369123816490e-01
_LN2_LOW: Final = 1.90821492927058770002e-10
_ODD_TERMS: Final = (
    6.666666666666735130e-01,
    2.857142874366239149e-01,
    1.818357216161805012e-01,
    1.479819860511658591e-01,
)
_EVEN_TERMS: Final = (
    3.999999999940941908e-01,
    2.222219843214978396e-01,
    1.531383769920937332e-01,
)
_FAR: Final = 1 << 12


def natural_log(number: float) -> float:
    """Natural logarithm of a positive number; raises ValueError where a float takes it for zero."""
    if number == 0:
        raise ValueError(number)
    mantissa, exponent = math.frexp(number)
    if mantissa < math.sqrt(2) / 2:
        mantissa, exponent = mantissa * 2, exponent - 1
    excess = mantissa - 1
    ratio = excess / (2 + excess)
    square = ratio * ratio
    fourth = square * square
    odd, even = _series(fourth, _ODD_TERMS), _series(fourth, _EVEN_TERMS)
    rest = square * odd + fourth * even
    half = 0.5 * excess * excess
    correction = ratio * (half + rest) + exponent * _LN2_LOW
    return exponent * _LN2_HIGH - ((half - correction) - excess)


def _series(variable: float, factors: tuple[float, ...]) -> float:
    total = 0.0
    for each in reversed(factors):
        total = each + variable * total
    return total


def rounded_power(base: float, exponent: float) -> float:
    """Power of two finite numbers.

    Raises:
        ValueError: the base is negative and the exponent not whole.
        OverflowError: the result is too large for a float, or the base is zero and the exponent
            negative.

    """
    if base == 0:
        return _power_of_zero(exponent)
    if abs(exponent) == 0.5:  # noqa: PLR2004 - the square root
        root = math.sqrt(base)
        return root if exponent > 0 else 1 / root
    part, whole = math.modf(abs(exponent))
    if part and base < 0:
        raise ValueError(base)
    factor = 1.0
    if part > 0.5:  # noqa: PLR2004 - the nearer whole number
        part, whole = part - 1, whole + 1
    if part:
        factor = math.exp(part * natural_log(base))
    return _power_by_squaring(base, int(whole), factor, is_inverse=exponent < 0)


def _power_of_zero(exponent: float) -> float:
    if exponent < 0:
        raise OverflowError
    return 0.0 if exponent else 1.0


def _power_by_squaring(base: float, whole: int, factor: float, *, is_inverse: bool) -> float:
    scale = 0
    mantissa, shift = math.frexp(base)
    while whole:
        if not -_FAR <= shift <= _FAR:
            scale += shift
            break
        if whole & 1:
            factor *= mantissa
            scale += shift
        mantissa, shift = mantissa * mantissa, shift * 2
        if mantissa < 0.5:  # noqa: PLR2004 - a mantissa lies between a half and one
            mantissa, shift = mantissa * 2, shift - 1
        whole >>= 1
    return math.ldexp(1 / factor, -scale) if is_inverse else math.ldexp(factor, scale)


SMALLEST: Final = -(2**63)
LARGEST: Final = 2**63 - 1


def whole_number(value: Number, *, argument: int | None = None, prefix: str = "") -> int:
    """Take a number as a 64-bit integer.

    Raises:
        Refusal: it has a fraction or does not fit.

    """
    if isinstance(value, int) and SMALLEST <= value <= LARGEST:
        return value
    reason = f"{prefix}value must be a whole number, between {SMALLEST} and {LARGEST}"
    raise Refusal(reason, argument=argument)


_DIGITS: Final = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_SMALLEST_BASE: Final = 2
_CASELESS_BASE: Final = 36
_NOT_FINITE: Final = "the result is not a finite number"
_NOT_NUMBERS: Final = "argument must be list, set, or tuple of number values"


def _number(value: float) -> Number:
    """Take the result of float arithmetic at the digits that a float shows."""
    if not math.isfinite(value):
        raise OverflowError
    return parse_number(repr(value))


def absolute(number: Number) -> Number:
    """Distance from zero."""
    return -number if number < 0 else number


def ceil(number: Number) -> Number:
    """Least integer that is not below the number."""
    return math.ceil(number)


def floor(number: Number) -> Number:
    """Greatest integer that is not above the number."""
    return math.floor(number)


def log(number: Number, base: Number) -> Number:
    """Logarithm to a base, in float precision."""
    if number <= 0 or base < 0 or base == 1:
        raise Refusal(_NOT_FINITE)
    if base == 0:
        return 0
    try:
        return _number(natural_log(float(number)) / natural_log(float(base)))
    except (OverflowError, ZeroDivisionError, ValueError):
        raise Refusal(_NOT_FINITE) from None


def power(number: Number, exponent: Number) -> Number:
    """Power, in float precision."""
    try:
        return _number(rounded_power(float(number), float(exponent)))
    except (OverflowError, ZeroDivisionError, ValueError):
        raise Refusal(_NOT_FINITE) from None


def signum(number: Number) -> Number:
    """-1, 0 or 1 for negative, zero or positive."""
    whole = whole_number(number)
    return (whole > 0) - (whole < 0)


def largest(*numbers: Number) -> Number:
    """Greatest of the numbers."""
    return _extreme(max, numbers)


def smallest(*numbers: Number) -> Number:
    """Least of the numbers."""
    return _extreme(min, numbers)


def _extreme(choose: Callable[[tuple[Number, ...]], Number], numbers: tuple[Number, ...]) -> Number:
    if not numbers:
        raise Refusal("must pass at least one number")
    return choose(numbers)


def parse_int(text: Value, base: Number) -> Value:
    """Integer written in a base from 2 to 62."""
    if not isinstance(text, str):
        got = type_name(type_of(text))
        raise Refusal(f"first argument must be a string, not {got}", argument=0)
    radix = whole_number(base, argument=1)
    if not _SMALLEST_BASE <= radix <= len(_DIGITS):
        reason = "base must be a whole number between 2 and 62 inclusive"
        raise Refusal(reason, argument=1)
    value = _parse_integer(text, radix)
    if value is None:
        reason = f"cannot parse {{}} as a base {radix} integer"
        raise Refusal(reason, quote(text), argument=0)
    return value


def _parse_integer(text: str, radix: int) -> int | None:
    digits = text[1:] if text[:1] in ("+", "-") else text
    if radix <= _CASELESS_BASE:
        digits = digits.lower()
    if not digits or len(digits) > MAX_DIGITS:
        return None
    total = 0
    for each in digits:
        place = _DIGITS.find(each)
        if not 0 <= place < radix:
            return None
        total = total * radix + place
    return -total if text.startswith("-") else total


def total(numbers: Value) -> Value:
    """Sum of the numbers of a list, set or tuple."""
    if not isinstance(numbers, tuple | dict):
        raise Refusal("cannot sum noniterable", argument=0)
    if not numbers:
        raise Refusal("cannot sum an empty list", argument=0)
    if isinstance(numbers, dict):
        got = type_name(type_of(numbers))
        raise Refusal(f"argument must be list, set, or tuple. Received {got}", argument=0)
    result: Number = 0
    for each in numbers:
        result = add(result, _summand(each))
    return result


def _summand(value: Value) -> Number:
    try:
        number = convert(value, NUMBER)
    except ConversionError:
        raise Refusal(_NOT_NUMBERS, argument=0) from None
    if not isinstance(number, int | Fraction):
        raise Refusal(_NOT_NUMBERS, argument=0)
    return number


_NUM: Final = Parameter("num", NUMBER)
_NUMBERS: Final = Parameter("numbers", NUMBER)

NUMERIC: Final = (
    Function("abs", (_NUM,), absolute),
    Function("ceil", (_NUM,), ceil),
    Function("floor", (_NUM,), floor),
    Function("log", (_NUM, Parameter("base", NUMBER)), log),
    Function("max", (), largest, _NUMBERS),
    Function("min", (), smallest, _NUMBERS),
    Function("parseint", (Parameter("number"), Parameter("base", NUMBER)), parse_int),
    Function("pow", (_NUM, Parameter("power", NUMBER)), power),
    Function("signum", (_NUM,), signum),
    Function("sum", (Parameter("list"),), total),
)
