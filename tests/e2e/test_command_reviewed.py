"""Plans that were reviewed, and objects that were there before, on a real Apache Kafka."""

import re
from contextlib import closing
from pathlib import Path

import pytest

from kplan.cluster.request import AclBinding, ConfigAlteration
from tests.e2e.places import Place

pytestmark = pytest.mark.broker


def altered(place: Place, topic: str) -> None:
    with closing(place.cluster()) as cluster:
        cluster.alter_topic_configs(
            [ConfigAlteration(f"{place.prefix}.{topic}", {"segment.ms": "60000"})]
        )


def test_a_saved_plan_skips_what_others_changed_and_does_the_rest(place: Place) -> None:
    place.run("apply", "-auto-approve")
    place.edit("86400000", "3600000")
    place.run("plan", "-out=p.kplan")
    altered(place, "a")
    assert "Not as the plan saw it" in place.fails("apply", "-detailed-exitcode", "p.kplan", code=6)
    told = place.run("apply", "-detailed-exitcode", "-on-stale=skip", "p.kplan", code=4)
    assert "CLIENT_STALE" in told
    assert "was applied already" in place.fails("apply", "-on-stale=skip", "p.kplan")
    shown = place.run("plan")
    assert "Plan: 0 to add, 1 to change, 0 to destroy." in shown
    found = re.search(r"checksum ([0-9a-f-]{19})", shown)
    assert found is not None
    wrong = place.fails(
        "apply", "-expect-checksum=0000-0000-0000-0000", "-detailed-exitcode", code=6
    )
    assert "0000 was expected" in wrong
    place.run("apply", f"-expect-checksum={found[1]}", "-no-wait")
    assert "Every broker serves 1 of 1 object." in place.run("wait")
    place.run("plan", "-detailed-exitcode")


def test_objects_move_are_let_go_of_and_are_imported_by_blocks(place: Place) -> None:
    place.run("apply", "-auto-approve")
    main = (place.folder / "main.tf").read_text()
    renamed = main.replace('"kafka_topic" "t"', '"kafka_topic" "u"').replace(
        "kafka_topic.t", "kafka_topic.u"
    )
    place.write(renamed + "moved {\n  from = kafka_topic.t\n  to   = kafka_topic.u\n}\n")
    assert 'has moved to kafka_topic.u["a"]' in place.run("plan")
    place.run("apply", "-auto-approve")
    start, end = renamed.index('resource "kafka_acl"'), renamed.index("output")
    let_go = "removed {\n  from = kafka_acl.reader\n  lifecycle {\n    destroy = false\n  }\n}\n"
    place.write(renamed[:start] + renamed[end:] + let_go)
    place.run("apply", "-auto-approve")
    with closing(place.cluster()) as cluster:
        assert _acl(place, "READ") in cluster.acls()
    identity = f"User:reader|*|Read|Allow|Topic|{place.prefix}.a|Literal"
    block = f'import {{\n  to = kafka_acl.reader\n  id = "{identity}"\n}}\n'
    place.write(renamed + block)
    assert "Plan: 1 to import, 0 to add, 0 to change, 0 to destroy." in place.run("plan")
    assert "1 imported, 0 added, 0 changed" in place.run("apply", "-auto-approve")
    place.run("plan", "-detailed-exitcode")


def test_an_acl_is_swapped_without_a_gap(place: Place) -> None:
    place.edit('provider "kafka" {}', 'provider "kafka" {\n  acl_order = "add_first"\n}')
    place.run("apply", "-auto-approve")
    place.edit('"Read"', '"Write"')
    shown = place.run("plan")
    assert "+/- create replacement and then destroy" in shown
    assert "access gap" not in shown
    assert "1 added, 0 changed, 1 destroyed" in place.run("apply", "-auto-approve")
    with closing(place.cluster()) as cluster:
        held = {each for each in cluster.acls() if each.resource_name == f"{place.prefix}.a"}
    assert held == {_acl(place, "WRITE")}


def test_the_state_is_looked_after(place: Place) -> None:
    place.run("apply", "-auto-approve")
    copy = place.folder / "copy.json"
    copy.write_text(place.run("state", "pull"))
    place.run("state", "rm", "kafka_acl.reader")
    assert "-1 current" in place.run("state", "history")
    place.run("state", "restore", "1")
    assert "3 of 3 objects as last applied." in place.run("state", "verify")
    altered(place, "b")
    assert "2 of 3 objects as last applied, 1 changed." in place.run("state", "verify", code=2)
    Path(place.folder / "state" / "kplan.json").write_text("")
    place.fails("plan")
    place.run("state", "push", "-force", "copy.json")
    assert "is not locked" in place.run("lock", "status")


def _acl(place: Place, operation: str) -> AclBinding:
    name = f"{place.prefix}.a"
    return AclBinding("TOPIC", name, "LITERAL", "User:reader", "*", operation, "ALLOW")
