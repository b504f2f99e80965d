"""What stands before the requests in lines of logs, and when that is: read in Arrow.

Brokers write Kafka's default layout (`[2026-11-01 10:00:00,123] INFO ...`), that of Strimzi without
the brackets, or JSON; containers put a time of their own before it or wrap it in JSON. All of these
are cut off a request here, so that equal requests are equal texts. What is not read here is read
in Java (`layout.py`), the same way: the last time before a request counts.
"""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from kplan.model.log_layout import MESSAGE_BEGINNING

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

LAST_YEAR = 9998
"""Of the times that count: the last day of the next one may be in a year of five digits in UTC."""
END_MS = int(datetime(LAST_YEAR + 1, 1, 1, tzinfo=UTC).timestamp()) * 1000
"""Later times do not count."""
TIME_LENGTH = 25
_DIGITS = (1, 2, 3, 4, 6, 7, 9, 10, 12, 13, 15, 16, 18, 19, 21, 22, 23)
_MARKS = {0: "[", 5: "-", 8: "-", 14: ":", 17: ":", 20: ",", 24: "]"}
"""The marks of `[2026-11-01 10:00:00,123]` by place; the date ends with a space or T."""
_DATE_END = 11
_FIELDS = ((0, 4), (4, 6), (6, 8), (8, 10), (10, 12), (12, 14), (14, 17))
"""Which digits are the year, month, day, hour, minute, second, and milliseconds."""

_DATE = r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d"
_OFFSET = r"[+-](?:0\d|1[0-7]):?[0-5]\d"
_LEVEL = r"(?:TRACE|DEBUG|INFO|WARN|ERROR|FATAL)\b"
_TEXT = r'[^"{\x01]*'
_HEAD = (
    rf'(?s)\A(?:{_TEXT}[^0-9"{{\x01])?(?P<time>{_DATE}[.,]\d{{3}})'
    rf"(?:(?P<zone>Z|{_OFFSET})(?P<zoned>[\]) ]{_TEXT})?"
    rf"|(?P<after>(?:[\])]| (?:[\[( ]|- |{_LEVEL}|\z)){_TEXT})?)\z"
)
"""What stands before a request, its last time with all milliseconds. Behind a time without a zone
is nothing that may be the name of one."""
_STRING = r'"[^"\\\x01]*"'
_FIELD = rf"{_STRING}: ?(?:{_STRING}|-?[0-9.]{{1,20}}|true|false|null)"
_EVENT_HEAD = (
    r'(?s)\A[^{"\x01]{0,300}\{ ?(?:'
    rf'"@timestamp": ?"(?P<time>{_DATE}[.,]\d{{3}}(?:Z|{_OFFSET}))"'
    r'|"instant": ?\{"epochSecond": ?(?P<second>\d{9,10}), ?"nanoOfSecond": ?(?P<nano>\d{1,9})\}'
    r'|"timeMillis": ?(?P<milli>\d{12,13})'
    rf'), ?(?:{_FIELD}, ?)*"message": ?"\z'
)
"""How events of log4j 2 begin, as JSON and as ECS have them."""
_CONTAINER_HEAD = r'(?s)\A\{ ?"log": ?"(?P<head>[^"\\\x01]*)\z'
"""How Docker's JSON begins."""
_JSON_REST = (
    r'(?s)\A(?P<said>[^"\\\x01]*)(?:\\r)?(?:\\n)?"'
    rf"(?:, ?(?:{_FIELD}|{_STRING}: ?\{{(?:{_FIELD}(?:, ?{_FIELD})*)?\}}))*\}}[ \t\r\n]*\z"
)
_JSON_KEYS = r'"(?:timeMillis|instant|timestamp|timestampSeconds|@timestamp|message|log)" ?:'
"""What says when an event was, or has its text. With more of them than its head has Java decides
which one counts."""


class Requests(NamedTuple):
    """Requests that were found in lines: which `rows` these are, what they say, and when.

    `said` begins with MESSAGE_BEGINNING. `at` is milliseconds since 1970, by the clock of the
    broker unless it `is_utc`.
    """

    rows: "np.ndarray[Any, Any]"
    said: "pa.Array"
    at: "np.ndarray[Any, Any]"
    is_utc: "np.ndarray[Any, Any]"


def find_requests(lines: "pa.Array") -> list[Requests]:
    """Find requests behind other times than those of Kafka's default layout; in: bytes.

    A line is one request at most.
    """
    import pyarrow.compute as pc  # noqa: PLC0415 - on the executor

    parts = pc.split_pattern(lines, pattern=MESSAGE_BEGINNING, max_splits=1)
    is_split = pc.greater(pc.list_value_length(parts), 1)
    rows, parts = pc.indices_nonzero(is_split).to_numpy(), parts.filter(is_split)
    if not len(rows):
        return []
    head, rest = pc.list_element(parts, 0), pc.list_element(parts, 1)
    is_json = _booleans(pc.match_substring(head, '"'))
    found = [_after_times(*_where(~is_json, rows, head, rest))]
    if is_json.any():
        found += _in_json(*_where(is_json, rows, head, rest))
    return found


def _in_json(
    rows: "np.ndarray[Any, Any]", head: "pa.Array", rest: "pa.Array"
) -> Iterator[Requests]:
    """Find requests that containers wrapped, and those in events of log4j 2."""
    import numpy as np  # noqa: PLC0415 - on the executor
    import pyarrow.compute as pc  # noqa: PLC0415

    (said,) = pc.extract_regex(rest, _JSON_REST).flatten()
    keys = pc.add(*(pc.count_substring_regex(each, _JSON_KEYS) for each in (head, rest)))
    principals, own = (pc.count_substring(each, "rincipal") for each in (rest, said))
    is_whole = _booleans(pc.equal(principals, own))
    (wrapped,) = pc.extract_regex(head, _CONTAINER_HEAD).flatten()
    is_wrapped = is_whole & _booleans(pc.and_(wrapped.is_valid(), pc.equal(keys, 1)))
    yield _after_times(*_where(is_wrapped, rows, wrapped, said))
    event = pc.extract_regex(head, _EVENT_HEAD)
    is_event = is_whole & _booleans(pc.and_(event.is_valid(), pc.equal(keys, 2)))
    rows, said, time, *numbers = _where(is_event, rows, said, *event.flatten())
    seconds, nanos, millis = map(_integers, numbers)
    has_text = _booleans(pc.not_equal(time, b""))
    yield _after_times(*_where(has_text, rows, time, said))
    at = seconds * 1000 + nanos // 1_000_000 + millis
    rows, said, at = _where(~has_text, rows, said, at)
    yield Requests(rows, _message(said), at, np.ones(len(rows), bool))


def _after_times(rows: "np.ndarray[Any, Any]", head: "pa.Array", rest: "pa.Array") -> Requests:
    """Find requests that have a time before them."""
    import pyarrow.compute as pc  # noqa: PLC0415 - on the executor

    found = pc.extract_regex(head, _HEAD)
    rows, rest, *parts = _where(_booleans(found.is_valid()), rows, rest, *found.flatten())
    time, zone, *after = parts
    second, millis = pc.binary_slice(time, 0, 19), pc.binary_slice(time, 20, 23)
    at = read_times(pc.binary_join_element_wise(b"[", second, b",", millis, b"]", b""))
    is_utc, is_ahead = (
        _booleans(each) for each in (pc.not_equal(zone, b""), pc.starts_with(zone, "+"))
    )
    digits = pc.replace_substring_regex(zone, "[^0-9]", "")
    hours, minutes = (_integers(pc.binary_slice(digits, n, n + 2)) for n in (0, 2))
    at_utc = at + (1 - 2 * is_ahead) * (hours * 60 + minutes) * 60_000
    other_times = pc.match_substring_regex(pc.binary_join_element_wise(*after, b""), _DATE)
    is_last = (at >= 0) & (at_utc >= 0) & (at_utc < END_MS) & ~_booleans(other_times)
    return Requests(*_where(is_last, rows, _message(rest), at_utc, is_utc))


def _message(rest: "pa.Array") -> "pa.Array":
    import pyarrow.compute as pc  # noqa: PLC0415 - on the executor

    return pc.binary_join_element_wise(MESSAGE_BEGINNING.encode(), rest, b"")


def _where(chosen: "np.ndarray[Any, Any]", *arrays: Any) -> Iterator[Any]:  # noqa: ANN401
    """Keep of arrays, those of numpy and those of Arrow, the chosen elements."""
    import pyarrow as pa  # noqa: PLC0415 - on the executor

    for each in arrays:
        yield each.filter(pa.array(chosen)) if isinstance(each, pa.Array) else each[chosen]


def _booleans(found: "pa.Array") -> "np.ndarray[Any, Any]":
    import pyarrow.compute as pc  # noqa: PLC0415

    known = pc.fill_null(found, fill_value=False)
    values: np.ndarray[Any, Any] = known.to_numpy(zero_copy_only=False)
    return values


def _integers(digits: "pa.Array") -> "np.ndarray[Any, Any]":
    """Read numbers; without a digit they are 0."""
    import pyarrow as pa  # noqa: PLC0415 - on the executor
    import pyarrow.compute as pc  # noqa: PLC0415

    text = pc.if_else(pc.equal(digits, b""), b"0", digits)
    values: np.ndarray[Any, Any] = text.cast(pa.string()).cast(pa.int64()).to_numpy()
    return values


def read_times(lines: "pa.Array") -> "np.ndarray[Any, Any]":
    """Read the times of the default layout that lines begin with; in: bytes.

    Out: milliseconds since 1970; -1 is none.
    """
    import numpy as np  # noqa: PLC0415

    _, ends, held = lines.buffers()
    offsets = np.frombuffer(ends, np.int32)[lines.offset : lines.offset + len(lines) + 1]
    text = np.frombuffer(held, np.uint8) if held else np.zeros(0, np.uint8)
    found = np.diff(offsets) >= TIME_LENGTH
    begins = np.where(found, offsets[:-1], 0)
    if not found.any():
        return np.full(len(found), -1)
    for place, mark in _MARKS.items():
        found &= text[begins + place] == ord(mark)
    found &= np.isin(text[begins + _DATE_END], (ord(" "), ord("T")))
    digits = [text[begins + place] - np.uint8(ord("0")) for place in _DIGITS]
    for each in digits:
        found &= each <= 9  # noqa: PLR2004 - what is below 0 is far above
    year, month, day, hour, minute, second, millis = (
        _number(digits[begin:end]) for begin, end in _FIELDS
    )
    months = ((year - 1970) * 12 + month - 1).astype("M8[M]")
    days = months.astype("M8[D]") + (day - 1).astype("m8[D]")
    found &= (year <= LAST_YEAR) & (month >= 1) & (day >= 1) & (days.astype("M8[M]") == months)
    for each, most in ((month, 12), (hour, 23), (minute, 59), (second, 59)):
        found &= each <= most
    at = ((days.astype(np.int64) * 24 + hour) * 60 + minute) * 60_000 + second * 1000 + millis
    return np.where(found, at, -1)


def _number(digits: "Sequence[np.ndarray[Any, Any]]") -> "np.ndarray[Any, Any]":
    found = digits[0].astype("int32")
    for each in digits[1:]:
        found = found * 10 + each
    return found
