"""A state in a topic of a real broker: other writers, kills, restarts, rights, sizes."""

import os
import random
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from kplan.cluster.port import Cluster
from kplan.cluster.request import AclBinding, NewTopic
from kplan.cluster.topology import StateTopic
from kplan.kafka.settings.connection import ConnectionSettings, Timeouts, seconds
from kplan.kafka.state_topic import KafkaRecords
from kplan.model.errors import KplanError, StateError, StateLockedError
from kplan.sandbox import fault
from kplan.sandbox.layout import SandboxSpec
from kplan.sandbox.lifecycle import temporary_sandbox
from kplan.sandbox.sandbox import Sandbox
from kplan.state.codec import encode_state
from kplan.state.file_store import FileStore
from kplan.state.lock_holder import current_holder
from kplan.state.record_document import PART_BYTES
from kplan.state.record_store import RecordStore
from tests.contract.clusters import cleaned, connected, made, own_config, settings_of, soon
from tests.contract.state_values import bulky, small

pytestmark = pytest.mark.broker

KILLS = 10


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave in another folder what cannot be written to the topic."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def topic() -> str:
    return f"__kplan_ct_{uuid.uuid4().hex[:8]}"


@pytest.fixture
def settings(broker: Sandbox) -> ConnectionSettings:
    return settings_of(broker, "anonymous")


@pytest.fixture
def cluster(settings: ConnectionSettings, topic: str) -> Iterator[Cluster]:
    with cleaned(connected("wire", settings), topic) as found:
        yield found


@pytest.fixture
def shelf(topic: str, cluster: Cluster) -> StateTopic:
    """Name a topic that is removed at the end."""
    del cluster
    return StateTopic(topic, "shop")


def store_of(settings: ConnectionSettings, shelf: StateTopic) -> RecordStore:
    return RecordStore(KafkaRecords(settings, shelf))


def nobody(_: object) -> None:
    """Hear who is waited for."""


# ---- what is kept, and how


def test_the_topic_is_made_so_that_it_keeps_what_is_put_there(
    settings: ConnectionSettings, shelf: StateTopic, cluster: Cluster
) -> None:
    store_of(settings, shelf).write(small(1))
    soon(lambda: shelf.topic in cluster.topics())
    found = own_config(cluster, shelf.topic)
    assert found["cleanup.policy"] == "compact"
    assert found["min.insync.replicas"] == "1"


def test_on_three_brokers_it_has_three_replicas(cluster3: Sandbox, topic: str) -> None:
    settings = settings_of(cluster3, "anonymous")
    with cleaned(connected("wire", settings), topic) as cluster:
        store = store_of(settings, StateTopic(topic))
        with store.hold_lock(current_holder("apply"), 0, nobody):
            store.write(small(1))
            store.write(small(2))
        assert store_of(settings, StateTopic(topic)).read() == small(2)
        found = cluster.topics([topic])[topic]
        assert [len(each) for each in found.assignment] == [3]  # type: ignore[union-attr]
        assert own_config(cluster, topic)["min.insync.replicas"] == "2"


def test_a_state_of_five_megabytes_is_read_as_it_was_written(
    settings: ConnectionSettings, shelf: StateTopic
) -> None:
    held = bulky(1, count=1500, noise_bytes=900)
    document = encode_state(held, "1.0")
    assert len(document) > 5_000_000
    store = store_of(settings, shelf)
    begun = time.monotonic()
    store.write_document(document)
    written_s = time.monotonic() - begun
    again = store_of(settings, shelf)
    begun = time.monotonic()
    assert again.read_document() == document
    assert max(written_s, time.monotonic() - begun) < 30
    records = KafkaRecords(settings, shelf).read() or {}
    assert sum(name.startswith("states/0000000001/") for name in records) > 2
    assert max(len(each) for each in records.values()) <= PART_BYTES


def test_workspaces_are_listed_and_deleted_beside_each_other(
    settings: ConnectionSettings, shelf: StateTopic
) -> None:
    keys = (shelf.key, f"{shelf.key}@prod", f"{shelf.key}@qa", f"{shelf.key}2@x")
    stores = [store_of(settings, StateTopic(shelf.topic, key)) for key in keys]
    for each in stores:
        each.write(small(1))
    assert stores[0].list_workspaces() == stores[1].list_workspaces() == ("prod", "qa")
    assert stores[1].for_workspace("default").location == stores[0].location
    assert stores[1].for_workspace("default").read() == small(1)
    assert stores[1].for_workspace("other").read() is None
    with stores[1].hold_lock(current_holder("workspace delete"), 0, nobody):
        stores[1].delete_workspace()
    assert stores[0].list_workspaces() == ("qa",)
    assert store_of(settings, StateTopic(shelf.topic, keys[1])).read() is None
    assert store_of(settings, shelf).read() == small(1)


def test_several_states_share_a_topic_and_do_not_see_each_other(
    settings: ConnectionSettings, shelf: StateTopic
) -> None:
    other = StateTopic(shelf.topic, "shop2")
    first, second = store_of(settings, shelf), store_of(settings, other)
    with (
        first.hold_lock(current_holder("apply"), 0, nobody),
        second.hold_lock(current_holder("apply"), 0, nobody),
    ):
        first.write(small(1, "first"))
        second.write(small(7, "second"))
        first.write(small(2, "first"))
    assert first.read() == small(2, "first")
    assert second.read() == small(7, "second")


def test_a_state_goes_to_the_topic_and_back_byte_by_byte(
    settings: ConnectionSettings, shelf: StateTopic, tmp_path: Path
) -> None:
    file = FileStore(tmp_path / "kplan.json")
    document = encode_state(bulky(3), "0.9")
    file.write_document(document)
    there = store_of(settings, shelf)
    there.write_document(file.read_document() or b"")
    file.write_move_note(there.location)
    assert there.read_document() == document
    file.write_document(there.read_document() or b"")
    there.write_move_note(file.location)
    assert file.path.read_bytes() == document
    with pytest.raises(StateError, match="moved to"):
        store_of(settings, shelf).read()


# ---- other writers


def test_of_two_writers_the_older_one_is_shut_out(
    settings: ConnectionSettings, shelf: StateTopic
) -> None:
    """Fencing makes a stolen lock harmless: the run that lost it cannot write."""
    first, thief = store_of(settings, shelf), store_of(settings, shelf)
    first.write(small(1))
    holder = current_holder("apply")
    with first.hold_lock(holder, 0, nobody):
        first.write(small(2))
        with pytest.raises(StateLockedError, match=holder.id):
            thief.hold_lock(current_holder("plan"), 0, nobody).__enter__()
        first.write(small(3))
        thief.force_unlock(holder.id)
        with thief.hold_lock(current_holder("apply"), 0, nobody):
            with pytest.raises(StateLockedError, match="This run lost its lock"):
                first.write(small(4))
            assert thief.read() == small(3)
            thief.write(small(4, "thief"))
    assert first.read() == small(4, "thief")
    assert not first.lock_status().is_held


def test_a_transaction_that_somebody_else_left_open_delays_a_reader_and_hides_nothing(
    settings: ConnectionSettings, shelf: StateTopic, broker: Sandbox
) -> None:
    """Two states share a topic: what one of them commits counts although the other hangs."""
    store = store_of(settings, shelf)
    store.write(small(1))
    with half_written(broker, StateTopic(shelf.topic, "other")):
        store.write(small(2))
        glanced = KafkaRecords(settings, shelf).peek() or {}
        assert "states/0000000002" not in glanced
        begun = time.monotonic()
        assert store_of(settings, shelf).read() == small(2)
        assert time.monotonic() - begun < 60


# ---- kills and restarts


def test_a_run_killed_in_the_middle_of_a_write_leaves_the_state_before_it(
    settings: ConnectionSettings, shelf: StateTopic, broker: Sandbox
) -> None:
    store = store_of(settings, shelf)
    store.write(small(1))
    with half_written(broker, shelf):
        pass
    with store.hold_lock(current_holder("apply"), 0, nobody):
        begun = time.monotonic()
        assert store.read() == small(1)
        assert time.monotonic() - begun < 10  # the claim ended what the killed run left open
        store.write(small(2))
    assert store_of(settings, shelf).read() == small(2)


def test_ten_kills_at_random_moments_leave_whole_states_only(
    settings: ConnectionSettings, shelf: StateTopic, broker: Sandbox
) -> None:
    """Nothing that was acknowledged is lost, and nothing is half there."""
    acknowledged, store = 0, store_of(settings, shelf)
    for _ in range(KILLS):
        writer = started(broker, shelf)
        try:
            assert writer.stdout is not None
            said = [writer.stdout.readline()]
            time.sleep(random.uniform(0, 0.6))
        finally:
            writer.kill()
            said += (writer.communicate()[0] or "").splitlines()
        acknowledged = max(acknowledged, *(int(each) for each in said if each.strip()))
        with store.hold_lock(current_holder("apply"), 0, nobody):
            found = store.read()
            assert found is not None
            assert found.serial in {acknowledged, acknowledged + 1}
            assert found == bulky(found.serial)
            acknowledged = found.serial
    assert [each.read_error for each in store.list_versions()] == [""] * len(store.list_versions())


def test_a_broker_that_is_killed_and_comes_back_keeps_the_state_and_the_lock(topic: str) -> None:
    with temporary_sandbox(SandboxSpec(heap_mb=512)) as sandbox:
        settings = settings_of(sandbox, "anonymous")
        store = store_of(settings, StateTopic(topic))
        store.write(small(1))
        with store.hold_lock(current_holder("apply"), 0, nobody):
            store.write(small(2))
            fault.kill(sandbox.folder, 1)
            fault.restart(sandbox.folder, 1)
            store.write(small(3))
            assert store_of(settings, StateTopic(topic)).lock_status().is_held
        assert store_of(settings, StateTopic(topic)).read() == small(3)
        assert not store.lock_status().is_held


@contextmanager
def half_written(sandbox: Sandbox, shelf: StateTopic) -> Iterator[None]:
    """Have a process that stops inside of a transaction, and is killed at the end."""
    writer = started(sandbox, shelf, "half")
    try:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "half\n"
        os.kill(writer.pid, signal.SIGKILL)
        yield
    finally:
        writer.kill()
        writer.communicate()


def started(sandbox: Sandbox, shelf: StateTopic, *how: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "tests.contract.state_writer", str(sandbox.folder)]
    return subprocess.Popen(
        [*command, shelf.topic, shelf.key, *how],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
        text=True,
    )


# ---- rights, and topics that do not fit

ALL_RIGHTS = {
    "CREATE": ("TOPIC", "CREATE"),
    "READ": ("TOPIC", "READ"),
    "WRITE": ("TOPIC", "WRITE"),
    "DESCRIBE_CONFIGS": ("TOPIC", "DESCRIBE_CONFIGS"),
    "the transactional id": ("TRANSACTIONAL_ID", "WRITE"),
}


@contextmanager
def granted(
    cluster: Cluster, shelf: StateTopic, rights: Sequence[tuple[str, str]]
) -> Iterator[None]:
    names = {"TOPIC": shelf.topic, "TRANSACTIONAL_ID": f"kplan-state-{shelf.key}"}
    bindings = [
        AclBinding(kind, names[kind], "LITERAL", "User:alice", "*", operation, "ALLOW")
        for kind, operation in rights
    ]
    assert set(cluster.create_acls(bindings).values()) <= {None}
    soon(lambda: cluster.acls().issuperset(bindings))
    yield
    cluster.delete_acls(bindings)


@pytest.fixture
def guarded(sasl_broker: Sandbox, topic: str) -> Iterator[Cluster]:
    with cleaned(connected("wire", settings_of(sasl_broker, "admin")), topic) as cluster:
        yield cluster


@pytest.fixture
def alice(sasl_broker: Sandbox) -> ConnectionSettings:
    return settings_of(sasl_broker, "alice")


def test_with_these_rights_a_state_is_kept(
    guarded: Cluster, alice: ConnectionSettings, topic: str
) -> None:
    shelf = StateTopic(topic, topic)
    with granted(guarded, shelf, list(ALL_RIGHTS.values())):
        store = store_of(alice, shelf)
        eventually(lambda: store.write(small(1)))
        with store.hold_lock(current_holder("apply"), 0, nobody):
            store.write(small(2))
        assert store.read() == small(2)


@pytest.mark.parametrize(
    ("lacking", "told"),
    [
        ("READ", "User:alice may not read the topic"),
        ("WRITE", "WRITE and DESCRIBE on the topic"),
        ("DESCRIBE_CONFIGS", "which stores the state, cannot be checked"),
        ("the transactional id", "WRITE on the transactional id kplan-state-"),
    ],
)
def test_a_right_that_is_missing_is_named(
    guarded: Cluster, alice: ConnectionSettings, topic: str, lacking: str, told: str
) -> None:
    shelf = StateTopic(topic, topic)
    settings = settings_with(alice, request_s=10)
    made(guarded, NewTopic(topic, 1, 1, config={"cleanup.policy": "compact"}))
    rights = [each for name, each in ALL_RIGHTS.items() if name not in {lacking, "CREATE"}]
    with granted(guarded, shelf, rights):
        begun = time.monotonic()
        with pytest.raises(StateError, match=told) as refused:
            store_of(settings, shelf).write(small(1))
        assert time.monotonic() - begun < 10
        assert refused.value.hint


def test_without_the_right_to_create_the_topic_the_way_out_is_told(
    guarded: Cluster, alice: ConnectionSettings, topic: str
) -> None:
    """Kafka does not tell a topic that is hidden from one that is not there."""
    del guarded
    with pytest.raises(StateError, match="User:alice may not read"):
        store_of(alice, StateTopic(topic)).write(small(1))


def test_a_plan_without_lock_needs_no_right_to_write(
    guarded: Cluster, alice: ConnectionSettings, sasl_broker: Sandbox, topic: str
) -> None:
    shelf = StateTopic(topic, topic)
    store_of(settings_of(sasl_broker, "admin"), shelf).write(small(1))
    with granted(guarded, shelf, [ALL_RIGHTS["READ"]]):
        store = store_of(alice, shelf)
        eventually(store.read)
        with store.hold_lock(None, 0, nobody):
            assert store.read() == small(1)


@pytest.mark.parametrize(
    ("config", "partitions", "told"),
    [
        ({}, 1, "would forget the state: its cleanup.policy is delete"),
        ({"cleanup.policy": "compact,delete"}, 1, "would forget the state"),
        ({"cleanup.policy": "compact"}, 3, "3 partitions"),
    ],
)
def test_a_topic_that_does_not_keep_a_state_is_refused(
    settings: ConnectionSettings,
    shelf: StateTopic,
    cluster: Cluster,
    *,
    config: Mapping[str, str],
    partitions: int,
    told: str,
) -> None:
    made(cluster, NewTopic(shelf.topic, partitions, 1, config=config))
    with pytest.raises(StateError, match=told):
        store_of(settings, shelf).write(small(1))


def test_a_topic_with_small_records_is_told(
    settings: ConnectionSettings, shelf: StateTopic, cluster: Cluster
) -> None:
    config = {"cleanup.policy": "compact", "max.message.bytes": "1000"}
    made(cluster, NewTopic(shelf.topic, 1, 1, config=config))
    with pytest.raises(StateError, match="does not take records as large"):
        store_of(settings, shelf).write(bulky(1, count=10))


def settings_with(found: ConnectionSettings, *, request_s: float) -> ConnectionSettings:
    return replace(found, timeouts=Timeouts(seconds(5), seconds(request_s)))


def eventually(action: Callable[[], object]) -> None:
    """Try until the brokers know about rights that were just granted."""
    end = time.monotonic() + 15
    while True:
        try:
            action()
        except KplanError:
            if time.monotonic() > end:
                raise
            time.sleep(0.2)
        else:
            return
