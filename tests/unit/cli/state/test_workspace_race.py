"""Two workspaces that create the same object at the same moment: one of them owns it."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from kplan.cli.run import run
from kplan.cluster.request import NewTopic, TopicRef
from kplan.state.codec import encode_state
from kplan.state.file import new_state, read_state
from kplan.state.file_store import FileStore
from kplan.state.lock import lock_state_file
from kplan.state.lock_holder import current_holder
from kplan.workflow import open_project
from tests.project_harness import Killed
from tests.unit.cli.memory_command import MemoryCommand, memory_command

DEFAULT, W2 = Path("state/kplan.json"), Path("state/kplan.json.d/w2/kplan.json")
PROVIDER = 'provider "kafka" { bootstrap_servers = ["127.0.0.1:1"] }\n'
Y = f"""{PROVIDER}
resource "kafka_topic" "y" {{
  name               = "y"
  partitions         = 1
  replication_factor = 1
}}
"""
Z = """
resource "kafka_topic" "z" {
  name               = "z"
  partitions         = 1
  replication_factor = 1
}
"""


@pytest.fixture
def race(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> MemoryCommand:
    """Two workspaces declare `y`, and the second one is selected."""
    found = memory_command(tmp_path, capsys, monkeypatch)
    found.write(Y)
    found.run("workspace", "new", "w2")
    return found


def everything(desk: MemoryCommand, *args: str, code: int = 0) -> str:
    assert run(args, {}) == code
    told = desk.capture.readouterr()
    return " ".join((told.out + told.err).replace("│", " ").split())


def kill() -> None:
    raise Killed


def apply_and_be_killed() -> None:
    with pytest.raises(Killed):
        run(("apply", "-auto-approve"), {})


def before_creation(desk: MemoryCommand, callback: Callable[[], object]) -> None:
    desk.cluster.run_before("create_topics", lambda: None)  # the dry run
    desk.cluster.run_before("create_topics", callback)


def apply_in_default() -> None:
    assert run(("apply", "-auto-approve"), {"KPLAN_WORKSPACE": "default"}) == 0


def owned_names(file: Path) -> set[str]:
    found = read_state(file)
    return set() if found is None else {each.identity for each in found.owned.values()}


def test_what_another_workspace_creates_at_the_same_moment_is_not_adopted(
    race: MemoryCommand,
) -> None:
    before_creation(race, apply_in_default)
    told = everything(race, "apply", "-auto-approve", code=1)
    assert (
        "It was created since the plan, and it is owned at kafka_topic.y in the workspace "
        '"default" (state/kplan.json).'
    ) in told
    assert (
        "hint: Declare another name here, or release it there first: "
        "KPLAN_WORKSPACE=default kplan state rm kafka_topic.y"
    ) in told
    assert "Plan again" not in told
    assert "kafka_topic.y: failed" in told
    assert "adopted" not in told
    assert (owned_names(DEFAULT), owned_names(W2)) == ({"y"}, set())
    race.run("destroy", "-auto-approve")
    assert set(race.cluster.topics()) == {"y"}


@pytest.mark.parametrize("carried_out", [False, True])
def test_what_another_workspace_creates_is_not_adopted_where_the_own_answer_is_lost(
    race: MemoryCommand, *, carried_out: bool
) -> None:
    def create_and_lose_the_answer() -> None:
        apply_in_default()
        race.cluster.time_out(call="create_topics", carried_out=carried_out)

    before_creation(race, create_and_lose_the_answer)
    told = everything(race, "apply", "-auto-approve", code=1)
    assert "It was created since the plan, and it is owned at kafka_topic.y" in told
    assert (owned_names(DEFAULT), owned_names(W2)) == ({"y"}, set())


@pytest.mark.parametrize("loses_answer", [False, True])
def test_what_another_workspace_may_have_created_at_the_same_moment_is_not_adopted(
    race: MemoryCommand, *, loses_answer: bool
) -> None:
    """Its state cannot be read: a plan adopts the object, and warns of that."""

    def create_and_damage() -> None:
        apply_in_default()
        DEFAULT.rename("kept.json")
        DEFAULT.write_text("{")
        if loses_answer:
            race.cluster.time_out(call="create_topics")

    before_creation(race, create_and_damage)
    told = everything(race, "apply", "-auto-approve", "-report=junit=r.xml", code=1)
    assert "kafka_topic.y: failed" in told
    said = "It was created since the plan, and is not adopted. The state of the workspace"
    assert said in told
    assert "To adopt it all the same, apply again." in told
    assert said in Path("r.xml").read_text()
    assert owned_names(W2) == set()
    assert "[KP251]" in everything(race, "plan")
    Path("kept.json").replace(DEFAULT)
    assert 'in the workspace "default"' in race.run_failing("apply", "-auto-approve")
    assert (owned_names(DEFAULT), owned_names(W2)) == ({"y"}, set())


def test_where_none_of_two_knows_who_created_it_none_owns_it_until_one_applies_again(
    race: MemoryCommand,
) -> None:
    """Somebody else did, and each sees what the other one has sent at that moment."""
    create = race.cluster.connect_as().create_topics
    journal = DEFAULT.with_suffix(".journal")

    def fail_in_default() -> None:
        before_creation(race, lambda: create([NewTopic("y", 1, 1)]))
        assert run(("apply", "-auto-approve"), {"KPLAN_WORKSPACE": "default"}) == 1
        DEFAULT.rename("ended.json")  # it is not that far yet
        journal.write_bytes(Path("state/kplan.json.d/w2/kplan.journal").read_bytes())

    before_creation(race, fail_in_default)
    told = everything(race, "apply", "-auto-approve", code=1)
    for workspace in ("default", "w2"):
        assert f'has sent it at kafka_topic.y in the workspace "{workspace}"' in told
        assert f"where it is owned then: KPLAN_WORKSPACE={workspace} kplan state rm" in told
    journal.unlink()
    Path("ended.json").replace(DEFAULT)
    assert (owned_names(DEFAULT), owned_names(W2)) == (set(), set())
    race.run("apply", "-auto-approve")
    assert owned_names(W2) == {"y"}
    race.run("workspace", "select", "default")
    assert 'it is owned at kafka_topic.y in the workspace "w2"' in race.run_failing("plan")


def test_an_own_creation_whose_answer_is_lost_is_owned(race: MemoryCommand) -> None:
    before_creation(race, lambda: race.cluster.time_out(call="create_topics", carried_out=True))
    assert "created (found on the cluster)" in everything(race, "apply", "-auto-approve")
    assert owned_names(W2) == {"y"}


@pytest.mark.parametrize("args", [(), ("-no-wait",)])
def test_an_own_creation_is_not_of_a_workspace_whose_topic_is_gone(
    race: MemoryCommand, args: tuple[str, ...]
) -> None:
    apply_in_default()
    race.cluster.connect_as().delete_topics([TopicRef("y")])
    before_creation(race, lambda: race.cluster.time_out(call="create_topics", carried_out=True))
    told = everything(race, "apply", "-auto-approve", *args)
    assert "created (found on the cluster)" in told
    assert owned_names(W2) == {"y"}


def test_a_killed_creation_is_adopted_with_a_warning_if_the_other_state_is_unreadable(
    race: MemoryCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    before_creation(race, apply_in_default)
    with monkeypatch.context() as patch:
        patch.setattr(open_project, "read_other_owners", lambda _: kill())
        apply_and_be_killed()
    DEFAULT.write_text("{")
    assert "KP251" in everything(race, "apply", "-auto-approve")


@pytest.mark.parametrize(
    ("args", "text"),
    [
        (("destroy", "-auto-approve"), Y),
        (("apply", "-auto-approve"), PROVIDER + Z),
        (("apply", "-auto-approve", "-target=kafka_topic.z"), Y + Z),
        (("apply", "p"), PROVIDER + Z),
    ],
)
def test_a_killed_creation_is_not_forgotten_if_the_other_state_is_unreadable(
    race: MemoryCommand, args: tuple[str, ...], text: str
) -> None:
    """Whoever does not adopt it would leave a topic that no state knows."""
    race.write(text)
    race.run("plan", "-out=p")
    race.write(Y)
    begin(race, "w2")
    DEFAULT.parent.mkdir(exist_ok=True)
    DEFAULT.write_text("{")
    race.write(text)
    told = race.run_failing(*args)
    assert "[KP251]" in told
    is_excluded = args[-1].startswith("-target")
    why = "-target excludes it" if is_excluded else "This plan does not adopt it"
    assert f"An interrupted apply sent kafka_topic.y (y), and it exists. {why}" in told
    way = "adopt it first" if is_excluded or "destroy" in args else "declare it and adopt it first"
    assert f"hint: Let the other states be read, or {way}" in told
    DEFAULT.unlink()
    race.run(*args)
    assert ("y" in race.cluster.topics()) is (args[-1] in {"-target=kafka_topic.z", "p"})
    assert ("y" in owned_names(W2)) is ("y" in race.cluster.topics())


def test_a_killed_creation_that_was_adopted_is_destroyed_with_the_other_state_unreadable(
    race: MemoryCommand,
) -> None:
    begin(race, "w2")
    DEFAULT.parent.mkdir(exist_ok=True)
    DEFAULT.write_text("{")
    told = everything(race, "apply", "-auto-approve")
    assert "An apply of 1 change was interrupted" in told
    assert "No state found" not in told  # it was never written, and is not lost
    race.run("destroy", "-auto-approve")
    assert not race.cluster.topics()


def test_what_no_workspace_owns_is_adopted(race: MemoryCommand) -> None:
    before_creation(race, lambda: race.cluster.connect_as().create_topics([NewTopic("y", 1, 1)]))
    lines = race.run("apply", "-auto-approve", "-json").splitlines()
    sorts = [json.loads(each)["type"] for each in lines]
    assert sorts[-4:] == ["apply_complete", "apply_item", "apply_verified", "change_summary"]
    assert owned_names(W2) == {"y"}
    assert "No changes." in race.run("plan")


def begin(race: MemoryCommand, workspace: str = "default") -> None:
    """Create it, and be killed before there is an answer."""

    def create_and_kill() -> None:
        race.cluster.connect_as().create_topics([NewTopic("y", 1, 1)])
        kill()

    before_creation(race, create_and_kill)
    with pytest.raises(Killed):
        run(("apply", "-auto-approve"), {"KPLAN_WORKSPACE": workspace})


def test_what_an_unfinished_apply_elsewhere_has_sent_is_not_adopted(race: MemoryCommand) -> None:
    before_creation(race, lambda: begin(race))
    told = everything(race, "apply", "-auto-approve", code=1)
    assert "an unfinished apply has sent it at kafka_topic.y in the workspace" in told
    assert "or finish that apply and release it there first, where it is owned then: " in told
    race.run("workspace", "select", "default")
    race.run("apply", "-auto-approve", "-resume")
    assert (owned_names(DEFAULT), owned_names(W2)) == ({"y"}, set())


def begin_in_both(race: MemoryCommand, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both have sent it, and each is killed before it knows who made it."""
    before_creation(race, lambda: begin(race))
    with monkeypatch.context() as patch:
        patch.setattr(open_project, "read_other_owners", lambda _: kill())
        apply_and_be_killed()
    race.capture.readouterr()


def test_where_both_are_killed_the_one_that_no_longer_declares_it_gives_way(
    race: MemoryCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin_in_both(race, monkeypatch)
    race.write(PROVIDER)
    race.run("apply", "-auto-approve")
    race.write(Y)
    race.run("workspace", "select", "default")
    race.run("apply", "-resume")
    assert (owned_names(DEFAULT), owned_names(W2)) == ({"y"}, set())
    assert set(race.cluster.topics()) == {"y"}


@pytest.mark.parametrize("args", [("apply", "-auto-approve"), ("apply", "-resume")])
@pytest.mark.parametrize(("first", "second"), [("default", "w2"), ("w2", "default")])
def test_where_both_are_killed_the_first_that_is_finished_owns_it(
    race: MemoryCommand,
    monkeypatch: pytest.MonkeyPatch,
    args: tuple[str, ...],
    first: str,
    second: str,
) -> None:
    begin_in_both(race, monkeypatch)
    for name in (first, second):  # none of them is in the way of a plan of the other
        race.run("workspace", "select", name)
        assert "No changes." in race.run("plan")
    race.run("workspace", "select", first)
    race.run(*args)
    race.run("workspace", "select", second)
    owned = f'it is owned at kafka_topic.y in the workspace "{first}"'
    assert owned in race.run_failing(*args)
    names = {"default": owned_names(DEFAULT), "w2": owned_names(W2)}
    assert names == {first: {"y"}, second: set()}


def test_where_both_are_killed_none_owns_it_while_the_other_one_is_at_work(
    race: MemoryCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin_in_both(race, monkeypatch)
    with lock_state_file(DEFAULT, current_holder("apply"), 0, lambda _: None):
        told = race.run_failing("apply", "-resume")
    assert 'an unfinished apply has sent it at kafka_topic.y in the workspace "default"' in told
    assert owned_names(W2) == set()
    race.run("apply", "-resume")
    assert owned_names(W2) == {"y"}


def test_where_both_are_killed_and_both_destroy_the_second_one_deletes_it(
    race: MemoryCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin_in_both(race, monkeypatch)
    race.run("destroy", "-auto-approve")
    assert set(race.cluster.topics()) == {"y"}
    race.run("workspace", "select", "default")
    race.run("destroy", "-auto-approve")
    assert not race.cluster.topics()


@pytest.mark.parametrize("args", [("apply", "-auto-approve"), ("apply", "-resume")])
def test_a_run_that_is_killed_before_it_knows_the_owner_owns_nothing(
    race: MemoryCommand, monkeypatch: pytest.MonkeyPatch, args: tuple[str, ...]
) -> None:
    before_creation(race, apply_in_default)
    with monkeypatch.context() as patch:
        patch.setattr(open_project, "read_other_owners", lambda _: kill())
        apply_and_be_killed()
    race.capture.readouterr()
    assert 'in the workspace "default"' in race.run_failing(*args)
    race.write(PROVIDER)
    race.run("apply", "-auto-approve")
    assert set(race.cluster.topics()) == {"y"}
    assert (owned_names(DEFAULT), owned_names(W2)) == ({"y"}, set())
    race.write(Y)
    race.run("workspace", "select", "default")
    assert "No changes." in race.run("plan")


def test_a_resume_names_the_apply_that_takes_another_name(
    race: MemoryCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    before_creation(race, apply_in_default)
    with monkeypatch.context() as patch:
        patch.setattr(open_project, "read_other_owners", lambda _: kill())
        apply_and_be_killed()
    race.write(Y.replace('= "y"', '= "y2"'))
    race.capture.readouterr()
    told = race.run_failing("apply", "-resume")
    assert "kafka_topic.y (y) would be adopted, and it is owned at" in told
    assert (
        "hint: A resume keeps the name that was approved; kplan apply takes the one that is "
        "declared. Declare another name here, or release it there first: "
    ) in told
    race.run("apply", "-auto-approve")
    assert (owned_names(DEFAULT), owned_names(W2)) == ({"y"}, {"y2"})
    assert race.run_failing("apply", "-resume").count("nothing to resume") == 1


def test_an_apply_that_ends_while_its_records_are_read_hides_nothing(
    race: MemoryCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its state is read, then it ends, and then its journal is gone."""
    apply_in_default()
    later, earlier = DEFAULT.read_bytes(), encode_state(new_state("line"), "1.0")
    DEFAULT.write_bytes(earlier)

    def end(store: FileStore) -> None:
        if "w2" not in store.location:
            DEFAULT.write_bytes(later)

    monkeypatch.setattr(FileStore, "has_journal", lambda store: "w2" not in store.location)
    monkeypatch.setattr(FileStore, "read_journal", end)
    assert 'in the workspace "default"' in race.run_failing("plan")
