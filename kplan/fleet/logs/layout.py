r"""Layouts of authorizer logs: how each is taken apart, in Spark's own expressions.

Requests in Kafka's default layout (`[%d] %p %m (%c)%n`), and those whose time `heads.py` reads, are
taken apart where lines are added up (`lines.py`). All others are read here, in steps:

    wrapped    JSON of Docker, log4j 2, ECS, GELF or a cloud, or an event of Confluent's audit log:
               its message, after its time
    prefixed   whatever stands before the message (CRI, syslog, CloudWatch, any log4j pattern):
               the last date and time before it counts, with its zone
    message    `operation = READ ... for request = FETCH ...`, or `Operation = Read` of
               brokers with ZooKeeper

Lines in a layout that the fleet file names are first written in the default one (`apply_layouts`).
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from kplan.fleet.access import request_sums
from kplan.fleet.compat import valid_utf8
from kplan.fleet.logs.audit_topic import (
    EVENT_SCHEMA,
    cloud_event_line,
    event_instant,
    event_texts,
    is_other_event,
)
from kplan.fleet.logs.heads import LAST_YEAR
from kplan.fleet.logs.lines import (
    MARK,
    OTHER_LOGGER,
    PART_COUNT,
    REQUEST_WORDS,
    SUM_COLUMNS,
)
from kplan.fleet.logs.times import (
    UNCLEAR_ZONE,
    find_time,
    has_zone,
    time_instant,
    zone_offset,
)
from kplan.model.log_layout import MESSAGE_BEGINNING, LogLayout

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_TEXT, _WORD = r"([^\x01]*?)", r"([^\x01\s]*)"
_VERDICT = rf"(?>{_TEXT} is (Allowed|Denied) "
_MESSAGE = (
    rf"{_VERDICT}operation = ){_WORD} from host = {_WORD}"
    rf" on resource = ([^\x01\s:]*):[^:]*:(?>{_TEXT} for request = ){_WORD}"
    r" with resourceRefCount = \d{1,18}"
)
"""Java's; what is in (?>...) is looked for once, so that no line takes long."""
_AFTER = r"(?:[(\[][^()\[\]\x01]+[)\]]|\x1b\[[\d;]*m)"
_END = rf"(?: based on rule .*|(?:\s*{_AFTER}){{0,4}})\s*\z"
"""The rule, or what patterns have after the message: the logger, the thread, the end of a color."""
_ONE = r"(?!(?>.*?(?:\d\d:\d\d:\d\d| based on rule )).*?Principal = )"
"""A request behind a time or in the rule is that of the next line, where the end of one was lost:
the two do not count as one, with names that are made of both."""
NEWER_MESSAGE = rf"(?s)^{_ONE}{_MESSAGE}{_END}"
OLDER_MESSAGE = (
    rf"(?s)^{_ONE}{_VERDICT}Operation = ){_WORD} from host = {_WORD} on resource = ([^\x01\s:]*):"
    rf"(?:(?:LITERAL|PREFIXED):)?([^\x01\s]+?|[^\x01]+?(?= for request = ))"
    rf"(?: for request = {_WORD} with resourceRefCount = \d{{1,18}})?{_END}"
)
"""Of AclAuthorizer; the request is there since Kafka 2.4."""
_EXPLANATION = (
    r"(?s)^(?:(?>.*?principal = )(?>.*? (?:is a super user|belongs to super group)).{0,300}?"
    r", allowing operation without checking acls"
    r"|(?>.*?No acl found for resource ).+, authorized = (?:true|false)"
    r"|(?>.*?operation = \w+ on resource = ).+ from host = \S+ is \w+ based on acl = )"
)
"""What AclAuthorizer (ZooKeeper) logs beside its decisions at the level DEBUG. A resource is
`ResourcePattern(...)`, and `Topic:LITERAL:orders` before Kafka 2.4."""
_ALL_PARTS = MARK.join(f"${n + 1}" for n in range(PART_COUNT))
_PRINCIPAL = "rincipal"
_CLOUD_EVENT = '"specversion'
_LEVEL = r"(?:TRACE|DEBUG|INFO|WARN|ERROR|FATAL)\b"
_OTHER_LOGGER = (
    rf"(?s)^(?:.{{0,200}}?\d{{4}}-\d\d-\d\d[T ]\d\d:\d\d:\d\d.{{0,100}}?\b{_LEVEL}"
    r"|\d{4}-\d\d-\d\dT\S{1,40} (?:stdout|stderr) [FP] "
    r"|\{\"log\":\".*\"stream\":\"(?:stdout|stderr)\""
    r"|[^{]{0,300}\{\s*(?=\").*\"(?:level|log\.level|severity|levelname)\"\s*:\s*"
    rf"(?:\d|\"(?i:{_LEVEL}))"
    r"|(?:Caused by: |Exception in thread \".{0,200}?\" )?"
    r"(?:[a-zA-Z_][\w$]*+\.){1,20}[\w$]*?(?:Exception|Error|Throwable)(?=:|\s*\z)"
    r"|\.\.\. \d+ (?:more|common frames omitted)\s*\z"
    r"|[ \t]+\S)"
)
"""How other loggers begin a line: with a date, a time and a level, or as JSON with a level. So do
containers what they print. An event goes on in lines that are indented, after the name of what was
thrown."""
_TIMED_OTHER_LOGGER = rf"(?s)^.{{0,100}}?\b{_LEVEL}"
"""The same behind the time of Kafka's default layout."""
_UNREAD = rf"^{MARK}(?!{MARK}\z)"
"""How lines begin that are no requests and of no other logger, whatever they are like."""
_IN_JSON = r'"\s*:\s*\\*"[^"]*$'
"""What stands before a message that is still in JSON, whose escapes would be in its names."""
_ANY_LENGTH = 1 << 30
_FIRST_DAY = "1970-01-01"
"""Brokers write times since then; the first day of the year 1 may be in no year in UTC."""
_MONTHS = "JanFebMarAprMayJunJulAugSepOctNovDec"
_WRAPPED = r'(?s)^[^{]{0,300}(\{\s*".*\})\s*$'

_NEAREST = (
    (
        "a log4j pattern with a short name of a zone that has several meanings (kplan help fleets)",
        rf"[^{{]{{0,300}}?{UNCLEAR_ZONE}[^{{]*?Principal = ",
    ),
    ("the older spelling (Operation = Read)", r".*Principal = .* Operation = "),
    ("a JSON layout", r"[^{]{0,300}\{\s*\""),
    ("CRI", r"\d{4}-\d\d-\d\dT\S+ (?:stdout|stderr) [FP] "),
    ("syslog (RFC 5424)", r"<\d{1,3}>1 "),
    ("syslog (RFC 3164)", r"(?:<\d{1,3}>)?[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d "),
    ("Kafka's default ([%d] %p %m (%c)%n)", r"\[\d{4}-\d\d-\d\d"),
    ("a log4j pattern with a date and time", r"\d{4}-\d\d-\d\d"),
    ("a log4j pattern without a date and time that kplan reads", r".*Principal = "),
)
"""Layouts and how their lines begin, the most special first."""


def nearest_layout(lines: Iterable[str]) -> str:
    """Name the supported layout nearest to the lines; "" for none."""
    for line in lines:
        for name, beginning in _NEAREST:
            if re.match(beginning, line[:1000], re.DOTALL):
                return name
    return ""


def apply_layouts(lines: "DataFrame", layouts: Mapping[int, LogLayout]) -> "DataFrame":
    """Write lines of parts that have a layout as Kafka's default one has them; in, out: part, line.

    Those that do not have the layout of their part get a mark, by which no other one is tried.
    Those of other loggers become two marks.
    """
    from pyspark.sql import functions as F  # noqa: N812 - heavy; its customary name

    parts: dict[LogLayout, list[int]] = {}
    for part, layout in layouts.items():
        parts.setdefault(layout, []).append(part)
    line = F.col("line")
    for layout, own in parts.items():
        has_layout = F.col("line").rlike(layout.any_message) if layout.fields else F.lit(col=False)
        is_other_logger = has_layout | F.col("line").rlike(_OTHER_LOGGER)
        is_other_logger &= ~F.col("line").startswith(MARK) & ~_has_request_words("line")
        other = F.when(is_other_logger, F.lit(OTHER_LOGGER)).otherwise(
            F.concat(F.lit(MARK), "line")
        )
        written = F.coalesce(_default_line(layout), other)
        line = F.when(F.col("part").isin(own), written).otherwise(line)
    return lines.withColumn("line", line) if parts else lines


def _default_line(layout: LogLayout) -> "Column":
    """Write a line of a layout as the default one; NULL where it does not have the layout."""
    from pyspark.sql import functions as F  # noqa: N812

    line = F.col("line")
    if not layout.fields:
        return F.when(line.rlike(layout.regex), line)
    groups = MARK.join(f"${n + 1}" for n in range(len(layout.fields)))
    has_layout = line.contains(MESSAGE_BEGINNING) & ~line.contains(MARK) & line.rlike(layout.regex)
    values = F.split(F.regexp_replace(line, layout.regex, groups), MARK)
    fields = {name: F.get(values, F.lit(n)) for n, name in enumerate(layout.fields)}
    is_utc = bool(layout.zone) or bool({"zone", "epoch_s", "epoch_ms"} & fields.keys())
    form = "yyyy-MM-dd HH:mm:ss.SSSSSS'Z '" if is_utc else "'['yyyy-MM-dd HH:mm:ss,SSS'] '"
    time = F.date_format(_instant(fields, layout.zone), form)
    return F.when(has_layout, F.concat(time, fields["message"]))


def _instant(fields: "Mapping[str, Column]", zone: str) -> "Column":
    """Put the fields of a time together; NULL where there is no such time."""
    from pyspark.sql import functions as F  # noqa: N812

    if "epoch_s" in fields:
        return F.timestamp_seconds(fields["epoch_s"].cast("long"))
    if "epoch_ms" in fields:
        return F.timestamp_millis(fields["epoch_ms"].cast("long"))
    year, month = fields.get("year"), fields.get("month")
    if year is None:
        year = F.concat(F.lit("20"), fields["year_short"])
    if month is None:
        place = F.position(fields["month_name"], F.lit(_MONTHS)) + F.lit(2)
        month = F.lpad((place / 3).cast("int").cast("string"), 2, "0")
    time = F.concat(
        *(year, F.lit("-"), month, F.lit("-"), fields["day"], F.lit(" "), fields["hour"]),
        *(F.lit(":"), fields["minute"], F.lit(":"), fields.get("second", F.lit("00"))),
        *(F.lit("."), fields.get("fraction", F.lit("0"))),
        zone_offset(fields["zone"]) if "zone" in fields else F.lit(zone),
    )
    return F.try_to_timestamp(time)


def utc_time(time: str, zone: "Column") -> "Column":
    """Return a time of lines in UTC: they have that of `zone` ("" is UTC) unless `is_utc`."""
    from pyspark.sql import functions as F  # noqa: N812 - heavy; its customary name

    is_utc = F.col("is_utc") | (zone == "")
    return F.when(is_utc, F.col(time)).otherwise(F.to_utc_timestamp(time, zone))


def parse_lines(sums: "DataFrame", zone: "Column | None" = None) -> "DataFrame":
    """Split lines and aggregate equal ones of a day in UTC; unrecognized lines stay unchanged.

    In: what `sum_lines` gives; the key of it that is the time zone of lines that name none. Out:
    its keys, text, is_whole, is_utc, is_other_logger, count, first_at, last_at. A whole `text` has
    what a line says but for its time, between marks. Times are as lines have them; `is_utc` where
    these name their zone. Of lines of other loggers only the count stays. Lines that only explain a
    decision are left out.
    """
    from pyspark.sql import functions as F  # noqa: N812 - heavy; its customary name

    keys = [each for each in sums.columns if each not in SUM_COLUMNS]
    is_default = F.col("is_default")
    line, whole = (
        F.call_function("rtrim", F.lit("\r\n"), F.col(each)) for each in ("said", "whole")
    )
    text = F.when(is_default, F.col("said")).otherwise(line)
    found = _parse_others(sums.withColumn("text", valid_utf8(text)))
    at = F.coalesce("other_at", "first_at")
    is_timely = (at >= F.lit(_FIRST_DAY)) & (at < F.lit(f"{LAST_YEAR + 1}-01-01"))
    is_other = F.col("other").isNotNull() & F.coalesce(is_timely, F.lit(col=False))
    is_line = is_default | is_other
    first, last = (
        F.when(is_other, F.coalesce("other_at", each)).otherwise(F.col(each))
        for each in ("first_at", "last_at")
    )
    is_other_logger = ~is_line & _is_of_other_logger()
    kept = F.when(is_line | whole.isNull(), F.col("text")).otherwise(valid_utf8(whole))
    is_utc = F.when(F.col("other_at").isNull(), F.col("is_utc")).otherwise(F.col("has_zone"))
    parsed = found.select(
        *keys,
        F.when(is_other, F.col("other")).when(~is_other_logger, kept).alias("text"),
        is_line.alias("is_line"),
        (is_line & is_utc).alias("is_utc"),
        (F.col("has_time") & whole.isNull() & ~is_line & ~is_other_logger).alias("is_timed"),
        "count",
        first.alias("first_at"),
        last.alias("last_at"),
    )
    is_kept = F.col("is_whole") | F.col("is_other_logger") | ~_is_left_out(F.col("text"))
    return _whole_text(_sum_by_day(parsed, keys, zone)).where(is_kept)


def parse_requests(sums: "DataFrame", zone: "Column | None" = None) -> "DataFrame":
    """Do what `parse_lines` does, where Python took all requests apart and knows other loggers.

    That is a third of the work of a small ingest less: Spark has no other layouts to plan for.
    """
    from pyspark.sql import functions as F  # noqa: N812 - heavy; its customary name

    keys = [each for each in sums.columns if each not in SUM_COLUMNS]
    is_line, is_timed = F.col("is_default").alias("is_line"), F.lit(col=False).alias("is_timed")
    text = F.when(is_line, valid_utf8(F.col("said"))).alias("text")
    times = ("count", "first_at", "last_at")
    parsed = sums.select(*keys, text, is_line, "is_utc", is_timed, *times)
    return _sum_by_day(parsed, keys, zone).drop("is_line", "is_timed", "day")


def are_requests(sums: "DataFrame") -> bool:
    """Whether Python knows what all lines are, so that `parse_requests` is enough for them."""
    from pyspark.sql import functions as F  # noqa: N812 - heavy; its customary name

    is_other = (F.col("said") == OTHER_LOGGER) & ~F.col("has_time")
    is_known = F.col("is_default") | is_other
    (row,) = sums.agg(F.bool_and(is_known).alias("are_requests")).collect()
    return row["are_requests"] is not False  # of no lines all are


def _sum_by_day(parsed: "DataFrame", keys: Sequence[str], zone: "Column | None") -> "DataFrame":
    """Aggregate equal lines of a day: is_whole, is_other_logger, count, first_at, last_at."""
    from pyspark.sql import functions as F  # noqa: N812

    day = F.to_date("first_at" if zone is None else utc_time("first_at", zone)).alias("day")
    return parsed.groupBy(*keys, "text", "is_line", "is_utc", "is_timed", day).agg(
        # Of an aggregate, so that no filter on them moves before the work and repeats it there.
        F.bool_and("is_line").alias("is_whole"),
        F.bool_and(F.col("text").isNull()).alias("is_other_logger"),
        *request_sums(),
    )


def _is_of_other_logger() -> "Column":
    """Whether a line that is no request is of another logger than the authorizer's."""
    from pyspark.sql import functions as F  # noqa: N812

    text = F.col("text")
    is_known = F.when(F.col("has_time"), text.rlike(_TIMED_OTHER_LOGGER)).otherwise(
        text.rlike(_OTHER_LOGGER) | (text == OTHER_LOGGER)
    )
    return is_known & ~text.rlike(_UNREAD) & ~_has_request_words("text")


def _has_request_words(text: str) -> "Column":
    from pyspark.sql import functions as F  # noqa: N812

    return F.col(text).rlike(REQUEST_WORDS)


def _is_left_out(text: "Column") -> "Column":
    """Whether a line that is none of the authorizer's is no line of the log either."""
    from pyspark.sql import functions as F  # noqa: N812

    wrapped = F.transform(F.array(_wrapped_event(text)), _wrapped_event)[0]  # once, or twice
    event = F.from_json(wrapped, EVENT_SCHEMA)
    is_other = F.coalesce(is_other_event(event), F.lit(col=False))
    return F.when(text.contains(_CLOUD_EVENT), is_other).otherwise(text.rlike(_EXPLANATION))


def _wrapped_event(text: "Column") -> "Column":
    """Return the text of an event that JSON has in it, or is; what is before the JSON is not."""
    from pyspark.sql import functions as F  # noqa: N812

    json = F.regexp_extract(text, _WRAPPED, 1)
    texts = event_texts(F.from_json(json, EVENT_SCHEMA), json)
    return F.coalesce(*(F.when(each.contains(_CLOUD_EVENT), each) for each in texts), json)


def _whole_text(found: "DataFrame") -> "DataFrame":
    """Give lines that are none of the authorizer's as they were, with the first of their times."""
    from pyspark.sql import functions as F  # noqa: N812

    text = F.col("text")
    time = F.date_format("first_at", "'['yyyy-MM-dd HH:mm:ss,SSS']'")
    line = (
        F.when(F.col("is_whole"), text)
        .when(F.col("is_timed"), F.concat(time, text))
        .when(text.startswith(MARK), F.substring(text, 2, _ANY_LENGTH))
        .otherwise(text)
    )
    return found.withColumn("text", line).drop("is_line", "is_timed", "day")


def _parse_others(sums: "DataFrame") -> "DataFrame":
    """Add the content of lines in other layouts: other, other_at, has_zone."""
    from pyspark.sql import functions as F  # noqa: N812

    plain, begins = F.col("plain"), F.lit(MESSAGE_BEGINNING)
    is_candidate = ~F.col("is_default") & F.col("text").contains(_PRINCIPAL)
    is_candidate &= ~F.col("text").startswith(MARK)
    wrapped = F.regexp_extract("text", _WRAPPED, 1)
    found = _unwrap(sums.withColumn("plain", F.when(is_candidate, F.col("text"))), wrapped)
    found = _unwrap(found, F.regexp_extract("plain", _WRAPPED, 1))  # Docker wraps what log4j wrote
    head = F.substring_index(plain, MESSAGE_BEGINNING, 1)
    is_message = plain.contains(begins) & ~plain.contains(MARK) & ~head.rlike(_IN_JSON)
    message = F.substr(plain, F.length("head") + F.lit(len(MESSAGE_BEGINNING) + 1))
    newer, older = (
        F.regexp_replace("message", each, _ALL_PARTS) for each in (NEWER_MESSAGE, OLDER_MESSAGE)
    )
    other, is_matched = F.col("other"), F.col("other") != F.col("message")
    # As few steps as there can be: at each one Spark looks through all that are there.
    return (
        found.withColumn("head", F.when(is_message, head))
        .withColumns(
            {
                "message": F.when(F.col("head").isNotNull(), message),
                "time": find_time(F.col("head")),
            }
        )
        .withColumns(
            {
                "other": newer,
                "other_at": time_instant(F.col("time")),
                "has_zone": F.coalesce(has_zone(F.col("time")), F.lit(col=False)),
            }
        )
        .withColumn("other", F.when(is_matched, other).otherwise(older))
        .withColumn("other", F.when(is_matched, other))
    )


def _unwrap(found: "DataFrame", json: "Column") -> "DataFrame":
    """Put the message of a JSON event after its time, into `plain`.

    What is before the JSON has the time of an event without one: that of what wraps it.
    """
    from pyspark.sql import functions as F  # noqa: N812

    is_wrapped = F.col("plain").rlike(r"^[^{]{0,300}\{\s*\"")
    event = F.col("event")
    texts = (F.when(each.contains(_PRINCIPAL), each) for each in event_texts(event, json))
    said = F.coalesce(*texts, cloud_event_line(event["data"]))
    at = F.date_format(event_instant(event), "yyyy-MM-dd HH:mm:ss.SSSSSS'Z '")
    before = F.substring_index("plain", "{", 1)
    line = F.coalesce(F.concat(F.coalesce(at, before), said), F.col("plain"))
    line = F.when(event.isNotNull(), line).otherwise(F.col("plain"))  # others take no time
    return found.withColumn(
        "event", F.from_json(F.when(is_wrapped, json), EVENT_SCHEMA)
    ).withColumn("plain", line)
