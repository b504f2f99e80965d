"""`kplan fleet` on real clusters, with Kafka's real clients at work; in CI on a Connect server."""

import json
import re
import signal
import socket
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import Producer
from pyarrow.dataset import dataset

from kplan.cluster.request import ConfigAlteration, NewTopic
from kplan.kafka.cluster import open_cluster
from kplan.kafka.settings.connection import ConnectionSettings
from kplan.kafka.transaction import librdkafka_settings
from kplan.sandbox.layout import SandboxSpec, Security
from kplan.sandbox.runtime import node_folder
from kplan.sandbox.sandbox import Sandbox, properties_file
from tests.brokers import StartSandbox
from tests.contract.clusters import settings_of
from tests.e2e.actors import Actor, Refused
from tests.e2e.commands import Ran, kplan
from tests.e2e.places import Place, config_of, until
from tests.fleet.spark_target import SparkTarget
from tests.fleet.terminal import Terminal

if TYPE_CHECKING:
    from pyarrow import Table

Tables = dict[str, list[dict[str, Any]]]

OF_RUNS = {"run", "attempt", "read_at", "snapshots", "kplan_version"}
STRAY = ('{"message": "Started."}', '{"message": "Principal = ', "===> Launching ...")

pytestmark = [pytest.mark.spark, pytest.mark.broker]

DECLARED = """
provider "kafka" {{}}
resource "kafka_topic" "orders" {{
  name               = "{prefix}.orders"
  partitions         = 2
  replication_factor = 1
  config             = {{ "retention.ms" = "86400000" }}
}}
resource "kafka_topic" "idle" {{
  name               = "{prefix}.idle"
  partitions         = 1
  replication_factor = 1
}}
resource "kafka_acl" "use" {{
  for_each            = toset(["Read", "Write"])
  resource_type       = "Topic"
  resource_name       = kafka_topic.orders.name
  acl_principal       = "User:alice"
  acl_host            = "*"
  acl_operation       = each.key
  acl_permission_type = "Allow"
}}
resource "kafka_acl" "group" {{
  resource_type                = "Group"
  resource_name                = "{prefix}"
  resource_pattern_type_filter = "Prefixed"
  acl_principal                = "User:alice"
  acl_host                     = "*"
  acl_operation                = "Read"
  acl_permission_type          = "Allow"
}}
resource "kafka_acl" "unused" {{
  resource_type       = "Topic"
  resource_name       = kafka_topic.idle.name
  acl_principal       = "User:nobody"
  acl_host            = "*"
  acl_operation       = "Write"
  acl_permission_type = "Allow"
}}
"""
POLICY = """
policy "partitions" {
  on   = ["create"]
  kind = "kafka_topic"
  deny {
    condition = requested.partitions > 1
    message   = "${requested.partitions} are too many"
  }
}
"""
FLEET = """
cluster "secured" {{
  labels        = {{ environment = "prod" }}
  configuration = "secured"
  audit         = ["authorizer.log"]
  super_users   = ["User:admin"]
  provider "kafka" {{ properties_file = "{admin}" }}
}}
cluster "open" {{
  labels = {{ environment = "lab" }}
  audit  = ["kafka://{topic}"]
  provider "kafka" {{
    bootstrap_servers = ["{open}"]
    tls_enabled       = false
  }}
}}
cluster "down" {{
  provider "kafka" {{
    bootstrap_servers = ["127.0.0.1:1"]
    tls_enabled       = false
  }}
}}
cluster "locked" {{
  provider "kafka" {{ properties_file = "{locked}" }}
}}
cluster "silent" {{
  deadline_s = 6
  provider "kafka" {{
    bootstrap_servers = ["127.0.0.1:{silent}"]
    tls_enabled       = false
  }}
}}
"""


class FleetAtWork:
    """A fleet file in a folder; `options` say which Spark is asked."""

    def __init__(self, folder: Path, options: tuple[str, ...], place: Place) -> None:
        self.folder = folder
        self.place = place
        self.options = options
        self.written = 0

    def ran(self, *args: str, code: int = 0) -> Ran:
        """Run a fleet verb, and check its exit code."""
        ran = kplan(self.folder, "fleet", *args, *self.options, env={})
        assert ran.code == code, ran
        assert "Traceback" not in ran.err
        return ran

    def tables(self, *args: str, code: int = 0) -> Tables:
        """Give the rows of every table of the answer.

        Issue 6, lineage of every number: it is checked here for each of them, and for the rows that
        are written out.
        """
        self.written += 1
        ran = self.ran(*args, "-json", f"-output={self._place()}", code=code)
        assert ran.out, ran.err
        answer = json.loads(ran.out)
        of_logs = {"logs", "logged_requests", "requests_from", "requests_to"}
        expected = of_logs if args[:2] == ("audit", "ingest") else OF_RUNS
        assert answer["lineage"].keys() >= {*expected, "answered_by", "store"}
        assert set(self.rows().column_names) >= answer["lineage"].keys()
        return {name: table["rows"] for name, table in answer["tables"].items()}

    def rows(self, name: str = "") -> "Table":
        """Read what the last answer wrote: its first table, or the one of that name."""
        files = sorted(map(str, (self.folder / self._place(name)).glob("part-*")))
        assert files, name
        return dataset(files, format="csv" if self.written % 2 else "parquet").to_table()

    def _place(self, name: str = "") -> str:
        """Name a folder of CSV, or every other time of Parquet."""
        ending = ".csv" if self.written % 2 else ""
        return f"written/{self.written}{f'.{name}' if name else ''}{ending}"


@pytest.fixture(scope="module")
def audited(sandbox_of: StartSandbox) -> Sandbox:
    """Start a node with SASL whose authorizer tells what it allows as well."""
    return sandbox_of(SandboxSpec(security=Security.SASL, logs_allowed=True))


@pytest.fixture(scope="module")
def fleet(
    tmp_path_factory: pytest.TempPathFactory,
    audited: Sandbox,
    open_broker: Sandbox,
    for_commands: SparkTarget,
) -> Iterator[FleetAtWork]:
    """Two real clusters, one of them secured; one is down, one says nothing, one refuses us."""
    folder = tmp_path_factory.mktemp("fleet")
    admin = properties_file(audited.folder, "admin")
    (folder / "secured").mkdir()
    place = Place(folder / "secured", {"KPLAN_COMMAND_CONFIG": str(admin)}, DECLARED)
    servers = open_broker.bootstrap_servers
    locked = folder / "locked.properties"
    locked.write_text(re.sub('password="[^"]*"', 'password="wrong"', admin.read_text()))
    silent = socket.create_server(("127.0.0.1", 0))
    found = {"admin": admin, "locked": locked, "open": servers, "silent": silent.getsockname()[1]}
    text = FLEET.format(**found, topic=f"{place.prefix}.audit")
    (folder / "fleet.hcl").write_text(text, encoding="utf-8")
    place.run("apply", "-auto-approve")
    topic = NewTopic(f"{place.prefix}.audit", 2, 1)
    with closing(open_cluster(settings_of(open_broker, "anonymous"))) as cluster:
        assert cluster.create_topics([topic]) == {topic.name: None}
    with silent:
        yield FleetAtWork(folder, for_commands.options, place)
    place.tidy_up()


@pytest.fixture(scope="module")
def used(fleet: FleetAtWork, audited: Sandbox) -> None:
    """Let alice do what she may, and bob what he may not: the broker logs both."""
    orders = f"{fleet.place.prefix}.orders"
    alice, bob = Actor(audited, "alice"), Actor(audited, "bob")
    alice.write(orders)
    alice.read(orders, properties={"group.id": f"{fleet.place.prefix}.group"})
    with pytest.raises(Refused):
        bob.write(orders)
    log = node_folder(audited.folder, audited.nodes[0]) / "authorizer.log"
    lines = [each for each in log.read_text().splitlines() if fleet.place.prefix in each]
    (fleet.folder / "authorizer.log").write_text("\n".join([*lines, *STRAY]) + "\n")


@pytest.fixture(scope="module")
def taken(fleet: FleetAtWork, used: None) -> Tables:
    """Change a topic behind kplan's back, and take a run."""
    del used
    orders = f"{fleet.place.prefix}.orders"
    changed = ConfigAlteration(orders, set={"retention.ms": "1000"})
    with closing(fleet.place.cluster()) as cluster:
        assert cluster.alter_topic_configs([changed]) == {orders: None}
        until(lambda: _retention(fleet.place, orders) == "1000")
    return fleet.tables("snapshot", code=1)  # three of the clusters cannot be read


@pytest.fixture(scope="module")
def asked(fleet: FleetAtWork, taken: Tables, open_broker: Sandbox) -> Tables:
    """Put the lines of the log into a topic as well, read both, and ask for the use of it all."""
    assert taken
    lines = (fleet.folder / "authorizer.log").read_text().splitlines()
    settings = settings_of(open_broker, "anonymous")
    told = [event(number, each) for number, each in enumerate(lines)]
    _produce(settings, f"{fleet.place.prefix}.audit", told)
    fleet.ran("audit", "ingest")
    return fleet.tables(
        "audit", "usage", "-since=48h", "-limit=100000", code=1
    )  # clusters are down


def test_a_fleet_is_read_whatever_befalls_some_of_it(taken: Tables) -> None:
    unread = {row["cluster"]: row["reason"] for row in taken["unread"] if row["kind"] == "*"}
    assert unread.keys() == {"down", "locked", "silent"}
    assert "Connection refused by the cluster" in unread["locked"]
    assert "deadline of 6 s" in unread["silent"]
    (secured,) = (row for row in taken["inventory"] if row["group"] == "secured")
    assert secured["topics"] >= 2
    assert secured["unsized"] == 0
    assert min(secured[name] for name in ("bytes", "records", "groups")) > 0


def test_the_drift_of_a_fleet_is_that_of_each_cluster(fleet: FleetAtWork, taken: Tables) -> None:
    assert taken
    orders = f"{fleet.place.prefix}.orders"
    drifted = fleet.tables("drift", code=2)["findings"]
    assert [(row["cluster"], row["identity"]) for row in drifted] == [("secured", orders)]
    assert "Drift: 1 changed, 0 deleted." in fleet.place.run("drift", code=2)


def test_what_was_really_done_is_counted(fleet: FleetAtWork, asked: Tables) -> None:
    orders = f"{fleet.place.prefix}.orders"
    by_alice = {
        row["operations"]
        for row in asked["used"]
        if (row["principal"], row["resource_name"]) == ("User:alice", orders)
    }
    assert "READ" in ",".join(by_alice)
    assert not any(row["principal"] == "User:bob" for row in asked["used"])
    assert "User:nobody" in {row["principal"] for row in asked["unused_acls"]}
    assert {f"{fleet.place.prefix}.idle"} <= {row["topic"] for row in asked["unused_topics"]}
    assert {"cluster": "down", "reason": "no authorizer log was ingested"} in asked["unheard"]


def test_records_of_an_audit_topic_count_as_the_same_lines_of_a_file_do(
    fleet: FleetAtWork, asked: Tables, open_broker: Sandbox
) -> None:
    """What is no line of the authorizer's is kept, and what was read once is not read again."""
    by_file, by_topic = (
        [{**row, "cluster": ""} for row in asked["used"] if row["cluster"] == name]
        for name in ("secured", "open")
    )
    assert by_file
    assert by_topic == by_file

    lines = (fleet.folder / "authorizer.log").read_text().splitlines()
    settings = settings_of(open_broker, "anonymous")
    _produce(settings, f"{fleet.place.prefix}.audit", [event(0, lines[0])])
    again = fleet.tables("audit", "ingest")
    last = fleet.tables("audit", "ingest")
    assert last == again
    counts = Counter[str]()
    for row in last["requests"]:
        counts[row["cluster"]] += row["requests"]
    assert counts["open"] == counts["secured"] + 1 == len(lines) - len(STRAY) + 1
    stray = Counter[str]()
    for row in last["malformed_lines"]:
        stray[row["cluster"]] += row["lines"]
    assert stray == {"secured": len(STRAY), "open": len(STRAY)}


def event(number: int, line: str) -> str:
    """Write a line as those do who put logs into topics."""
    if not line.startswith("["):
        return line
    at = datetime.strptime(line[1:24], "%Y-%m-%d %H:%M:%S,%f").replace(tzinfo=UTC)
    message = line[line.index("Principal = ") :]
    instant = {"epochSecond": int(at.timestamp()), "nanoOfSecond": at.microsecond * 1000}
    return [
        json.dumps({"message": message, "instant": instant, "level": "INFO"}),
        json.dumps({"message": message, "@timestamp": at.isoformat(timespec="milliseconds")}),
        json.dumps({"message": line, "host": {"name": "broker-1"}}),
        line,
    ][number % 4]


def _produce(settings: ConnectionSettings, topic: str, values: list[str]) -> None:
    producer = Producer(librdkafka_settings(settings))
    for each in values:
        producer.produce(topic, each.encode())
    assert producer.flush(20) == 0


def _retention(place: Place, topic: str) -> str | None:
    with closing(place.cluster()) as cluster:
        return config_of(cluster, topic, "retention.ms")


def test_what_is_live_is_held_against_the_policies_of_its_configuration(
    fleet: FleetAtWork, taken: Tables
) -> None:
    assert taken
    file = fleet.place.folder / "policies.tf"
    file.write_text(POLICY, encoding="utf-8")
    found = fleet.tables("lint", code=2)
    file.unlink()
    told = {(row["cluster"], row["identity"], row["message"]) for row in found["violations"]}
    assert ("secured", f"{fleet.place.prefix}.orders", "2 are too many") in told
    assert not any(identity.endswith(".idle") for _, identity, _ in told)
    written = fleet.rows("violations")
    assert "2 are too many" in written.column("message").to_pylist()
    assert "answered_by" in written.column_names


def test_an_interrupt_ends_what_spark_does_for_us(fleet: FleetAtWork) -> None:
    screen = Terminal(fleet.folder, "fleet", "snapshot", "-cluster=silent", *fleet.options)
    assert screen.shows(r"Reading 1 cluster\b.* 0/1 "), screen.text
    screen.process.send_signal(signal.SIGINT)
    assert screen.ended() == 128 + signal.SIGINT, screen.text
    assert "Traceback" not in screen.text


def test_what_cannot_be_asked_of_a_fleet_is_told_without_a_traceback(
    fleet: FleetAtWork, taken: Tables
) -> None:
    assert taken
    assert "no cluster elsewhere" in fleet.ran("inventory", "-cluster=elsewhere", code=1).err
    assert "There is no run no-such-run" in fleet.ran("inventory", "-run=no-such-run", code=1).err
    assert 'Kafka never requires "FLY"' in fleet.ran("access", "who-can", "FLY", "a", code=1).err
