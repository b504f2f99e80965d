"""Date functions: timestamps of RFC 3339 and durations."""

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from typing import Final, NoReturn

from kplan.config.functions.function import Function, Parameter, Refusal, quote
from kplan.config.values.value import STRING, Value
from kplan.model.dataclass import dataclass

_PREFIX: Final = "not a valid RFC3339 timestamp"
_OFFSET: Final = re.compile(r"Z|([+-])(\d{2}):(\d{2})")
_PARTS: Final = (
    ("year", 4, "-", 0, 9999),
    ("month", 2, "-", 1, 12),
    ("day of month", 2, "T", 1, 31),
    ("hour", 2, ":", 0, 23),
    ("minute", 2, ":", 0, 59),
    ("second", 2, "", 0, 59),
)
_LAST_OFFSET_HOUR: Final = 24
_MINUTES: Final = 60
_UNITS: Final = {
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,
    "μs": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
}
_PIECE: Final = re.compile(r"(\d*)(?:\.(\d*))?([^\d.]*)")
_LONGEST_NS: Final = 2**63
_LONGEST_DURATION: Final = 100


class TimestampError(Exception):
    """Text that is no timestamp, or a time beyond the years 1 to 9999."""


class DurationError(Exception):
    """Text that is no duration."""


@dataclass(frozen=True, slots=True)
class Timestamp:
    """A moment on the clock of a place: its local time without zone, and the offset from UTC."""

    local: datetime
    nanosecond: int
    offset_minutes: int

    @property
    def moment(self) -> tuple[datetime, int]:
        """The moment in UTC, to compare with, and its nanoseconds."""
        return self.local - timedelta(minutes=self.offset_minutes), self.nanosecond

    def __str__(self) -> str:
        """Write it without a fraction of a second."""
        return f"{self.local:%Y-%m-%dT%H:%M:%S}{self.offset(':') if self.offset_minutes else 'Z'}"

    def offset(self, separator: str) -> str:
        """Write the offset from UTC."""
        hours, minutes = divmod(abs(self.offset_minutes), _MINUTES)
        return f"{'-' if self.offset_minutes < 0 else '+'}{hours:02}{separator}{minutes:02}"

    def later(self, nanoseconds: int) -> "Timestamp":
        """Move the moment; raises TimestampError beyond the calendar."""
        seconds, rest = divmod(self.nanosecond + nanoseconds, 10**9)
        try:
            return Timestamp(self.local + timedelta(seconds=seconds), rest, self.offset_minutes)
        except OverflowError:
            raise TimestampError("the result is beyond the years 1 to 9999") from None


def parse_timestamp(text: str) -> Timestamp:
    """Read a timestamp; raises TimestampError with Terraform's words for the part at fault."""
    numbers: list[int] = []
    position = 0
    for part in _PARTS:
        value, position = _part(text, position, part)
        numbers.append(value)
    fraction = re.compile(r"\.(\d+)").match(text, position)
    position = fraction.end() if fraction else position
    nanosecond = int(fraction[1][:9].ljust(9, "0")) if fraction else 0
    return Timestamp(_calendar(numbers), nanosecond, _offset(text, position))


def _part(text: str, start: int, part: tuple[str, int, str, int, int]) -> tuple[int, int]:
    name, width, separator, low, high = part
    digits, end = text[start : start + width], start + width
    if start >= len(text):
        _fail(f"end of string before {name}")
    if not (len(digits) == width and digits.isascii() and digits.isdecimal()):
        if name in ("hour", "minute", "second") and digits[:1].isdecimal():
            _fail(f"{name} must have exactly two digits")
        _fail(f"cannot use {quote(text[start:])} as {name}")
    if not low <= int(digits) <= high:
        _out_of_range(name, text[end:])
    if not text.startswith(separator, end):
        _fail_missing(separator, text[end:])
    return int(digits), end + len(separator)


def _out_of_range(name: str, rest: str) -> NoReturn:
    if name == "day of month":
        _fail("day out of range")
    if name == "hour":
        _fail("hour must be between 0 and 23 inclusive")
    if name == "minute":
        _fail("minute must have exactly two digits")
    _fail(f"cannot use {quote(rest)} as {name}")


def _fail_missing(separator: str, rest: str) -> NoReturn:
    if separator == "T":
        _fail("missing required time introducer 'T'")
    if not rest:
        _fail(f'end of string where "{separator}" is expected')
    _fail(f'found {quote(rest)} where "{separator}" is expected')


def _offset(text: str, start: int) -> int:
    rest = text[start:]
    match = _OFFSET.match(rest)
    if not rest:
        _fail("end of string before UTC offset")
    if rest.startswith(","):
        _fail('cannot use "," as timestamp segment')
    if match is None:
        _fail(f"cannot use {quote(rest)} as UTC offset")
    if match.end() < len(rest):
        _fail(f"cannot use {quote(rest[match.end() :])} as timestamp segment")
    hours, minutes = int(match[2] or 0), int(match[3] or 0)
    if hours > _LAST_OFFSET_HOUR or minutes >= _MINUTES:
        _fail("end of string before UTC offset")
    return (hours * _MINUTES + minutes) * (-1 if match[1] == "-" else 1)


def _calendar(numbers: list[int]) -> datetime:
    year, month, day, hour, minute, second = numbers
    if year == 0:
        raise TimestampError("the year 0 is not supported")
    try:
        return datetime(year, month, day, hour, minute, second, tzinfo=UTC)
    except ValueError:
        _fail("day out of range")


def _fail(reason: str) -> NoReturn:
    raise TimestampError(f"{_PREFIX}: {reason}")


def calendar_text(numbers: tuple[int, int, int, int, int, int], zone: str) -> str:
    """Write year, month, day, hour, minute and second with a zone; raises TimestampError."""
    year, month, day, hour, minute, second = numbers
    text = f"{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{zone}"
    return str(parse_timestamp(text))


def parse_duration(text: str) -> int:
    """Read a duration such as `-1h30m` or `1.5s` in nanoseconds.

    Raises:
        DurationError: it is none, or longer than 292 years.

    """
    body = text[1:] if text[:1] in ("+", "-") else text
    if body == "0":
        return 0
    if not body or len(body) > _LONGEST_DURATION:
        raise DurationError(f"time: invalid duration {quote(text)}")
    total, position = Fraction(0), 0
    while position < len(body):
        piece, position = _piece(text, body, position)
        total += piece
    nanoseconds = int(total)
    if nanoseconds >= _LONGEST_NS:
        raise DurationError(f"time: invalid duration {quote(text)}")
    return -nanoseconds if text.startswith("-") else nanoseconds


def _piece(text: str, body: str, position: int) -> tuple[Fraction, int]:
    match = _PIECE.match(body, position)
    if match is None or not (match[1] or match[2]):
        raise DurationError(f"time: invalid duration {quote(text)}")
    unit = match[3]
    if not unit:
        raise DurationError(f"time: missing unit in duration {quote(text)}")
    if unit not in _UNITS:
        raise DurationError(f"time: unknown unit {quote(unit)} in duration {quote(text)}")
    part = match[2] or ""
    amount = Fraction(int((match[1] or "0") + part), 10 ** len(part))
    return amount * _UNITS[unit], match.end()


_MONTHS: Final = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
_DAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_TOKEN: Final = re.compile(r"'(?:[^']|'')*'|'|([A-Za-z])\1*|[^A-Za-z']+")
_NOON: Final = 12


def _clock_hour(time: datetime) -> int:
    return time.hour % _NOON or _NOON


_VERBS: Final[Mapping[str, Callable[[Timestamp], str]]] = {
    "YYYY": lambda at: f"{at.local.year:04}",
    "YY": lambda at: f"{at.local.year % 100:02}",
    "MMMM": lambda at: _MONTHS[at.local.month - 1],
    "MMM": lambda at: _MONTHS[at.local.month - 1][:3],
    "MM": lambda at: f"{at.local.month:02}",
    "M": lambda at: str(at.local.month),
    "DD": lambda at: f"{at.local.day:02}",
    "D": lambda at: str(at.local.day),
    "EEEE": lambda at: _DAYS[at.local.weekday()],
    "EEE": lambda at: _DAYS[at.local.weekday()][:3],
    "hh": lambda at: f"{at.local.hour:02}",
    "h": lambda at: str(at.local.hour),
    "HH": lambda at: f"{_clock_hour(at.local):02}",
    "H": lambda at: str(_clock_hour(at.local)),
    "AA": lambda at: "AM" if at.local.hour < _NOON else "PM",
    "aa": lambda at: "am" if at.local.hour < _NOON else "pm",
    "mm": lambda at: f"{at.local.minute:02}",
    "m": lambda at: str(at.local.minute),
    "ss": lambda at: f"{at.local.second:02}",
    "s": lambda at: str(at.local.second),
    "ZZZZZ": lambda at: at.offset(":"),
    "ZZZZ": lambda at: at.offset(""),
    "ZZZ": lambda at: at.offset("") if at.offset_minutes else "UTC",
    "Z": lambda at: at.offset(":") if at.offset_minutes else "Z",
}
_RULES: Final = {
    "Y": 'year must either be "YY" or "YYYY"',
    "M": 'month must be "M", "MM", "MMM", or "MMMM"',
    "D": 'day of month must either be "D" or "DD"',
    "E": 'day of week must either be "EEE" or "EEEE"',
    "h": '24-hour must either be "h" or "hh"',
    "H": '12-hour must either be "H" or "HH"',
    "A": 'must be "AA"',
    "a": 'must be "aa"',
    "m": 'minute must either be "m" or "mm"',
    "s": 'second must either be "s" or "ss"',
    "Z": "timezone must be Z, ZZZZ, or ZZZZZ",
}


def formatdate(template: str, time: str) -> str:
    """Timestamp written by a template of letters; text in single quotes means itself."""
    at = _timestamp(time, 1)
    return "".join(_format_pieces(template, at))


def _format_pieces(template: str, at: Timestamp) -> Iterator[str]:
    for match in _TOKEN.finditer(template):
        text = match[0]
        if text == "'":
            raise Refusal("unterminated literal '", argument=0)
        if text.startswith("'"):
            yield text[1:-1].replace("''", "'") or "'"
        elif match[1] is None:
            yield text
        elif text in _VERBS:
            yield _VERBS[text](at)
        else:
            rule = f": {_RULES[text[0]]}" if text[0] in _RULES else ""
            raise Refusal("invalid date format verb {}", f'"{text}"{rule}', argument=0)


def timeadd(time: str, duration: str) -> str:
    """Timestamp moved by a duration such as `1h30m`."""
    try:
        return str(_timestamp(time, None).later(parse_duration(duration)))
    except (DurationError, TimestampError) as error:
        raise Refusal("{}", str(error)) from None


def timecmp(left: str, right: str) -> int:
    """-1, 0 or 1: whether the first moment is before, at or after the second."""
    first, second = _timestamp(left, 0).moment, _timestamp(right, 1).moment
    return (first > second) - (first < second)


def _timestamp(text: str, argument: int | None) -> Timestamp:
    try:
        return parse_timestamp(text)
    except TimestampError as error:
        raise Refusal("{}", str(error), argument=argument) from None


def _unrepeatable(*_: Value) -> Value:
    raise Refusal("it gives another result each time, and a plan must be repeatable")


_STR: Final = Parameter("str", STRING)
_TIME: Final = Parameter("time", STRING)

DATES: Final = (
    Function("formatdate", (Parameter("format", STRING), _TIME), formatdate),
    Function("timeadd", (Parameter("timestamp", STRING), Parameter("duration", STRING)), timeadd),
    Function(
        "timecmp", (Parameter("timestamp_a", STRING), Parameter("timestamp_b", STRING)), timecmp
    ),
    Function("plantimestamp", (), _unrepeatable),
    Function("timestamp", (), _unrepeatable),
    Function("uuid", (), _unrepeatable),
)
