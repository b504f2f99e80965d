"""Date functions, and those that would make a plan unrepeatable."""

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Final

from kplan.config.functions.function import Function, Parameter, Refusal
from kplan.config.functions.timestamp import (
    DurationError,
    Timestamp,
    TimestampError,
    parse_duration,
    parse_timestamp,
)
from kplan.config.values.value import STRING, Value

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
    """Timestamp written by a template of letters; text in single quotes stands for itself."""
    at = _timestamp(time, 1)
    return "".join(_formatted(template, at))


def _formatted(template: str, at: Timestamp) -> Iterator[str]:
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
