"""HCL of recommendations, applied as its heads say."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from kplan.cluster.memory.cluster import MemoryCluster
from kplan.cluster.request import AclBinding
from kplan.kinds.acl import AclKind, acl_from_binding
from kplan.model.address import Address
from kplan.model.state import OwnedObject, State
from kplan.policy.least_privilege import AclUse, narrow_acl
from kplan.state.file_store import FileStore
from kplan.workflow.fleet.recommend import render_recommendation
from kplan.workflow.fleet.removals import ClusterState
from tests.project_harness import ProjectHarness

KIND = AclKind()
PROVIDER = 'provider "kafka" { bootstrap_servers = ["127.0.0.1:1"] }\n'
ACL = """
  resource_type                = "Topic"
  resource_pattern_type_filter = "Prefixed"
  acl_host                     = "*"
  acl_operation                = "Read"
  acl_permission_type          = "Allow"
}
"""
REPEATED = f"""
locals {{
  groups = ["User:a", "User:b"]
  counted = ["one.", "two.", "three."]
}}
resource "kafka_acl" "groups" {{
  for_each      = toset(local.groups)
  resource_name = "g."
  acl_principal = each.key
{ACL}
resource "kafka_acl" "counted" {{
  count         = length(local.counted)
  resource_name = local.counted[count.index]
  acl_principal = "User:a"
{ACL}
module "m" {{
  source    = "./mod"
  for_each  = toset(["User:a", "User:b"])
  principal = each.key
}}
"""
MODULE = f"""
variable "principal" {{ type = string }}
resource "kafka_acl" "pay" {{
  resource_name = "pay."
  acl_principal = var.principal
{ACL}
resource "kafka_acl" "old" {{
  for_each      = toset(["old.", "older."])
  resource_name = each.key
  acl_principal = var.principal
{ACL}
"""
OWNED = """
resource "kafka_acl" "wide" {
  resource_name                = "shop."
  resource_type                = "Topic"
  resource_pattern_type_filter = "Prefixed"
  acl_principal                = "User:a"
  acl_host                     = "*"
  acl_operation                = "All"
  acl_permission_type          = "Allow"
}
"""
WIDE = AclBinding("TOPIC", "shop.", "PREFIXED", "User:a", "*", "ALL", "ALLOW")
FOREIGN = AclBinding("GROUP", "old", "LITERAL", "User:b", "*", "READ", "ALLOW")


def test_the_hcl_of_a_recommendation_narrows_what_is_owned_and_what_is_not(tmp_path: Path) -> None:
    """Design law 3: what is not owned has to be owned before it can go."""
    site = ProjectHarness(tmp_path, MemoryCluster())
    site.cluster.create_acls([FOREIGN])
    site.write(PROVIDER + OWNED)
    site.apply()
    state = FileStore(site.project.state_path).read()
    assert state is not None
    narrower = narrow_acl(WIDE, [AclUse("READ", "", "", ("shop.orders", "shop.stock"))])
    old = [acl_from_binding(each) for each in (WIDE, FOREIGN)]
    evidence = {
        KIND.identify(each): f"{KIND.identify(each)}: 2 requests in 40 days" for each in old
    }
    new = [acl_from_binding(each) for each in narrower]
    known = ClusterState(state, site.cluster.describe().cluster_id)
    texts = render_recommendation(known, old, new, evidence)
    assert set(texts) == {"remove", "narrow", "unmanaged"}
    assert "2 requests in 40 days" in texts["remove"]

    site.write(texts["unmanaged"], "more.tf")
    assert not site.plan().plan.has_changes
    site.apply()
    (tmp_path / "more.tf").unlink()
    site.write(PROVIDER)
    site.write(texts["remove"], "remove.tf")
    site.write(texts["narrow"], "narrow.tf")
    site.apply()
    assert set(site.cluster.acls()) == set(narrower)


def test_blocks_of_the_files_for_one_cluster_have_names_of_their_own(tmp_path: Path) -> None:
    """Each is named after its principal, and both files may be added at once."""
    site = ProjectHarness(tmp_path, MemoryCluster())
    wide = replace(WIDE, resource_name="*", pattern_type="LITERAL")
    site.cluster.create_acls([wide])
    old, *new = map(acl_from_binding, (wide, *narrow_acl(wide, [AclUse("READ", "", "", ("b",))])))
    evidence = {KIND.identify(old): "unused"}
    texts = render_recommendation(ClusterState(State("x"), "id"), [old], new, evidence)
    assert list(texts) == ["narrow", "unmanaged"]
    site.write(PROVIDER + "".join(texts.values()))
    assert not site.plan().plan.has_errors
    site.apply()
    assert set(site.cluster.acls()) == {wide, replace(wide, resource_name="b", operation="READ")}


def test_instances_of_count_for_each_and_modules_go_as_the_hcl_says(tmp_path: Path) -> None:
    """A `removed` block is for all instances of a block: the others are listed for a person."""
    site = ProjectHarness(tmp_path, MemoryCluster())
    (tmp_path / "mod").mkdir()
    site.write(MODULE, "mod/main.tf")
    site.write(PROVIDER + REPEATED)
    site.apply()
    both = ["User:a", "User:b"]
    gone = {"g.": both[:1], "two.": both[:1], "pay.": both[1:], "old.": both, "older.": both}
    found = site.cluster.acls()
    old = [each for each in found if each.principal in gone.get(each.resource_name, ())]
    texts = render_owned(site, old)
    assert list(texts) == ["remove"]
    text = texts["remove"]
    assert text.count("removed {") == 1
    assert "  from = module.m.kafka_acl.old\n" in text
    for at in ('groups["User:a"]', "counted[1]"):
        assert f"# kafka_acl.{at}: User:a|" in text
    assert '# module.m["User:b"].kafka_acl.pay: User:b|' in text

    site.write(text, "remove.tf")
    site.write(PROVIDER + REPEATED.replace('"User:a", ', "", 1).replace('"two.", ', ""))
    kept = MODULE[: MODULE.index('resource "kafka_acl" "old"')]
    one = 'count         = var.principal == "User:a" ? 1 : 0\n  resource_name = "pay."'
    site.write(kept.replace('resource_name = "pay."', one), "mod/main.tf")
    site.apply(max_deletes=len(old))
    assert set(site.cluster.acls()) == set(found) - set(old)


def render_owned(site: ProjectHarness, old: Sequence[AclBinding]) -> Mapping[str, str]:
    state = FileStore(site.project.state_path).read()
    assert state is not None
    acls = [acl_from_binding(each) for each in old]
    evidence = {KIND.identify(each): f"{KIND.identify(each)}: unused" for each in acls}
    known = ClusterState(state, site.cluster.describe().cluster_id)
    return render_recommendation(known, acls, [], evidence)


@pytest.mark.parametrize("end", ["\n", "\r", "\x0b", "\x0c", "\x85", "\u2028", "\u2029"])
def test_a_name_of_the_cluster_ends_no_comment(end: str) -> None:
    """Groups and transactional ids may have any characters."""
    evil = f'g{end}resource "kafka_topic" "evil" {{}}{end}#'
    owned, foreign = (
        acl_from_binding(AclBinding(sort, evil, "LITERAL", "User:a", "*", "READ", "ALLOW"))
        for sort in ("GROUP", "TRANSACTIONAL_ID")
    )
    address = Address.parse("kafka_acl.a")
    state = State("x", owned={address: OwnedObject(address, KIND.identify(owned), owned)})
    evidence = {KIND.identify(each): f"{KIND.identify(each)}: unused" for each in (owned, foreign)}
    texts = render_recommendation(ClusterState(state, "id"), [owned, foreign], [], evidence)
    assert set(texts) == {"remove", "unmanaged"}
    for text in texts.values():
        lines = [each.lstrip() for each in text.splitlines() if "evil" in each]
        assert lines
        assert all(each.startswith(("#", "resource_name ")) for each in lines), lines
