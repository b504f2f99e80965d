"""Times in lines of authorizer logs and in events, with their zones, in Spark's own expressions."""

from typing import TYPE_CHECKING

from kplan.fleet.logs.heads import END_MS
from kplan.fleet.logs.lines import MARK

if TYPE_CHECKING:
    from pyspark.sql import Column

ZONE_OFFSETS = {
    **dict.fromkeys(("UTC", "GMT", "UT", "WET"), "Z"),
    **dict.fromkeys(("CET", "WEST", "WAT"), "+01:00"),
    **dict.fromkeys(("CEST", "EET", "CAT", "SAST"), "+02:00"),
    **dict.fromkeys(("EEST", "EAT", "MSK"), "+03:00"),
    **dict.fromkeys(("HKT", "SGT", "AWST"), "+08:00"),
    **dict.fromkeys(("JST", "KST"), "+09:00"),
    "PKT": "+05:00",
    "ACST": "+09:30",
    "ACDT": "+10:30",
    "AEST": "+10:00",
    "AEDT": "+11:00",
    "NZST": "+12:00",
    "NZDT": "+13:00",
    "HST": "-10:00",
    "AKST": "-09:00",
    "AKDT": "-08:00",
    "MST": "-07:00",
    "MDT": "-06:00",
    "EST": "-05:00",
    "EDT": "-04:00",
}
"""Short names of zones, as Java writes them, that are those of one time only.

Others are read as no time: CST is that of Chicago, Shanghai and Havana, IST of India, Israel and
Ireland; BST, AST and PST have two meanings, too. Java would take one of them.
"""
_LEVEL = r"(?!(?:TRACE|DEBUG|INFO|WARN|ERROR|FATAL)\b)"
_ZONE = (
    r"(Z|(?:(?:GMT|UTC|UT)[+-]\d{1,2}|[+-]\d\d)(?::?\d\d)?|Etc/GMT[+-]\d{1,2}"
    rf"|{_LEVEL}[A-Z]{{2,5}}\b|[A-Z][a-z]+(?:/[A-Z][A-Za-z_]+(?:-(?:au-|of-)?[A-Z][a-z]+)?){{1,2}})"
)
_TIME = (
    r"(?s)^.*(?<!\d)(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:[.,](\d{1,9}))?"
    rf"(?: ?{_ZONE})?(?![\d:]).*$"
)
"""The last time before the message: what prefixes it has its own before it."""
UNCLEAR_ZONE = (
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})? ?"
    rf"(?!(?:{'|'.join(ZONE_OFFSETS)})\b){_LEVEL}[A-Z]{{2,5}}\b"
)
"""A time whose zone is not read, for its name has several meanings or none."""
_MINUTE = r"^(\d{4}-\d\d-\d\d[T ]\d\d:\d\d)(?=Z|[+-]|$)"
"""As Java writes a time whose seconds are 0."""
_COMPACT = r"^((?:19|20)\d\d)(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)(\d{3})?$"


def find_time(text: "Column") -> "Column":
    """Return the last time in a text: date and time, a mark, and the zone if there is one.

    Without a time that is the text.
    """
    from pyspark.sql import functions as F  # noqa: N812 - heavy; its customary name

    return F.regexp_replace(text, _TIME, f"$1 $2.$3{MARK}$4")


def has_zone(time: "Column") -> "Column":
    """Whether a time that `find_time` gives names its zone."""
    return time.contains(MARK) & ~time.endswith(MARK)


def time_instant(time: "Column") -> "Column":
    """Convert what `find_time` gives; without a zone it is of UTC. NULL where it is no time."""
    from pyspark.sql import functions as F  # noqa: N812

    local, zone = (F.substring_index(time, MARK, n) for n in (1, -1))
    instant = F.try_to_timestamp(F.concat(local, zone_offset(zone)))
    return F.when(time.contains(MARK), instant)


def zone_offset(zone: "Column") -> "Column":
    """Write a zone as Spark reads it; NULL where its short name has several meanings, or none."""
    from pyspark.sql import functions as F  # noqa: N812

    known = F.create_map(*(F.lit(each) for pair in ZONE_OFFSETS.items() for each in pair))
    written = F.regexp_replace(zone, "^(?:GMT|UTC|UT)(?=[+-])", "")
    return F.when(zone.rlike("^[A-Z]{2,5}$"), F.try_element_at(known, zone)).otherwise(written)


def text_instant(text: "Column") -> "Column":
    """Convert the time of an event that is a text; without a zone it is of UTC."""
    from pyspark.sql import functions as F  # noqa: N812

    return time_instant(find_time(F.regexp_replace(text, _MINUTE, "$1:00")))


def number_instant(text: "Column") -> "Column":
    """Convert the time of an event that is a number, by its digits.

    It is seconds or milliseconds since 1970, or a date and time without marks (COMPACT).
    """
    from pyspark.sql import functions as F  # noqa: N812

    is_seconds = text.rlike(r"^(?:\d{9,11}(?:[.]\d{1,20})?|\d[.]\d{1,20}E9)$")  # of Spark 3.5
    is_date = text.rlike(_COMPACT)
    seconds = F.floor(text.cast("decimal(31, 9)") * 1000).cast("long")
    millis = F.when(is_seconds, seconds).when(text.rlike(r"^\d{12,14}$"), text.cast("long"))
    date = F.try_to_timestamp(F.regexp_replace(text, _COMPACT, "$1-$2-$3 $4:$5:$6.$7"))
    return F.when(is_date, date).otherwise(F.timestamp_millis(millis))


def epoch_millis(time: "Column", millis: int, nanos: "Column | None" = None) -> "Column":
    """Return milliseconds since 1970 of units of so many, NULL where they do not count as a time.

    Such a number is bounded before anything is made of it: what overflows fails the whole query.
    """
    from pyspark.sql import functions as F  # noqa: N812

    found = _bounded(time, END_MS // millis) * millis
    return found if nanos is None else found + F.floor(_bounded(nanos, 10**9) / 1_000_000)


def _bounded(number: "Column", end: int) -> "Column":
    from pyspark.sql import functions as F  # noqa: N812

    return F.when((number >= 0) & (number < end), number)
