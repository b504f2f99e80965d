"""Equal ACLs that several modules declare: one object, deleted when the last of them goes."""

import json
from datetime import timedelta
from pathlib import Path

import pytest

from kplan.cluster.memory.cluster import MemoryCluster
from kplan.model.address import Address
from kplan.model.errors import ConfigError, UsageError
from kplan.model.plan import Action, Plan, Reason
from kplan.model.state import OwnedObject
from kplan.report import views
from kplan.report.format import PLAIN_STYLE
from kplan.state.file import read_state
from kplan.state.journal import change_line
from kplan.state.plan_file import decode_plan, encode_plan
from kplan.workflow.adopt.import_ import import_object
from kplan.workflow.adopt.import_tfstate import import_tfstate
from kplan.workflow.apply.apply import ApplyHandlers
from kplan.workflow.apply.saved_plan import apply_saved
from kplan.workflow.plan.plan import save_plan
from kplan.workflow.ports import PlanOptions
from kplan.workflow.state.forget import forget_objects
from kplan.workflow.state.move import move_objects
from kplan.workflow.state.state import at_every_address, list_owned_objects
from tests.project_harness import ProjectHarness

INNER = """
variable "operation" { default = "Read" }
resource "kafka_acl" "read" {
  resource_name       = "orders"
  resource_type       = "Topic"
  acl_principal       = "User:app"
  acl_host            = "*"
  acl_operation       = var.operation
  acl_permission_type = "Allow"
}
"""
PROVIDER = 'provider "kafka" { bootstrap_servers = ["127.0.0.1:1"] }\n'
ONE, TWO = (f"module.{name}.kafka_acl.read" for name in ("one", "two"))
NAME = "User:app|*|Read|Allow|Topic|orders|Literal"


def call(name: str, **given: str) -> str:
    more = "".join(f'  {key} = "{value}"\n' for key, value in given.items())
    return f'module "{name}" {{\n  source = "./inner"\n{more}}}\n'


@pytest.fixture
def site(tmp_path: Path) -> ProjectHarness:
    found = ProjectHarness(tmp_path, MemoryCluster())
    (tmp_path / "inner").mkdir()
    found.write(INNER, "inner/main.tf")
    found.write(PROVIDER + call("one") + call("two"))
    return found


def owned(site: ProjectHarness) -> list[list[str]]:
    return [[str(at) for at in each.addresses] for each in list_owned_objects(site.project)]


def text_of(plan: Plan) -> str:
    return views.plan_text(plan, PLAIN_STYLE, is_grouped=False)


def steps(plan: Plan) -> list[tuple[str, Action, Reason]]:
    return [(str(each.address), each.action, each.reason) for each in plan.changes]


def test_they_are_created_once_and_planned_empty(site: ProjectHarness) -> None:
    made = site.plan().plan
    assert steps(made) == [(ONE, Action.CREATE, Reason.NONE)]
    assert f"# (also declared by {TWO})" in text_of(made)
    assert "Plan: 1 to add, 0 to change, 0 to destroy." in text_of(made)
    site.apply()
    assert len(site.cluster.acls()) == 1
    assert owned(site) == [[ONE, TWO]]
    assert not site.plan().plan.is_applyable


@pytest.mark.parametrize("left", ["one", "two"])
def test_the_acl_stays_while_one_declares_it_and_goes_with_the_last(
    site: ProjectHarness, left: str
) -> None:
    site.apply()
    site.write(PROVIDER + call(left))
    made = site.plan().plan
    assert not made.batches
    assert made.is_applyable
    site.apply()
    assert len(site.cluster.acls()) == 1
    assert owned(site) == [[f"module.{left}.kafka_acl.read"]]
    assert not site.plan().plan.is_applyable
    site.write(PROVIDER + 'resource "kafka_topic" "t" { name = "t" }\n')
    site.apply()
    assert not site.cluster.acls()


def test_one_that_joins_is_recorded_and_nothing_is_sent(site: ProjectHarness) -> None:
    site.write(PROVIDER + call("two"))
    site.apply()
    site.write(PROVIDER + call("one") + call("two"))
    made = site.plan().plan
    assert steps(made) == [(TWO, Action.NO_OP, Reason.DECLARATIONS)]
    assert "is declared by 2 resources" in text_of(made)
    site.apply()
    assert owned(site) == [[TWO, ONE]]


def test_one_that_changes_leaves_the_acl_to_the_other(site: ProjectHarness) -> None:
    site.apply()
    site.write(PROVIDER + call("one", operation="Write") + call("two"))
    site.apply()
    assert {each.operation for each in site.cluster.acls()} == {"READ", "WRITE"}
    assert sorted(owned(site)) == [[ONE], [TWO]]
    assert not site.plan().plan.is_applyable


def test_both_that_change_alike_replace_the_acl(site: ProjectHarness) -> None:
    site.apply()
    site.write(PROVIDER + call("one", operation="Write") + call("two", operation="Write"))
    assert steps(site.plan().plan) == [(ONE, Action.REPLACE, Reason.IDENTITY_CHANGED)]
    site.apply()
    assert {each.operation for each in site.cluster.acls()} == {"WRITE"}
    assert owned(site) == [[ONE, TWO]]


def test_a_target_may_be_any_of_them(site: ProjectHarness) -> None:
    made = site.plan(targets=("module.two",)).plan
    assert steps(made) == [(ONE, Action.CREATE, Reason.NONE)]
    assert "KP236" not in {each.code for each in made.diagnostics}


def test_destroying_one_of_them_by_target_leaves_the_acl_to_the_other(
    site: ProjectHarness,
) -> None:
    site.apply()
    made = site.plan(targets=("module.one",), is_destroy=True).plan
    assert steps(made) == [(TWO, Action.NO_OP, Reason.MOVED)]
    site.apply(targets=("module.one",), is_destroy=True)
    assert len(site.cluster.acls()) == 1
    assert owned(site) == [[TWO]]
    site.apply(is_destroy=True)
    assert not site.cluster.acls()


def test_state_verbs_take_any_of_the_addresses(site: ProjectHarness) -> None:
    site.apply()
    every = at_every_address(list_owned_objects(site.project))
    assert [str(each.address) for each in every] == [ONE, TWO]
    (shown,) = list_owned_objects(site.project, (TWO,))
    assert f"# also declared by {ONE}" in views.state_show_text((shown,), PLAIN_STYLE)
    move_objects(site.project, TWO, "module.three.kafka_acl.read", site.ports)
    assert owned(site) == [[ONE, "module.three.kafka_acl.read"]]
    with pytest.raises(UsageError, match="already"):
        move_objects(site.project, ONE, "module.three.kafka_acl.read", site.ports)
    forget_objects(site.project, (ONE,), site.ports)
    assert owned(site) == [["module.three.kafka_acl.read"]]


def test_an_acl_that_is_imported_belongs_to_all_that_declare_it(site: ProjectHarness) -> None:
    site.apply()
    site.project.state_path.unlink()
    import_object(site.project, TWO, NAME, site.ports)
    assert owned(site) == [[TWO, ONE]]
    with pytest.raises(UsageError, match="already"):
        import_object(site.project, ONE, NAME, site.ports)
    assert not site.plan().plan.is_applyable


def test_a_module_that_is_moved_takes_its_declaration_along(site: ProjectHarness) -> None:
    site.apply()
    moved = "moved {\n  from = module.two\n  to = module.three\n}\n"
    site.write(PROVIDER + call("one") + call("three") + moved)
    assert steps(site.plan().plan) == [(ONE, Action.NO_OP, Reason.DECLARATIONS)]
    site.apply()
    assert owned(site) == [[ONE, "module.three.kafka_acl.read"]]


def test_a_state_without_the_field_is_read_and_learns_of_the_second(site: ProjectHarness) -> None:
    site.write(PROVIDER + call("one"))
    site.apply()
    text = site.project.state_path.read_text()
    assert "also_declared" not in text
    state = read_state(site.project.state_path)
    assert state is not None
    (held,) = state.owned.values()
    assert isinstance(held, OwnedObject)
    assert held.others == ()


def test_one_that_protects_it_protects_it_for_all(site: ProjectHarness) -> None:
    guarded = INNER.replace('"Allow"\n', '"Allow"\n  lifecycle { prevent_destroy = true }\n')
    (site.folder / "guarded").mkdir()
    site.write(guarded, "guarded/main.tf")
    site.write(PROVIDER + call("one") + call("two").replace("./inner", "./guarded"))
    site.apply()
    (held,) = list_owned_objects(site.project)
    assert held.is_protected
    assert held.others == (Address.parse(TWO),)


def test_a_saved_plan_and_an_interrupted_apply_keep_all_that_declare_it(
    site: ProjectHarness,
) -> None:
    made = site.plan()
    (planned,) = decode_plan(encode_plan(made.plan)).changes
    assert [str(each) for each in planned.addresses] == [ONE, TWO]
    line = change_line(planned)["change"]
    assert isinstance(line, dict)
    assert line["others"] == [TWO]
    path = site.folder / "release.kplan"
    save_plan(made, path, site.ports.now(), ttl=timedelta(hours=1))
    hands = ApplyHandlers(lambda _: True, site.watcher)
    apply_saved(site.project, path, PlanOptions(), (site.ports, hands))
    assert owned(site) == [[ONE, TWO]]
    assert not site.plan().plan.is_applyable


def test_a_terraform_state_that_owns_it_twice_is_taken_over_as_one_object(
    site: ProjectHarness,
) -> None:
    site.apply()
    site.project.state_path.unlink()
    attributes = {
        "acl_host": "*",
        "acl_operation": "Read",
        "acl_permission_type": "Allow",
        "acl_principal": "User:app",
        "resource_name": "orders",
        "resource_pattern_type_filter": "Literal",
        "resource_type": "Topic",
    }
    blocks = [
        {
            "module": f"module.{name}",
            "mode": "managed",
            "type": "kafka_acl",
            "name": "read",
            "instances": [{"attributes": attributes}],
        }
        for name in ("two", "one")
    ]
    document = {"version": 4, "terraform_version": "1.11.4", "resources": blocks}
    file = site.folder / "terraform.tfstate"
    found = import_tfstate(site.project, file, json.dumps(document).encode(), site.ports)
    assert found.unsupported == ()
    assert owned(site) == [[TWO, ONE]]
    assert not site.plan().plan.is_applyable


def test_another_spelling_of_the_words_is_the_same_acl(site: ProjectHarness) -> None:
    spelled = INNER.replace('"Topic"', '"topic"').replace('"Read"', '"READ"')
    (site.folder / "spelled").mkdir()
    site.write(spelled, "spelled/main.tf")
    site.write(PROVIDER + call("one") + call("two").replace("./inner", "./spelled"))
    assert steps(site.plan().plan) == [(ONE, Action.CREATE, Reason.NONE)]


def test_equal_topics_stay_an_error(site: ProjectHarness) -> None:
    topics = (f'resource "kafka_topic" "{name}" {{ name = "x" }}\n' for name in "ab")
    site.write(PROVIDER + "".join(topics))
    with pytest.raises(ConfigError) as told:
        site.plan()
    assert [each.code for each in told.value.diagnostics] == ["KP191"]
