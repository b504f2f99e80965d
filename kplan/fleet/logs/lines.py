"""Lines of logs that differ in their time only, added up in Arrow where they are read.

Most lines of an authorizer log repeat. They are added up before Spark has them, and lines of
Kafka's default layout taken apart, so that only what differs crosses from Python to Java. Lines of
other layouts are taken apart there (`layout.py`).
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from pyspark.sql import DataFrame

MARK, PART_COUNT = "\x01", 7
"""What stands between the parts of a request, and how many these are."""
SUM_SCHEMA = (
    "said string, has_time boolean, is_default boolean, count long, first_at timestamp, "
    "last_at timestamp"
)
"""What stands beside the keys of lines. `said` is what follows the time of Kafka's default layout,
else the whole line; where a request `is_default`, it is its parts with marks between them."""
SUM_COLUMNS = tuple(each.split()[0] for each in SUM_SCHEMA.split(", "))
HELD_BYTES = 64 << 20
"""How much a task holds until it adds up."""
_COLUMNS = ("said", "period", "is_default", "count", "first", "last")
"""What lines have beside their keys until they are written for Spark."""
_SPACE = r" \t\n\x0b\f\r"
_TEXT, _WORD = r"[^\x01]*?", rf"[^\x01{_SPACE}]*"
_REQUEST = (
    rf"(?s)\A{_TEXT}Principal = (?P<principal>{_TEXT}) is (?P<verdict>Allowed|Denied)"
    rf" [oO]peration = (?P<operation>{_WORD}) from host = (?P<host>{_WORD})"
    rf" on resource = (?P<type>[^\x01{_SPACE}:]*):(?:LITERAL|PREFIXED):(?P<name>{_TEXT})"
    rf" for request = (?P<request>{_WORD}) with resourceRefCount = \d{{1,18}}"
    rf"(?: based on rule .*|(?:[{_SPACE}]*(?:[(\[][^()\[\]\x01]+[)\]]|\x1b\[[\d;]*m)){{0,4}})"
    rf"[{_SPACE}]*\z"
)
"""RE2's: what `layout.py` has in Java's words, and in other layouts, too."""
_ENDS = ((0, " operation = "), (5, " for request = "))
"""What must not be in a part, by its place: RE2 would go on behind the first one, Java does not.
Such lines are left to Java."""
_JOINED = r"(?s)\d\d:\d\d:\d\d.*Principal = |Principal = .* based on rule .*Principal = "
"""Perhaps the request of the next line, where the end of one was lost. Java decides about it."""
_QUARTER_HOUR_MS = 15 * 60_000
"""Time zones differ from UTC by multiples of this: a day in UTC begins with a quarter of theirs."""
LAST_YEAR = 9998
"""Of the times that count: the last day of the next one may be in a year of five digits in UTC."""
_TIME_LENGTH = 25
_ANY_LENGTH = 1 << 30
_DIGITS = (1, 2, 3, 4, 6, 7, 9, 10, 12, 13, 15, 16, 18, 19, 21, 22, 23)
_MARKS = {0: "[", 5: "-", 8: "-", 14: ":", 17: ":", 20: ",", 24: "]"}
"""The marks of `[2026-11-01 10:00:00,123]` by place; the date ends with a space or T."""
_DATE_END = 11


def sum_lines(lines: "DataFrame", zoned: Collection[int] = ()) -> "DataFrame":
    """Add up lines that differ in their time only, those of a task and a day.

    In: `line`, and columns that say of what it is; the numbers of the parts (`part`) with a time
    zone. Out: these columns, and SUM_SCHEMA.
    """
    keys = ", ".join(
        f"{each.name} {each.dataType.simpleString()}"
        for each in lines.schema
        if each.name != "line"
    )

    def work(batches: Iterable["pa.RecordBatch"]) -> Iterator["pa.RecordBatch"]:
        yield from add_up(batches, zoned)

    return lines.mapInArrow(work, f"{keys}, {SUM_SCHEMA}")


def add_up(
    batches: Iterable["pa.RecordBatch"], zoned: Collection[int] = ()
) -> Iterator["pa.RecordBatch"]:
    """Do that on an executor. What is there once it is added up is held as long as it is little."""
    held: list[pa.Table] = []
    size = 0
    for batch in batches:
        if batch.num_rows:
            held.append(_cut_times(batch, zoned))
            size += held[-1].nbytes
        if size >= HELD_BYTES:
            held = [_merge_sums(held)]
            size = held[0].nbytes
            if size >= HELD_BYTES // 2:
                yield from _sums(_parse_requests(held.pop()))
                size = 0
    if held:
        yield from _sums(_parse_requests(_merge_sums(held)))


def _merge_sums(held: Sequence["pa.Table"]) -> "pa.Table":
    import pyarrow as pa  # noqa: PLC0415 - on the executor

    lines = pa.concat_tables(held)
    sums = [("count", "sum"), ("first", "min"), ("last", "max")]
    keys = [each for each in lines.column_names if each not in {"count", "first", "last"}]
    found = lines.group_by(keys, use_threads=False).aggregate(sums)
    names = {f"{name}_{how}": name for name, how in sums}
    return found.rename_columns([names.get(each, each) for each in found.column_names])


def _parse_requests(lines: "pa.Table") -> "pa.Table":
    """Take requests of the default layout apart: `said`, is_default."""
    import pyarrow as pa  # noqa: PLC0415 - on the executor
    import pyarrow.compute as pc  # noqa: PLC0415

    said = lines["said"].combine_chunks()
    parts = pc.extract_regex(said, _REQUEST).flatten()
    is_default = pc.and_(parts[0].is_valid(), lines["period"].combine_chunks().is_valid())
    for place, end in _ENDS:
        is_longer = pc.match_substring(parts[place], end, ignore_case=True)
        is_longer = pc.coalesce(is_longer, pa.scalar(value=False))
        is_default = pc.and_not(is_default, is_longer)
    is_default = pc.and_not(is_default, pc.match_substring_regex(said, _JOINED))
    joined = pc.binary_join_element_wise(*parts, pa.scalar(MARK.encode(), pa.binary()))
    found = pc.if_else(is_default, joined, said)
    at = lines.column_names.index("said")
    return lines.set_column(at, "said", found).append_column("is_default", is_default)


def _sums(found: "pa.Table") -> Iterator["pa.RecordBatch"]:
    """Write what was added up as Spark takes it."""
    import pyarrow as pa  # noqa: PLC0415 - on the executor
    import pyarrow.compute as pc  # noqa: PLC0415

    at = pa.timestamp("us", tz="UTC")
    keys = [each for each in found.column_names if each not in _COLUMNS]
    for batch in found.combine_chunks().to_batches():
        said = batch["said"]
        columns = {
            **{each: batch[each] for each in keys},
            # Bytes that are no text stay as they are: Java makes a text of them.
            "said": pa.Array.from_buffers(pa.string(), len(said), said.buffers(), -1, said.offset),
            "has_time": batch["period"].is_valid(),
            "is_default": batch["is_default"],
            "count": batch["count"],
            **{f"{each}_at": pc.multiply(batch[each], 1000).cast(at) for each in ("first", "last")},
        }
        yield pa.RecordBatch.from_arrays([*columns.values()], names=[*columns])


def _cut_times(batch: "pa.RecordBatch", zoned: Collection[int]) -> "pa.Table":
    """Cut lines into what they say and when: keys, said, period, count, first, last.

    Without a time that can be read `said` is the line. Times are milliseconds since 1970. What is
    added up is of one `period`: a day, or a quarter of an hour where the day in UTC is another one.
    """
    import numpy as np  # noqa: PLC0415
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.compute as pc  # noqa: PLC0415

    line = batch["line"].fill_null("") if batch["line"].null_count else batch["line"]
    line = line.cast(pa.string()) if pa.types.is_large_string(line.type) else line
    _, ends, held = line.buffers()
    offsets = np.frombuffer(ends, np.int32)[line.offset : line.offset + len(line) + 1]
    text = np.frombuffer(held, np.uint8) if held else np.zeros(0, np.uint8)
    periods, at = _times(text, offsets)
    if zoned:
        is_zoned = np.isin(batch["part"].to_numpy(), list(zoned))
        periods = np.where(is_zoned, at // _QUARTER_HOUR_MS, periods).astype(np.int32)
    is_timed = at >= 0
    lines = pa.Array.from_buffers(pa.binary(), len(line), [None, ends, held], 0, line.offset)
    rests = pc.binary_slice(lines, _TIME_LENGTH, _ANY_LENGTH)
    said = rests if is_timed.all() else pc.if_else(pa.array(is_timed), rests, lines)
    first = pa.array(at, mask=~is_timed)
    columns = {
        **{each: batch[each] for each in batch.schema.names if each != "line"},
        "said": said,
        "period": pa.array(periods, mask=~is_timed),
        "count": pa.array(np.ones(len(line), np.int64)),
        "first": first,
        "last": first,
    }
    return pa.table(columns)


def _times(text: "np.ndarray[Any, Any]", offsets: "np.ndarray[Any, Any]") -> Any:  # noqa: ANN401
    """Read the times that lines begin with: days, and milliseconds since 1970; -1 is none."""
    import numpy as np  # noqa: PLC0415

    found = np.diff(offsets) >= _TIME_LENGTH
    begins = np.where(found, offsets[:-1], 0)
    if not found.any():
        return np.zeros(len(found), np.int32), np.full(len(found), -1)
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
    number = days.astype(np.int64)
    at = ((number * 24 + hour) * 60 + minute) * 60_000 + second * 1000 + millis
    return number.astype(np.int32), np.where(found, at, -1)


_FIELDS = ((0, 4), (4, 6), (6, 8), (8, 10), (10, 12), (12, 14), (14, 17))
"""Which digits are the year, month, day, hour, minute, second, and milliseconds."""


def _number(digits: "Sequence[np.ndarray[Any, Any]]") -> "np.ndarray[Any, Any]":
    found = digits[0].astype("int32")
    for each in digits[1:]:
        found = found * 10 + each
    return found
