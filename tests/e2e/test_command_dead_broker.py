"""The installed command on three brokers of which one is dead: a dead broker makes no drift."""

import json
import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from confluent_kafka import Producer

from kplan.cluster.request import NewTopic, TopicDescription, TopicRef
from kplan.kafka.settings.resolver import resolve_settings
from kplan.kafka.wire.gateway import Gateway
from kplan.kafka.wire.messages import DESCRIBE_CLUSTER
from kplan.sandbox.fault import kill, restart
from kplan.sandbox.layout import SandboxSpec
from kplan.sandbox.lifecycle import temporary_sandbox
from kplan.sandbox.sandbox import Sandbox
from tests.e2e.commands import start
from tests.e2e.places import Place, until

pytestmark = pytest.mark.broker

DEAD = 3
CONFIGURATION = """
provider "kafka" {}
resource "kafka_topic" "spread" {
  name               = "spread"
  partitions         = 6
  replication_factor = 3
  config             = { "retention.ms" = "86400000" }
}
resource "kafka_topic" "only" {
  name               = "only"
  replica_assignment = [[3], [1]]
}
resource "kafka_acl" "reader" {
  resource_type       = "Topic"
  resource_name       = "spread"
  acl_principal       = "User:reader"
  acl_host            = "*"
  acl_operation       = "Read"
  acl_permission_type = "Allow"
}
resource "kafka_quota" "app" {
  entity_type = "user"
  entity_name = "app"
  config      = { "producer_byte_rate" = 500000 }
}
"""
DYNAMIC = """
resource "kafka_broker_config" "three" {
  broker_id = 3
  config = { "log.cleaner.threads" = "2" }
}
"""


@pytest.fixture(scope="module")
def cluster() -> Iterator[Sandbox]:
    """Start three brokers that tests may kill, with one controller, which misses them soon."""
    settings = {"broker.session.timeout.ms": "5000", "broker.heartbeat.interval.ms": "1000"}
    spec = SandboxSpec(brokers=3, controllers=1, heap_mb=512, server_properties=settings)
    with temporary_sandbox(spec) as sandbox:
        yield sandbox


@pytest.fixture
def place(tmp_path: Path, cluster: Sandbox) -> Place:
    found = Place(
        tmp_path,
        {"KPLAN_BOOTSTRAP_SERVERS": cluster.bootstrap_servers, "KPLAN_TLS_ENABLED": "false"},
        text=None,
    )
    found.write(CONFIGURATION)
    return found


def _leaderless(place: Place) -> int:
    with closing(place.cluster()) as cluster:
        found = cluster.topics(["only"])["only"]
    return found.leaderless if isinstance(found, TopicDescription) else -1


def _check_descriptions(place: Place) -> None:
    """Expect the replica of the dead broker offline, and each topic by itself."""
    shown = json.loads(place.run("topics", "describe", "only", "nosuch", "-json", code=4))
    assert any("nosuch" in each for each in shown["notes"])
    (topic,) = shown["tables"]["topics"]["rows"]
    assert topic["leaderless"] == 1
    dead = [each for each in shown["tables"]["partitions"]["rows"] if each["replicas"] == [DEAD]]
    assert {(each["leader"], *each["offline"]) for each in dead} == {(None, DEAD)}


def _check_moves_to_the_dead(place: Place) -> None:
    """Replicas go to live brokers only, and a live one is not dropped for a dead one unseen."""
    place.edit("replica_assignment = [[3], [1]]", "replica_assignment = [[3], [3]]")
    refused = place.fails("plan")
    assert "KP212" in refused
    assert "Partition 1 of only is to have a replica on broker 3" in refused
    rows = [{"topic": "only", "partition": 1, "replicas": [1, 3]}]
    (place.folder / "moves.json").write_text(json.dumps({"version": 1, "partitions": rows}))
    refused = place.fails("reassign", "import", "moves.json", "-auto-approve")
    assert "brokers that are not alive: 3." in refused
    place.edit("replica_assignment = [[3], [3]]", "replica_assignment = [[3], [1]]")
    rows = [{"topic": "spread", "partition": 0, "replicas": [3]}]
    (place.folder / "moves.json").write_text(json.dumps({"version": 1, "partitions": rows}))
    shown = place.run("reassign", "import", "moves.json", "-dry-run")
    assert "drops its replica on broker 1, which is alive, and keeps the one on" in " ".join(
        shown.split()
    )


def _check_a_config_is_served_by_the_living(place: Place) -> None:
    """Expect no wait for the dead broker, nor for the leader of its partition."""
    place.edit(
        "replica_assignment = [[3], [1]]",
        'replica_assignment = [[3], [1]]\n  config = { "retention.ms" = "3600000" }',
    )
    ran = place.ran("apply", "-auto-approve")
    assert "1 changed" in ran.out
    assert "Broker 3 is down: kplan does not wait for it." in ran.err
    assert "No changes." in place.run("plan", "-detailed-exitcode")


def _check_health(place: Place) -> None:
    """Expect the dead broker to be named, and the owned topics that miss it."""
    tables = json.loads(place.run("cluster", "describe", "-json"))["tables"]
    states = {each["broker"]: each["state"] for each in tables["brokers"]["rows"]}
    assert states == {1: "alive", 2: "alive", 3: "fenced"}
    (whole,) = tables["cluster"]["rows"]
    assert whole["active_controller"] not in {None, -1}
    told = json.loads(place.run("drift", "-health", "-json", code=2))
    assert told["drifted"] is False
    found = {each["topic"]: each for each in told["health"]}
    assert found["only"]["leaderless"] == 1
    assert found["spread"]["under_replicated"] == 6
    assert found["spread"]["offline_brokers"] == [DEAD]


def test_a_dead_broker_makes_no_drift_and_is_taken_out_once_it_is_empty(
    place: Place, cluster: Sandbox
) -> None:
    """S04: what it alone can tell is not read, which is said; K117-08: the others are told.

    K919-22: while it has replicas it stays; then the cluster does not know it any more.
    """
    place.write(CONFIGURATION + DYNAMIC)
    assert "Resources: 5 added" in place.run("apply", "-auto-approve")
    kill(cluster.folder, DEAD)
    until(lambda: _leaderless(place) == 1)

    ran = place.ran("plan", "-json", code=1)
    told = [json.loads(line) for line in ran.out.splitlines()]
    assert not {"planned_change", "resource_drift"} & {each.get("type") for each in told}
    assert "broker 3" in ran.out.lower()

    place.write(CONFIGURATION)
    place.run("state", "rm", "kafka_broker_config.three")
    assert "No changes." in place.run("plan", "-detailed-exitcode")
    listed = json.loads(place.run("topics", "list", "-json"))
    assert [each["topic"] for each in listed["tables"]["topics"]["rows"]] == ["only", "spread"]
    _check_descriptions(place)
    _check_moves_to_the_dead(place)
    _check_a_config_is_served_by_the_living(place)
    _check_health(place)

    kept = place.fails("broker", "unregister", f"{DEAD}", "-auto-approve")
    assert "it has replicas of only, spread" in kept
    place.run("destroy", "-auto-approve")
    assert registered(place) == {1: False, 2: False, DEAD: True}
    done = place.run("broker", "unregister", f"{DEAD}", "-auto-approve", "-json")
    assert json.loads(done) == {"broker": DEAD, "unregistered": True}
    until(lambda: registered(place) == {1: False, 2: False})
    again = place.fails("broker", "unregister", f"{DEAD}", "-auto-approve")
    assert "BROKER_ID_NOT_REGISTERED" in again


def registered(place: Place) -> dict[int, bool]:
    """Tell of each broker that the cluster knows whether it is fenced."""
    settings = resolve_settings(None, place.env, folder=place.folder).settings
    assert settings is not None
    request = DESCRIBE_CLUSTER.request(include_fenced_brokers=True)
    with closing(Gateway(settings)) as gateway:
        answer = gateway.ask(DESCRIBE_CLUSTER, request)
    return {each.broker_id: each.is_fenced for each in answer.brokers}


NOBODY = -1
"""The leader of a partition that has none."""


def test_an_unclean_election_brings_a_leader_back_and_tells_what_is_lost(
    place: Place, cluster: Sandbox
) -> None:
    """S11: ten records that only the dead leader has."""
    with closing(place.cluster()) as admin:
        made = admin.create_topics([NewTopic("lossy", assignment=((1, 2),))])
        assert made == {"lossy": None}

        def stands() -> tuple[int, tuple[int, ...]] | None:
            found = admin.topics(["lossy"])["lossy"]
            if not isinstance(found, TopicDescription):
                return None  # the broker that was asked has not heard of it yet
            return found.leaders[0], tuple(sorted(found.in_sync[0]))

        until(lambda: stands() == (1, (1, 2)))
        _write(cluster, 5)
        kill(cluster.folder, 2)
        until(lambda: stands() == (1, (1,)))
        _write(cluster, 10)
        try:
            kill(cluster.folder, 1)
            restart(cluster.folder, 2)
            place.env["KPLAN_BOOTSTRAP_SERVERS"] = cluster.bootstrap_servers
            until(lambda: (stands() or (1,))[0] == NOBODY)
            _elect(place)
        finally:
            restart(cluster.folder, 1)
        until(lambda: stands() == (2, (1, 2)))
        assert admin.delete_topics([TopicRef("lossy")]) == {"lossy": None}


def _elect(place: Place) -> None:
    """Let the follower lead that came back with five of fifteen records."""
    rows = [{"topic": "lossy", "partition": 0}]
    (place.folder / "lost.json").write_text(json.dumps({"partitions": rows}), encoding="utf-8")
    args = ("elect", "unclean", "lost.json", "-allow-unclean", "-auto-approve", "-json")
    found = json.loads(place.run(*args))
    (row,) = found["tables"]["partitions"]["rows"]
    assert (row["leader"], row["outcome"], row["end_offset"]) == (2, "elected", 5)
    told = " ".join(found["notes"])
    assert "lossy:0 continues at offset 5: what a former leader had from there on is lost." in told


def _write(cluster: Sandbox, count: int) -> None:
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers})
    for number in range(count):
        producer.produce("lossy", f"{number}", partition=0)
    assert producer.flush(20) == 0


LESS = """
provider "kafka" {}
resource "kafka_topic" "less" {
  name               = "less"
  partitions         = 3
  replication_factor = COUNT
}
"""


def test_replicas_leave_a_broker_that_does_not_return(place: Place, cluster: Sandbox) -> None:
    """S09: the throttle is for those who copy; Kafka ends no move to absent replicas."""
    restart(cluster.folder, DEAD)
    place.env["KPLAN_BOOTSTRAP_SERVERS"] = cluster.bootstrap_servers
    until(lambda: registered(place) == {1: False, 2: False, DEAD: False})
    place.write(LESS.replace("COUNT", "3"))
    place.run("apply", "-auto-approve")
    with closing(place.cluster()) as admin:
        until(lambda: admin.create_topics([NewTopic("held", assignment=((1, DEAD),))]) != {})

        def stands(name: str) -> set[tuple[int, ...]]:
            found = admin.topics([name])[name]
            return {*found.assignment} if isinstance(found, TopicDescription) else set()

        kill(cluster.folder, DEAD)
        until(lambda: registered(place)[DEAD])
        place.run("reassign", "drain", f"{DEAD}", "-match=held", "-auto-approve")
        until(lambda: stands("held") == {(1, 2)})
        place.write(LESS.replace("COUNT", "2"))
        ran = place.ran("apply", "-auto-approve")
        assert f"Broker {DEAD} is down: kplan does not wait for it." in ran.err
        assert "throttle" not in ran.err  # it got none: it was down before the move
        until(lambda: stands("less") <= {(1, 2), (2, 1)})
        assert "No changes." in place.run("plan", "-detailed-exitcode")


def _fill(cluster: Sandbox) -> None:
    """Write some megabytes to the topic `slow`, so that a throttled copy takes a while."""
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers})
    for number in range(800):
        producer.produce("slow", os.urandom(10_000), partition=number % 2)
        producer.poll(0)
    assert producer.flush(60) == 0


def test_a_broker_that_is_killed_in_a_throttled_drain_is_named_with_the_rates_that_it_keeps(
    place: Place, cluster: Sandbox
) -> None:
    """Only a running broker shows its rates, and takes them away."""
    restart(cluster.folder, DEAD)
    place.env["KPLAN_BOOTSTRAP_SERVERS"] = cluster.bootstrap_servers
    until(lambda: registered(place) == {1: False, 2: False, DEAD: False})
    place.write('provider "kafka" {}\n')
    kept = f"Broker {DEAD} is down and keeps the throttle rates of the moves."
    drain = ("reassign", "drain", "2", "-match=slow")

    def status() -> str:
        return " ".join(place.run("reassign", "status").split())

    with closing(place.cluster()) as admin:
        until(lambda: admin.create_topics([NewTopic("slow", assignment=((1, 2),) * 2)]) != {})
        _fill(cluster)
        process = start(place.folder, *drain, "-auto-approve", "-throttle=100k", env=place.env)
        until(lambda: len(admin.reassignments()) == 2)
        kill(cluster.folder, DEAD)
        until(lambda: registered(place)[DEAD])
        until(lambda: kept in status())
        cancelled = " ".join(place.run("reassign", "cancel", "-all", "-auto-approve").split())
        assert kept in cancelled
        out, err = process.communicate(timeout=60)
        assert process.returncode == 1
        assert kept in " ".join(err.split())
        assert out.endswith("Partitions moved: 0 of 2.\n")
        assert f"Broker {DEAD} is down, and whether it has throttle rates is unknown" in status()
        restart(cluster.folder, DEAD)
        until(lambda: registered(place) == {1: False, 2: False, DEAD: False})
        until(lambda: f"Broker {DEAD} has throttle rates that no move needs." in status())
        warned = " ".join(place.ran(*drain, "-dry-run").err.replace("│", " ").split())
        assert "KP217" not in warned, "they are kplan's own, and go with the next move"
        assert f"Removed the throttle rates of brokers: {DEAD}." in place.run(
            "reassign", "cancel", "-all", "-auto-approve"
        )
        until(lambda: "throttle rates" not in status())
