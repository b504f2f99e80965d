"""What stands before a request is read in Arrow as it is read in Java."""

import json
from datetime import datetime
from itertools import product
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from kplan.fleet.logs.heads import find_requests
from kplan.fleet.logs.layout import parse_lines
from kplan.fleet.logs.lines import SUM_SCHEMA, sum_lines
from kplan.fleet.logs.requests import line_sums

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

SAID = (
    "Principal = User:a is Allowed operation = READ from host = 10.0.0.1 on resource = "
    "Topic:LITERAL:orders for request = FETCH with resourceRefCount = 1"
)
RULE = " based on rule MatchingAcl(acl=StandardAcl(principal=User:a))"
OUTER = "2026-11-01T10:00:01.123456789Z"
PREFIXES = (
    *("", "[", "(", f"{OUTER} stdout F ", f"{OUTER} stdout P [", "<134>Nov 25 09:00:00 h k[12]: ["),
    *(f"<134>1 {OUTER} host kafka 12 - - ", "2026-10-01 09:00:00,001 INFO ", "1", "b 1 ", "\x01"),
    *('"', "{", '{"log":"', '{"log": "[', '{"message":"', '{"level":"INFO","log":"', "\t", "é "),
)
TIMES = (
    *("2026-11-01 10:00:00,123", "2026-11-01T10:00:00.123", "2026-11-01 10:00:00.123"),
    *("2026-11-01 10:00:00", "2026-11-01 10:00:00,1234", "2026-13-01 10:00:00,123"),
    *("2026-11-01 24:00:00,123", "1969-12-31 23:59:59,999", "9998-12-31 23:59:59,999"),
    "9999-01-01 00:00:00,000",
)
ZONES = (
    *("", "]", ")", " ", "Z", "Z]", "Z ", "+0530", "+05:30 ", "-0130]", "+01", "-1830 ", "+1875 "),
    *(" CET", " CET]", " Europe/Berlin]", " GMT+01:00", " -0500 ", " - ", "x", ":1", "1", " Z "),
)
GAPS = (
    *(" INFO ", " INFOS ", " [thread-1] INFO log - ", "INFO ", " (a) ", " 2026-11-02 11:00:00 "),
    *(" [10:00:01] ", "", ' "a" ', " {a} ", " Pri"),
)
ENDS = (RULE, f"{RULE}\r", " (log) [thread-1]", "", " and more", f"{RULE} {SAID}{RULE}")
TEXTS = [
    *(
        f"{prefix}2026-11-01 10:00:00,123{zone} INFO {SAID}{RULE}"
        for prefix, zone in product(PREFIXES, ZONES)
    ),
    *(f"{time}{zone}{gap}{SAID}{RULE}" for time, zone, gap in product(TIMES, ZONES, GAPS)),
    *(f"2026-11-01 10:00:00,123{gap}{SAID}{end}" for gap, end in product(GAPS, ENDS)),
    *(f"2026-11-01 10:00:00,123 INFO {SAID}{RULE}"[:cut] for cut in range(0, 240, 7)),
]
KEYS: tuple[dict[str, object], ...] = (
    {"@timestamp": "2026-11-01T10:00:00.123Z"},
    {"@timestamp": "2026-11-01T10:00:00.123+05:30"},
    {"@timestamp": "2026-11-01T10:00:00.123"},
    {"@timestamp": "2026-11-01T10:00:00.123456Z"},
    {"@timestamp": "2026-13-01T10:00:00.123Z"},
    {"instant": {"epochSecond": 1793527200, "nanoOfSecond": 123456789}},
    {"instant": {"epochSecond": 1793527200}},
    {"timeMillis": 1793527200123},
    {"timeMillis": 17935272001234},
    {"timestamp": 1793527200123},
    {"timestampSeconds": 1793527200, "timestampNanos": 123456789},
    {},
)
MORE: tuple[dict[str, object], ...] = (
    {"level": "INFO"},
    {"level": "INFO", "thread": 'a "b"'},
    {"timeMillis": 1793527300000},
    {"timestamp": 1793527300000},
    {"time": "2026-11-01T10:00:05.123Z"},
    {"source": {"line": 291}, "contextMap": {}},
    {"tags": ["a"], "is": True, "not": None},
    {"principal": "x"},
    {"log": "rincipal"},
)
INNER = (
    *(f"{SAID}{RULE}", f"[2026-11-01 10:00:00,123] INFO {SAID}{RULE}\n", f"{SAID}\r\n", SAID[:90]),
    f"2026-11-01 10:00:00,123Z INFO {SAID} (log)\n",
)
EVENTS = [
    written
    for key, more, inner, name in product(KEYS, MORE, INNER, ("message", "log"))
    for event in ({**key, name: inner, **more}, {**key, **more, name: inner}, {name: inner, **key})
    for written in (json.dumps(event), json.dumps(event, separators=(",", ":")))
]
WRAPPED = [
    *(f"{OUTER} stdout F {each}" for each in EVENTS[::7]),
    *(each[:-cut] for each in EVENTS[::11] for cut in (1, 2, 20)),
    *(f"{each}\r" for each in EVENTS[::13]),
]


def uncut(lines: "DataFrame") -> "DataFrame":
    """Give lines as `sum_lines` would if it read no time."""
    values = {"said": "line", "has_time": "false", "is_utc": "false", "is_default": "false"}
    values["count"] = "1"
    columns = (each.split() for each in SUM_SCHEMA.split(", "))
    return lines.selectExpr(
        "number",
        *(f"cast({values.get(name, 'null')} as {kind}) as {name}" for name, kind in columns),
    )


def test_lines_are_read_in_arrow_as_in_java(spark: "SparkSession") -> None:
    texts = [*dict.fromkeys((*TEXTS, *EVENTS, *WRAPPED))]
    lines = spark.createDataFrame([*enumerate(texts)], "number int, line string").coalesce(1)
    found = {}
    for way, sums in (("arrow", sum_lines(lines)), ("java", uncut(lines))):
        rows = line_sums(parse_lines(sums), "Asia/Kolkata").collect()
        found[way] = {texts[row["number"]]: row.asDict() for row in rows}
    different = [
        each
        for each in texts
        if _written(found["arrow"].get(each)) != _written(found["java"].get(each))
    ]
    assert different == []
    is_cut = sum(len(each.rows) for each in find_requests(pa.array(texts, pa.binary())))
    assert is_cut > 500, "what is left to Java shows nothing"


def _written(row: dict[str, object] | None) -> list[str]:
    """Write the values of a row; Java keeps microseconds."""
    return [
        f"{each:%F %T.}{each.microsecond // 1000}" if isinstance(each, datetime) else str(each)
        for each in (row or {}).values()
    ]
