"""The order of ACL replacements, as an apply on a real broker carries it out (KIP-4)."""

from contextlib import closing

import pytest

from tests.e2e.places import Place
from tests.e2e.proxy import CREATE_ACLS, DELETE_ACLS, Proxy

pytestmark = pytest.mark.broker

MAIN = """
provider "kafka" {{}}
variable "net" {{
  default = 0
}}
locals {{
  numbers = toset([for n in setproduct(range(12), range(100)) : format("%02d%02d", n...)])
}}
resource "kafka_acl" "a" {{
  for_each            = local.numbers
  resource_type       = "Topic"
  resource_name       = "{prefix}.${{{subject}}}"
  acl_principal       = "User:order"
  acl_host            = "10.${{var.net}}.${{floor(each.key / 250)}}.${{each.key % 250}}"
  acl_operation       = "Read"
  acl_permission_type = "Allow"
}}
"""


def _mixed_resources(place: Place) -> set[str]:
    """Name the resources that have new ACLs and old ones now."""
    with closing(place.cluster()) as cluster:
        held = [each for each in cluster.acls() if each.resource_name.startswith(place.prefix)]
    old, new = (
        {each.resource_name for each in held if each.host.startswith(net)}
        for net in ("10.0.", "10.1.")
    )
    return old & new


def test_no_resource_has_an_add_before_its_last_delete(watched: Place, proxy: Proxy) -> None:
    """1,200 replacements on 100 resources take several requests of both."""
    watched.write(MAIN.format(prefix=watched.prefix, subject="each.key % 100"))
    watched.run("apply", "-auto-approve")
    mixed: list[set[str]] = []
    proxy.seen.clear()
    for key in (CREATE_ACLS, DELETE_ACLS):
        proxy.before[key] = lambda: mixed.append(_mixed_resources(watched))
    watched.run("apply", "-auto-approve", "-var=net=1", "-max-deletes=9999")
    proxy.before.clear()
    order = [each for each in proxy.seen if each in {CREATE_ACLS, DELETE_ACLS}]
    assert DELETE_ACLS in order[order.index(CREATE_ACLS) :]  # one group after another
    assert mixed == [set()] * len(order)


def test_what_no_request_has_room_for_is_named_before_it_is_done(watched: Place) -> None:
    watched.write(MAIN.format(prefix=watched.prefix, subject='"one"'))
    watched.run("apply", "-auto-approve")
    shown = watched.ran("plan", "-var=net=1")
    told = " ".join((shown.err + shown.out).split())
    assert "KP248" in told
    assert "User:order has more ACLs on Topic" in told
