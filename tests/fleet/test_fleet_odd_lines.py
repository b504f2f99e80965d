"""Lines of authorizer logs as others write and ship them: each is read right, or not at all.

All of them are parsed by one job.
"""

import json
from typing import TYPE_CHECKING

import pytest

from kplan.fleet.logs.layout import parse_lines
from kplan.fleet.logs.lines import sum_lines
from kplan.fleet.logs.requests import line_sums

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

SAID = (
    "Principal = User:a is Allowed operation = READ from host = 10.0.0.1 on resource = "
    "Topic:LITERAL:orders for request = FETCH with resourceRefCount = 1"
)
WHO = ("User:a", "10.0.0.1", "READ", "TOPIC", "orders", True, "FETCH")
WHAT = ("principal", "host", "operation", "resource_type", "resource_name", "is_allowed", "request")
AT = "2026-11-01 10:00:00"
LOGGED = "(kafka.authorizer.logger) [data-plane-kafka-request-handler-3]"
"""What Strimzi's pattern of log4j 1 has after the message."""
PATTERN = "ResourcePattern(resourceType=GROUP, name=my group, patternType=LITERAL)"
MAX = 2**63 - 1


def event(**fields: object) -> str:
    return json.dumps({**fields, "message": SAID})


READ = {
    f"[{AT},000] INFO {SAID} (kafka.authorizer.logger)": AT,
    f"{AT} INFO {SAID} {LOGGED}": AT,
    f"{AT} INFO {SAID} (kafka.authorizer.logger:72) [a thread]\x1b[m\r": AT,
    event(timeMillis=MAX, timestamp=f"{AT}Z"): AT,
    event(timeMillis=1793527200000): AT,
}
"""What a line says is WHO, at this time in UTC."""
MALFORMED = (
    *(event(timestamp=each) for each in ("638991234567890123", 63899123456789012)),
    event(timeMillis=MAX),
    event(timeMillis=-1),
    event(instant={"epochSecond": MAX, "nanoOfSecond": 1}),
    event(instant={"epochSecond": 1793527200, "nanoOfSecond": MAX}),
    event(timestampSeconds=MAX, timestampNanos=0),
    json.dumps({"short_message": SAID, "timestamp": "9999999999E9"}),
)
ON_ACL = "from host = ::1 is Allow based on acl = User:a has Allow permission for operations: Write"
UNCHECKED = "allowing operation without checking acls."
LEFT_OUT = tuple(
    f"[{AT},000] DEBUG {each} (kafka.authorizer.logger)"
    for each in (
        f"operation = Write on resource = Topic:LITERAL:test {ON_ACL}",
        f"operation = Write on resource = Group:LITERAL:my group {ON_ACL}",
        "No acl found for resource Topic:LITERAL:test, authorized = false",
        f"No acl found for resource {PATTERN}, authorized = true",
        f"principal = User:a belongs to super group Group:ops, {UNCHECKED}",
    )
)
"""What brokers with ZooKeeper say beside a decision."""


def test_each_line_is_read_right_or_kept_as_malformed_or_left_out(spark: "SparkSession") -> None:
    texts = (*READ, *MALFORMED, *LEFT_OUT)
    given = spark.createDataFrame([*enumerate(texts)], "number int, line string")
    rows = line_sums(parse_lines(sum_lines(given))).collect()
    found = {texts[row["number"]]: row for row in rows}
    assert len(found) == len(rows)
    assert set(found) == {*READ, *MALFORMED}
    assert {row["line"] for row in rows if row["line"]} == set(MALFORMED)
    read = {text: row for text, row in found.items() if not row["line"]}
    assert {text: str(row["first_at"]) for text, row in read.items()} == READ
    assert {tuple(row[each] for each in WHAT) for row in read.values()} == {WHO}
