"""Layouts that a fleet file names: what a real broker wrote in each is read as its default one.

`python -m tests.fleet.write_named_layouts` writes the logs and the fleet file anew. Each broker had
one appender with Kafka's default pattern and one for each other layout.
"""

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import pytest

from kplan.config.fleet_file import FleetCluster, load_fleet
from kplan.config.inputs import Inputs
from kplan.fleet.logs.audit_topic import authorizer_line
from kplan.fleet.store import Store
from kplan.workflow.fleet.ingest import ingest_files, log_patterns

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

LOGS = Path(__file__).parents[1] / "fixtures" / "named_layouts"
WHAT = ("principal", "host", "operation", "resource_type", "resource_name", "is_allowed", "request")
DEFAULT = re.compile(
    r"\[(?P<time>.{23})\] \w+ Principal = (?P<principal>\S+) is (?P<verdict>\w+) [oO]peration = "
    r"(?P<operation>\w+) from host = (?P<host>\S+) on resource = (?P<type>\w+):LITERAL:"
    r"(?P<name>\S+) for request = (?P<request>\w+) "
)
COARSE = {
    **dict.fromkeys(("days-first", "weekday", "seconds", "zone-name"), "seconds"),
    "minutes": "minutes",
}
"""What times of layouts end with, by the end of their name; the others have milliseconds."""
IN_JSON = ("gcp", "gelf", "json", "ecs", "logstash")
NAMELESS = "-nameless"
DECISIONS = 16
"""Each log has at least so many."""
Requests = dict[tuple[object, ...], tuple[int, datetime, datetime]]


def requests_of_broker(cluster: FleetCluster) -> Requests:
    """Read a default log without Spark: how many requests of a sort there were, first and last."""
    times: dict[tuple[object, ...], list[datetime]] = {}
    (file,) = cluster.audit
    for line in Path(file).read_text(encoding="utf-8").splitlines():
        if "Principal = " not in line:
            continue  # it explains a decision
        found = DEFAULT.match(line)
        assert found, line
        local = datetime.strptime(found["time"], "%Y-%m-%d %H:%M:%S,%f")  # noqa: DTZ007
        at = local.replace(tzinfo=ZoneInfo(cluster.audit_time_zone)).astimezone(UTC)
        operation = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", found["operation"]).upper()
        sort = (found["principal"], found["host"], operation, found["type"].upper(), found["name"])
        key = (*sort, found["verdict"] == "Allowed", found["request"])
        times.setdefault(key, []).append(at.replace(tzinfo=None))
    return {key: (len(own), min(own), max(own)) for key, own in times.items()}


def as_layout_writes_it(requests: Requests, unit: str) -> Requests:
    """Cut times to what a layout writes of them."""
    return {
        key: (count, _cut_time(first, unit), _cut_time(last, unit))
        for key, (count, first, last) in requests.items()
    }


def _cut_time(time: datetime, unit: str) -> datetime:
    if unit == "minutes":
        return time.replace(second=0, microsecond=0)
    millis = 0 if unit == "seconds" else time.microsecond // 1000
    return time.replace(microsecond=millis * 1000)


def test_what_a_broker_logs_in_a_named_layout_is_what_it_logs_in_its_default_one(
    spark: "SparkSession", tmp_path: Path
) -> None:
    """The logs of three libraries; each broker had another time zone.

    A layout that kplan recognizes is read without its name, too.
    """
    fleet = load_fleet(LOGS, Inputs(environ={}))
    assert not fleet.diagnostics
    store = Store(spark, str(tmp_path / "tables"))
    named = log_patterns(fleet.clusters)
    nameless = [
        each._replace(cluster=f"{each.cluster}{NAMELESS}", layout=None)
        for each in named
        if each.layout is not None and not each.layout.fields
    ]
    assert {f"log4j2-{each}{NAMELESS}" for each in ("gcp", "gelf")} < {
        each.cluster for each in nameless
    }
    ingested = ingest_files(store, spark, [*named, *nameless])
    assert not ingested.failures
    assert {row["cluster"]: row["line"] for row in store.malformed_lines().collect()} == {}
    read: dict[str, Requests] = {}
    for row in store.usage().collect():
        key = tuple(row[each] for each in WHAT)
        read.setdefault(row["cluster"], {})[key] = (row["count"], row["first_at"], row["last_at"])
    clusters = {each.name: each for each in fleet.clusters}
    for name in (*clusters, *(each.cluster for each in nameless)):
        library, _, layout = name.removesuffix(NAMELESS).partition("-")
        logged = requests_of_broker(clusters[f"{library}-default"])
        assert sum(count for count, *_ in logged.values()) >= DECISIONS
        assert {key[5] for key in logged} == {True, False}
        unit = COARSE.get(layout, "")
        found, truth = (as_layout_writes_it(each, unit) for each in (read[name], logged))
        assert found == truth, name


def test_a_record_of_a_topic_in_json_is_the_line_that_the_broker_logs(
    spark: "SparkSession",
) -> None:
    """Its time is of UTC, as records have no time zone of their own."""
    logs = [str(LOGS / f"log4j2-{each}.log") for each in IN_JSON]
    records = spark.read.text(logs).select("value", "_metadata.file_name")
    text = authorizer_line(records["value"], has_zone=False)
    found: dict[str, set[str]] = {}
    for name, line in records.select("file_name", text).collect():
        found.setdefault(name, set()).add(line)
    clusters = load_fleet(LOGS, Inputs(environ={})).clusters
    (cluster,) = (each for each in clusters if each.name == "log4j2-default")
    truth = set()
    for line in Path(*cluster.audit).read_text(encoding="utf-8").splitlines():
        time, said = line[1:24], line.partition("Principal = ")[2].rpartition(" (")[0]
        local = datetime.strptime(time, "%Y-%m-%d %H:%M:%S,%f")  # noqa: DTZ007
        at = local.replace(tzinfo=ZoneInfo(cluster.audit_time_zone)).astimezone(UTC)
        truth.add(f"[{at:%Y-%m-%d %H:%M:%S},{at:%f}"[:-3] + f"] INFO Principal = {said}")
    assert set(found) == {Path(each).name for each in logs}
    for name, lines in found.items():
        assert lines == truth, name
