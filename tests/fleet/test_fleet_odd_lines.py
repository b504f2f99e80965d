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
    "Principal = User:CN=Doe\\, Jörg is Allowed operation = READ from host = 10.0.0.1 on "
    "resource = Topic:LITERAL:orders for request = FETCH with resourceRefCount = 1"
)
WHO = ("User:CN=Doe\\, Jörg", "10.0.0.1", "READ", "TOPIC", "orders", True, "FETCH")
WHAT = ("principal", "host", "operation", "resource_type", "resource_name", "is_allowed", "request")
AT = "2026-11-01 10:00:00"
LOGGED = "(kafka.authorizer.logger) [data-plane-kafka-request-handler-3]"
"""What Strimzi's pattern of log4j 1 has after the message."""
PATTERN = "ResourcePattern(resourceType=GROUP, name=my group, patternType=LITERAL)"
MAX = 2**63 - 1


def event(**fields: object) -> str:
    return json.dumps({**fields, "message": SAID})


ZONED = (
    *("2026-11-01 13:00:00,000 GMT+03:00", "2026-11-01T13:00:00.000 UTC+03:00", f"{AT} GMT"),
    *("2026-11-01 13:00:00 UTC+3", "2026-11-01 05:00:00,000GMT-05:00", f"{AT} UTC", f"{AT} Z"),
    *("2026-11-01 05:00:00 Etc/GMT+5", "2026-11-01 05:00:00 America/Port-au-Prince"),
    *("2026-11-01 07:00:00 America/Argentina/Buenos_Aires", "2026-11-01 05:00:00,000 EST"),
    *("2026-11-01 19:00:00,000 JST", "2026-11-01 12:00:00,000 CEST", "2026-11-01 11:00:00.0 CET"),
)
STAMPS = (
    *(1793527200, 1793527200000, "1793527200", "1793527200.000", "20261101100000"),
    *("2026-11-01T10:00Z", "2026-11-01T12:00:00,000+0200", "2026-11-01 11:00:00 CET", AT),
)
KEYS = ("MESSAGE", "textPayload", "line", "msg", "event.original")
"""Of journald, Google's Kubernetes Engine, Docker's Splunk driver, Bunyan and ECS."""


def audit_event(method: str = "kafka.FETCH", **data: object) -> str:
    """Write an event of Confluent's audit log."""
    asked = {
        "granted": True,
        "operation": "Read",
        "resourceType": "Topic",
        "resourceName": "orders",
    }
    given = {
        "methodName": method,
        "authenticationInfo": {"principal": WHO[0]},
        "authorizationInfo": asked,
        "requestMetadata": {"client_address": "/10.0.0.1"},
    }
    found = {"specversion": "1.0", "time": f"{AT}Z", "data": {**given, **data}}
    return json.dumps(found)


def docker(text: str) -> str:
    """Write a line as Docker keeps it."""
    return json.dumps({"log": f"{text}\n", "stream": "stdout", "time": "2026-11-01T10:00:00.5Z"})


READ = {
    audit_event(): AT,
    audit_event(requestMetadata={"clientAddress": [{"ip": "10.0.0.1", "port": 7}]}): AT,
    f"[{AT},000] INFO {SAID} (kafka.authorizer.logger)": AT,
    f"{AT} INFO {SAID} {LOGGED}": AT,
    f"{AT} INFO {SAID} (kafka.authorizer.logger:72) [a thread]\x1b[m\r": AT,
    event(timeMillis=MAX, timestamp=f"{AT}Z"): AT,
    event(timeMillis=1793527200000): AT,
    **dict.fromkeys((f"[{at}] INFO {SAID}" for at in ZONED), AT),
    f"[2026-10-25 02:30:00,000 CET] INFO {SAID}": "2026-10-25 01:30:00",
    f"[2026-10-25 02:30:00,000 CEST] INFO {SAID}": "2026-10-25 00:30:00",
    **dict.fromkeys((event(timestamp=at) for at in STAMPS), AT),
    **dict.fromkeys((event(**{"@timestamp": at}) for at in STAMPS), AT),
    event(timestamp="20261101100000123"): f"{AT}.123000",
    **dict.fromkeys((json.dumps({each: f"[{AT}] INFO {SAID}"}) for each in KEYS), AT),
    json.dumps({"event": {"original": f"{AT} {SAID}"}, "log": {"level": "INFO"}}): AT,
    json.dumps({"jsonPayload": {"message": SAID}, "timestamp": f"{AT}Z"}): AT,
    json.dumps({"log": event(timeMillis=1793527200000)}): AT,
    docker(audit_event()): AT,
    **dict.fromkeys(
        (docker(event()), docker(json.dumps({"log": {}, "msg": SAID}))), f"{AT}.500000"
    ),
    f"2026-11-01T10:00:00.5Z stdout F {event()}": f"{AT}.500000",
    f"2026-11-01T10:00:00.5Z stdout F {event(timestamp=f'{AT}Z')}": AT,
    f'[{AT}] {{"trace": "x"}} INFO {SAID} based on rule {{"x": "y"}}': AT,
}
"""What a line says is WHO, at this time in UTC."""
UNCLEAR = ("BST", "AST", "NST", "IST", "CST", "SST", "ACT", "PST", "XYZ", "AUDIT")
MALFORMED = (
    audit_event(authenticationInfo={"principal": {"confluentUser": {"resourceId": "u-1"}}}),
    audit_event(authorizationInfo={"operation": "Read"}),
    audit_event()[:-20],
    *(event(timestamp=each) for each in ("638991234567890123", 63899123456789012)),
    event(timeMillis=MAX),
    event(timeMillis=-1),
    *(f"[2026-07-01 11:00:00,123 {each}] INFO {SAID}" for each in UNCLEAR),
    *(f"{each} {SAID}" for each in ("10:00:00.123", "10:00:00", "5093", "509312", "T10:00:00")),
    *(f"{each} INFO {SAID}" for each in ("2026-11-01", "10:00:00,123")),
    *(event(time=each) for each in ("10:00:00.123", "2026", "2026-11-01", "1793527200")),
    *(event(timestamp=each) for each in (5093, 1793527200000000, "10:00:00")),
    event(instant={"epochSecond": MAX, "nanoOfSecond": 1}),
    event(instant={"epochSecond": 1793527200, "nanoOfSecond": MAX}),
    event(timestampSeconds=MAX, timestampNanos=0),
    json.dumps({"unknown": f"[{AT}] INFO {SAID}", "time": f"{AT}Z"}),
    json.dumps({"log": json.dumps({"msg": event(timeMillis=1793527200000)})}),
    f'[{AT}] {{"unknown": "{SAID} based on rule',
    json.dumps({"short_message": SAID, "timestamp": "9999999999E9"}),
)
ON_ACL = "from host = ::1 is Allow based on acl = User:a has Allow permission for operations: Write"
UNCHECKED = "allowing operation without checking acls."
BESIDE = tuple(
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
OTHER_EVENTS = (
    audit_event("kafka.Authentication", authorizationInfo=None),
    audit_event("mds.Authorize"),
    f"2026-11-01T10:00:01.5Z stdout F {audit_event('mds.Authorize')}",
    json.dumps({"specversion": "1.0", "time": f"{AT}Z", "data": {"result": {"status": "OK"}}}),
    docker(audit_event("mds.Authorize")),
    docker(audit_event("kafka.Authentication", authorizationInfo=None)),
    docker(docker(audit_event("kafka.Authentication", authorizationInfo=None))),
    f"2026-11-01T10:00:01.5Z stdout F {docker(docker(audit_event('mds.Authorize')))}",
)
LEFT_OUT = (*BESIDE, *OTHER_EVENTS)
STARTED = "[KafkaServer id=0] started (kafka.server.KafkaServer)"
OTHER_LOGGERS = (
    f"[{AT},000] INFO {STARTED}",
    f"{AT} WARN  [main] KafkaServer:56 - {STARTED}",
    f"[{AT},000 CET] [main] ERROR {STARTED}\r",
    f"2026-11-01T10:00:01.5Z stdout F [{AT},000] INFO {STARTED}",
    "2026-11-01T10:00:01.5Z stderr F ===> Launching kafka ...",
    json.dumps(
        {"log": f"===> User {AT}\n", "stream": "stdout", "time": f"{AT}Z"}, separators=(",", ":")
    ),
    json.dumps({"timeMillis": 1793527200000, "level": "INFO", "message": STARTED}),
    json.dumps({"version": "1.1", "short_message": STARTED, "level": 6, "timestamp": 1793527200}),
    json.dumps({"@timestamp": f"{AT}Z", "log.level": "INFO", "message": STARTED}),
    json.dumps({"severity": "INFO", "message": STARTED}),
    f"<14>1 2026-11-01T10:00:00Z host kafka 12 - - [{AT},000] INFO {STARTED}",
    "\tat kafka.server.KafkaServer.startup(KafkaServer.scala:1)",
    "\tprincipal.builder.class = null",
    "java.lang.IllegalStateException: stopped",
    "java.lang.OutOfMemoryError",
    "org.apache.kafka.common.errors.TimeoutException: a call of topic = orders\r",
    "org.apache.zookeeper.KeeperException$SessionExpiredException: code = ... for /brokers",
    "Caused by: java.net.ConnectException: Connection refused",
    'Exception in thread "main" java.lang.IllegalArgumentException: no',
    "... 23 more",
)
UNREADABLE = (
    f"Nov  1 10:00:00 host kafka[12]: INFO {SAID}",
    f"Nov  1 10:00:00 host kafka[12]: INFO {STARTED}",
    '{"level":"INFO","text":"Principal \\u003d User:a is Denied"}',
    f"2026-11-01T10:00:01.5Z stdout F {SAID[:40]}",
    f"{AT} INFO User:a is Allowed operation = READ",
    json.dumps({"level": "INFO", "principal": "User:a", "operation": "READ"}),
    docker(json.dumps({"level": "INFO", "principal": "User:a"})),
    f"{AT} INFO Authorization GRANTED - cluster: c, user: u, operation: READ",
    f"{AT} INFO Principal=User:a operation=READ",
    f"{AT} INFO PRINCIPAL &#61; User:a",
    "2026-11-01T10:00:01.5Z stdout F orders for request = FETCH",
    "===> Launching kafka ...",
    "java.lang.IllegalStateException stopped",
    f"java.lang.IllegalStateException: {SAID}",
    "orders.Exception: LITERAL for request = FETCH",
    "Caused by: nothing",
    "\x01" + f"[{AT},000] INFO {STARTED}",
    f"[{AT},000] {STARTED}",
)
"""They may be lines of the authorizer, or are of nobody knows which program."""


def test_lines_of_other_loggers_are_counted_and_what_may_be_a_request_is_malformed(
    spark: "SparkSession",
) -> None:
    texts = (*READ, *OTHER_LOGGERS, *UNREADABLE, *LEFT_OUT)
    given = spark.createDataFrame([*enumerate(texts)], "number int, line string")
    parsed = parse_lines(sum_lines(given)).collect()
    others = {texts[row["number"]]: row for row in parsed if row["is_other_logger"]}
    assert set(others) == set(OTHER_LOGGERS)
    assert {(row["text"], row["count"]) for row in others.values()} == {(None, 1)}
    kept = line_sums(parse_lines(sum_lines(given))).collect()
    assert {row["line"] for row in kept if row["line"]} == {
        each.lstrip("\x01") for each in UNREADABLE
    }
    assert {texts[row["number"]] for row in kept if not row["line"]} == set(READ)


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
