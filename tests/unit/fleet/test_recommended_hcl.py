"""HCL of recommendations, applied as its heads say."""

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
from tests.project_harness import ProjectHarness

KIND = AclKind()
PROVIDER = 'provider "kafka" { bootstrap_servers = ["127.0.0.1:1"] }\n'
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
    texts = render_recommendation(state, old, new, evidence)
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
    texts = render_recommendation(state, [owned, foreign], [], evidence)
    assert set(texts) == {"remove", "unmanaged"}
    for text in texts.values():
        lines = [each.lstrip() for each in text.splitlines() if "evil" in each]
        assert lines
        assert all(each.startswith(("#", "resource_name ")) for each in lines), lines
