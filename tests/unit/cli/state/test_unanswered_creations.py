"""What an apply may have created is not forgotten where it ends by itself without an answer."""

from collections.abc import Callable
from pathlib import Path

import pytest

from kplan.cli import wiring
from kplan.cli.run import run
from kplan.cluster.memory.cluster import MemoryCluster
from kplan.cluster.request import NewTopic
from kplan.state.file import read_state
from kplan.state.file_store import FileStore
from tests.apply_harness import FakeClock
from tests.project_harness import Killed
from tests.unit.cli.memory_command import MemoryCommand, memory_command
from tests.unit.cli.state.test_interrupted_creations import JOURNAL, USER, begin_with
from tests.unit.cli.state.test_workspace_race import (
    DEFAULT,
    PROVIDER,
    Y,
    Z,
    apply_and_be_killed,
    before_creation,
    everything,
    kill,
    owned_names,
)

NO_USERS = """
policy "no_users" {
  on   = ["create", "alter"]
  kind = "kafka_user_scram_credential"
  deny {
    condition = true
    message   = "no users"
  }
}
"""


@pytest.fixture
def desk(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> MemoryCommand:
    monkeypatch.setattr(wiring, "SystemClock", FakeClock)
    return memory_command(tmp_path, capsys, monkeypatch)


def lose_answers(desk: MemoryCommand, *args: str, carried_out: bool = True) -> str:
    """Apply a topic whose creation gets no answer, and which cannot be looked up either."""

    def lose() -> None:
        desk.cluster.time_out(call="create_topics", carried_out=carried_out, times=None)
        desk.cluster.time_out(call="topics", times=None)

    before_creation(desk, lose)
    told = everything(desk, "apply", *(args or ("-auto-approve",)), "-detailed-exitcode", code=5)
    desk.cluster.clear_faults()
    return told


def test_a_creation_without_an_answer_is_destroyed_where_it_is_not_declared_any_more(
    desk: MemoryCommand,
) -> None:
    desk.write(Y)
    lose_answers(desk)
    assert owned_names(DEFAULT) == set()
    desk.write(PROVIDER + Z)
    told = everything(desk, "apply", "-auto-approve")
    assert "An earlier apply got no answer for 1 change; being looked up: 1." in told
    assert "kafka_topic.y will be destroyed" in told
    assert set(desk.cluster.topics()) == owned_names(DEFAULT) == {"z"}
    assert not JOURNAL.exists()


def test_a_creation_without_an_answer_is_owned_by_the_next_apply(desk: MemoryCommand) -> None:
    desk.write(Y)
    lose_answers(desk)
    told = everything(desk, "plan")
    assert "No changes." in told
    assert "To record it: kplan apply" in told
    assert "An apply of 1 change ended without all answers" in everything(desk, "state", "list")
    assert "interrupted" not in told
    assert "resume" not in told
    desk.run("apply", "-auto-approve")
    assert owned_names(DEFAULT) == {"y"}
    assert not JOURNAL.exists()


@pytest.mark.parametrize("args", [("apply", "-auto-approve"), ("apply", "-resume")])
def test_a_creation_without_an_answer_that_was_not_made_is_made_again(
    desk: MemoryCommand, args: tuple[str, ...]
) -> None:
    desk.write(Y)
    lose_answers(desk, carried_out=False)
    desk.run(*args)
    assert set(desk.cluster.topics()) == owned_names(DEFAULT) == {"y"}
    assert not JOURNAL.exists()


def test_commands_say_that_an_apply_lacks_answers_and_was_not_interrupted(
    desk: MemoryCommand,
) -> None:
    desk.write(Y + Z)
    lose_answers(desk)
    for told in (
        desk.run_failing("state", "mv", "kafka_topic.z", "kafka_topic.x"),
        desk.run_failing("import", "kafka_topic.y", "y"),
    ):
        assert "An apply ended without all answers, and what it did is not in the state " in told
        assert "hint: Find it out first: kplan apply" in told
    told = everything(desk, "state", "list")
    assert "An apply of 2 changes ended without all answers" in told
    assert "To find it out: kplan apply" in told
    told = everything(desk, "state", "verify")
    assert "Note: an apply ended without all answers. Find out what it did: kplan apply" in told
    told = everything(desk, "drift", code=0)
    assert "An earlier apply got no answer for 2 changes" in told


def test_a_creation_that_still_cannot_be_looked_up_stays_recorded(desk: MemoryCommand) -> None:
    desk.write(Y)
    lose_answers(desk)
    desk.write(PROVIDER + Z)
    desk.cluster.deny_operation("DESCRIBE", "TOPIC", "y")
    told = desk.run_failing("apply", "-auto-approve")
    assert "An apply sent kafka_topic.y (y) and got no answer, and whether it exists is" in told
    assert JOURNAL.exists()
    desk.run("state", "rm", "kafka_topic.y")
    desk.run("apply", "-auto-approve")


def test_a_saved_plan_that_got_no_answer_was_applied_already(desk: MemoryCommand) -> None:
    desk.write(Y)
    desk.run("plan", "-out=p")
    lose_answers(desk, "p")
    assert "The plan was applied already" in desk.run_failing("apply", "p")


@pytest.mark.parametrize("is_lost", [False, True])
def test_an_apply_that_was_killed_at_its_end_was_interrupted(
    desk: MemoryCommand, monkeypatch: pytest.MonkeyPatch, *, is_lost: bool
) -> None:
    """Its state is not written, so the plan does not count as applied."""
    desk.write(Y)
    desk.run("plan", "-out=p")
    with monkeypatch.context() as patch:
        patch.setattr(FileStore, "write", lambda *_: kill())
        with pytest.raises(Killed):
            _ = lose_answers(desk, "p") if is_lost else run(("apply", "p"), {})
    desk.capture.readouterr()
    desk.cluster.clear_faults()
    told = desk.run_failing("apply", "p")
    assert "An apply of this plan was started and interrupted." in told
    if not is_lost:
        assert "An apply of 1 change was interrupted; known: 1, being looked up: 0" in told
    desk.run("apply", "-resume")
    assert owned_names(DEFAULT) == {"y"}


@pytest.mark.parametrize("more", ["", Z])
def test_a_creation_that_a_policy_does_not_let_be_adopted_is_not_forgotten(
    desk: MemoryCommand, monkeypatch: pytest.MonkeyPatch, more: str
) -> None:
    begin_with(desk, monkeypatch, "alter_scram_users", USER)
    desk.write(PROVIDER + USER + NO_USERS + more)
    for _ in range(2):
        assert "no users" in everything(desk, "apply", "-auto-approve", code=1)
        assert owned_names(DEFAULT) == ({"z"} if more else set())
        assert JOURNAL.exists()
    desk.write(PROVIDER + more)
    told = desk.run_failing("apply", "-auto-approve")
    assert "An apply sent kafka_user_scram_credential.u (u|SCRAM-SHA-256) and got no" in told
    desk.write(PROVIDER + USER + more)
    desk.run("apply", "-auto-approve")
    assert "u|SCRAM-SHA-256" in owned_names(DEFAULT)
    assert not JOURNAL.exists()


def test_a_creation_that_the_cluster_does_not_let_be_adopted_is_not_forgotten(
    desk: MemoryCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin_with(desk, monkeypatch, "alter_scram_users", USER)
    desk.cluster.refuse("CLUSTER_AUTHORIZATION_FAILED", call="alter_scram_users")
    told = everything(desk, "apply", "-auto-approve", code=1)
    assert "kafka_user_scram_credential.u: failed" in told
    desk.cluster.clear_faults()
    desk.write(PROVIDER)
    assert "[KP253]" in desk.run_failing("apply", "-auto-approve")


def test_what_was_only_to_be_adopted_and_changed_is_not_taken_for_a_creation(
    desk: MemoryCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was there before, and is nobody's whose adoption a policy refuses."""
    desk.cluster.connect_as().create_topics([NewTopic("y", 1, 1)])
    changed = Y.replace("= 1\n}", '= 1\n  config             = { "retention.ms" = "1000" }\n}')
    alter: Callable[..., object] = MemoryCluster.alter_topic_configs

    def alter_or_kill(*args: object, validate_only: bool = False) -> object:
        if not validate_only:
            kill()
        return alter(*args, validate_only=validate_only)

    with monkeypatch.context() as patch:
        patch.setattr(MemoryCluster, "alter_topic_configs", alter_or_kill)
        desk.write(changed)
        apply_and_be_killed()
    desk.capture.readouterr()
    desk.write(changed + NO_USERS.replace("user_scram_credential", "topic"))
    assert "no users" in everything(desk, "apply", "-auto-approve", code=1)
    assert not JOURNAL.exists()


def test_a_kill_while_it_is_adopted_does_not_forget_it(
    desk: MemoryCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin_with(desk, monkeypatch, "alter_scram_users", USER)
    with monkeypatch.context() as patch:
        patch.setattr(FileStore, "open_journal", lambda *_: kill())
        with pytest.raises(Killed):
            run(("apply", "-auto-approve"), {})
    desk.capture.readouterr()
    desk.write(PROVIDER)
    assert "[KP253]" in desk.run_failing("apply", "-auto-approve")


def test_a_kill_while_an_interrupted_apply_is_recorded_leaves_nothing_to_repair(
    desk: MemoryCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.write(Y)
    before_creation(desk, kill)
    with pytest.raises(Killed):
        run(("apply", "-auto-approve"), {})
    with monkeypatch.context() as patch:
        patch.setattr(FileStore, "discard_journal", lambda _: kill())
        with pytest.raises(Killed):
            run(("apply", "-auto-approve"), {})
    desk.capture.readouterr()
    desk.run("apply", "-auto-approve")
    found = read_state(DEFAULT)
    assert found is not None
    assert owned_names(DEFAULT) == {"y"}
