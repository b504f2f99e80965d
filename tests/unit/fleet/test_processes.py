"""Work on many items by several processes."""

import os
import pickle
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

from kplan.config.fleet_file import FleetConfiguration
from kplan.config.inputs import Inputs
from kplan.fleet.snapshot import snapshot_rows
from kplan.kinds.topic_rules import Topic
from kplan.model.address import Address
from kplan.model.errors import FleetError
from kplan.model.plan import PlanBasis
from kplan.model.resource import Identity
from kplan.model.state import Broker, OwnedObject, Snapshot, State
from kplan.state.file import write_state
from kplan.state.file_store import FileStore
from kplan.workflow.connection import remote_state_store
from kplan.workflow.fleet import desired, owners, processes
from kplan.workflow.fleet.desired import load_desired, read_project_state
from kplan.workflow.fleet.fleet import read_fleet
from kplan.workflow.fleet.owners import OwnedObjects, OwnerReader
from kplan.workflow.fleet.policies import load_declarations, load_policies
from kplan.workflow.fleet.ports import FleetOptions, FleetPorts
from kplan.workflow.fleet.processes import map_in_processes
from kplan.workflow.ports import Project
from tests.unit.fleet.test_plan_parity import FleetQuiet, Rows
from tests.unit.state.state_builders import applied, creation, plan

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

needs_processors = pytest.mark.skipif(
    len(os.sched_getaffinity(0)) < 2, reason="this machine has one processor"
)


@pytest.fixture
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "ALONE_S", 0.0)


def where(item: int) -> tuple[int, int]:
    """Say who works; the first items take the longest."""
    time.sleep(max(0, 3 - item) / 50)
    return item, os.getpid()


def fail(item: int) -> int:
    """Fail at one item."""
    if item == 2:
        raise ValueError("no such number")
    return item


def end(item: int) -> int:
    """Be ended, as for want of memory, at one item."""
    if item == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return item


def end_while_answering(item: int) -> int:
    """Be ended when a part of the answer is written."""
    if item == 2:
        for each in Path("/proc/self/fd").iterdir():
            if int(each.name) > 2 and each.is_fifo():
                os.write(int(each.name), pickle.dumps(b"x" * 100)[:50])
        os.kill(os.getpid(), signal.SIGKILL)
    return item


def say(item: int) -> int:
    """Print, which is no answer."""
    os.write(1, b"said\n")
    return item


def is_running(pid: int) -> bool:
    """Whether there is such a process."""
    return Path(f"/proc/{pid}").exists()


@needs_processors
@pytest.mark.usefixtures("_impatient")
def test_items_are_answered_in_their_order_by_others_that_end_with_the_last() -> None:
    found = list(map_in_processes(where, range(8)))
    assert [item for item, _ in found] == list(range(8))
    workers = {pid for _, pid in found}
    assert len(workers) > 1
    assert os.getpid() not in workers
    assert not any(map(is_running, workers))


def test_short_work_is_done_without_another_process() -> None:
    assert {pid for _, pid in map_in_processes(where, range(4))} == {os.getpid()}


@needs_processors
@pytest.mark.usefixtures("_impatient")
def test_who_wants_no_more_answers_leaves_no_process() -> None:
    found = map_in_processes(where, range(8))
    _, pid = next(found)
    assert is_running(pid)
    found.close()  # type: ignore[attr-defined] # a generator
    assert not is_running(pid)


@needs_processors
@pytest.mark.usefixtures("_impatient")
@pytest.mark.parametrize("work", [end, end_while_answering])
def test_a_process_that_was_ended_is_an_error_with_a_way_out(work: Callable[[int], int]) -> None:
    with pytest.raises(FleetError, match=r"was ended \(-9\)") as failure:
        list(map_in_processes(work, range(8)))
    assert "--cluster" in failure.value.hint


@needs_processors
@pytest.mark.usefixtures("_impatient")
def test_a_defect_is_told_with_its_traceback() -> None:
    with pytest.raises(RuntimeError, match="no such number"):
        list(map_in_processes(fail, range(8)))


@needs_processors
@pytest.mark.usefixtures("_impatient")
def test_what_is_printed_is_no_answer() -> None:
    assert list(map_in_processes(say, range(4))) == [0, 1, 2, 3]


@needs_processors
def test_the_script_of_the_caller_is_not_imported(tmp_path: Path) -> None:
    script = tmp_path / "job.py"
    script.write_text(
        "from kplan.workflow.fleet import processes\n"
        "processes.ALONE_S = 0\n"
        "print(list(processes.map_in_processes(abs, [-1, -2, -3])))\n"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    assert done.stdout == "[1, 2, 3]\n"


TOPIC = """
resource "kafka_topic" "a" {
  name               = "orders"
  partitions         = 1
  replication_factor = 1
}
"""
DATA = (
    'data "kafka_cluster" "here" {}\noutput "brokers" { value = data.kafka_cluster.here.brokers }\n'
)
_KEY = Address("kafka_topic", "a")
OWNED = {_KEY: OwnedObject(_KEY, Identity("orders"), Topic("orders", 1, 1))}
POLICY = """
policy "few" {
  on   = ["create"]
  kind = "kafka_topic"
  deny {
    condition = requested.partitions > 9
    message   = "too many"
  }
}
"""
LIVE = Snapshot("id", (Broker(1, "a", 9092),), {})


class RunRows(Rows):
    """Rows of a run, with no Spark behind them."""

    __slots__ = ()
    sparkSession = cast("SparkSession", None)  # noqa: N815 - Spark's word


FleetInputs = tuple[FleetConfiguration, FleetOptions, FleetPorts, "DataFrame"]


@pytest.fixture
def declared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FleetInputs:
    """Make a fleet: one with a policy, one with an error, one with data, one without its state."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(
        owners, "columns_dataframe", lambda _, columns, __: [*zip(*columns, strict=True)]
    )
    texts = (TOPIC + POLICY, TOPIC + 'resource "kafka_topic" "b" {}', TOPIC + DATA, TOPIC)
    for place, text in enumerate(texts):
        Path(f"c{place}").mkdir()
        Path(f"c{place}/main.tf").write_text(text)
        write_state(Path(f"c{place}/state/kplan.json"), State(f"of c{place}", 1, "id", owned=OWNED))
    Path("c3/state/kplan.json").write_text("{")
    Path("fleet.hcl").write_text(
        "".join(
            f'cluster "c{each}" {{\n  snapshot = "s"\n  configuration = "c{each}"\n}}\n'
            for each in range(len(texts))
        )
    )
    options = FleetOptions(Path(), Inputs())
    ports = FleetPorts(
        lambda _: (None, ()),
        partial(remote_state_store, environ={}),
        lambda _: {},
        FleetQuiet(),
        lambda: datetime.now(UTC),
    )
    rows = RunRows(list(snapshot_rows("c2", LIVE, {})))
    return read_fleet(options), options, ports, cast("DataFrame", rows)


def read_owners(declared: FleetInputs) -> OwnedObjects:
    """Read what the states own."""
    fleet, options, ports, _ = declared
    reader = OwnerReader(options, ports)
    reader.begin(fleet)
    return reader.finish(cast("SparkSession", None))


def read_apart(declared: FleetInputs) -> Sequence[object]:
    """Read what is declared, the policies and the owners, each by itself."""
    owned = read_owners(declared)
    return load_desired(*declared), load_policies(*declared), owned


def text_of(found: Sequence[object]) -> str:
    """Show what was read, without places in memory."""
    return re.sub("0x[0-9a-f]+", "", str(tuple(found)))


def test_owners_that_nobody_began_to_read_are_not_taken_for_none(declared: FleetInputs) -> None:
    _, options, ports, _ = declared
    with pytest.raises(AssertionError, match="nothing was begun"):
        OwnerReader(options, ports).finish(cast("SparkSession", None))


def test_what_an_interrupted_apply_made_has_its_owner(declared: FleetInputs) -> None:
    change = creation("payments")
    made = replace(plan(change), based_on=PlanBasis("", "of c0", 1, "id"))
    with FileStore(Path("c0/state/kplan.json")).open_journal(made) as journal:
        journal.on_outcomes([applied(change)])
    found = read_owners(declared)
    assert not any("c0" in each for each in found.unknown), found.unknown
    rows = cast("list[tuple[str, ...]]", found.rows)
    assert [each[2:] for each in rows if each[0] == "c0"] == [("orders", "c0"), ("payments", "c0")]


@needs_processors
def test_a_fleet_that_is_read_by_several_processes_is_the_same_fleet(
    declared: FleetInputs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "ALONE_S", 60)
    alone = read_apart(declared)
    monkeypatch.setattr(processes, "ALONE_S", 0)
    assert text_of(read_apart(declared)) == text_of(alone)
    wanted, policies, owned = map(str, alone)
    assert "KP122" in wanted
    assert "'c2': PackedRequest" in wanted
    assert "('c2', 'kafka_topic', 'orders', 'c2')" in owned
    assert "c3: the owner is unknown" in owned
    assert "Policy(" in policies
    assert "too many" in policies


def test_what_is_read_together_is_the_same_and_each_state_is_read_once(
    declared: FleetInputs, monkeypatch: pytest.MonkeyPatch
) -> None:
    apart = read_apart(declared)
    read: list[Path] = []

    def read_state(project: Project) -> State:
        read.append(project.folder)
        return read_project_state(project)

    monkeypatch.setattr(desired, "read_project_state", read_state)
    assert text_of(load_declarations(*declared)) == text_of(apart)
    assert sorted(read) == [Path("c0"), Path("c1"), Path("c2"), Path("c3"), Path("c3")]
