"""A creation that was sent by an apply that was killed is not forgotten: its journal stays."""

from collections.abc import Callable
from pathlib import Path

import pytest

from kplan.cli import wiring
from kplan.cli.run import run
from kplan.cluster.memory.cluster import MemoryCluster
from kplan.cluster.request import NewPartitions, NewTopic, TopicRef
from kplan.cluster.settings import ScramAlteration
from kplan.model.errors import UnreachableError
from kplan.state.file import read_state
from kplan.state.file_store import FileStore
from kplan.state.lock import lock_state_file
from kplan.state.lock_holder import current_holder
from kplan.workflow import open_project
from kplan.workflow.ports import Project
from kplan.workflow.workspaces import OtherOwners, read_other_owners
from tests.unit.cli.memory_command import MemoryCommand, memory_command
from tests.unit.cli.state.test_workspace_race import (
    DEFAULT,
    PROVIDER,
    W2,
    Y,
    Z,
    apply_and_be_killed,
    before_creation,
    begin_in_both,
    everything,
    kill,
    owned_names,
)

JOURNAL = DEFAULT.with_suffix(".journal")
WEST = """
provider "kafka" {
  alias             = "west"
  bootstrap_servers = ["127.0.0.1:2"]
}
"""
Y_IN_WEST = Y.removeprefix(PROVIDER).replace("name  ", "provider = kafka.west\n  name  ")
ACL = """
resource "kafka_acl" "a" {
  resource_type       = "Topic"
  resource_name       = "y"
  acl_principal       = "User:app"
  acl_host            = "*"
  acl_operation       = "Read"
  acl_permission_type = "Allow"
}
"""
USER = """
resource "kafka_user_scram_credential" "u" {
  username        = "u"
  scram_mechanism = "SCRAM-SHA-256"
  password        = "secret-password"
}
"""


@pytest.fixture
def desk(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> MemoryCommand:
    return memory_command(tmp_path, capsys, monkeypatch)


def create_and_be_killed(cluster: MemoryCluster) -> Callable[[], None]:
    def callback() -> None:
        cluster.connect_as().create_topics([NewTopic("y", 1, 1)])
        kill()

    return callback


def begin(desk: MemoryCommand) -> None:
    """Create `y`, and be killed before there is an answer."""
    desk.write(Y)
    before_creation(desk, create_and_be_killed(desk.cluster))
    apply_and_be_killed()
    desk.capture.readouterr()


def begin_with(desk: MemoryCommand, monkeypatch: pytest.MonkeyPatch, call: str, text: str) -> None:
    """Create what is declared by a call of the cluster, and be killed before there is an answer."""
    create: Callable[..., object] = getattr(MemoryCluster, call)

    def create_and_kill(*args: object) -> None:
        create(*args)
        kill()

    with monkeypatch.context() as patch:
        patch.setattr(MemoryCluster, call, create_and_kill)
        desk.write(PROVIDER + text)
        apply_and_be_killed()
    desk.capture.readouterr()


def connect_both(desk: MemoryCommand, monkeypatch: pytest.MonkeyPatch) -> dict[str, MemoryCluster]:
    """Offer the cluster without alias, and one behind kafka.west, which can be lost."""
    found = {"west": MemoryCluster(cluster_id="west"), "": desk.cluster}

    def connect(*args: object) -> MemoryCluster:
        if (cluster := found.get(str(args[3]))) is None:
            raise UnreachableError("No answer.")
        return cluster

    monkeypatch.setattr(wiring, "_connect", connect)
    return found


@pytest.fixture
def west(desk: MemoryCommand, monkeypatch: pytest.MonkeyPatch) -> dict[str, MemoryCluster]:
    """Create `y` on kafka.west and be killed; the cluster behind that connection can be changed."""
    found = connect_both(desk, monkeypatch)
    desk.write(PROVIDER + WEST + Y_IN_WEST)
    found["west"].run_before("create_topics", lambda: None)  # the dry run
    found["west"].run_before("create_topics", create_and_be_killed(found["west"]))
    apply_and_be_killed()
    desk.capture.readouterr()
    return found


def test_a_creation_on_a_connection_that_nothing_uses_any_more_is_looked_up(
    desk: MemoryCommand, west: dict[str, MemoryCluster]
) -> None:
    desk.write(PROVIDER + WEST + Z)
    assert "kafka_topic.y will be destroyed" in desk.run("apply", "-auto-approve")
    assert not west["west"].topics()


@pytest.mark.parametrize("text", [PROVIDER + WEST + Y_IN_WEST + Z, PROVIDER + WEST + Z])
def test_a_creation_on_a_cluster_that_does_not_answer_is_not_forgotten(
    desk: MemoryCommand, west: dict[str, MemoryCluster], text: str
) -> None:
    cluster = west.pop("west")
    desk.write(text)
    told = desk.run_failing("apply", "-auto-approve")
    assert "[KP253]" in told
    assert "An interrupted apply sent kafka_topic.y (y), and whether it exists is unknown: " in told
    assert JOURNAL.exists()
    west["west"] = cluster
    desk.run("apply", "-auto-approve")
    assert ("y" in owned_names(DEFAULT)) is ("y" in cluster.topics()) is (Y_IN_WEST in text)


def test_a_creation_on_a_connection_that_is_not_declared_any_more_is_not_forgotten(
    desk: MemoryCommand, west: dict[str, MemoryCluster]
) -> None:
    desk.write(PROVIDER + Z)
    told = desk.run_failing("apply", "-auto-approve")
    assert "whether it exists is unknown: kafka.west is not declared." in told
    assert "hint: Declare kafka.west again." in told
    desk.write(PROVIDER + WEST + Z)
    desk.run("apply", "-auto-approve")
    assert not west["west"].topics()


def test_a_creation_is_not_looked_up_on_another_cluster(
    desk: MemoryCommand, west: dict[str, MemoryCluster]
) -> None:
    west["west"] = MemoryCluster(cluster_id="another")
    desk.write(PROVIDER + WEST + Z)
    told = desk.run_failing("apply", "-auto-approve")
    assert "whether it exists is unknown: kafka.west leads to another cluster now." in told
    assert JOURNAL.exists()


def test_a_creation_that_cannot_be_read_is_not_forgotten(
    desk: MemoryCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin_with(desk, monkeypatch, "create_acls", ACL)
    desk.write(PROVIDER + Z)
    desk.cluster.deny_operation("DESCRIBE", "CLUSTER")
    told = desk.run_failing("apply", "-auto-approve")
    assert "An interrupted apply sent kafka_acl.a (User:app|" in told
    assert "hint: Plan again when it can be read." in told
    assert JOURNAL.exists()


@pytest.mark.parametrize(
    "args", [("destroy", "-auto-approve"), ("apply", "-auto-approve"), ("apply", "p")]
)
def test_a_creation_that_is_not_visible_yet_is_waited_for(
    desk: MemoryCommand, args: tuple[str, ...]
) -> None:
    desk.write(PROVIDER + Z)
    desk.run("plan", "-out=p")
    begin(desk)
    desk.cluster.connect_as().delete_topics([TopicRef("y")])
    desk.cluster.delay_reads(12)
    desk.cluster.connect_as().create_topics([NewTopic("y", 1, 1)])
    desk.write(PROVIDER + Z)
    desk.run(*args)
    desk.cluster.delay_reads(0)
    assert ("y" in desk.cluster.topics()) is ("y" in owned_names(DEFAULT)) is (args[-1] == "p")


def test_a_creation_that_was_changed_since_is_adopted_or_not_forgotten(
    desk: MemoryCommand,
) -> None:
    """Kafka does not say who made it, so it is not deleted before someone has declared it."""
    begin(desk)
    desk.cluster.connect_as().create_partitions([NewPartitions("y", 3)])
    desk.write(PROVIDER + Z)
    told = desk.run_failing("apply", "-auto-approve")
    assert "[KP253]" in told
    assert (
        "An interrupted apply sent kafka_topic.y (y), and it exists, and is not seen to be as it "
        "was sent. This plan does not adopt it, so nothing here would know of it any more."
    ) in told
    assert "hint: Declare it and adopt it first: kplan apply" in told
    desk.write(Y.replace("= 1\n  rep", "= 3\n  rep"))
    desk.run("apply", "-auto-approve")
    assert owned_names(DEFAULT) == {"y"}
    desk.run("destroy", "-auto-approve")
    assert not desk.cluster.topics()


def test_a_service_goes_on_beside_a_user_that_a_person_is_to_adopt(
    desk: MemoryCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin_with(desk, monkeypatch, "alter_scram_users", USER)
    desk.write(PROVIDER + USER + Z)
    told = desk.run_failing("apply", "-auto-approve", "-target=kafka_topic.z")
    assert "sent. -target excludes it, so nothing here would know of it any more." in told
    assert "hint: Adopt it first, with a plan of everything: kplan apply" in told
    desk.run("reconcile", "-once", code=2)
    assert owned_names(DEFAULT) == {"z"}
    desk.run("apply", "-auto-approve")
    assert owned_names(DEFAULT) == {"z", "u|SCRAM-SHA-256"}


def test_a_user_that_was_perhaps_created_is_adopted_or_not_forgotten(
    desk: MemoryCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its password cannot be read, so nothing shows whether it is the one that was sent."""
    begin_with(desk, monkeypatch, "alter_scram_users", USER)
    told = desk.run_failing("destroy", "-auto-approve")
    assert "sent kafka_user_scram_credential.u (u|SCRAM-SHA-256), and it exists, and is" in told
    desk.run("apply", "-auto-approve")
    desk.run("destroy", "-auto-approve")
    assert not desk.cluster.scram_users()


def begin_user_in_both(desk: MemoryCommand, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have two workspaces create the user, each killed before there is an answer."""
    begin_with(desk, monkeypatch, "alter_scram_users", USER)
    kept = JOURNAL.read_bytes()
    JOURNAL.unlink()
    (user,) = desk.cluster.scram_users()
    desk.cluster.connect_as().alter_scram_users([ScramAlteration(user)])
    desk.run("workspace", "new", "w2")
    begin_with(desk, monkeypatch, "alter_scram_users", USER)
    JOURNAL.write_bytes(kept)


@pytest.mark.parametrize("args", [("apply", "-auto-approve"), ("apply", "-resume")])
@pytest.mark.parametrize(("first", "second"), [("default", "w2"), ("w2", "default")])
def test_of_two_that_are_killed_the_first_that_is_finished_owns_a_user(
    desk: MemoryCommand,
    monkeypatch: pytest.MonkeyPatch,
    args: tuple[str, ...],
    first: str,
    second: str,
) -> None:
    """None of them can see whether the password is the one that was sent."""
    begin_user_in_both(desk, monkeypatch)
    for name in (first, second):  # none of them is in the way of a plan of the other
        desk.run("workspace", "select", name)
        desk.run("plan")
    desk.run("workspace", "select", first)
    desk.run(*args)
    desk.run("workspace", "select", second)
    owned = f'it is owned at kafka_user_scram_credential.u in the workspace "{first}"'
    assert owned in desk.run_failing(*args)
    names = {"default": owned_names(DEFAULT), "w2": owned_names(W2)}
    assert names == {first: {"u|SCRAM-SHA-256"}, second: set()}


def test_none_of_two_that_are_killed_owns_a_user_while_the_other_one_is_at_work(
    desk: MemoryCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin_user_in_both(desk, monkeypatch)
    with lock_state_file(DEFAULT, current_holder("apply"), 0, lambda _: None):
        told = desk.run_failing("apply", "-auto-approve")
    assert "an unfinished apply has sent it at kafka_user_scram_credential.u" in told
    assert owned_names(W2) == set()
    desk.run("apply", "-auto-approve")
    assert owned_names(W2) == {"u|SCRAM-SHA-256"}


def test_a_creation_that_never_arrived_is_made_again(desk: MemoryCommand) -> None:
    desk.write(Y)
    before_creation(desk, kill)
    apply_and_be_killed()
    desk.capture.readouterr()
    assert run(("apply", "-auto-approve"), {}) == 0
    assert owned_names(DEFAULT) == set(desk.cluster.topics()) == {"y"}


def test_where_both_are_killed_and_both_destroy_at_once_none_forgets_it(
    desk: MemoryCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each sees the lock of the other one, so none can leave it to the other one."""
    desk.write(Y)
    desk.run("workspace", "new", "w2")
    begin_in_both(desk, monkeypatch)
    read = read_other_owners

    def read_and_destroy_in_default(project: Project) -> OtherOwners:
        monkeypatch.setattr(open_project, "read_other_owners", read)
        with lock_state_file(DEFAULT, current_holder("destroy"), 0, lambda _: None):
            found = read(project)
        assert run(("destroy", "-auto-approve"), {"KPLAN_WORKSPACE": "default"}) == 1
        return found

    monkeypatch.setattr(open_project, "read_other_owners", read_and_destroy_in_default)
    told = desk.run_failing("destroy", "-auto-approve")
    for name in ("default", "w2"):
        assert f'an unfinished apply has sent it at kafka_topic.y in the workspace "{name}"' in told
    assert told.count("and a run holds the lock there.") == told.count("[KP253]") == 2
    assert "hint: Run it again when that run has ended; kplan lock status shows it there." in told
    desk.run("destroy", "-auto-approve")
    assert set(desk.cluster.topics()) == {"y"}
    desk.run("workspace", "select", "default")
    desk.run("destroy", "-auto-approve")
    assert not desk.cluster.topics()


def test_a_saved_plan_does_not_warn_of_a_state_that_can_be_read_by_now(desk: MemoryCommand) -> None:
    desk.write(Y + Z)
    desk.run("workspace", "new", "w2")
    before_creation(desk, create_and_be_killed(desk.cluster))
    apply_and_be_killed()
    DEFAULT.parent.mkdir(exist_ok=True)
    DEFAULT.write_text("{")
    assert "[KP251]" in everything(desk, "plan", "-out=p")
    DEFAULT.unlink()
    told = everything(desk, "apply", "p")
    assert "KP251" not in told
    assert "cannot be read" not in told


NORTH = WEST.replace("west", "north")
Y_IN_NORTH = Y_IN_WEST.replace("west", "north")


@pytest.mark.parametrize("more", ["", Z.replace("name  ", "provider = kafka.west\n  name  ")])
@pytest.mark.parametrize("args", [("apply", "-auto-approve"), ("apply", "-resume")])
def test_a_creation_follows_its_cluster_to_a_connection_of_another_name(
    desk: MemoryCommand, west: dict[str, MemoryCluster], args: tuple[str, ...], more: str
) -> None:
    west["north"] = west.pop("west")
    desk.write(PROVIDER + NORTH + Y_IN_NORTH + more.replace("west", "north"))
    assert "An apply has not ended" not in everything(desk, "drift")
    told = everything(desk, *args)
    assert "What was on kafka.west is on kafka.north now" in told
    found = read_state(DEFAULT)
    assert found is not None
    assert [each.provider for each in found.owned.values() if each.identity == "y"] == ["north"]
    assert not JOURNAL.exists()


def test_a_creation_follows_its_cluster_to_a_connection_that_nothing_uses(
    desk: MemoryCommand, west: dict[str, MemoryCluster]
) -> None:
    west["north"] = west.pop("west")
    desk.write(PROVIDER + NORTH + Z)
    assert "kafka_topic.y will be destroyed" in everything(desk, "apply", "-auto-approve")
    assert not west["north"].topics()
    assert not JOURNAL.exists()


def test_a_kill_while_a_creation_follows_its_cluster_does_not_forget_it(
    desk: MemoryCommand, west: dict[str, MemoryCluster], monkeypatch: pytest.MonkeyPatch
) -> None:
    west["north"] = west.pop("west")
    desk.write(PROVIDER + NORTH + Y_IN_NORTH)
    for call in ("write", "discard_journal"):
        with monkeypatch.context() as patch:
            patch.setattr(FileStore, call, lambda *_: kill())
            apply_and_be_killed()
    desk.capture.readouterr()
    desk.run("apply", "-auto-approve")
    assert owned_names(DEFAULT) == {"y"}
    desk.run("destroy", "-auto-approve")
    assert not west["north"].topics()


@pytest.mark.parametrize("name", ["north", "west"])
def test_a_spare_connection_to_a_cluster_in_use_is_not_asked_for_a_creation(
    desk: MemoryCommand, west: dict[str, MemoryCluster], name: str
) -> None:
    """Nothing uses it, so that it does not matter that another one leads there as well."""
    west["spare"] = desk.cluster
    west[name] = west.pop("west")
    spare = WEST.replace("west", "spare")
    mine = Z.removeprefix(PROVIDER) + Y_IN_WEST.replace("west", name)
    desk.write(PROVIDER + WEST.replace("west", name) + spare + mine)
    desk.run("apply", "-auto-approve")
    assert owned_names(DEFAULT) == {"y", "z"}
    assert not JOURNAL.exists()


def test_a_spare_connection_does_not_hide_where_a_creation_was_sent(
    desk: MemoryCommand, west: dict[str, MemoryCluster]
) -> None:
    west["spare"] = desk.cluster
    desk.write(PROVIDER + WEST.replace("west", "spare") + Z.removeprefix(PROVIDER))
    told = everything(desk, "apply", "-auto-approve", code=1)
    assert "KP307" not in told
    assert "kafka.west is not declared" in told
