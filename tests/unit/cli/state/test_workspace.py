"""Workspaces: one configuration, a state for each, selected as Terraform selects them."""

from pathlib import Path

import pytest

from kplan.cli import wiring
from kplan.cli.options import StateOptions
from kplan.cli.run import run
from kplan.cli.signals import Signals
from kplan.cli.terminal import Session, Terminal
from kplan.cli.trust_option import TrustOptions
from kplan.state.file import read_state
from tests.unit.cli.memory_command import MemoryCommand, memory_command

MAIN = """
provider "kafka" { bootstrap_servers = ["127.0.0.1:1"] }
resource "kafka_topic" "t" {
  name               = "${terraform.workspace}.orders"
  partitions         = 1
  replication_factor = 1
}
output "workspace" { value = terraform.workspace }
"""
PROD = Path("state/kplan.json.d/prod/kplan.json")


@pytest.fixture
def desk(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> MemoryCommand:
    found = memory_command(tmp_path, capsys, monkeypatch)
    found.write(MAIN)
    return found


def workspace(**environ: str) -> str:
    session = Session(environ, Terminal({}), Signals(), ())
    return wiring.build_project(session, StateOptions()).inputs.workspace


def test_the_environment_goes_before_the_file_and_ours_before_terraforms(
    desk: MemoryCommand,
) -> None:
    assert workspace() == "default"
    Path(".terraform").mkdir()
    desk.write("staging\n", ".terraform/environment")
    assert workspace() == "staging"
    assert workspace(TF_WORKSPACE="qa") == "qa"
    assert workspace(TF_WORKSPACE="qa", KPLAN_WORKSPACE="prod") == "prod"
    Path("elsewhere").mkdir()
    desk.write("dev", "elsewhere/environment")
    assert workspace(TF_DATA_DIR="elsewhere") == "dev"


def test_each_workspace_has_its_own_state_and_leaves_the_others_alone(desk: MemoryCommand) -> None:
    desk.run("apply", "-auto-approve")
    assert desk.run("workspace", "new", "prod") == 'Created and selected workspace "prod".\n'
    assert Path(".terraform/environment").read_text() == "prod"
    desk.run("apply", "-auto-approve")
    assert set(desk.cluster.topics()) == {"default.orders", "prod.orders"}
    assert desk.run("output", "-raw", "workspace") == "prod"
    assert desk.run("workspace", "list") == "  default\n* prod\n"
    assert desk.run("workspace", "show") == "prod\n"
    desk.run("workspace", "select", "default")
    assert desk.run("output", "-raw", "workspace") == "default"
    assert "No changes." in desk.run("plan")
    prod, default = read_state(PROD), read_state(Path("state/kplan.json"))
    assert prod is not None
    assert default is not None
    assert prod.lineage != default.lineage
    assert [str(each.identity) for each in prod.owned.values()] == ["prod.orders"]


@pytest.mark.usefixtures("desk")
def test_a_file_named_by_the_environment_has_workspaces_beside_it_and_one_that_is_typed_not() -> (
    None
):
    session = Session(
        {"KPLAN_STATE": "kept/a.json", "TF_WORKSPACE": "prod"}, Terminal({}), Signals(), ()
    )
    assert wiring.build_project(session, StateOptions()).store.location == (
        "kept/a.json.d/prod/a.json"
    )
    assert wiring.build_project(session, StateOptions(state="b.json")).store.location == "b.json"


@pytest.mark.parametrize(
    ("block", "location"),
    [
        ('backend = "kafka"\n  key = "shop"', 'the topic __kplan_state (key "shop@prod")'),
        ('backend = "s3"\n  bucket = "states"\n  key = "team/shop"', "s3://states/team/shop@prod"),
    ],
)
def test_a_state_in_a_topic_or_bucket_has_a_key_for_each(
    desk: MemoryCommand, block: str, location: str
) -> None:
    desk.write(MAIN + f"state {{\n  {block}\n}}\n")
    session = Session({"TF_WORKSPACE": "prod"}, Terminal({}), Signals(), ())
    assert wiring.build_project(session, StateOptions()).store.location == location
    session = Session({}, Terminal({}), Signals(), ())
    assert wiring.build_project(session, StateOptions()).store.location == location.replace(
        "@prod", ""
    )


def test_a_workspace_that_does_not_exist_is_selected_only_when_it_may_be_made(
    desk: MemoryCommand,
) -> None:
    told = desk.run_failing("workspace", "select", "prod")
    assert 'Workspace "prod" does not exist.' in told
    assert "kplan workspace new prod" in told
    assert not Path(".terraform").exists()
    desk.run("workspace", "select", "-or-create", "prod")
    assert "already exists" in desk.run_failing("workspace", "new", "prod")
    assert "already exists" in desk.run_failing("workspace", "new", "default")


def test_a_state_that_owns_objects_is_deleted_only_by_force(desk: MemoryCommand) -> None:
    desk.run("workspace", "new", "prod")
    desk.run("apply", "-auto-approve")
    assert "is selected" in desk.run_failing("workspace", "delete", "prod")
    desk.run("workspace", "select", "default")
    assert "owns 1 object," in desk.run_failing("workspace", "delete", "prod")
    assert PROD.exists()
    told = desk.run("workspace", "delete", "-force", "prod")
    assert told == 'Deleted workspace "prod"; forgot 1 object, which stays on the cluster.\n'
    assert not PROD.parent.exists()
    assert desk.run("workspace", "list") == "* default\n"
    assert "prod.orders" in desk.cluster.topics()
    assert "cannot be deleted" in desk.run_failing("workspace", "delete", "default")


@pytest.mark.parametrize("name", ["../evil", "a/b", ".", "", " ", "a@b", "x" * 91])
def test_a_name_that_would_leave_the_folder_is_refused(desk: MemoryCommand, name: str) -> None:
    assert "is not a name of a workspace" in desk.run_failing("workspace", "new", name)
    Path(".terraform").mkdir()
    desk.write(name, ".terraform/environment")
    if name.strip():
        assert ".terraform/environment" in desk.run_failing("plan")


@pytest.mark.usefixtures("desk")
def test_a_selection_that_the_environment_would_override_is_refused(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["workspace", "new", "prod"], {"TF_WORKSPACE": "qa"}) == 1
    assert "Unset TF_WORKSPACE" in capsys.readouterr().err


def test_a_plan_of_another_workspace_names_both_and_the_way_there(desk: MemoryCommand) -> None:
    desk.run("apply", "-auto-approve")
    desk.run("workspace", "new", "prod")
    desk.run("plan", "-out=p")
    desk.run("workspace", "select", "default")
    for how in ((), ("-on-stale=replan",)):
        told = desk.run_failing("apply", *how, "p")
        assert 'made in the workspace "prod", and "default" is selected.' in told
        assert "To apply it there: kplan workspace select prod" in told
    assert run(["apply", "p"], {"TF_WORKSPACE": "qa"}) == 1
    told = " ".join(desk.capture.readouterr().err.split())
    assert '"qa" is selected.' in told
    assert "Set TF_WORKSPACE=prod" in told
    desk.run("workspace", "select", "-or-create", "prod")
    desk.run("apply", "p")
    assert set(desk.cluster.topics()) == {"default.orders", "prod.orders"}


def test_a_plan_in_a_folder_without_a_configuration_is_in_the_wrong_folder(
    desk: MemoryCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.run("workspace", "new", "prod")
    desk.run("plan", "-out=p")
    Path("elsewhere").mkdir()
    monkeypatch.chdir("elsewhere")
    assert "There is no configuration in" in desk.run_failing("apply", "../p")


def test_a_change_that_is_not_trusted_does_not_select_the_workspace(desk: MemoryCommand) -> None:
    for each in ("change", "trusted"):
        (desk.folder / each / ".terraform").mkdir(parents=True)
        desk.write(each, f"{each}/.terraform/environment")
    session = Session({}, Terminal({}), Signals(), ())
    limits = TrustOptions(untrusted=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(desk.folder / "change")
        found = wiring.build_project(session, StateOptions(), trust=limits)
        assert found.inputs.workspace == "default"
