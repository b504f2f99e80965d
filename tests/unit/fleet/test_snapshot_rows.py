import gzip
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from kplan.cluster.memory.cluster import MemoryCluster
from kplan.cluster.request import AclBinding, NewTopic
from kplan.cluster.usage import GroupUse, PartitionUse, TopicUse
from kplan.fleet.dataframe import unpack
from kplan.fleet.plan import FleetPlanRequest, pack_request, plan_cluster
from kplan.fleet.reader import SnapshotSource, read_rows, topic_size
from kplan.fleet.snapshot import Row, read_snapshot, snapshot_from_rows, write_snapshot
from kplan.kinds import KINDS
from kplan.kinds.topic_rules import Topic
from kplan.model.address import Address
from kplan.model.errors import FleetError, UnreachableError
from kplan.model.resource import Identity
from kplan.model.state import OwnedObject, State
from kplan.plan.drift import find_drift
from kplan.plan.request import PlanRequest
from tests.unit.workflow.plan.test_access import Brokers

READER = AclBinding("TOPIC", "a", "LITERAL", "User:x", "*", "READ", "ALLOW")


def memory() -> MemoryCluster:
    cluster = MemoryCluster()
    cluster.seed([NewTopic("a", 6, 1, config={"retention.ms": "5"}), NewTopic("b", 1, 1)], [READER])
    return cluster


def read(cluster: MemoryCluster | None = None) -> tuple[Row, ...]:
    return tuple(read_rows(SnapshotSource("eu", {"region": "west"}, lambda: cluster or memory())))


def test_a_cluster_is_read_with_all_kinds_and_its_labels() -> None:
    rows = read()
    assert {row.cluster for row in rows} == {"eu"}
    (about,) = [row for row in rows if row.kind == "cluster"]
    assert about.attributes["label.region"] == "west"
    topics = {row.identity: row for row in rows if row.kind == "kafka_topic"}
    assert topics["a"].attributes["config.retention.ms"] == "5"
    assert topics["a"].uid
    assert sum(row.kind == "kafka_acl" for row in rows) == 1


@pytest.mark.parametrize(
    ("declared", "settings", "known"),
    [
        (None, {"allow.everyone.if.no.acl.found": "true"}, "true"),
        (None, {"allow.everyone.if.no.acl.found": None}, None),
        (None, {}, "false"),
        (False, {"allow.everyone.if.no.acl.found": "true"}, "false"),
    ],
)
def test_whether_everyone_may_what_has_no_acl_is_as_declared_or_as_a_broker_shows(
    declared: bool | None, settings: dict[str, str | None], known: str | None
) -> None:
    cluster = Brokers(1)
    cluster.settings = settings
    source = SnapshotSource("eu", {}, lambda: cluster, allow_everyone=declared)
    (about,) = [row for row in read_rows(source) if row.kind == "cluster"]
    assert about.attributes.get("allow_everyone") == known


def test_whether_everyone_may_what_has_no_acl_is_unknown_without_a_right() -> None:
    cluster = memory()
    cluster.refuse("CLUSTER_AUTHORIZATION_FAILED", call="configs")
    (about,) = [row for row in read(cluster) if row.kind == "cluster"]
    assert "allow_everyone" not in about.attributes


def test_what_a_file_says_of_everyone_is_kept_unless_it_is_declared(tmp_path: Path) -> None:
    cluster = Brokers(1)
    cluster.settings = {"allow.everyone.if.no.acl.found": "true"}
    file = tmp_path / "eu.jsonl"
    write_snapshot(file, read(cluster))
    for declared, known in ((None, "true"), (False, "false")):
        source = SnapshotSource("eu", file=file, allow_everyone=declared)
        (about,) = [row for row in read_rows(source) if row.kind == "cluster"]
        assert about.attributes["allow_everyone"] == known


def test_what_stands_in_topics_and_who_uses_it_is_read() -> None:
    cluster = memory()
    parts = {0: PartitionUse(5, 25, 1_000, 700, 1), 1: PartitionUse(0, 4, 2_000, 30, 0)}
    groups = (GroupUse("live", True, 1, 3), GroupUse("left", False))
    cluster.set_topic_use("a", TopicUse(parts, groups))
    cluster.set_topic_use("b", TopicUse(unread=("sizes: no right",)))
    cluster.add_groups("idle")
    rows = read(cluster)
    used = {row.identity: dict(row.attributes) for row in rows if row.kind == "use"}
    assert used["a"] == {
        "records": "24",
        "bytes": "730",
        "newest_ms": "2000",
        "producers": "1",
        "groups": '[["live", true, 3], ["left", false, null]]',
        "leaderless": "0",
        "under_replicated": "0",
    }
    assert used["b"]["unread"] == "sizes: no right"
    assert "groups" not in used["b"]
    assert [row.identity for row in rows if row.kind == "group"] == ["idle", "left", "live"]


@pytest.mark.parametrize(
    ("second", "newest"),
    [(PartitionUse(7, 7), "1000"), (PartitionUse(7, 9), None), (PartitionUse(), None)],
)
def test_the_newest_record_of_a_topic_is_known_where_that_of_every_partition_is(
    second: PartitionUse, newest: str | None
) -> None:
    cluster = memory()
    cluster.set_topic_use("a", TopicUse({0: PartitionUse(5, 25, 1_000), 1: second}))
    (used,) = (row for row in read(cluster) if (row.kind, row.identity) == ("use", "a"))
    assert used.attributes.get("newest_ms") == newest


def test_a_snapshot_is_the_same_after_it_was_rows() -> None:
    cluster = memory()
    back = snapshot_from_rows(read(cluster))
    assert not isinstance(back, str)
    for kind in KINDS:
        names = kind.read(cluster, ()).objects
        assert back.readings[kind.name] == kind.read(cluster, names)


def test_a_kind_that_a_file_does_not_speak_of_is_not_known_to_be_empty() -> None:
    """A file of an earlier version knows nothing of later kinds (design law 2)."""
    about, *rest = read()
    older = about._replace(attributes={**about.attributes, "kinds": '["kafka_topic"]'})
    back = snapshot_from_rows([older, *rest])
    assert not isinstance(back, str)
    assert set(back.readings) == {"kafka_topic"}


def test_a_cluster_that_is_down_is_a_row_and_not_an_error() -> None:
    def refused() -> MemoryCluster:
        raise UnreachableError("nobody answers")

    rows = read_rows(SnapshotSource("eu", {}, refused))
    told = {row.kind: row for row in rows}
    assert "nobody answers" in told["unread"].attributes["reason"]
    assert told["unread"].identity == "*"
    assert isinstance(snapshot_from_rows(rows), str)


def test_a_cluster_that_hangs_is_given_up_at_its_deadline() -> None:
    never = threading.Event()

    def hangs() -> MemoryCluster:
        never.wait(20)
        return memory()

    rows = read_rows(SnapshotSource("eu", {}, hangs, deadline_s=0.05))
    never.set()
    assert "deadline of 0.05 s" in rows[-1].attributes["reason"]


def test_a_defect_of_one_cluster_is_told_in_its_row() -> None:
    def broken() -> MemoryCluster:
        raise ValueError("odd")

    (_, told) = read_rows(SnapshotSource("eu", {}, broken))
    assert told.attributes["reason"] == "ValueError: odd"


@pytest.mark.parametrize("name", ["eu.jsonl", "eu.jsonl.gz"])
def test_a_saved_snapshot_is_read_as_it_was_written(tmp_path: Path, name: str) -> None:
    written = read()  # it has its time
    write_snapshot(tmp_path / name, written)
    assert tuple(read_snapshot(tmp_path / name)) == written
    rows = read_rows(SnapshotSource("other", {"team": "x"}, file=tmp_path / name))
    about = rows[0].attributes
    assert rows[0].cluster == "other"
    assert about["label.team"] == "x"
    assert "label.region" not in about


DAMAGES: Mapping[str, tuple[Callable[[bytes], bytes], str]] = {
    "cut in half": (lambda data: data[: len(data) // 2], "cut or damaged"),
    "empty": (lambda data: data[:0], "not a snapshot"),
    "foreign": (lambda data: b'{"kind": "tfstate"}\n' + data, "not a snapshot"),
    "newer": (lambda data: data.replace(b'"format": 1', b'"format": 99'), "format 99"),
    "overwritten": (lambda data: b"\x00" + data, "cut or damaged"),
    "without its end": (lambda data: data.rsplit(b"\n", 2)[0] + b"\n", "cut or damaged"),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_file_that_is_not_whole_is_refused_and_never_an_empty_cluster(
    tmp_path: Path, name: str
) -> None:
    damage, told = DAMAGES[name]
    file = tmp_path / "eu.jsonl"
    write_snapshot(file, read())
    file.write_bytes(damage(file.read_bytes()))
    with pytest.raises(FleetError, match=told):
        tuple(read_snapshot(file))
    rows = read_rows(SnapshotSource("eu", {}, file=file))
    assert rows[-1].kind == "unread"
    assert told in rows[-1].attributes["reason"]


def test_a_packed_file_that_is_cut_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "eu.jsonl.gz"
    write_snapshot(file, read())
    whole = gzip.decompress(file.read_bytes())
    file.write_bytes(file.read_bytes()[:-40])
    with pytest.raises(FleetError, match="cut or damaged"):
        tuple(read_snapshot(file))
    file.write_bytes(whole)
    with pytest.raises(FleetError, match="gzip"):
        tuple(read_snapshot(file))


def owned(name: str, partitions: int) -> OwnedObject:
    address = Address.parse(f"kafka_topic.{name}")
    return OwnedObject(address, Identity(name), Topic(name, partitions, 1))


def test_the_drift_of_a_fleet_is_that_of_each_cluster() -> None:
    state = State(
        "lineage",
        owned={each.address: each for each in (owned("a", 3), owned("b", 1), owned("gone", 1))},
    )
    request = PlanRequest((), {}, state)
    asked = {"kafka_topic": {Identity("a"), Identity("b"), Identity("gone")}}
    rows = read_rows(SnapshotSource("eu", {}, memory, expected_names=asked))
    found = plan_cluster(rows, unpack(pack_request(request).packed))
    snapshot = snapshot_from_rows(rows)
    assert not isinstance(snapshot, str)
    own = find_drift(state, snapshot, KINDS)
    told = [(each["address"], each["action"]) for each in found if each["finding"] == "drift"]
    assert told == [(str(each.address), each.action.value) for each in own]
    assert told == [("kafka_topic.a", "update"), ("kafka_topic.gone", "delete")]
    counts = {(each["finding"], each["kind"]): each["count"] for each in found}
    assert (counts["unmanaged", "kafka_topic"], counts["unmanaged", "kafka_acl"]) == (0, 1)
    assert (counts["managed", "kafka_topic"], counts["managed", "kafka_acl"]) == (2, 0)


def test_a_cluster_without_a_sound_configuration_is_told_and_not_planned() -> None:
    wanted = FleetPlanRequest(problems={"eu": "KP142: no such resource"})
    (found,) = plan_cluster(read(), unpack(wanted.for_cluster("eu")))
    assert (found["finding"], found["reason"]) == ("problem", "KP142: no such resource")


def test_nothing_is_planned_from_a_cluster_that_was_not_read() -> None:
    """Design law 2: what was not read is not absent."""
    state = State("lineage", owned={(one := owned("a", 3)).address: one})
    rows = read_rows(SnapshotSource("eu", {}, file=Path("not-there.jsonl")))
    wanted = FleetPlanRequest({"eu": pack_request(PlanRequest((), {}, state))})
    (found,) = plan_cluster(rows, unpack(wanted.for_cluster("eu")))
    assert (found["finding"], found["kind"]) == ("unread", "*")


@pytest.mark.parametrize(
    ("partitions", "copies", "size", "sizes"),
    [
        ("3", "2", "7", (3, 6, 14)),
        ("3", "2", None, (3, 6, None)),
        ("3", None, "7", (3, None, None)),
        (None, "2", "7", (None, None, 14)),
        ("three", "2", "-", (None, None, None)),
        ("3", "2", str(1 << 62), (3, 6, None)),
    ],
)
def test_the_sizes_of_a_topic_are_those_of_all_replicas_where_they_are_known(
    partitions: str | None, copies: str | None, size: str | None, sizes: tuple[int | None, ...]
) -> None:
    """More bytes than a column takes are not known, and neither is what is no number."""
    found = {"partitions": partitions, "replication_factor": copies}
    about = {key: each for key, each in found.items() if each is not None}
    assert topic_size(Row("eu", "kafka_topic", "a", attributes=about), size) == sizes
    assert topic_size(Row("eu", "use", "a", attributes=about), size) == (None, None, None)
