"""Risk on whole facts: the installed command on a real broker."""

import json
from pathlib import Path

import pytest

from kplan.sandbox.sandbox import Sandbox
from tests.e2e.places import Place

pytestmark = pytest.mark.broker

TOPIC = """
provider "kafka" {{}}
resource "kafka_topic" "t" {{
  name               = "{prefix}.t"
  partitions         = 1
  replication_factor = 1
  config             = {config}
}}
"""
ACL = """
resource "kafka_acl" "{label}" {{
  resource_type       = "Topic"
  resource_name       = "{name}"
  acl_principal       = "{principal}"
  acl_host            = "*"
  acl_operation       = "{operation}"
  acl_permission_type = "{permission}"
}}
"""


@pytest.fixture
def place(tmp_path: Path, broker: Sandbox) -> Place:
    return Place(
        tmp_path,
        {"KPLAN_BOOTSTRAP_SERVERS": broker.bootstrap_servers, "KPLAN_TLS_ENABLED": "false"},
        text=None,
    )


def _risk(place: Place, address: str) -> tuple[str, list[str]]:
    """Plan, and return the risk of a change and the codes of its notes."""
    place.run("plan", "-report=json=plan.json")
    told = json.loads((place.folder / "plan.json").read_text())
    (change,) = [each for each in told["resource_changes"] if each["address"] == address]
    kplan = change["kplan"]
    return kplan["risk"], [each.partition(" ")[0] for each in kplan["notes"]]


def test_configs_are_judged_by_what_is_in_force(place: Place) -> None:
    """The default of the brokers is a week: to pin it is safe, and a fallback to it is told."""
    place.write(TOPIC.format(prefix=place.prefix, config="{}"))
    place.run("apply", "-auto-approve")
    week, day = 604_800_000, 86_400_000
    for config, risk, codes in (
        (f'{{ "retention.ms" = "{week}" }}', "safe", ["KP2208"]),
        (f'{{ "retention.ms" = "{2 * week}" }}', "safe", ["KP2208"]),
        ('{ "cleanup.policy" = "delete" }', "safe", ["KP2208"]),
    ):
        place.write(TOPIC.format(prefix=place.prefix, config=config))
        found = _risk(place, "kafka_topic.t")
        assert (found[0], found[1][:1]) == (risk, codes), config
    place.write(TOPIC.format(prefix=place.prefix, config=f'{{ "retention.ms" = "{day}" }}'))
    place.run("apply", "-auto-approve")
    place.write(TOPIC.format(prefix=place.prefix, config="{}"))
    risk, codes = _risk(place, "kafka_topic.t")
    assert (risk, codes[0]) == ("safe", "KP2208")
    assert f"retention.ms falls back to {week}" in place.run("plan")


def test_a_deny_that_takes_rights_counts_as_dangerous(place: Place) -> None:
    name = f"{place.prefix}.d"
    text = 'provider "kafka" {}\n' + ACL.format(
        label="a", name=name, principal="User:app", operation="Read", permission="Allow"
    )
    place.write(text)
    place.run("apply", "-auto-approve")
    place.write(
        text
        + ACL.format(label="d", name=name, principal="User:*", operation="All", permission="Deny")
    )
    assert _risk(place, "kafka_acl.d") == ("dangerous", ["KP2305"])
    assert "this Deny takes DESCRIBE, READ from User:app" in place.run("plan")
    refused = place.fails("plan", "-max-dangerous=0", "-detailed-exitcode", code=3)
    assert "kafka_acl.d" in refused
    listed = json.loads(place.run("access", "who-can", "read", f"topic:{name}", "-json"))
    assert [each["principal"] for each in listed["holders"] if each["principal"] == "User:app"]


def test_who_can_names_whom_a_deny_leaves_out(place: Place) -> None:
    name = f"{place.prefix}.w"
    rows = (("e", "User:*", "Allow"), ("b", "User:bob", "Deny"), ("a", "User:alice", "Allow"))
    place.write(
        'provider "kafka" {}\n'
        + "".join(
            ACL.format(label=label, name=name, principal=who, operation="Write", permission=kind)
            for label, who, kind in rows
        )
    )
    place.run("apply", "-auto-approve")
    listed = json.loads(place.run("access", "who-can", "write", f"topic:{name}", "-json"))
    everyone = next(each for each in listed["holders"] if each["principal"] == "User:*")
    assert [each["principal"] for each in everyone["except"]] == ["User:bob"]
    assert "User:bob" not in {each["principal"] for each in listed["holders"]}
    shown = place.run("access", "who-can", "write", f"topic:{name}")
    assert "except User:bob" in shown
    assert "DENY WRITE" in shown


def test_retention_of_brokers_is_judged_by_what_is_in_force(place: Place) -> None:
    """Their file says 168 hours by default: longer is no danger, shorter is one (K4-31)."""
    week = 604_800_000
    for value, risk, codes in (
        (week, "review", ["KP2421"]),
        (2 * week, "review", ["KP2421"]),
        (week - 1, "dangerous", ["KP2421", "KP2423"]),
    ):
        place.write(
            'provider "kafka" {}\nresource "kafka_broker_config" "all" {\n'
            f'  config = {{ "log.retention.ms" = "{value}" }}\n}}\n'
        )
        assert _risk(place, "kafka_broker_config.all") == (risk, codes), value
    shown = place.run("plan")
    assert "KP2423 log.retention.ms shrinks from 604800000" in shown
