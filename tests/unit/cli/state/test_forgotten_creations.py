"""`kplan state rm` forgets a creation without an answer, for example of a cluster that is gone."""

from pathlib import Path

import pytest

from kplan.cli.run import run
from kplan.cluster.memory.cluster import MemoryCluster
from kplan.cluster.memory.store import MemoryRecords
from kplan.state.file import read_state
from kplan.state.lock import lock_state_file
from kplan.state.lock_holder import current_holder
from kplan.state.record_store import RecordStore
from kplan.workflow.ports import Project
from tests.project_harness import Killed
from tests.unit.cli.memory_command import MemoryCommand, memory_command
from tests.unit.cli.state.test_interrupted_creations import (
    JOURNAL,
    WEST,
    Y_IN_WEST,
    connect_both,
    create_and_be_killed,
)
from tests.unit.cli.state.test_workspace_race import (
    DEFAULT,
    PROVIDER,
    Z,
    apply_and_be_killed,
    everything,
    kill,
    owned_names,
)

X = Z.replace('"z"', '"x"')
FORGOT = (
    "Forgot kafka_topic.y (y), which an apply sent without an answer. If it was "
    "created, it stays, and this state does not own it."
)


@pytest.fixture
def desk(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> MemoryCommand:
    return memory_command(tmp_path, capsys, monkeypatch)


@pytest.fixture
def clusters(desk: MemoryCommand, monkeypatch: pytest.MonkeyPatch) -> dict[str, MemoryCluster]:
    return connect_both(desk, monkeypatch)


def begin(desk: MemoryCommand, clusters: dict[str, MemoryCluster], text: str) -> None:
    """Create `y` on kafka.west after everything else, and be killed."""
    desk.write(text)
    clusters["west"].run_before("create_topics", lambda: None)  # the dry run
    clusters["west"].run_before("create_topics", create_and_be_killed(clusters["west"]))
    apply_and_be_killed()
    desk.capture.readouterr()


@pytest.mark.parametrize("text", [PROVIDER + WEST, PROVIDER])
def test_a_creation_on_a_cluster_that_is_gone_is_forgotten(
    desk: MemoryCommand, clusters: dict[str, MemoryCluster], text: str
) -> None:
    begin(desk, clusters, PROVIDER + WEST + Y_IN_WEST + Z)
    del clusters["west"]
    desk.write(text + Z + X)
    told = desk.run_failing("apply", "-auto-approve")
    assert "[KP253]" in told
    assert "If it is gone for good, forget it: kplan state rm kafka_topic.y" in told
    assert FORGOT.replace("Forgot", "Would forget") in desk.run(
        "state", "rm", "-dry-run", "kafka_topic.y"
    )
    assert JOURNAL.exists()
    assert FORGOT in everything(desk, "state", "rm", "kafka_topic.y")
    assert not JOURNAL.exists()
    assert owned_names(DEFAULT) == {"z"}  # what that apply did before
    desk.run("apply", "-auto-approve")
    assert owned_names(DEFAULT) == {"x", "z"}


def test_what_is_owned_on_the_cluster_that_is_gone_can_be_forgotten_after_it(
    desk: MemoryCommand, clusters: dict[str, MemoryCluster]
) -> None:
    on_west = X.replace("name  ", "provider = kafka.west\n  name  ")
    desk.write(PROVIDER + WEST + on_west)
    desk.run("apply", "-auto-approve")
    begin(desk, clusters, PROVIDER + WEST + on_west + Y_IN_WEST)
    del clusters["west"]
    desk.write(PROVIDER + Z)
    refused = desk.run_failing("state", "rm", "kafka_topic.x")
    assert "Finish it first: kplan apply -resume" in refused
    assert owned_names(DEFAULT) == {"x"}
    desk.run("state", "rm", "kafka_topic.y", "-lock-timeout=0s")
    desk.run("state", "rm", "kafka_topic.x")
    desk.run("apply", "-auto-approve")
    assert owned_names(DEFAULT) == {"z"}


def test_a_module_is_forgotten_with_what_it_has_sent_and_what_it_owns(
    desk: MemoryCommand, clusters: dict[str, MemoryCluster]
) -> None:
    (desk.folder / "m").mkdir()
    declared = Y_IN_WEST.replace("  provider = kafka.west\n", "")
    desk.write(declared.replace(PROVIDER, "") + X, "m/main.tf")
    call = 'module "m" {\n  source = "./m"\n  providers = { kafka = kafka.west }\n}\n'
    west = clusters["west"]
    desk.write(PROVIDER + WEST + call)
    west.run_before("create_topics", lambda: None)  # the dry run
    west.run_before("create_topics", create_and_be_killed(west))
    apply_and_be_killed()
    desk.capture.readouterr()
    told = everything(desk, "state", "rm", "module.m")
    assert "Forgot module.m.kafka_topic.y (y), which an apply sent without" in told
    assert "Forgot module.m.kafka_topic.x (x)" in told
    assert not JOURNAL.exists()
    assert owned_names(DEFAULT) == set()


def test_the_other_creations_without_an_answer_stay_recorded(
    desk: MemoryCommand, clusters: dict[str, MemoryCluster]
) -> None:
    more = Y_IN_WEST.replace('"y"', '"w"')
    begin(desk, clusters, PROVIDER + WEST + Y_IN_WEST + more + Z)
    west = clusters.pop("west")
    desk.write(PROVIDER + WEST + Z)
    told = everything(desk, "state", "rm", "kafka_topic.y")
    assert FORGOT in told
    assert "Note: 1 other changes of that apply have no answer, and stay recorded." in told
    assert JOURNAL.exists()
    assert owned_names(DEFAULT) == {"z"}
    told = desk.run_failing("apply", "-auto-approve")
    assert "kafka_topic.w" in told
    assert "kafka_topic.y" not in told
    clusters["west"] = west
    desk.write(PROVIDER + WEST + Z + more)
    desk.run("apply", "-auto-approve")
    assert not JOURNAL.exists()
    assert owned_names(DEFAULT) == {"w", "z"}
    assert set(west.topics()) == {"w", "y"}  # it is not owned, so nothing deletes it


def test_the_rest_is_resumed_without_what_is_forgotten(
    desk: MemoryCommand, clusters: dict[str, MemoryCluster]
) -> None:
    more = Y_IN_WEST.replace('"y"', '"w"')
    begin(desk, clusters, PROVIDER + WEST + Y_IN_WEST + more)
    desk.run("state", "rm", "kafka_topic.y")
    desk.write(PROVIDER + WEST + more)
    desk.run("apply", "-resume")
    assert owned_names(DEFAULT) == {"w"}


@pytest.mark.parametrize("call", ["write", "discard_journal"])
def test_a_kill_while_it_is_forgotten_loses_nothing(
    desk: MemoryCommand,
    clusters: dict[str, MemoryCluster],
    monkeypatch: pytest.MonkeyPatch,
    call: str,
) -> None:
    begin(desk, clusters, PROVIDER + WEST + Y_IN_WEST + Z)
    desk.write(PROVIDER + Z)
    with monkeypatch.context() as patch:
        patch.setattr(f"kplan.state.file_store.FileStore.{call}", lambda *_: kill())
        with pytest.raises(Killed):
            run(("state", "rm", "kafka_topic.y"), {})
    desk.capture.readouterr()
    desk.run("apply", "-auto-approve")
    assert owned_names(DEFAULT) == {"z"}
    assert not JOURNAL.exists()


def test_it_is_forgotten_under_the_lock(
    desk: MemoryCommand, clusters: dict[str, MemoryCluster]
) -> None:
    begin(desk, clusters, PROVIDER + WEST + Y_IN_WEST)
    with lock_state_file(DEFAULT, current_holder("apply"), 0, lambda _: None):
        told = desk.run_failing("state", "rm", "kafka_topic.y")
    assert "lock" in told
    assert JOURNAL.exists()


def test_the_state_of_another_cluster_is_not_taken_over_from_what_is_forgotten(
    desk: MemoryCommand, clusters: dict[str, MemoryCluster]
) -> None:
    """The only cluster was set up again after the first apply was killed."""
    text = Y_IN_WEST.replace("  provider = kafka.west\n", "")
    desk.write(PROVIDER + text)
    desk.cluster.run_before("create_topics", lambda: None)
    desk.cluster.run_before("create_topics", kill)
    apply_and_be_killed()
    desk.capture.readouterr()
    clusters[""] = MemoryCluster(cluster_id="new")
    desk.run_failing("apply", "-auto-approve")
    desk.run("state", "rm", "kafka_topic.y")
    desk.run("apply", "-auto-approve")
    found = read_state(DEFAULT)
    assert found is not None
    assert (found.cluster_id, owned_names(DEFAULT)) == ("new", {"y"})


def test_a_saved_plan_is_not_applied_again_after_that(
    desk: MemoryCommand, clusters: dict[str, MemoryCluster]
) -> None:
    desk.write(PROVIDER + WEST + Y_IN_WEST)
    desk.run("plan", "-out=p")
    west = clusters["west"]
    west.run_before("create_topics", kill)
    with pytest.raises(Killed):
        run(("apply", "p"), {})
    desk.capture.readouterr()
    desk.run("state", "rm", "kafka_topic.y")
    assert "The plan was applied already" in desk.run_failing("apply", "p")


def test_it_is_forgotten_where_the_state_is_kept_in_records(
    desk: MemoryCommand, clusters: dict[str, MemoryCluster], monkeypatch: pytest.MonkeyPatch
) -> None:
    records = MemoryRecords()
    monkeypatch.setattr(Project, "store", property(lambda _: RecordStore(records.connect())))
    begin(desk, clusters, PROVIDER + WEST + Y_IN_WEST + Z)
    store = RecordStore(records.connect())
    assert store.has_journal()
    desk.write(PROVIDER + Z)
    assert FORGOT in everything(desk, "state", "rm", "kafka_topic.y")
    assert not store.has_journal()
    found = store.read()
    assert found is not None
    assert {each.identity for each in found.owned.values()} == {"z"}
    desk.run("apply", "-auto-approve")
