"""Layouts of authorizer logs: what a broker says is the same however log4j and others write it.

`python -m tests.fleet.write_layouts` writes the logs anew.
"""

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kplan.config.fleet_file import load_fleet
from kplan.config.inputs import Inputs
from kplan.fleet.logs.layout import are_requests, parse_lines, parse_requests
from kplan.fleet.logs.lines import OTHER_LOGGER, sum_lines
from kplan.fleet.logs.requests import last_usage, line_sums, usage
from kplan.fleet.store import Store
from kplan.workflow.fleet.ingest import ingest_files, log_patterns
from tests.fleet.log_lines import file_lines

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

LOGS = Path(__file__).parents[1] / "fixtures" / "logs"
WHAT = ("principal", "host", "operation", "resource_type", "resource_name", "is_allowed", "request")
SAID = (
    "Principal = User:a is Allowed operation = READ from host = 10.0.0.1 on resource = "
    "Topic:LITERAL:orders for request = FETCH with resourceRefCount = 1"
)
FLEET = """cluster "eu" {{
  snapshot = "eu"
  audit    = ["*.log"]
  audit {{
    files  = ["days*"]
    layout = "{}"
  }}
  audit {{
    files  = ["epochs*"]
    layout = "{}"
  }}
  audit {{
    files  = ["zoned*"]
    layout = "{}"
  }}
  audit {{
    files  = ["json*"]
    layout = "{}"
  }}
}}
"""
SEVERE = {"severity": "DEBUG", "message": SAID}
"""As Google Cloud Logging has it."""
OLD = "Principal = User:a is Allowed Operation = Read from host = 10.0.0.1 on resource = "
REQUEST = " for request = Fetch with resourceRefCount = 1 (kafka.authorizer.logger)"


def lines(spark: "SparkSession", *texts: str) -> "DataFrame":
    rows = [("eu", str(n), each) for n, each in enumerate(texts)]
    return spark.createDataFrame(rows, "cluster string, source string, line string")


def test_every_layout_gives_the_rows_of_the_default_one(spark: "SparkSession") -> None:
    """All files were written by one broker at once; it was one of UTC."""
    found: dict[str, Counter[tuple[object, ...]]] = {}
    times: dict[str, set[str]] = {}
    for row in line_sums(parse_lines(sum_lines(file_lines(spark, LOGS / "*.log")))).collect():
        name = row["source"].rpartition("/")[2]
        assert row["line"] is None, (name, row["line"])
        found.setdefault(name, Counter())[tuple(row[each] for each in WHAT)] += row["count"]
        times.setdefault(name, set()).add(str(row["first_at"]).partition(".")[0])
    assert set(found) == {each.name for each in LOGS.iterdir()}
    assert found["kafka-default.log"].total() == len(
        (LOGS / "kafka-default.log").read_text(encoding="utf-8").splitlines()
    )
    assert {row[0] for row in found["kafka-default.log"]} >= {"User:admin", "User:alice"}
    assert {row[5] for row in found["kafka-default.log"]} == {True, False}
    assert {name for name, rows in found.items() if rows != found["kafka-default.log"]} == set()
    assert {name for name, at in times.items() if at != times["kafka-default.log"]} == set()


@pytest.mark.parametrize("zone", ["", "Asia/Tokyo"])
def test_requests_that_python_took_apart_are_the_same_without_other_layouts(
    spark: "SparkSession", zone: str
) -> None:
    from pyspark.sql import functions as F  # noqa: N812 - heavy; its customary name

    torn = b"[2026-11-01 23:59:59,123] INFO " + SAID.encode().replace(b"User:", b"User:\xff")
    logs = file_lines(spark, LOGS / "*.log").select("cluster", F.col("line").cast("binary"))
    started = b"[2026-11-01 23:59:59,123] INFO Started. (kafka.server.KafkaServer)"
    rows = [("eu", bytearray(each)) for each in (torn, started)]
    more = spark.createDataFrame(rows, "cluster string, line binary")
    sums = sum_lines(logs.union(more).selectExpr("cluster", "cast(line as string) as line"))
    sums = sums.withColumn("zone", F.lit(zone)).cache()
    requests = sums.where(F.col("is_default") | (F.col("said") == OTHER_LOGGER))
    assert are_requests(requests)
    assert not are_requests(sums)
    found = [parse(requests, F.col("zone")) for parse in (parse_requests, parse_lines)]
    one, other = (sorted(map(repr, each.collect())) for each in found)
    assert len(one) > 1
    assert one == other
    assert any("\ufffd" in each for each in one)
    assert any("is_other_logger=True, count=1," in each for each in one)
    sums.unpersist()


@pytest.mark.parametrize("zone", ["", "Asia/Tokyo"])
def test_a_zone_in_the_line_counts_before_that_of_the_cluster(
    spark: "SparkSession", zone: str
) -> None:
    named = (
        f"2026-11-01T10:00:00.5Z INFO {SAID}",
        f"2026-11-01T15:30:00.5+0530 INFO {SAID}",
        f"2026-11-01T09:00:00,5-01 INFO {SAID}",
        f"[2026-11-01 11:00:00.5 Europe/Berlin] INFO {SAID}",
        f"[2026-11-01 11:00:00,500 CET] INFO {SAID} (kafka.authorizer.logger)",
        json.dumps({"@timestamp": "2026-11-01T10:00:00.500Z", "message": SAID}),
        json.dumps({"short_message": SAID, "timestamp": 1793527200.5, "host": "b1"}),
        json.dumps({"timestampSeconds": 1793527200, "timestampNanos": 500_000_000, **SEVERE}),
        json.dumps({"timestamp": "2026-11-01T10:00:00.500Z", **SEVERE}),  # before log4j 2.25
    )
    bare = f"2026-11-01 10:00:00 INFO {SAID}"
    rows = line_sums(parse_lines(sum_lines(lines(spark, *named, bare))), zone).collect()
    at = {row["source"]: str(row["first_at"]) for row in rows}
    assert {at[str(n)] for n in range(len(named))} == {"2026-11-01 10:00:00.500000"}
    assert at[str(len(named))] == f"2026-11-01 {'01' if zone else '10'}:00:00"


def test_older_brokers_and_audit_events_are_read_and_what_has_no_year_is_not(
    spark: "SparkSession",
) -> None:
    event = {
        "specversion": "1.0",
        "time": "2026-11-01T10:00:00Z",
        "data": {
            "methodName": "kafka.Fetch",
            "authenticationInfo": {"principal": "User:a"},
            "authorizationInfo": {
                "granted": True,
                "operation": "Read",
                "resourceType": "Topic",
                "resourceName": "orders",
            },
            "requestMetadata": {"client_address": "/10.0.0.1"},
        },
    }
    texts = (
        f"[2026-11-01 10:00:00,000] DEBUG {OLD}Topic:LITERAL:orders (kafka.authorizer.logger)",
        f"[2026-11-01 10:00:00,000] DEBUG {OLD}Topic:orders (kafka.authorizer.logger)",
        json.dumps(event),
        f"[2026-11-01 10:00:00,000] DEBUG {OLD}Topic:LITERAL:orders{REQUEST}",
        f"Nov  1 10:00:00 host-1 kafka[12]: INFO {SAID}",
        f"[2026-13-01 10:00:00,000 CEST] INFO {SAID}",
    )
    rows = line_sums(parse_lines(sum_lines(lines(spark, *texts)))).collect()
    whole = {
        row["source"]: tuple(row[each] for each in WHAT[:-1]) for row in rows if not row["line"]
    }
    assert set(whole) == {"0", "1", "2", "3"}
    assert set(whole.values()) == {("User:a", "10.0.0.1", "READ", "TOPIC", "orders", True)}
    assert {row["line"] for row in rows if row["line"]} == set(texts[4:])


def test_what_a_broker_with_zookeeper_says_beside_a_decision_is_no_line_of_the_log(
    spark: "SparkSession",
) -> None:
    """At the level DEBUG. A decision has its request; the name of a group may have a blank."""
    pattern = "ResourcePattern(resourceType=GROUP, name=my group, patternType=LITERAL)"
    on_acl = f"operation = READ on resource = {pattern} from host = 10.0.0.1 is ALLOW based on acl"
    beside = (
        "principal = User:a is a super user, allowing operation without checking acls.",
        f"No acl found for resource {pattern}, authorized = false",
        f"{on_acl} = User:a has ALLOW permission for operations: READ from hosts: *",
    )
    texts = [f"[2026-11-01 10:00:00,000] DEBUG {each} (kafka.authorizer.logger)" for each in beside]
    texts += [json.dumps({"timeMillis": 1793527200000, "message": each}) for each in beside]
    decision = f"[2026-11-01 10:00:00,000] DEBUG {OLD}Group:LITERAL:my group{REQUEST}"
    rows = line_sums(parse_lines(sum_lines(lines(spark, *texts, decision, "stray")))).collect()
    assert [row["line"] for row in rows if row["line"]] == ["stray"]
    assert [tuple(row[each] for each in WHAT) for row in rows if not row["line"]] == [
        ("User:a", "10.0.0.1", "READ", "GROUP", "my group", True, "Fetch")
    ]


def test_the_topic_that_kafka_logs_for_any_topic_is_an_idempotent_produce(
    spark: "SparkSession",
) -> None:
    any_topic = SAID.replace(":orders", ":hardcode").replace("READ", "WRITE")
    texts = (any_topic.replace("= FETCH", "= INIT_PRODUCER_ID"), any_topic)
    found = usage(
        line_sums(
            parse_lines(sum_lines(lines(spark, *(f"2026-11-01 10:00:00 {t}" for t in texts))))
        )
    )
    names = {row["resource_name"] for row in last_usage(found).collect()}
    assert names == {"idempotent produce", "hardcode"}


def test_a_named_layout_reads_what_is_not_recognized_and_refuses_the_rest(
    spark: "SparkSession", tmp_path: Path
) -> None:
    """A file is read once, in its layout; with another layout it is read again."""
    days, epochs = "%d{dd/MMM/yyyy HH:mm:ss} [%t] %-5p %c - %m%n", "%d{UNIX_MILLIS} %m%n"
    zoned, json_name = "%d{dd.MM.yy HH:mm}{Europe/Berlin}|%m", "log4j2-json"
    usual = f"[2026-11-01 10:00:00,000] INFO {SAID} (kafka.authorizer.logger)"
    event = json.dumps({"timeMillis": 1793527200000, "message": SAID})
    texts = {
        "days": f"01/Nov/2026 10:00:00 [a 1] INFO  kafka.authorizer.logger - {SAID}",
        "epochs": f"1793527200000 {SAID}",
        "zoned": f"01.11.26 11:00|{SAID}",
        "json": event,
        "usual": usual,
    }
    wrong = {
        "days": [usual, f"31/Feb/2026 10:00:00 [a] INFO c - {SAID}", event],
        "epochs": [usual],
        "zoned": [f"1793527200000 {SAID}"],
        "json": [usual],
        "usual": ["stray"],
    }
    others = {
        "days": "01/Nov/2026 10:00:00 [a 1] INFO  kafka.server.KafkaServer - started",
        "epochs": "1793527200000 started",
        "zoned": "01.11.26 11:00|started",
        "json": json.dumps({"timeMillis": 1793527200000, "level": "INFO", "message": "started"}),
        "usual": "[2026-11-01 10:00:00,000] INFO started (kafka.server.KafkaServer)",
    }
    for name, text in texts.items():
        lines = [text, text, others[name], *wrong[name], ""]
        (tmp_path / f"{name}.log").write_text("\n".join(lines))
    store = Store(spark, str(tmp_path / "tables"))

    def read(**layouts: str) -> int:
        (tmp_path / "fleet.hcl").write_text(FLEET.format(*layouts.values()))
        fleet = load_fleet(tmp_path, Inputs(environ={}))
        assert not fleet.diagnostics
        found = ingest_files(store, spark, log_patterns(fleet.clusters))
        assert not found.failures
        return len(found.added.parts)

    assert read(days=days, epochs=epochs, zoned=zoned, json=json_name) == len(texts)
    rows = store.usage().groupBy("source").agg({"count": "sum", "first_at": "min"}).collect()
    found = {
        Path(row["source"]).stem: (row["sum(count)"], str(row["min(first_at)"])) for row in rows
    }
    assert found == dict.fromkeys(texts, (2, "2026-11-01 10:00:00"))
    counts = {Path(each.source).stem: each.others for each in store.logs.counts()}
    assert counts == dict.fromkeys(texts, 1)
    malformed = {
        (Path(row["source"]).stem, row["line"]) for row in store.malformed_lines().collect()
    }
    assert malformed == {(name, line) for name, lines in wrong.items() for line in lines}

    assert read(days=days, epochs=epochs, zoned=zoned, json=json_name) == 0
    assert read(days=days, epochs="%d{UNIX} %m", zoned=zoned, json=json_name) == 1
