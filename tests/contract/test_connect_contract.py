"""Connectors planned, applied, changed outside and destroyed: in memory and on a real worker."""

import uuid
from collections.abc import Collection, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from kplan.cluster.connect import Connect, NewConnector
from kplan.cluster.memory.cluster import MemoryCluster
from kplan.kafka.rest.connect import RestConnect
from kplan.kafka.settings.connection import RestService, Timeouts
from kplan.model.outcome import OutcomeStatus
from kplan.model.plan import Action
from tests.contract.clusters import errors, soon
from tests.project_harness import ProjectHarness

SOURCE = "org.apache.kafka.connect.file.FileStreamSourceConnector"


@pytest.fixture(params=["memory", pytest.param("worker", marks=pytest.mark.broker)])
def connect(request: pytest.FixtureRequest) -> Iterator[Connect]:
    if request.param == "memory":
        found = MemoryCluster(1).kafka_connect()
        assert found is not None
        yield found
        return
    url: str = request.getfixturevalue("connect_url")
    with closing(RestConnect(RestService(url), Timeouts())) as real:
        yield real


@pytest.fixture
def name() -> str:
    """Name a connector of one test, so that the worker may be shared."""
    return f"ct {uuid.uuid4().hex[:8]} lines"


@pytest.fixture
def site(connect: Connect, tmp_path: Path, name: str) -> Iterator[ProjectHarness]:
    """Give a folder with Kafka Connect beside a cluster in memory."""
    cluster = MemoryCluster(1)
    cluster.kafka_connect = lambda: connect  # type: ignore[method-assign]
    yield ProjectHarness(tmp_path, cluster)
    left = [each for each in connect.connectors() if each.startswith(name)]
    connect.delete_connectors(left)


def spec(name: str, file: Path, state: str = "RUNNING", **more: str) -> NewConnector:
    config = {"connector.class": SOURCE, "file": str(file), "topic": "lines", "tasks.max": "1"}
    return NewConnector(name, {**config, **more}, state)


def state(connect: Connect, name: str) -> str:
    found = connect.connectors().get(name)
    return found.state if found else ""


FOLDER = """
provider "kafka" {{ bootstrap_servers = ["127.0.0.1:1"] }}
resource "kafka_connector" "lines" {{
  name  = "{name}"
  state = "{state}"
  config = {{
    "name"            = "{name}"
    "connector.class" = "{plugin}"
    "tasks.max"       = {tasks}
    "file"            = "{file}"
    "topic"           = "lines"
  }}
  config_sensitive = {{ "note.password" = "{secret}" }}
}}
"""


def declare(site: ProjectHarness, name: str, **given: object) -> None:
    values = {"state": "running", "plugin": SOURCE, "tasks": 1, "secret": "hunter2"}
    file = site.folder / "lines.txt"
    file.touch()
    site.write(FOLDER.format(name=name, file=file, **{**values, **given}))


def actions(site: ProjectHarness) -> dict[str, Action]:
    changes = site.plan().plan.changes
    return {each.address.name: each.action for each in changes if each.action is not Action.NO_OP}


def applied(site: ProjectHarness, connect: Connect) -> None:
    outcomes = site.apply().outcomes
    assert outcomes
    assert {each.status for each in outcomes} == {OutcomeStatus.APPLIED}, outcomes
    await_workers(connect, {str(each.change.identity) for each in outcomes if each.change.after})


def await_workers(connect: Connect, names: Collection[str] = ()) -> None:
    """Wait until workers have taken on what was changed: the list lacks what is new until then."""

    def is_settled() -> bool:
        found = connect.connectors()
        return {*names} <= found.keys() and "UNASSIGNED" not in {
            each.state for each in found.values()
        }

    soon(is_settled)


def test_a_connector_is_planned_applied_changed_and_destroyed(
    site: ProjectHarness, connect: Connect, name: str
) -> None:
    declare(site, name)
    assert actions(site) == {"lines": Action.CREATE}
    applied(site, connect)
    assert state(connect, name) == "RUNNING"
    assert actions(site) == {}
    for wanted in ("paused", "stopped", "running"):
        declare(site, name, state=wanted)
        assert actions(site) == {"lines": Action.UPDATE}
        applied(site, connect)
        soon(lambda wanted=wanted: state(connect, name) == wanted.upper())  # type: ignore[misc]
        assert actions(site) == {}
    site.apply(is_destroy=True)
    assert name not in connect.connectors()


def test_a_secret_is_neither_shown_nor_stored_and_its_change_is_seen(
    site: ProjectHarness, connect: Connect, name: str
) -> None:
    declare(site, name)
    applied(site, connect)
    declare(site, name, secret="open sesame")
    (change,) = [each for each in site.plan().plan.changes if each.action is Action.UPDATE]
    assert [each.path[0] for each in change.attributes] == ["config_sensitive"]
    assert "sesame" not in str(change.attributes)
    applied(site, connect)
    assert connect.connectors()[name].config["note.password"] == "open sesame"
    assert actions(site) == {}
    kept = "".join(each.read_text() for each in (site.folder / "state").iterdir() if each.is_file())
    assert "hunter2" not in kept
    assert "sesame" not in kept


def test_the_worker_says_of_each_key_what_is_wrong_and_creates_nothing(
    site: ProjectHarness, connect: Connect, name: str
) -> None:
    declare(site, name, tasks=0)
    (problem,) = [each for each in site.plan().plan.diagnostics if each.is_error]
    assert problem.code == "KP532"
    assert "tasks.max" in problem.detail
    assert problem.subject is not None
    assert problem.subject.line == 9  # that of tasks.max
    declare(site, name, plugin="com.example.Missing")
    (problem,) = [each for each in site.plan().plan.diagnostics if each.is_error]
    assert "com.example.Missing" in problem.detail
    assert name not in connect.connectors()


def test_what_was_changed_outside_is_drift(
    site: ProjectHarness, connect: Connect, name: str
) -> None:
    declare(site, name)
    applied(site, connect)
    held = connect.connectors()[name].config
    connect.configure_connectors([NewConnector(name, {**held, "batch.size": "7"})])
    await_workers(connect)
    (drift,) = site.plan().plan.drift
    assert [each.path for each in drift.attributes] == [("config", "batch.size")]
    applied(site, connect)
    connect.set_connector_states({name: "PAUSED"})
    soon(lambda: state(connect, name) == "PAUSED")
    (drift,) = site.plan().plan.drift
    assert [(each.before, each.after) for each in drift.attributes] == [("running", "paused")]
    connect.delete_connectors([name])
    soon(lambda: name not in connect.connectors())
    assert actions(site) == {"lines": Action.CREATE}


def test_a_renamed_connector_goes_on_where_the_old_one_was(
    site: ProjectHarness, connect: Connect, name: str
) -> None:
    declare(site, name)
    (site.folder / "lines.txt").write_text("one\ntwo\n")
    applied(site, connect)
    if isinstance(connect, RestConnect):
        soon(lambda: position(connect, name) == 8)
    declare(site, f"{name}-2")
    assert actions(site) == {"lines": Action.REPLACE}
    applied(site, connect)
    assert name not in connect.connectors()
    assert state(connect, f"{name}-2") == "RUNNING"
    if isinstance(connect, RestConnect):
        assert position(connect, f"{name}-2") == 8
    assert actions(site) == {}


def position(connect: RestConnect, name: str) -> int:
    """Ask the worker how far a connector has read its file."""
    session = connect._session
    answer = session.read(f"/connectors/{name.replace(' ', '%20').replace('/', '%2F')}/offsets")
    offsets = answer.body["offsets"] if isinstance(answer.body, dict) else []
    return int(offsets[0]["offset"]["position"]) if offsets else 0


def test_a_failed_task_is_started_again(site: ProjectHarness, connect: Connect, name: str) -> None:
    (site.folder / "lines.txt").write_text("one\n")
    declare(site, name)
    applied(site, connect)
    if isinstance(connect, RestConnect):
        held = connect.connectors()[name].config
        bad = {**held, "topic": "no such: topic", "file": str(site.folder / "more.txt")}
        (site.folder / "more.txt").write_text("two\n")
        connect.configure_connectors([NewConnector(name, bad)])
        soon(lambda: state(connect, name) == "FAILED")
        failure = connect.connectors()[name].failure
        assert failure.startswith("task 0: ")
        assert "\n" not in failure
        assert errors(connect.restart_failed([name])) == {name: "ok"}
        connect.configure_connectors([NewConnector(name, held)])
        soon(lambda: state(connect, name) == "RUNNING")
        return
    memory = MemoryCluster(1)
    site.cluster = memory
    site.apply()
    memory.fail_connector(name)
    (change,) = [each for each in site.plan().plan.changes if each.action is Action.UPDATE]
    assert [(each.before, each.after) for each in change.attributes] == [("failed", "running")]
    memory.calls.clear()
    site.apply()
    assert "restart_failed" in {each.method for each in memory.calls}
    assert actions(site) == {}


def test_what_is_adopted_while_workers_take_it_on_is_no_drift_later(
    site: ProjectHarness, connect: Connect, name: str
) -> None:
    declare(site, name)
    applied(site, connect)
    made = NewConnector(name, connect.connectors()[name].config)
    connect.delete_connectors([name])
    soon(lambda: name not in connect.connectors())
    site.project.state_path.unlink()
    assert errors(connect.create_connectors([made])) == {name: "ok"}
    soon(lambda: name in connect.connectors())
    if not isinstance(connect, RestConnect):
        connect.set_connector_states({name: "UNASSIGNED"})
    assert actions(site) == {}
    site.apply()
    assert name in site.project.state_path.read_text()
    if not isinstance(connect, RestConnect):
        connect.set_connector_states({name: "RUNNING"})
    await_workers(connect)
    assert [each.attributes for each in site.plan().plan.drift] == []


def test_deleting_what_is_gone_is_a_success(connect: Connect, name: str) -> None:
    assert errors(connect.delete_connectors([name])) == {name: "ok"}


def test_a_worker_that_does_not_answer_leaves_connectors_unread(
    site: ProjectHarness, name: str
) -> None:
    declare(site, name)
    dead = RestConnect(RestService("http://127.0.0.1:1"), Timeouts())
    site.cluster.kafka_connect = lambda: dead  # type: ignore[method-assign]
    planned = site.plan().plan
    assert planned.changes == ()
    assert "127.0.0.1:1" in planned.unread["kafka_connector"]
