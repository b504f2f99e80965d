"""Taking over from Terraform: the same addresses, the cluster untouched."""

import json
from pathlib import Path

import pytest

from kplan.cluster.memory.cluster import MemoryCluster
from kplan.cluster.request import NewTopic
from kplan.model.errors import UsageError
from kplan.model.plan import Action
from kplan.workflow.adopt.import_tfstate import TfstateImportResult, import_tfstate
from kplan.workflow.state.state import list_owned_objects
from tests.project_harness import MAIN_TF, ProjectHarness

TFSTATE = Path(__file__).parent / "fixtures" / "terraform.tfstate"


@pytest.fixture
def site(tmp_path: Path) -> ProjectHarness:
    """Give what Terraform made of the configuration, with a state of kplan that knows nothing."""
    found = ProjectHarness(tmp_path, MemoryCluster())
    found.write(MAIN_TF)
    found.apply()
    found.project.state_path.unlink()
    found.cluster.seed([NewTopic("eu.orders", 1, 1)])
    found.cluster.calls.clear()
    return found


def taken_over(site: ProjectHarness, data: bytes | None = None) -> TfstateImportResult:
    file = site.folder / "terraform.tfstate"
    return import_tfstate(site.project, file, data or TFSTATE.read_bytes(), site.ports)


def test_what_terraform_owned_is_owned_at_the_same_addresses(site: ProjectHarness) -> None:
    found = taken_over(site)
    assert [str(each.address) for each in list_owned_objects(site.project)] == [
        "kafka_acl.read",
        'kafka_topic.t["orders"]',
        'kafka_topic.t["payments"]',
        'module.pay["eu"].kafka_topic.t[0]',
    ]
    assert all(each.uid for each in found.owned if each.address.kind == "kafka_topic")
    assert {call.method for call in site.cluster.calls} <= {
        "acls",
        "describe",
        "topic_configs",
        "topics",
    }


def test_what_is_still_declared_needs_no_change_and_what_is_not_is_planned_away(
    site: ProjectHarness,
) -> None:
    """As Terraform itself would do."""
    taken_over(site)
    made = site.plan().plan
    assert [(str(each.address), each.action) for each in made.changes if each.touches_cluster] == [
        ('module.pay["eu"].kafka_topic.t[0]', Action.DELETE)
    ]
    assert made.drift == ()


def test_every_entry_that_is_left_out_is_told(site: ProjectHarness) -> None:
    assert {each.address: each.reason for each in taken_over(site).unsupported} == {
        "kafka_vault_secret.app": "kplan does not know kafka_vault_secret",
        "kafka_topic.odd": "its entry lacks or misplaces 'name'",
    }
    again = taken_over(site)
    assert again.owned == ()
    assert 'kafka_topic.t["orders"]: orders is owned at kafka_topic.t["orders"] already' in [
        f"{each.address}: {each.reason}" for each in again.unsupported
    ]


ODD: list[tuple[str, object]] = [("name", 5), ("name", {}), ("config", "x"), ("partitions", "3")]


@pytest.mark.parametrize(("name", "value"), ODD)
def test_an_entry_with_a_value_of_another_type_is_told_and_left_out(
    site: ProjectHarness, name: str, value: object
) -> None:
    document = json.loads(TFSTATE.read_bytes())
    entry = next(each for each in document["resources"] if each["name"] == "t")
    entry["instances"][0]["attributes"][name] = value
    left_out = taken_over(site, json.dumps(document).encode()).unsupported
    told = {each.address: each.reason for each in left_out}
    assert told['kafka_topic.t["orders"]'] == f"its entry lacks or misplaces {name!r}"


@pytest.mark.parametrize(
    "resources", [5, [5], [{"mode": "managed", "instances": [5]}]], ids=["all", "one", "instance"]
)
def test_a_damaged_state_of_terraform_is_an_error(site: ProjectHarness, resources: object) -> None:
    document = {**json.loads(TFSTATE.read_bytes()), "resources": resources}
    with pytest.raises(UsageError, match="is damaged"):
        taken_over(site, json.dumps(document).encode())


def test_what_is_gone_or_hidden_is_not_owned(site: ProjectHarness) -> None:
    site.cluster.hide_topic("orders")
    other = ProjectHarness(site.folder, MemoryCluster())
    reasons = [each.reason for each in taken_over(site).unsupported]
    assert any(each.startswith("the cluster will not show orders") for each in reasons)
    other.project.state_path.unlink()
    assert "payments is not on the cluster" in [
        each.reason for each in taken_over(other).unsupported
    ]


def test_no_secret_is_copied(site: ProjectHarness) -> None:
    """Design law 11."""
    found = taken_over(site)
    assert "hunter2" not in site.project.state_path.read_text()
    assert "hunter2" not in repr(found)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "is not a Terraform state"),
        ("[]", "is not a Terraform state"),
        ("[" * 100_000, "is not a Terraform state"),
        ('{"format": 1}', "is not a Terraform state"),
        ('{"version": 3, "terraform_version": "0.11.14"}', "has the format 3; kplan reads 4"),
    ],
)
def test_what_is_no_state_of_terraform_is_refused(
    site: ProjectHarness, text: str, told: str
) -> None:
    with pytest.raises(UsageError, match=told):
        taken_over(site, text.encode() or b" ")
    assert not site.project.state_path.exists()


def test_an_empty_state_of_terraform_owns_nothing(site: ProjectHarness) -> None:
    empty = {"version": 4, "terraform_version": "1.11.4", "resources": []}
    assert taken_over(site, json.dumps(empty).encode()) == TfstateImportResult((), ())
    assert not site.project.state_path.exists()
