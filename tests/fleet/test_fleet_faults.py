"""What goes wrong where Spark works: nothing is lost, and what went well is delivered."""

import os
import signal
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kplan.cluster.memory.cluster import MemoryCluster
from kplan.cluster.request import NewTopic
from kplan.fleet.reader import SnapshotSource, read_clusters
from kplan.fleet.snapshot import Row
from kplan.fleet.store import Store
from kplan.model.errors import AuthError, FleetError, UnreachableError
from tests.fleet.log_lines import ingest
from tests.fleet.spark_target import STANDALONE, SparkTarget
from tests.unit.state.state_faults import small_disk

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

Make = Callable[[Sequence[Row]], "DataFrame"]
MONDAY = datetime(2026, 11, 16, 6, tzinfo=UTC)


def memory(*names: str) -> MemoryCluster:
    cluster = MemoryCluster()
    cluster.seed([NewTopic(name, 3, 1) for name in names])
    return cluster


def killed_once(marker: str) -> MemoryCluster:
    """Have the Python that reads killed, as by a machine out of memory, the first time."""
    if not Path(marker).exists():
        Path(marker).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return memory("survivor")


def executor_killed_once(marker: str) -> MemoryCluster:
    """Have the Java that this Python works for killed, the first time."""
    if not Path(marker).exists():
        Path(marker).touch()
        daemon = Path(f"/proc/{os.getppid()}/stat").read_text().rpartition(")")[2].split()
        os.kill(int(daemon[1]), signal.SIGKILL)
        threading.Event().wait(60)
    return memory("survivor")


def down() -> MemoryCluster:
    raise UnreachableError("nobody answers")


def locked() -> MemoryCluster:
    raise AuthError("SASL authentication failed")


def hangs() -> MemoryCluster:
    threading.Event().wait(60)
    return memory()


def test_other_clusters_are_read_whatever_befalls_one(
    spark: "SparkSession", tmp_path: Path
) -> None:
    """Down, silent, refused, cut, foreign: five; a worker killed, and one well."""
    cut, foreign = tmp_path / "cut.jsonl", tmp_path / "foreign.jsonl"
    cut.write_text('{"kind": "kplan snapshot", "format": 1, "rows": 2}\n["c", "cluster"')
    foreign.write_text('{"version": 4, "serial": 1}\n')
    sources = [
        SnapshotSource("killed", {}, partial(killed_once, str(tmp_path / "marker"))),
        SnapshotSource("down", {}, down),
        SnapshotSource("locked", {}, locked),
        SnapshotSource("silent", {}, hangs, deadline_s=0.5),
        SnapshotSource("cut", {}, file=cut),
        SnapshotSource("foreign", {}, file=foreign),
        SnapshotSource("well", {}, partial(memory, "a", "b")),
    ]
    store = Store(spark, str(tmp_path / "store"))
    found = store.objects(store.add_run(read_clusters(spark, sources), "run", MONDAY))
    told = found.where("kind in ('kafka_topic', 'unread')").select("cluster", "identity")
    assert sorted(tuple(each) for each in told.collect()) == [
        *((name, "*") for name in ("cut", "down", "foreign")),
        ("killed", "survivor"),
        ("locked", "*"),
        ("silent", "*"),
        ("well", "a"),
        ("well", "b"),
    ]
    assert (tmp_path / "marker").exists(), "it was killed, and its task taken up again"
    reasons = {
        each.cluster: each.attributes["reason"]
        for each in found.where("kind = 'unread' and identity = '*'").collect()
    }
    assert "deadline of 0.5 s" in reasons["silent"]
    assert "authentication failed" in reasons["locked"]
    assert "cut or damaged" in reasons["cut"]
    assert "not a snapshot of kplan" in reasons["foreign"]


def test_the_task_of_a_killed_executor_is_done_by_another(
    at_work: SparkTarget, spark: "SparkSession", tmp_path: Path
) -> None:
    if at_work.name != STANDALONE:
        pytest.skip("this Spark has no executor that it could lose")
    sources = [
        SnapshotSource("killed", {}, partial(executor_killed_once, str(tmp_path / "marker"))),
        *(SnapshotSource(f"well-{number}", {}, partial(memory, "a")) for number in range(4)),
    ]
    found = (
        read_clusters(spark, sources).where("kind = 'kafka_topic'").select("cluster", "identity")
    )
    assert sorted(tuple(each) for each in found.collect()) == [
        ("killed", "survivor"),
        *((f"well-{number}", "a") for number in range(4)),
    ]
    assert (tmp_path / "marker").exists()


def test_a_full_disk_takes_nothing_from_the_runs_that_are_there(
    spark: "SparkSession", objects: Make, tmp_path: Path
) -> None:
    few = [Row("eu", "cluster", "id-eu", attributes={"kinds": "[]"})]
    many = [Row("eu", "kafka_topic", os.urandom(400).hex(), "", "{}") for _ in range(600)]
    with small_disk(tmp_path / "disk", 256 * 1024):
        store = Store(spark, str(tmp_path / "disk"))
        store.add_run(objects(few), "small", MONDAY)
        with pytest.raises(FleetError, match="No space left on device") as full:
            store.add_run(objects([*few, *many]), "large", MONDAY)
        assert "Nothing of it counts" in full.value.hint
        assert [each.run for each in store.runs()] == ["small"]
        assert store.objects(store.run()).count() == 1


LINE = (
    "[2026-11-01 10:00:00,123] INFO Principal = User:a is Allowed operation = READ from host = "
    "10.0.0.1 on resource = Topic:LITERAL:{} for request = FETCH with resourceRefCount = 1 based "
    "on rule MatchingAcl(...) (kafka.authorizer.logger)\n"
)


def test_logs_that_are_read_by_two_at_once_count_once(
    spark: "SparkSession", tmp_path: Path
) -> None:
    """And a disk that is full takes nothing of what was kept of them."""
    log = tmp_path / "authorizer.log"
    log.write_text(f"{LINE.format('a')}{LINE.format('b')}stray\n")
    with small_disk(tmp_path / "disk", 256 * 1024):
        store = Store(spark, str(tmp_path / "disk"))
        with ThreadPoolExecutor() as pool:
            list(pool.map(lambda each: _keep(store, each, log), ["eu", "us", "eu", "us"]))
        assert _kept(store) == {"eu": 2, "us": 2}

        log.write_text("".join(LINE.format(os.urandom(300).hex()) for _ in range(600)))
        with pytest.raises(FleetError, match="No space left on device"):
            _keep(store, "eu", log)
        assert _kept(store) == {"eu": 2, "us": 2}


def _keep(store: Store, cluster: str, log: Path) -> None:
    ingest(store, log, cluster=cluster)


def _kept(store: Store) -> dict[str, int]:
    counts = store.usage().groupBy("cluster").sum("count")
    assert store.malformed_lines().count() == 2
    return {str(row[0]): int(row[1]) for row in counts.collect()}
