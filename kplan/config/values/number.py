"""Exact numbers, binary fractions of 512 bits, and the canonical form of strings."""

import re
import unicodedata
from fractions import Fraction
from typing import Final

from kplan.config.values.value import Number

PRECISION: Final = 512
"""Bits that a number keeps; what an operation yields beyond them is rounded, half to even."""

MAX_DIGITS: Final = 4000
"""Decimal digits a number may have before or after its point; beyond it is an error."""

_DECIMAL = re.compile(r"([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d+))?")
_LARGEST: Final = 10**MAX_DIGITS
_SMALLEST: Final = Fraction(1, _LARGEST)


class NumberError(ValueError):
    """A number cannot be read, or is out of the range that kplan computes with."""


def parse_number(text: str) -> Number:
    """Read a decimal number, with optional sign, fraction and exponent.

    Raises:
        NumberError: the text is no number, or one with more than `MAX_DIGITS` digits.

    """
    match = _DECIMAL.fullmatch(text) if text.isascii() else None
    if match is None:
        raise NumberError("a number is required")
    sign, whole, part, exponent = match[1], match[2], match[3] or "", int((match[4] or "0")[:9])
    if not whole and not part:
        raise NumberError("a number is required")
    if len(whole) + len(part) > MAX_DIGITS or abs(exponent) > MAX_DIGITS:
        raise NumberError(f"numbers of more than {MAX_DIGITS} digits are not supported")
    digits = int(f"{sign}{whole}{part}")
    shift = exponent - len(part)
    return exact(digits * 10**shift if shift >= 0 else Fraction(digits, 10**-shift))


def exact(value: Number) -> Number:
    """Round to 512 bits; integral values become int.

    Raises:
        NumberError: the magnitude is beyond `MAX_DIGITS` digits on either side of the point.

    """
    if isinstance(value, int):
        return value if value.bit_length() <= PRECISION else _round_number(Fraction(value))
    fits = value.numerator.bit_length() <= PRECISION and value.denominator.bit_count() == 1
    return _within(_plain(value)) if fits else _round_number(value)


def _plain(value: Fraction) -> Number:
    return value.numerator if value.denominator == 1 else value


def _round_number(value: Fraction) -> Number:
    shift = PRECISION - (value.numerator.bit_length() - value.denominator.bit_length())
    scaled = _scale(value, shift)
    if abs(scaled) >= 1 << PRECISION:
        shift -= abs(round(scaled)).bit_length() - PRECISION
        scaled = _scale(value, shift)
    result = _scale(Fraction(round(scaled)), -shift)
    return _within(_plain(result))


def _scale(value: Fraction, shift: int) -> Fraction:
    return value * (1 << shift) if shift >= 0 else value / (1 << -shift)


def _within(value: Number) -> Number:
    size = max(value, -value)
    if size >= _LARGEST or 0 < size < _SMALLEST:
        raise NumberError(f"numbers of more than {MAX_DIGITS} digits are not supported")
    return value


def add(left: Number, right: Number) -> Number:
    """Sum, rounded to 512 bits."""
    return exact(left + right)


def subtract(left: Number, right: Number) -> Number:
    """Difference, rounded to 512 bits."""
    return exact(left - right)


def multiply(left: Number, right: Number) -> Number:
    """Product, rounded to 512 bits."""
    return exact(left * right)


def divide(left: Number, right: Number) -> Number:
    """Quotient, rounded to 512 bits.

    Raises:
        NumberError: the divisor is zero. Terraform answers infinity, which nothing can use.

    """
    if right == 0:
        raise NumberError("division by zero")
    if isinstance(left, int) and isinstance(right, int) and left % right == 0:
        return exact(left // right)
    return exact(Fraction(left) / Fraction(right))


def modulo(left: Number, right: Number) -> Number:
    """Remainder with the sign of `left`; `left` itself when the divisor is zero, by Terraform."""
    if right == 0:
        return left
    if (
        isinstance(left, int)
        and isinstance(right, int)
        and left.bit_length() + right.bit_length() < PRECISION  # rounding leaves the quotient whole
    ):
        rest = abs(left) % abs(right)
        return rest if left >= 0 else -rest
    return subtract(left, multiply(truncate(divide(left, right)), right))


def truncate(value: Number) -> int:
    """Integral part, towards zero."""
    return value if isinstance(value, int) else int(value)


def number_text(value: Number) -> str:
    """Write a number without exponent, in the fewest digits that read back as the same number."""
    if isinstance(value, int) and value.bit_length() <= PRECISION:
        return str(value)
    sign = "-" if value < 0 else ""
    digits, places = _trim_zeros(*_shortest(abs(Fraction(value))))
    if places <= 0:
        return f"{sign}{digits}{'0' * -places}"
    text = str(digits).rjust(places + 1, "0")
    return f"{sign}{text[:-places]}.{text[-places:]}"


def decimal_digits(value: Number) -> tuple[str, int]:
    """Shortest digits of a number that is not negative, and the place of the point from their left.

    Zero has no digits: `1500` is `("15", 4)`, `0.02` is `("2", -1)`.
    """
    if not value:
        return "", 0
    digits, places = _trim_zeros(*_shortest(Fraction(value)))
    text = str(digits)
    return text, len(text) - places


def _shortest(value: Fraction) -> tuple[int, int]:
    """Fewest digits d and places p with d / 10**p nearest to the value among what rounds to it."""
    shift = value.numerator.bit_length() - value.denominator.bit_length() - PRECISION
    mantissa = _scale(value, -shift)
    if mantissa >= 1 << PRECISION:
        shift, mantissa = shift + 1, mantissa / 2
    half = _scale(Fraction(1, 2), shift)
    below = half / 2 if mantissa == 1 << (PRECISION - 1) else half
    inclusive = mantissa.numerator % 2 == 0
    places = -(len(str(int(value))) - 1) if value >= 1 else _leading_zeros(value)
    while True:
        digits = round(value * 10**places if places >= 0 else value / 10**-places)
        back = Fraction(digits, 10**places) if places >= 0 else Fraction(digits * 10**-places)
        gap, limit = abs(back - value), below if back < value else half
        if gap < limit or (inclusive and gap == limit):
            return digits, places
        places += 1


def _leading_zeros(value: Fraction) -> int:
    return max(
        1, int((value.denominator.bit_length() - value.numerator.bit_length()) * 0.30103) - 1
    )


def _trim_zeros(digits: int, places: int) -> tuple[int, int]:
    while digits and digits % 10 == 0:
        digits, places = digits // 10, places - 1
    return digits, places


def clean_text(text: str) -> str:
    """Bring a text to Unicode's composed form (NFC); halves of surrogate pairs become U+FFFD."""
    if text.isascii():
        return text
    whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return unicodedata.normalize("NFC", whole)
