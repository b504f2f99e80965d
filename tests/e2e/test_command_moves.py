"""Replicas moved by the installed command, on three brokers in three racks (S09, S10, S11)."""

import json
import os
import signal
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from confluent_kafka import Producer

from kplan.cluster.port import Cluster
from kplan.cluster.request import ConfigAlteration, ConfigSource, TopicDescription
from kplan.cluster.settings import ConfigResource, ConfigResourceAlteration, ConfigScope
from kplan.kinds.throttle import THROTTLE_RATES
from kplan.kinds.topic_rules import THROTTLED_REPLICAS
from kplan.model.errors import Refusal
from kplan.sandbox.sandbox import Sandbox
from tests.e2e.commands import start
from tests.e2e.places import Place, config_of, until

pytestmark = pytest.mark.broker

CONFIGURATION = """
provider "kafka" {{}}
resource "kafka_topic" "t" {{
  name               = "{prefix}.t"
  partitions         = 3
  replication_factor = 1
}}
"""
RECORDS, SIZE = 600, 10_000


@pytest.fixture
def moving(tmp_path: Path, cluster3: Sandbox) -> Iterator[Place]:
    """Work on three brokers with a topic of one replica."""
    env = {"KPLAN_BOOTSTRAP_SERVERS": cluster3.bootstrap_servers, "KPLAN_TLS_ENABLED": "false"}
    place = Place(tmp_path, env, CONFIGURATION)
    place.run("apply", "-auto-approve")
    yield place
    place.tidy_up()


def name(place: Place) -> str:
    return f"{place.prefix}.t"


def described(cluster: Cluster, place: Place) -> TopicDescription:
    found = cluster.topics([name(place)])[name(place)]
    assert isinstance(found, TopicDescription)
    return found


def filled(place: Place) -> None:
    """Write some megabytes, so that a throttled copy takes a while."""
    producer = Producer({"bootstrap.servers": place.env["KPLAN_BOOTSTRAP_SERVERS"]})
    for number in range(RECORDS):
        producer.produce(name(place), os.urandom(SIZE), partition=number % 3)
        producer.poll(0)
    assert producer.flush(30) == 0


def throttles(cluster: Cluster, place: Place) -> set[str]:
    """Name the throttles that are set, on the topic and on brokers."""
    found = {key for key in THROTTLED_REPLICAS if config_of(cluster, name(place), key)}
    brokers = [
        ConfigResource(ConfigScope.BROKER, str(each.id)) for each in cluster.describe().brokers
    ]
    for details in cluster.configs(brokers).values():
        assert not isinstance(details, Refusal)
        found |= {
            key
            for key in THROTTLE_RATES
            if key in details and details[key].entry.source is ConfigSource.DYNAMIC_BROKER
        }
    return found


def test_a_factor_goes_up_and_down_and_a_written_assignment_is_moved_to(moving: Place) -> None:
    """RF 1 to 3 to 2, then a move; each is planned, applied, and then there is nothing to do."""
    filled(moving)
    with closing(moving.cluster()) as cluster:
        moving.edit("replication_factor = 1", "replication_factor = 3")
        planned = moving.run("plan", "-detailed-exitcode", code=2)
        assert "replication_factor = 1 -> 3" in planned
        assert "KP2214 copies 4," in planned or "KP2214 copies 2," in planned
        assert "1 changed" in moving.run("apply", "-auto-approve")
        assert {len(each) for each in described(cluster, moving).assignment} == {3}
        assert throttles(cluster, moving) == set()
        moving.edit("replication_factor = 3", "replication_factor = 2")
        assert "KP2212 fewer replicas" in moving.run("plan", "-detailed-exitcode", code=2)
        moving.run("apply", "-auto-approve")
        assert {len(each) for each in described(cluster, moving).assignment} == {2}
        moving.edit("  partitions         = 3\n", "")
        moving.edit("replication_factor = 2", "replica_assignment = [[3, 1], [1, 2], [2, 3]]")
        moving.run("apply", "-auto-approve")
        found = described(cluster, moving)
        assert found.assignment == ((3, 1), (1, 2), (2, 3))
        until(lambda: described(cluster, moving).leaders == (3, 1, 2))
        moving.run("plan", "-detailed-exitcode")


def kill_a_move(moving: Place, cluster: Cluster) -> None:
    """Begin to apply, and kill it with SIGKILL while replicas are copied."""
    args = ("apply", "-auto-approve", "-throttle=200k")
    with Path(os.devnull).open("w") as nowhere:
        process = start(moving.folder, *args, env=moving.env, stdout=nowhere)
    until(lambda: bool(cluster.reassignments()))
    process.send_signal(signal.SIGKILL)
    process.communicate()


def test_a_move_that_is_killed_is_taken_up_and_no_throttle_is_left(moving: Place) -> None:
    """K4o-14: SIGKILL in the middle of a copy; the next run goes on and cleans up."""
    filled(moving)
    moving.edit("replication_factor = 1", "replication_factor = 3")
    with closing(moving.cluster()) as cluster:
        kill_a_move(moving, cluster)
        assert cluster.reassignments()
        assert throttles(cluster, moving) == {*THROTTLED_REPLICAS, *THROTTLE_RATES}
        status = json.loads(moving.run("reassign", "status", "-json"))
        assert len(status["tables"]["partitions"]["rows"]) == 3
        moving.run("apply", "-resume", "-throttle=100M")
        assert not cluster.reassignments()
        assert {len(each) for each in described(cluster, moving).assignment} == {3}
        assert throttles(cluster, moving) == set()
        moving.run("plan", "-detailed-exitcode")


def test_a_move_turns_back_before_it_has_ended(moving: Place) -> None:
    filled(moving)
    with closing(moving.cluster()) as cluster:
        before = described(cluster, moving).assignment
        moving.edit("  partitions         = 3\n", "")
        goal = [[each[0] % 3 + 1] for each in before]
        moving.edit("replication_factor = 1", f"replica_assignment = {goal}")
        with Path(os.devnull).open("w") as nowhere:
            args = ("apply", "-auto-approve", "-throttle=200k")
            process = start(moving.folder, *args, env=moving.env, stdout=nowhere)
        until(lambda: len(cluster.reassignments()) == len(goal))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        moving.edit(f"{goal}", f"{[list(each) for each in before]}")
        moving.run("apply", "-auto-approve")
        assert described(cluster, moving).assignment == before
        assert throttles(cluster, moving) == set()
        moving.run("plan", "-detailed-exitcode")


def test_an_imported_move_is_killed_told_and_taken_back(moving: Place) -> None:
    """K4o-08, K4o-10, K4o-11: the JSON of Kafka's own tool, and its way back."""
    filled(moving)
    with closing(moving.cluster()) as cluster:
        before = moving.run("reassign", "export", f"-match={name(moving)}")
        document = json.loads(before)
        for each in document["partitions"]:
            each["replicas"] = [broker for broker in (1, 2, 3) if broker not in each["replicas"]]
        (moving.folder / "moves.json").write_text(json.dumps(document), encoding="utf-8")
        args = ("reassign", "import", "moves.json", "-auto-approve", "-throttle=200k")
        with Path(os.devnull).open("w") as nowhere:
            process = start(moving.folder, *args, env=moving.env, stdout=nowhere)
        until(lambda: bool(cluster.reassignments()))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        status = json.loads(moving.run("reassign", "status", "moves.json", "-json", code=2))
        rows = status["tables"]["partitions"]["rows"]
        assert {row["status"] for row in rows} == {"in_progress"}
        assert sum(row["bytes_left"] for row in rows) > 0
        moving.run("reassign", "cancel", "-all", "-auto-approve")
        assert not cluster.reassignments()
        assert throttles(cluster, moving) == set()
        until(lambda: moving.run("reassign", "export", f"-match={name(moving)}") == before)
        moving.run("reassign", "status", "moves.json", code=4)


def test_a_broker_is_drained_over_a_kill_and_gets_its_share_again(moving: Place) -> None:
    """Replicas leave in rounds with a throttle; the same command waits for what goes on."""
    filled(moving)
    drain = ("reassign", "drain", "2", f"-match={name(moving)}", "-auto-approve")
    with closing(moving.cluster()) as cluster:
        held = [row[0] for row in described(cluster, moving).assignment].count(2)
        assert held
        with Path(os.devnull).open("w") as nowhere:
            process = start(moving.folder, *drain, "-throttle=200k", env=moving.env, stdout=nowhere)
        until(lambda: bool(cluster.reassignments()))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        shown = moving.run(*drain, "-throttle=100M")
        assert "Drain of broker 2" in shown
        assert "live, to drain" in shown
        assert not cluster.reassignments()
        assert throttles(cluster, moving) == set()
        assert not any(2 in row for row in described(cluster, moving).assignment)
        assert "No changes. Broker 2: no replicas" in moving.run(*drain)
        even = ("reassign", "balance", f"-match={name(moving)}", "-by=replicas", "-tolerance=40")
        assert "Balance of brokers" in moving.run(*even, "-dry-run")
        moving.run("plan", "-detailed-exitcode")


@pytest.mark.parametrize("command", ["import", "apply"])
def test_a_move_that_is_cancelled_beside_its_run_stays_cancelled(
    moving: Place, command: str
) -> None:
    """The run ends its items as cancelled by another client, and sends nothing again."""
    filled(moving)
    with closing(moving.cluster()) as cluster:
        before = described(cluster, moving).assignment
        if command == "import":
            document = json.loads(moving.run("reassign", "export", f"-match={name(moving)}"))
            for each in document["partitions"]:
                each["replicas"] = [one for one in (1, 2, 3) if one not in each["replicas"]]
            (moving.folder / "moves.json").write_text(json.dumps(document), encoding="utf-8")
            words = ["reassign", "import", "moves.json"]
        else:
            moving.edit("replication_factor = 1", "replication_factor = 3")
            words = ["apply"]
        limits = ("-auto-approve", "-throttle=200k")
        process = start(moving.folder, *words, *limits, env=moving.env)
        until(lambda: len(cluster.reassignments()) == 3)
        ran = moving.ran("reassign", "cancel", "-all", "-auto-approve")
        assert "the state is locked by" in " ".join(ran.err.split())
        assert ran.out.count("  cancelled\n") == 3
        out, _ = process.communicate(timeout=60)
        assert process.returncode == 1
        assert "another client cancelled the reassignment" in " ".join(out.split())
        assert not cluster.reassignments()
        assert throttles(cluster, moving) == set()
        until(lambda: described(cluster, moving).assignment == before)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_move_that_a_signal_leaves_is_told_as_in_progress_with_what_to_do(
    moving: Place, number: signal.Signals
) -> None:
    """K4o-14: nothing that was sent is told as not attempted."""
    filled(moving)
    moving.edit("replication_factor = 1", "replication_factor = 3")
    with closing(moving.cluster()) as cluster:
        process = start(moving.folder, "apply", "-auto-approve", "-throttle=200k", env=moving.env)
        until(lambda: len(cluster.reassignments()) == 3)
        process.send_signal(number)
        out, _ = process.communicate(timeout=60)
        told = " ".join(out.split())
        assert process.returncode == 128 + number
        assert "in progress" in told
        assert "partitions 0, 1, 2; " in told
        assert "bytes left to copy; throttle 200,000 bytes/s per broker" in told
        assert "kplan reassign status" in told
        assert "kplan reassign cancel -all" in told
        assert "kplan apply -resume" in told
        assert "0 not attempted, 1 in progress" in told
        assert len(cluster.reassignments()) == 3
        moving.run("apply", "-resume", "-throttle=100M")
        assert throttles(cluster, moving) == set()
        assert {len(each) for each in described(cluster, moving).assignment} == {3}


def test_rates_and_lists_of_others_survive_a_move_that_is_killed(moving: Place) -> None:
    """Decision 0169: nothing on the cluster tells who set them but how they are written."""
    filled(moving)
    moving.edit("replication_factor = 1", "replication_factor = 3")
    rate, replicas = THROTTLE_RATES[0], THROTTLED_REPLICAS[1]
    broker = ConfigResource(ConfigScope.BROKER, "3")
    with closing(moving.cluster()) as cluster:
        cluster.alter_configs([ConfigResourceAlteration(broker, {rate: "250000"})])
        cluster.alter_topic_configs([ConfigAlteration(name(moving), {replicas: "0:9"})])
        kill_a_move(moving, cluster)
        assert throttles(cluster, moving) == {*THROTTLED_REPLICAS, *THROTTLE_RATES}
        moving.run("apply", "-resume", "-throttle=100M")
        assert throttles(cluster, moving) == {rate, replicas}
        assert config_of(cluster, name(moving), replicas) == "0:9"
        details = cluster.configs([broker])[broker]
        assert not isinstance(details, Refusal)
        assert details[rate].entry.value == "250000"
        cluster.alter_configs([ConfigResourceAlteration(broker, {}, (rate,))])
