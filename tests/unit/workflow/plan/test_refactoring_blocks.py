"""Moved, removed and imported objects, from HCL to the state."""

from pathlib import Path

import pytest

from kplan.cluster.memory.cluster import MemoryCluster
from kplan.model.plan import Action
from kplan.state.file import read_state
from kplan.workflow.state.state import list_owned_objects
from tests.project_harness import MAIN_TF, ProjectHarness

IMPORTS = """
import {
  for_each = local.sizes
  to       = kafka_topic.t[each.key]
  id       = each.key
}
import {
  to = kafka_acl.read
  id = "User:app|*|Read|Allow|Topic|orders|Literal"
}
"""


@pytest.fixture
def site(tmp_path: Path) -> ProjectHarness:
    found = ProjectHarness(tmp_path, MemoryCluster())
    found.write(MAIN_TF)
    return found


def test_imported_objects_are_owned_and_not_touched_and_the_blocks_may_stay(
    site: ProjectHarness,
) -> None:
    site.apply()
    site.project.state_path.unlink()
    site.write(IMPORTS, "imports.tf")
    made = site.plan().plan
    assert (made.import_count, made.has_changes, made.batches) == (3, True, ())
    writes = len(site.cluster.calls)
    site.apply()
    assert {call.method for call in site.cluster.calls[writes:]} <= {
        "acls",
        "describe",
        "topic_configs",
        "topics",
    }
    assert len(list_owned_objects(site.project)) == 3
    again = site.plan().plan
    assert (again.import_count, again.has_changes) == (0, False)


def test_an_object_that_is_to_be_imported_is_never_created_instead(site: ProjectHarness) -> None:
    site.write(IMPORTS, "imports.tf")
    made = site.plan().plan
    assert {each.code for each in made.diagnostics} == {"KP238"}
    assert made.count(Action.CREATE) == 0
    assert not made.is_applyable


def test_a_module_takes_its_objects_along(site: ProjectHarness) -> None:
    inner = MAIN_TF.replace('provider "kafka" { bootstrap_servers = ["127.0.0.1:1"] }', "")
    (site.folder / "m").mkdir()
    site.write(inner, "m/main.tf")
    site.write('module "old" {\n  source = "./m"\n}\n')
    site.apply()
    text = (
        'module "new" {\n  source = "./m"\n}\nmoved {\n  from = module.old\n  to = module.new\n}\n'
    )
    site.write(text)
    assert site.plan().plan.batches == ()
    site.apply()
    assert {each.address.module for each in list_owned_objects(site.project)} == {("new",)}


def test_a_removed_object_stays_on_the_cluster_and_leaves_the_state(site: ProjectHarness) -> None:
    site.apply()
    gone = "removed {\n  from = kafka_acl.read\n  lifecycle {\n    destroy = false\n  }\n}\n"
    start, end = MAIN_TF.index('resource "kafka_acl"'), MAIN_TF.index("output")
    site.write(MAIN_TF[:start] + MAIN_TF[end:] + gone)
    made = site.plan().plan
    assert (made.count(Action.FORGET), made.count(Action.DELETE)) == (1, 0)
    site.apply()
    assert len(site.cluster.acls()) == 1
    state = read_state(site.project.state_path)
    assert state is not None
    assert {each.kind for each in state.owned} == {"kafka_topic"}
