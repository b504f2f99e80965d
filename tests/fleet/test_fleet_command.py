"""`kplan fleet` on real clusters, with Kafka's real clients at work and Spark behind Connect."""

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from kplan.cluster.specs import ConfigAlteration
from kplan.sandbox.kit import node_folder
from kplan.sandbox.record import Sandbox, properties_file
from kplan.sandbox.spec import SandboxSpec, Security
from tests.brokers import SandboxOf
from tests.e2e.actors import Actor, Refused
from tests.e2e.commands import Ran, kplan
from tests.e2e.places import Place, config_of, until
from tests.fleet.connect import connect_server

Tables = dict[str, list[dict[str, Any]]]

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
FLEET = """
cluster "secured" {{
  labels        = {{ environment = "prod" }}
  configuration = "secured"
  audit         = ["{log}"]
  super_users   = ["User:admin"]
  provider "kafka" {{ properties_file = "{admin}" }}
}}
cluster "open" {{
  labels = {{ environment = "lab" }}
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
"""


class FleetAtWork:
    """A fleet file in a folder, asked through a Spark Connect server."""

    def __init__(self, folder: Path, remote: str, place: Place) -> None:
        self.folder = folder
        self.place = place
        self._remote = remote

    def ran(self, *args: str, code: int = 0) -> Ran:
        """Run a fleet verb, and check its exit code."""
        ran = kplan(self.folder, "fleet", *args, f"-remote={self._remote}", env={})
        assert ran.code == code, ran
        assert "Traceback" not in ran.err
        return ran

    def tables(self, *args: str, code: int = 0) -> Tables:
        """Give the rows of every table of the answer."""
        answer = json.loads(self.ran(*args, "-json", code=code).out)
        return {name: table["rows"] for name, table in answer["tables"].items()}


@pytest.fixture(scope="module")
def audited(sandbox_of: SandboxOf) -> Sandbox:
    """Start a node with SASL whose authorizer tells what it allows as well."""
    return sandbox_of(SandboxSpec(security=Security.SASL, logs_allowed=True))


@pytest.fixture(scope="module")
def fleet(
    tmp_path_factory: pytest.TempPathFactory, audited: Sandbox, open_broker: Sandbox
) -> Iterator[FleetAtWork]:
    """Two real clusters, one of them secured, and one that is down."""
    folder = tmp_path_factory.mktemp("fleet")
    admin = properties_file(audited.folder, "admin")
    (folder / "secured").mkdir()
    place = Place(folder / "secured", {"KPLAN_COMMAND_CONFIG": str(admin)}, DECLARED)
    log = node_folder(audited.folder, audited.nodes[0]) / "authorizer.log"
    servers = open_broker.bootstrap_servers
    text = FLEET.format(log=log, admin=admin, open=servers)
    (folder / "fleet.hcl").write_text(text, encoding="utf-8")
    place.run("apply", "-auto-approve")
    with connect_server(folder / "spark.log", {}) as remote:
        yield FleetAtWork(folder, remote, place)
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


@pytest.fixture(scope="module")
def taken(fleet: FleetAtWork, used: None) -> Tables:
    """Change a topic behind kplan's back, and take a run."""
    del used
    orders = f"{fleet.place.prefix}.orders"
    changed = ConfigAlteration(orders, set={"retention.ms": "1000"})
    with closing(fleet.place.cluster()) as cluster:
        assert cluster.alter_topic_configs([changed]) == {orders: None}
        until(lambda: _retention(fleet.place, orders) == "1000")
    return fleet.tables("snapshot", code=1)  # one of the clusters is down


def test_a_fleet_is_read_and_its_drift_is_that_of_each_cluster(
    fleet: FleetAtWork, taken: Tables
) -> None:
    orders = f"{fleet.place.prefix}.orders"
    assert [row["cluster"] for row in taken["unread"] if row["kind"] == "*"] == ["down"]
    counts = {row["group"]: row["topics"] for row in taken["inventory"]}
    assert counts["secured"] >= 2

    drifted = fleet.tables("drift", code=2)["findings"]
    assert [(row["cluster"], row["identity"]) for row in drifted] == [("secured", orders)]
    assert "Drift: 1 changed, 0 gone." in fleet.place.run("drift", code=2)


def test_what_was_really_done_is_counted_and_a_plan_is_held_against_it(
    fleet: FleetAtWork, taken: Tables
) -> None:
    assert taken
    orders = f"{fleet.place.prefix}.orders"
    fleet.ran("audit", "ingest")
    use = fleet.tables("audit", "usage")
    by_alice = {
        row["operations"]
        for row in use["used"]
        if (row["principal"], row["resource_name"]) == ("User:alice", orders)
    }
    assert "READ" in ",".join(by_alice)
    assert not any(row["principal"] == "User:bob" for row in use["used"])
    unused = {row["principal"] for row in use["unused_acls"]}
    assert "User:nobody" in unused
    assert {f"{fleet.place.prefix}.idle"} <= {row["topic"] for row in use["unused_topics"]}

    fleet.place.edit('toset(["Read", "Write"])', 'toset(["Write"])')
    fleet.place.run("plan", "-out=p")
    replayed = fleet.tables("replay", str(fleet.place.folder / "p"), code=3)["replay"]
    denied = {(row["principal"], row["operation"], row["resource_name"]) for row in replayed}
    assert denied == {("User:alice", "READ", orders)}
    assert all(row["effect"] == "denied" and row["count"] > 0 for row in replayed)


def _retention(place: Place, topic: str) -> str | None:
    with closing(place.cluster()) as cluster:
        return config_of(cluster, topic, "retention.ms")


def test_a_page_about_the_fleet_is_written(fleet: FleetAtWork, taken: Tables) -> None:
    assert taken
    fleet.ran("report", "-html=fleet.html", code=1)
    page = (fleet.folder / "fleet.html").read_text(encoding="utf-8")
    assert "<html" in page
    assert "secured" in page
    assert "http://" not in page.replace("http://www.w3.org", "")


def test_what_cannot_be_asked_of_a_fleet_is_told_without_a_traceback(
    fleet: FleetAtWork, taken: Tables
) -> None:
    assert taken
    assert "no cluster elsewhere" in fleet.ran("inventory", "-cluster=elsewhere", code=1).err
    assert "There is no run no-such-run" in fleet.ran("inventory", "-run=no-such-run", code=1).err
    assert "Nobody asks Kafka to FLY" in fleet.ran("access", "who-can", "FLY", "a", code=1).err
