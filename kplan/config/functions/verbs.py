"""How numbers are written by a verb of a format string."""

from fractions import Fraction
from typing import Final

from kplan.config.values.numbers import decimal_digits
from kplan.config.values.value import Number
from kplan.model.dataclass import dataclass

_PREFIXES: Final = {"b": "0b", "o": "0", "x": "0x", "X": "0X"}
_DEFAULT_PRECISION: Final = 6
_PLAIN_FROM: Final = -4


@dataclass(frozen=True, slots=True)
class Spec:
    """One verb of a format string; `text` is all of it as written, at the byte `offset`."""

    text: str
    offset: int
    flags: str
    width: int
    precision: int | None
    index: int | None
    verb: str

    def has(self, flag: str) -> bool:
        """Tell whether the verb has this flag."""
        return flag in self.flags

    def sign(self, *, negative: bool) -> str:
        """Choose what stands before the digits."""
        if negative:
            return "-"
        return "+" if self.has("+") else " " if self.has(" ") else ""


def integer_verb(spec: Spec, value: int) -> str:
    """Write an integer by one of the verbs b, d, o, x and X."""
    sign = spec.sign(negative=value < 0)
    prefix = _PREFIXES.get(spec.verb, "") if spec.has("#") else ""
    digits = format(abs(value), spec.verb)
    if spec.precision is not None:
        if value == 0 and spec.precision == 0:
            return ""
        digits = digits.rjust(spec.precision, "0")
    missing = spec.width - len(sign) - len(prefix) - len(digits)
    if spec.has("-"):
        return f"{sign}{prefix}{digits}{' ' * missing}"
    if spec.has("0") and spec.precision is None:
        return f"{sign}{prefix}{'0' * missing}{digits}"
    return f"{' ' * missing}{sign}{prefix}{digits}"


def float_verb(spec: Spec, value: Number) -> str:
    """Write a number by one of the verbs e, E, f, F, g and G."""
    sign = spec.sign(negative=value < 0)
    body = _body(spec.verb, spec.precision, _positive(value))
    missing = spec.width - len(sign) - len(body)
    if spec.has("0"):
        return f"{sign}{'0' * missing}{body}"
    if spec.has("-"):
        return f"{sign}{body}{' ' * missing}"
    return f"{' ' * missing}{sign}{body}"


def shortest_text(value: Number) -> str:
    """Write a number as `%v` does: with an exponent from a million on."""
    sign = "-" if value < 0 else ""
    return sign + _general(_positive(value), None, "e")


def _positive(value: Number) -> Fraction:
    return Fraction(-value if value < 0 else value)


def _body(verb: str, precision: int | None, value: Fraction) -> str:
    places = _DEFAULT_PRECISION if precision is None else precision
    match verb:
        case "f" | "F":
            return _fixed(value, places)
        case "e" | "E":
            return _scientific(*_significant(value, places + 1), places, verb)
        case _:
            return _general(value, precision, "e" if verb == "g" else "E")


def _fixed(value: Fraction, places: int) -> str:
    digits = str(round(value * 10**places)).rjust(places + 1, "0")
    return f"{digits[:-places]}.{digits[-places:]}" if places else digits


def _significant(value: Fraction, count: int) -> tuple[str, int]:
    """Round to `count` digits: the digits without zeros at the end, and the place of the point."""
    if not value:
        return "", 0
    _, point = decimal_digits(value)
    rounded = _rounded(value, count - point)
    if len(str(rounded)) > count:
        point += 1
    return str(rounded).rstrip("0"), point


def _rounded(value: Fraction, places: int) -> int:
    scale = Fraction(10) ** places
    return round(value * scale)


def _scientific(digits: str, point: int, places: int, letter: str) -> str:
    padded = digits.ljust(places + 1, "0")
    exponent = point - 1 if digits else 0
    mantissa = f"{padded[0]}.{padded[1:]}" if places else padded[0]
    return f"{mantissa}{letter}{'-' if exponent < 0 else '+'}{abs(exponent):02d}"


def _general(value: Fraction, precision: int | None, letter: str) -> str:
    if precision is None:
        digits, point = decimal_digits(value)
        limit, count = _DEFAULT_PRECISION, len(digits)
    else:
        count = precision or 1
        digits, point = _significant(value, count)
        limit = len(digits) if count > len(digits) >= point else count
    if digits and (point - 1 < _PLAIN_FROM or point - 1 >= limit):
        return _scientific(digits, point, min(count, len(digits)) - 1, letter)
    return _plain(digits, point)


def _plain(digits: str, point: int) -> str:
    if point <= 0:
        return f"0.{'0' * -point}{digits}" if digits else "0"
    whole, part = digits[:point].ljust(point, "0"), digits[point:]
    return f"{whole}.{part}" if part else whole
