"""Two workspaces that adopt the same object at the same moment: at most one of them owns it."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from kplan.cluster.memory.cluster import MemoryCluster
from kplan.cluster.request import NewTopic
from kplan.model.state import State
from kplan.state.file import read_state
from kplan.state.file_store import FileStore
from kplan.workflow import open_project
from kplan.workflow.ports import Project
from kplan.workflow.workspaces import OtherOwners, read_other_owners
from tests.unit.cli.memory_command import MemoryCommand, memory_command
from tests.unit.cli.state.test_workspace_race import (
    DEFAULT,
    PROVIDER,
    W2,
    Y,
    apply_and_be_killed,
    apply_in_default,
    everything,
    kill,
    owned_names,
)

Y_CHANGED = Y.replace("= 1\n}", '= 1\n  config             = { "retention.ms" = "1000" }\n}')


@pytest.fixture
def desk(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> MemoryCommand:
    """Two workspaces declare `y`, which exists, and the second one is selected."""
    found = memory_command(tmp_path, capsys, monkeypatch)
    found.cluster.connect_as().create_topics([NewTopic("y", 1, 1)])
    found.write(Y)
    found.run("workspace", "new", "w2")
    return found


def run_after_planning(monkeypatch: pytest.MonkeyPatch, callback: Callable[[], None]) -> None:
    """Run this after the plan has looked for other owners."""
    read = read_other_owners

    def read_and_call(project: Project) -> OtherOwners:
        monkeypatch.setattr(open_project, "read_other_owners", read)
        found = read(project)
        callback()
        return found

    monkeypatch.setattr(open_project, "read_other_owners", read_and_call)


@pytest.mark.parametrize("text", [Y, Y_CHANGED])
def test_what_another_workspace_adopts_since_the_plan_is_not_adopted(
    desk: MemoryCommand, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    desk.write(text)
    run_after_planning(monkeypatch, apply_in_default)
    told = everything(desk, "apply", "-auto-approve", code=1)
    assert "kafka_topic.y: failed" in told
    assert (
        "It would be adopted, and since the plan it is owned at kafka_topic.y in the workspace "
        '"default" (state/kplan.json).'
    ) in told
    assert "release it there first: KPLAN_WORKSPACE=default kplan state rm kafka_topic.y" in told
    assert (owned_names(DEFAULT), owned_names(W2)) == ({"y"}, set())
    desk.run("destroy", "-auto-approve")
    assert set(desk.cluster.topics()) == {"y"}


def test_of_two_that_adopt_and_end_at_the_same_moment_not_both_own_it(
    desk: MemoryCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    end_in_default(desk, monkeypatch)
    assert "kafka_topic.y: failed" in everything(desk, "apply", "-auto-approve", code=1)
    assert (owned_names(DEFAULT), owned_names(W2)) == ({"y"}, set())


def test_what_another_workspace_adopts_before_this_one_is_killed_is_not_owned(
    desk: MemoryCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.write(Y_CHANGED)
    run_after_planning(monkeypatch, apply_in_default)
    alter: Callable[..., object] = MemoryCluster.alter_topic_configs
    with monkeypatch.context() as patch:

        def alter_and_kill(*args: object, validate_only: bool = False) -> object:
            answer = alter(*args, validate_only=validate_only)
            if not validate_only and owned_names(DEFAULT):
                kill()
            return answer

        patch.setattr(MemoryCluster, "alter_topic_configs", alter_and_kill)
        apply_and_be_killed()
    desk.capture.readouterr()
    assert 'it is owned at kafka_topic.y in the workspace "default"' in desk.run_failing("plan")
    desk.run("destroy", "-auto-approve")
    assert set(desk.cluster.topics()) == owned_names(DEFAULT) == {"y"}


def end_in_default(desk: MemoryCommand, monkeypatch: pytest.MonkeyPatch) -> None:
    """Apply in the other one, which ends right after this one has written its state."""
    apply_in_default()
    ended = DEFAULT.read_bytes()
    DEFAULT.unlink()
    write = FileStore.write

    def write_and_end_in_default(store: FileStore, state: State) -> None:
        write(store, state)
        DEFAULT.write_bytes(ended)

    monkeypatch.setattr(FileStore, "write", write_and_end_in_default)
    desk.capture.readouterr()


OWNED = 'it is owned at kafka_topic.y in the workspace "default" (state/kplan.json)'


@pytest.mark.parametrize(
    "args", [("import", "kafka_topic.y", "y"), ("state", "rebuild", "-auto-approve")]
)
def test_of_two_that_import_at_the_same_moment_not_both_own_it(
    desk: MemoryCommand, monkeypatch: pytest.MonkeyPatch, args: tuple[str, ...]
) -> None:
    end_in_default(desk, monkeypatch)
    assert OWNED in desk.run_failing(*args)
    assert (owned_names(DEFAULT), owned_names(W2)) == ({"y"}, set())


def test_of_two_that_import_a_terraform_state_at_the_same_moment_not_both_own_it(
    desk: MemoryCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.cluster.connect_as().create_topics([NewTopic("z", 1, 1)])
    instances = [
        {
            "mode": "managed",
            "type": "kafka_topic",
            "name": name,
            "instances": [{"attributes": {"name": name, "partitions": 1, "replication_factor": 1}}],
        }
        for name in "yz"
    ]
    tfstate = {"version": 4, "terraform_version": "1.9.0", "resources": instances}
    Path("terraform.tfstate").write_text(json.dumps(tfstate))
    end_in_default(desk, monkeypatch)
    assert OWNED in everything(desk, "import", "-from-tfstate=terraform.tfstate")
    assert (owned_names(DEFAULT), owned_names(W2)) == ({"y"}, {"z"})


@pytest.mark.parametrize("left", [{"z"}, set()])
def test_of_two_that_import_all_at_the_same_moment_not_both_own_and_declare_it(
    desk: MemoryCommand, monkeypatch: pytest.MonkeyPatch, left: set[str]
) -> None:
    desk.cluster.connect_as().create_topics([NewTopic(each, 1, 1) for each in left])
    end_in_default(desk, monkeypatch)
    desk.write(PROVIDER)
    file = Path("found.tf")
    assert OWNED in everything(desk, "import", "-all", f"-generate-config={file}")
    assert (owned_names(DEFAULT), owned_names(W2)) == ({"y"}, left)
    assert file.exists() is bool(left)
    assert "No changes." in desk.run("plan")


def test_outputs_are_those_of_what_is_owned_after_the_second_look(
    desk: MemoryCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.write(Y + 'output "made" { value = kafka_topic.y.name }\n')
    end_in_default(desk, monkeypatch)
    told = everything(desk, "apply", "-auto-approve", code=1)
    assert "Outputs are not updated because not every change was made." in told
    found = read_state(W2)
    assert found is not None
    assert (found.outputs, found.owned) == ({}, {})
