"""`format` and `formatlist`: format strings, their verbs, and how numbers are written."""

import re
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Final

from kplan.config.functions.document import safe_json_text
from kplan.config.functions.function import (
    MAX_TEXT,
    Function,
    Parameter,
    Refusal,
    check_elements,
    check_text,
)
from kplan.config.functions.string import graphemes
from kplan.config.values.conversion import ConversionError, convert
from kplan.config.values.number import decimal_digits
from kplan.config.values.value import (
    BOOL,
    NUMBER,
    STRING,
    Number,
    PrimitiveType,
    TList,
    Value,
    is_null,
    is_number,
)
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
        """Return whether the verb has this flag."""
        return flag in self.flags

    def sign(self, *, negative: bool) -> str:
        """Format the part before the digits."""
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
            return _fixed_point_text(value, places)
        case "e" | "E":
            return _scientific(*_significant(value, places + 1), places, verb)
        case _:
            return _general(value, precision, "e" if verb == "g" else "E")


def _fixed_point_text(value: Fraction, places: int) -> str:
    digits = str(round(value * 10**places)).rjust(places + 1, "0")
    return f"{digits[:-places]}.{digits[-places:]}" if places else digits


def _significant(value: Fraction, count: int) -> tuple[str, int]:
    """Round to `count` digits: the digits without zeros at the end, and the place of the point."""
    if not value:
        return "", 0
    _, point = decimal_digits(value)
    rounded = _round_places(value, count - point)
    if len(str(rounded)) > count:
        point += 1
    return str(rounded).rstrip("0"), point


def _round_places(value: Fraction, places: int) -> int:
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


_SPEC: Final = re.compile(
    r"%(?P<flags>[-+# 0]*)(?P<width>[1-9][0-9]*)?(?:(?P<dot>\.)(?P<precision>[0-9]*))?"
    r"(?:\[(?P<index>[1-9][0-9]*)\])?(?P<verb>[A-Za-z])"
)
_BEGINNING: Final = re.compile(r"%[-+# 0]*(?:[1-9][0-9]*)?(?:\.[0-9]*)?(?:\[(?:[1-9][0-9]*\]?)?)?")
_LONGEST_NUMBER: Final = len(str(MAX_TEXT))
_REMEMBERED: Final = 256
_INTEGER_VERBS: Final = "bdoxX"
_FLOAT_VERBS: Final = "eEfFgG"


def format_text(template: str, *arguments: Value) -> str:
    """Fill the verbs of a format string with the arguments."""
    parts = _parts(template)
    used = _argument_numbers(parts, len(arguments))
    result = "".join(
        each if isinstance(each, str) else _format_value(each, arguments[place])
        for each, place in zip(parts, used, strict=True)
    )
    highest = max(used, default=-1) + 1
    if highest < len(arguments):
        raise Refusal(_surplus(highest), argument=highest + 1)
    check_text(len(result))
    return result


def _surplus(used: int) -> str:
    if used == 0:
        return "too many arguments; no verbs in format string"
    return f"too many arguments; only {used} used by format string"


def format_list(template: str, *arguments: Value) -> Value:
    """Fill a format string once for each place of the lists among the arguments."""
    if not arguments:
        return TList((format_text(template),), STRING)
    lists = [each for each in arguments if isinstance(each, tuple)]
    _check_lengths(arguments)
    count = len(lists[0]) if lists else 1
    check_elements(count)
    lines: list[str] = []
    for turn in range(count):
        row = [each[turn] if isinstance(each, tuple) else each for each in arguments]
        lines.append(_line(template, row, turn))
        check_text(len(lines) * len(lines[-1]))
    return TList(lines, STRING)


def _check_lengths(arguments: Sequence[Value]) -> None:
    first = 0
    for place, each in enumerate(arguments, 1):
        if not isinstance(each, tuple):
            continue
        first = first or place
        chosen = arguments[first - 1]
        if isinstance(chosen, tuple) and len(each) != len(chosen):
            reason = (
                f"argument {place} has length {len(each)}, "
                f"which is inconsistent with argument {first} of length {len(chosen)}"
            )
            raise Refusal(reason, argument=place)


def _line(template: str, row: Sequence[Value], turn: int) -> str:
    try:
        return format_text(template, *row)
    except Refusal as refusal:
        reason = f"error on format iteration {turn}: {refusal.reason}"
        raise Refusal(reason, *refusal.shown) from None


@lru_cache(maxsize=_REMEMBERED)
def _parts(template: str) -> tuple[str | Spec, ...]:
    """Split a format string into plain text and verbs."""
    parts: list[str | Spec] = []
    position = 0
    while (start := template.find("%", position)) >= 0:
        parts.append(template[position:start])
        if template.startswith("%%", start):
            parts.append("%")
            position = start + 2
            continue
        match = _SPEC.match(template, start)
        if match is None:
            raise _unreadable(template, start)
        parts.append(_spec(match))
        position = match.end()
    return (*parts, template[position:])


def _unreadable(template: str, start: int) -> Refusal:
    match = _BEGINNING.match(template, start)
    end = match.end() if match else start + 1
    offset = _bytes(template[:end])
    if end >= len(template):
        return Refusal(f"invalid format string starting at offset {offset}")
    return Refusal(f"unrecognized format character {{}} at offset {offset}", f"'{template[end]}'")


def _spec(match: re.Match[str]) -> Spec:
    numbers = [match[name] or "0" for name in ("width", "precision", "index")]
    if any(len(each) > _LONGEST_NUMBER for each in numbers):
        raise Refusal("a width or precision in the format string is too large")
    width, precision, index = map(int, numbers)
    check_text(max(width, precision))
    return Spec(
        text=match[0],
        offset=_bytes(match.string[: match.start()]),
        flags=match["flags"],
        width=width,
        precision=precision if match["dot"] else None,
        index=index or None,
        verb=match["verb"],
    )


def _bytes(text: str) -> int:
    return len(text.encode())


def _argument_numbers(parts: Sequence[str | Spec], count: int) -> list[int]:
    """Find the argument for each part; -1 for plain text."""
    following = 0
    places: list[int] = []
    for each in parts:
        if isinstance(each, str):
            places.append(-1)
            continue
        place = each.index - 1 if each.index else following
        if place >= count:
            raise Refusal(
                f'not enough arguments for "{each.text}" at {each.offset}: '
                f"need index {place + 1} but have {count} total"
            )
        following = place + 1
        places.append(place)
    return places


def _format_value(spec: Spec, value: Value) -> str:
    if spec.verb not in "vstq" + _INTEGER_VERBS + _FLOAT_VERBS:
        reason = f"unsupported format verb {{}} in {{}} at offset {spec.offset}"
        raise Refusal(reason, f"'{spec.verb}'", f'"{spec.text}"')
    if spec.verb == "v":
        return _as_is(spec, value)
    if is_null(value):
        raise _misfit(spec, "null value cannot be formatted")
    if spec.verb == "t":
        return "true" if _convert_argument(spec, value, BOOL) else "false"
    if spec.verb in "sq":
        return _string(spec, str(_convert_argument(spec, value, STRING)))
    return _number(spec, _convert_argument(spec, value, NUMBER))


def _as_is(spec: Spec, value: Value) -> str:
    if spec.has("#"):
        return _pad(spec, safe_json_text(value))
    if is_number(value):
        return _pad(spec, shortest_text(value))
    return _pad(spec, value if isinstance(value, str) else safe_json_text(value))


def _string(spec: Spec, text: str) -> str:
    if spec.precision:
        text = "".join(graphemes(text)[: spec.precision])
    return _pad(spec, safe_json_text(text) if spec.verb == "q" else text)


def _pad(spec: Spec, text: str) -> str:
    missing = spec.width - len(graphemes(text)) if spec.width else 0
    if missing <= 0:
        return text
    if spec.has("-"):
        return text + " " * missing
    return ("0" if spec.has("0") else " ") * missing + text


def _number(spec: Spec, value: Value) -> str:
    number: Number = value if is_number(value) else 0
    if spec.verb in _FLOAT_VERBS:
        return float_verb(spec, number)
    if not isinstance(number, int):
        raise _misfit(spec, "an integer is required")
    return integer_verb(spec, number)


def _convert_argument(spec: Spec, value: Value, wanted: PrimitiveType) -> Value:
    try:
        return convert(value, wanted)
    except ConversionError as error:
        raise _misfit(spec, str(error)) from None


def _misfit(spec: Spec, reason: str) -> Refusal:
    return Refusal(f'unsupported value for "{spec.text}" at {spec.offset}: {reason}')


_FORMAT: Final = Parameter("format", STRING)
_ARGS: Final = Parameter("args", nullable=True)

FORMATTING: Final = (
    Function("format", (_FORMAT,), format_text, _ARGS),
    Function("formatlist", (_FORMAT,), format_list, _ARGS),
)
