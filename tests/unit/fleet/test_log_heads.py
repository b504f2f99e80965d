"""Requests are found behind the times of other layouts than Kafka's default one."""

import json
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest

from kplan.fleet.logs.heads import find_requests
from kplan.fleet.logs.lines import MARK, add_up

SAID = (
    "Principal = User:a is Allowed operation = READ from host = 10.0.0.1 on resource = "
    "Topic:LITERAL:orders for request = FETCH with resourceRefCount = 1 based on rule "
    "MatchingAcl(acl=StandardAcl(principal=User:a))"
)
AT = datetime(2026, 11, 1, 10, 0, 0, 123_000, UTC)
OUTER = "2026-11-01T10:00:01.123456789Z"
DEFAULT = f"[2026-11-01 10:00:00,123] INFO {SAID} (kafka.authorizer.logger)"
DOCKER = {"log": f"{DEFAULT}\n", "stream": "stdout", "time": OUTER}
LOGGER = {"logger": "kafka.authorizer.logger", "source": {"line": 291}, "contextMap": {}}
OF_BROKER = (
    f"2026-11-01 10:00:00,123 INFO {SAID} (kafka.authorizer.logger) [handler-1]",
    f"2026-11-01T10:00:00.123 [handler-1] INFO logger:291 - {SAID}",
    f"2026-11-01 10:00:00,123 {SAID}",
    f"{OUTER} stdout F {DEFAULT}",
    f"{OUTER} {DEFAULT}",
    f"<134>1 {OUTER} host kafka 12 - - {DEFAULT}\r",
    json.dumps(DOCKER),
    json.dumps(DOCKER, separators=(",", ":")),
)
OF_UTC = (
    f"2026-11-01T10:00:00.123Z INFO {SAID}",
    f"[2026-11-01T15:30:00.123+05:30] INFO {SAID}",
    f"2026-11-01 08:30:00,123-0130 INFO {SAID}",
    json.dumps({"@timestamp": "2026-11-01T10:00:00.123Z", "level": "INFO", "message": SAID}),
    json.dumps(
        {"instant": {"epochSecond": 1793527200, "nanoOfSecond": 123456789}, "message": SAID}
    ),
    json.dumps({"timeMillis": 1793527200123, "level": "INFO", "message": SAID, **LOGGER}),
    f'{OUTER} stdout F {{"timeMillis":1793527200123,"message":"{SAID}"}}',
)
LEFT_TO_JAVA = (
    "",
    "no request",
    SAID,
    f"2026-11-01 10:00:00 INFO {SAID}",
    f"2026-11-01 10:00:00,123456 INFO {SAID}",
    f"2026-11-01 10:00:00,123 CET INFO {SAID}",
    f"2026-11-01 10:00:00,123 Europe/Berlin INFO {SAID}",
    f"2026-13-01 10:00:00,123 INFO {SAID}",
    f"2026-11-01 10:00:00,123 INFO 2026-11-01 10:00:01 {SAID}",
    f"9998-12-31 23:59:59,123-0130 INFO {SAID}",
    f"2026-11-01 10:00:00,123 INFO {MARK} {SAID}",
    f"2026-11-01 10:00:00,123 {{{SAID}",
    json.dumps({"timestamp": 1793527200123, "message": SAID}),
    json.dumps({"log": f"INFO {SAID}", "time": OUTER}),
    json.dumps({"timeMillis": 1793527200123, "message": SAID, "timestamp": 1793527200124}),
    json.dumps({"timeMillis": 1793527200123, "message": SAID, "msg": "Principal"}),
    json.dumps({"timeMillis": 1793527200123, "message": f'{SAID} "'}),
    json.dumps({"timeMillis": 1793527200123, "message": SAID, **LOGGER})[:-1],
)


def sums(*lines: str) -> list[dict[str, Any]]:
    batch = pa.RecordBatch.from_pydict({"line": lines})
    return [row for each in add_up(iter([batch])) for row in each.to_pylist()]


@pytest.mark.parametrize("line", [*OF_BROKER, *OF_UTC])
def test_requests_of_other_layouts_are_those_of_the_default_one(line: str) -> None:
    (row,), (default,) = sums(line), sums(DEFAULT)
    assert row == {**default, "is_utc": line in OF_UTC}
    assert (row["is_default"], row["first_at"], row["last_at"]) == (True, AT, AT)


def test_what_is_equal_but_for_its_time_and_what_stands_before_it_is_one_row() -> None:
    lines = [f"{OUTER} stdout F [2026-11-01 10:00:0{n},123] INFO [{n}] {SAID}" for n in range(10)]
    (row,) = sums(*lines)
    assert (row["count"], row["first_at"], row["last_at"].second) == (10, AT, 9)
    assert {each["is_utc"] for each in sums(OF_BROKER[0], OF_UTC[0])} == {False, True}


def test_what_is_not_surely_read_the_same_way_is_left_as_it_is() -> None:
    assert not sum(len(each.rows) for each in find_requests(pa.array(LEFT_TO_JAVA, pa.binary())))
    found = {row["said"]: (row["has_time"], row["whole"]) for row in sums(*LEFT_TO_JAVA)}
    assert found == dict.fromkeys(LEFT_TO_JAVA, (False, None))


@pytest.mark.parametrize("before", ["", f"{OUTER} stdout F "])
def test_a_line_that_is_no_request_has_one_of_its_lines_as_it_was(before: str) -> None:
    line = f"{before}2026-11-01 10:00:00,123 INFO {SAID[:60]}"
    (row,) = sums(line, line.replace("10:00:00", "11:00:00"))
    assert (row["whole"], row["said"], row["is_default"]) == (line, SAID[:60], False)
    assert (row["count"], row["first_at"], row["last_at"].hour) == (2, AT, 11)
