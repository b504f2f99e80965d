"""Lines of logs that differ in their time only, added up in Arrow where they are read.

Most lines of an authorizer log repeat. They are added up before Spark has them, and requests whose
time is read here (`heads.py`) taken apart, so that only what differs crosses from Python to Java.
Lines that are surely of other loggers are only counted. All others are taken apart there
(`layout.py`).
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from kplan.fleet.logs.heads import TIME_LENGTH, find_requests, read_times

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from pyspark.sql import DataFrame

MARK, PART_COUNT = "\x01", 7
"""What stands between the parts of a request, and how many these are."""
OTHER_LOGGER = MARK * 2
"""What is said in place of what lines of other loggers say."""
SUM_SCHEMA = (
    "said string, has_time boolean, is_utc boolean, is_default boolean, count long, "
    "first_at timestamp, last_at timestamp, whole string"
)
"""What stands beside the keys of lines. `said` is what follows a time that was read, else the whole
line; where a request `is_default`, it is its parts with marks between them. Others of which more
than the time of Kafka's default layout was cut have one of their lines as it was (`whole`)."""
SUM_COLUMNS = tuple(each.split()[0] for each in SUM_SCHEMA.split(", "))
HELD_BYTES = 64 << 20
"""How much a task holds until it adds up."""
_COLUMNS = ("said", "period", "is_utc", "is_default", "count", "first", "last", "whole")
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
REQUEST_WORDS = (
    rf"(?i)rincipal\\*\"?[{_SPACE}]*(?:[=:]|\\{{1,2}}u003d|&#61;)|peration\\*\"?[{_SPACE}]*[=:]"
    r"| on resource = | for request = | with resourceRefCount = |No acl found for resource "
    r"|\bauthorization (?:granted|denied)\b|\"specversion\\*\""
)
"""What lines of authorizers and audit events have, for RE2 and for Java: they are of no other
logger, however they are written."""
_LEVEL = "(?:TRACE|DEBUG|INFO|WARN|ERROR|FATAL) "
_TIMED_OTHER_LOGGER = rf"\A ?{_LEVEL}"
_OTHER_LOGGER = (
    rf"(?s)\A(?:\[?\d{{4}}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[.,]\d{{3}}[\]Z]? {_LEVEL}"
    r"|\d{4}-\d\d-\d\dT[0-9:.Z+-]{1,40} (?:stdout|stderr) [FP] "
    r"|\{\"log\":\".*\"stream\":\"(?:stdout|stderr)\""
    r"|[ \t]{1,20}[a-zA-Z0-9.(])"
)
"""How lines begin that are surely of other loggers, if they have no REQUEST_WORDS. Java calls all
of these so, and more (`layout.py`)."""
_DAY_MS, _QUARTER_HOUR_MS = 86_400_000, 15 * 60_000
"""Time zones differ from UTC by quarters of an hour: a day in UTC begins with one of theirs."""
_ANY_LENGTH = 1 << 30


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
    sums = [("count", "sum"), ("first", "min"), ("last", "max"), ("whole", "first")]
    keys = [each for each in lines.column_names if each not in dict(sums)]
    found = lines.group_by(keys, use_threads=False).aggregate(sums)
    names = {f"{name}_{how}": name for name, how in sums}
    return found.rename_columns([names.get(each, each) for each in found.column_names])


def _parse_requests(lines: "pa.Table") -> "pa.Table":
    """Take requests apart: `said`, is_default. The same one of several threads is one then."""
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
    found = lines.append_column("is_default", is_default)
    is_other = _are_of_other_loggers(said, lines["period"].combine_chunks(), is_default)
    if pc.any(is_other).as_py():
        for name in ("period", "first", "last"):
            place, column = found.column_names.index(name), found[name].combine_chunks()
            own = pc.if_else(is_other, pa.scalar(None, column.type), column)
            found = found.set_column(place, name, own)
        said = pc.if_else(is_other, pa.scalar(OTHER_LOGGER.encode(), pa.binary()), said)
    said = pc.if_else(is_default, joined, said)
    return _merge_sums([found.set_column(found.column_names.index("said"), "said", said)])


def are_known(sums: "pa.RecordBatch") -> bool:
    """Whether Java has nothing to take apart: all are requests, or of other loggers."""
    import pyarrow.compute as pc  # noqa: PLC0415 - on the executor

    is_other = pc.and_not(pc.equal(sums["said"], OTHER_LOGGER), sums["has_time"])
    return bool(pc.all(pc.or_(sums["is_default"], is_other)).as_py())


def _are_of_other_loggers(said: "pa.Array", period: "pa.Array", is_known: "pa.Array") -> "pa.Array":
    """Say which lines are of other loggers: of these only the count is of use."""
    import numpy as np  # noqa: PLC0415
    import pyarrow as pa  # noqa: PLC0415 - on the executor
    import pyarrow.compute as pc  # noqa: PLC0415

    rows = pc.indices_nonzero(pc.invert(is_known)).to_numpy()
    rest, is_timed = said.take(pa.array(rows)), period.is_valid().take(pa.array(rows))
    is_other = pc.if_else(
        is_timed,
        pc.match_substring_regex(rest, _TIMED_OTHER_LOGGER),
        pc.match_substring_regex(rest, _OTHER_LOGGER),
    )
    is_other = pc.and_not(is_other, pc.match_substring_regex(rest, REQUEST_WORDS))
    found = np.zeros(len(said), bool)
    found[rows] = is_other.to_numpy(zero_copy_only=False)
    return pa.array(found)


def _sums(found: "pa.Table") -> Iterator["pa.RecordBatch"]:
    """Write what was added up as Spark takes it."""
    import pyarrow as pa  # noqa: PLC0415 - on the executor
    import pyarrow.compute as pc  # noqa: PLC0415

    at = pa.timestamp("us", tz="UTC")
    keys = [each for each in found.column_names if each not in _COLUMNS]
    for batch in found.combine_chunks().to_batches():
        columns = {
            **{each: batch[each] for each in keys},
            "said": _text(batch["said"]),
            "has_time": batch["period"].is_valid(),
            **{each: batch[each] for each in ("is_utc", "is_default", "count")},
            **{f"{each}_at": pc.multiply(batch[each], 1000).cast(at) for each in ("first", "last")},
            "whole": _text(pc.if_else(batch["is_default"], pa.scalar(None), batch["whole"])),
        }
        yield pa.RecordBatch.from_arrays([*columns.values()], names=[*columns])


def _text(found: "pa.Array") -> "pa.Array":
    """Give bytes as a text: what is none stays as it is, and Java makes a text of it."""
    import pyarrow as pa  # noqa: PLC0415 - on the executor

    return pa.Array.from_buffers(pa.string(), len(found), found.buffers(), -1, found.offset)


def _cut_times(batch: "pa.RecordBatch", zoned: Collection[int]) -> "pa.Table":
    """Cut lines into what they say and when: their keys, and _COLUMNS without `is_default`.

    Without a time that can be read `said` is the line. Times are milliseconds since 1970. What is
    added up is of one `period`: a day, or a quarter of an hour where the day in UTC is another one.
    `whole` is a line of which more was cut than the time of Kafka's default layout.
    """
    import numpy as np  # noqa: PLC0415
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.compute as pc  # noqa: PLC0415

    line = batch["line"].fill_null("") if batch["line"].null_count else batch["line"]
    line = line.cast(pa.string()) if pa.types.is_large_string(line.type) else line
    _, ends, held = line.buffers()
    lines = pa.Array.from_buffers(pa.binary(), len(line), [None, ends, held], 0, line.offset)
    keys = batch.select([each for each in batch.schema.names if each != "line"])
    at = read_times(lines)
    is_timed = at >= 0
    said = pc.binary_slice(lines, TIME_LENGTH, _ANY_LENGTH)
    if is_timed.all():
        return _timed_table(keys, said, at, zoned)
    others = np.flatnonzero(~is_timed)
    tables, is_left = [], np.ones(len(lines), bool)
    for found in find_requests(lines.take(pa.array(others))):
        rows = others[found.rows]
        own, whole = keys.take(pa.array(rows)), lines.take(pa.array(rows))
        tables.append(_timed_table(own, found.said, found.at, zoned, found.is_utc, whole))
        is_left[rows] = False
    said = pc.if_else(pa.array(is_timed), said, lines).filter(pa.array(is_left))
    tables.append(_timed_table(keys.filter(pa.array(is_left)), said, at[is_left], zoned))
    return pa.concat_tables(tables)


def _timed_table(
    keys: "pa.RecordBatch",
    said: "pa.Array",
    at: "np.ndarray[Any, Any]",
    zoned: Collection[int],
    is_utc: "np.ndarray[Any, Any] | None" = None,
    whole: "pa.Array | None" = None,
) -> "pa.Table":
    """Put together what lines say and when; where `at` is below 0 they have no time."""
    import numpy as np  # noqa: PLC0415
    import pyarrow as pa  # noqa: PLC0415

    count, periods = len(said), at // _DAY_MS
    if zoned:
        is_zoned = np.isin(keys["part"].to_numpy(), list(zoned))
        periods = np.where(is_zoned, at // _QUARTER_HOUR_MS, periods)
    first = pa.array(at, mask=at < 0)
    columns = {
        **{each: keys[each] for each in keys.schema.names},
        "said": said,
        "period": pa.array(periods.astype(np.int32), mask=at < 0),
        "is_utc": pa.array(np.zeros(count, bool) if is_utc is None else is_utc),
        "count": pa.array(np.ones(count, np.int64)),
        "first": first,
        "last": first,
        "whole": pa.nulls(count, pa.binary()) if whole is None else whole,
    }
    return pa.table(columns)
