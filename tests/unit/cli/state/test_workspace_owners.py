"""No object is owned by two workspaces: the second one could delete what the first one protects."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from kplan.cli.run import run
from kplan.cluster.request import NewTopic, TopicRef
from kplan.state.codec import encode_state
from kplan.state.file import read_state
from tests.project_harness import Killed
from tests.unit.cli.memory_command import MemoryCommand, memory_command

DEFAULT = Path("state/kplan.json")
KEPT = """
provider "kafka" { bootstrap_servers = ["127.0.0.1:1"] }
resource "kafka_topic" "x" {
  name               = "x"
  partitions         = 1
  replication_factor = 1
  lifecycle { prevent_destroy = true }
}
"""
ACL = """
provider "kafka" {{ bootstrap_servers = ["127.0.0.1:1"] }}
resource "kafka_acl" "a" {{
  resource_type       = "Topic"
  resource_name       = "x"
  acl_principal       = "User:app"
  acl_host            = "*"
  acl_operation       = "{}"
  acl_permission_type = "Allow"
}}
"""
LOOSE = KEPT.replace("= true", "= false")


@pytest.fixture
def desk(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> MemoryCommand:
    found = memory_command(tmp_path, capsys, monkeypatch)
    found.write(KEPT)
    found.run("apply", "-auto-approve")
    found.run("workspace", "new", "w2")
    found.write(LOOSE)
    return found


def everything(desk: MemoryCommand, *args: str) -> str:
    assert run(args, {}) == 0
    told = desk.capture.readouterr()
    return " ".join((told.out + told.err).replace("│", " ").split())


def test_what_another_workspace_owns_is_not_adopted(desk: MemoryCommand) -> None:
    told = desk.run_failing("apply", "-auto-approve")
    assert "Object is owned by another workspace" in told
    assert "main.tf line 3" in told
    assert (
        "kafka_topic.x (x) would be adopted, and it is owned at kafka_topic.x in the workspace "
        '"default" (state/kplan.json).'
    ) in told
    assert "KPLAN_WORKSPACE=default kplan state rm kafka_topic.x" in told
    desk.run("destroy", "-auto-approve")
    assert set(desk.cluster.topics()) == {"x"}


def test_once_it_is_released_it_can_be_adopted_and_not_taken_back(desk: MemoryCommand) -> None:
    desk.run("workspace", "select", "default")
    desk.run("state", "rm", "kafka_topic.x")
    desk.run("workspace", "select", "w2")
    desk.run("apply", "-auto-approve")
    assert "No changes." in desk.run("plan")
    desk.run("workspace", "select", "default")
    assert 'in the workspace "w2"' in desk.run_failing("plan")


def test_the_same_name_on_another_cluster_is_adopted_without_a_word(desk: MemoryCommand) -> None:
    found = read_state(DEFAULT)
    assert found is not None
    elsewhere = replace(found, cluster_id="another")
    DEFAULT.write_bytes(encode_state(elsewhere, "1.0"))
    told = everything(desk, "apply", "-auto-approve")
    assert "1 to adopt" in told
    assert "workspace" not in told


def test_what_was_made_again_since_is_not_owned_any_more(desk: MemoryCommand) -> None:
    found = read_state(DEFAULT)
    assert found is not None
    owned = {at: replace(each, uid="gone") for at, each in found.owned.items()}
    DEFAULT.write_bytes(encode_state(replace(found, owned=owned), "1.0"))
    assert "1 to adopt" in desk.run("apply", "-auto-approve")


def test_a_state_that_cannot_be_read_is_a_warning(desk: MemoryCommand) -> None:
    DEFAULT.write_bytes(b"{")
    told = everything(desk, "plan")
    assert "1 to adopt" in told
    assert 'state of the workspace "default" cannot be read' in told


def test_other_states_are_read_only_for_an_adoption(desk: MemoryCommand) -> None:
    DEFAULT.write_bytes(b"{")
    desk.write(LOOSE.replace('"x"', '"z"'))
    assert "could not be read" not in everything(desk, "apply", "-auto-approve")


def test_a_saved_plan_is_checked_again(desk: MemoryCommand) -> None:
    kept = DEFAULT.read_bytes()
    DEFAULT.unlink()
    desk.run("plan", "-out=p")
    DEFAULT.write_bytes(kept)
    assert 'in the workspace "default"' in desk.run_failing("apply", "p")


def test_nothing_is_imported_that_another_workspace_owns(desk: MemoryCommand) -> None:
    assert 'in the workspace "default"' in desk.run_failing("import", "kafka_topic.x", "x")
    desk.write(LOOSE + 'import {\n  to = kafka_topic.x\n  id = "x"\n}\n')
    assert 'in the workspace "default"' in desk.run_failing("plan")
    desk.write('provider "kafka" { bootstrap_servers = ["127.0.0.1:1"] }')
    assert "workspace" in desk.run("import", "-all", "-generate-config=new.tf")
    assert not Path("new.tf").exists()


def test_an_acl_does_not_become_one_that_another_workspace_owns(desk: MemoryCommand) -> None:
    desk.write(ACL.format("Write"))
    desk.run("apply", "-auto-approve")
    desk.run("workspace", "new", "w3")
    desk.write(ACL.format("Read"))
    desk.run("apply", "-auto-approve")
    desk.write(ACL.format("Write"))
    assert 'in the workspace "w2"' in desk.run_failing("apply", "-auto-approve")


def test_a_state_is_not_rebuilt_from_what_another_workspace_owns(desk: MemoryCommand) -> None:
    assert 'in the workspace "default"' in desk.run_failing("state", "rebuild", "-auto-approve")


def test_all_that_other_workspaces_own_is_named(desk: MemoryCommand) -> None:
    block = LOOSE[LOOSE.index("resource") :]
    many = "".join(block.replace('"x"', f'"x{number:02}"') for number in range(23))
    desk.run("workspace", "select", "default")
    desk.write(KEPT + many)
    desk.run("apply", "-auto-approve")
    desk.run("workspace", "select", "w2")
    told = desk.run_failing("state", "rebuild", "-auto-approve")
    assert told.count("would be adopted, and it is owned at") == 24
    assert "kafka_topic.x00 (x00)" in told
    assert "kafka_topic.x22 (x22)" in told
    assert "main.tf line 3" in told
    assert "more objects" not in told
    assert "[KP250]" in told


def test_other_states_are_read_only_where_something_is_imported(desk: MemoryCommand) -> None:
    DEFAULT.write_bytes(b"{")
    tfstate = {"version": 4, "terraform_version": "1.9.0", "resources": []}
    Path("terraform.tfstate").write_text(json.dumps(tfstate))
    told = everything(desk, "import", "-all", "-generate-config=new.tf", "-prefix=nothing")
    told += everything(desk, "import", "-from-tfstate=terraform.tfstate")
    assert "cannot be read" not in told
    desk.write('provider "kafka" { bootstrap_servers = ["127.0.0.1:1"] }')
    told = everything(desk, "import", "-all", "-generate-config=new.tf")
    assert 'state of the workspace "default" cannot be read' in told


def test_a_stale_state_does_not_hide_the_owner(desk: MemoryCommand) -> None:
    found = read_state(DEFAULT)
    assert found is not None
    owned = {at: replace(each, uid="gone") for at, each in found.owned.items()}
    desk.run("workspace", "new", "zold")
    file = Path("state/kplan.json.d/zold/kplan.json")
    file.write_bytes(encode_state(replace(found, owned=owned), "1.0"))
    desk.run("workspace", "select", "w2")
    assert 'in the workspace "default"' in desk.run_failing("apply", "-auto-approve")


def test_what_another_workspace_made_again_is_not_taken_over(desk: MemoryCommand) -> None:
    desk.cluster.delete_topics([TopicRef("x")])
    desk.run("apply", "-auto-approve")
    desk.run("workspace", "select", "default")
    assert 'in the workspace "w2"' in desk.run_failing("apply", "-auto-approve")


def test_what_a_killed_apply_of_another_workspace_sent_is_not_adopted(desk: MemoryCommand) -> None:
    """It may have come about, and the apply that finishes the other one owns it then."""
    desk.run("workspace", "select", "default")
    more = LOOSE + LOOSE[LOOSE.index("resource") :].replace('"x"', '"y"')

    def be_killed() -> None:
        desk.cluster.connect_as().create_topics([NewTopic("y", 1, 1)])
        raise Killed

    desk.write(more)
    desk.cluster.run_before("create_topics", lambda: None)  # the dry run
    desk.cluster.run_before("create_topics", be_killed)
    with pytest.raises(Killed):
        run(("apply", "-auto-approve"), {})
    desk.run("workspace", "select", "w2")
    desk.write(LOOSE.replace('"x"', '"y"'))
    told = desk.run_failing("apply", "-auto-approve")
    assert "kafka_topic.y (y) would be adopted" in told
    assert 'in the workspace "default"' in told
