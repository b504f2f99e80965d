from collections.abc import Mapping
from datetime import date
from pathlib import Path
from threading import Lock
from typing import Any

import pytest

from kplan.cluster.memory.cluster import MemoryCluster
from kplan.cluster.request import NewTopic
from kplan.config.inputs import Inputs
from kplan.config.load import load_configuration, load_policies
from kplan.fleet.dataframe import pack, unpack
from kplan.fleet.policy import FleetPolicies, check_cluster
from kplan.fleet.reader import SnapshotSource, read_rows
from kplan.fleet.snapshot import snapshot_from_rows
from kplan.kinds import KINDS
from kplan.model.errors import UnreachableError
from kplan.model.policy import Policy
from kplan.model.state import Snapshot
from kplan.workflow.fleet.desired import SnapshotReader

POLICIES = """
variable "most" { default = 12 }
policy "partitions" {
  on   = ["create", "alter"]
  kind = "kafka_topic"
  deny {
    condition = requested.partitions > var.most
    message   = "${requested.partitions} partitions are more than ${var.most}"
  }
  waivers = [
    { applies_to = ["waived.*"], owner = "ann", reason = "moving", expires = "2026-12-31" }
  ]
}
policy "alone" {
  on   = ["create"]
  kind = "kafka_topic"
  warn {
    condition = cluster.so_far.topics != 3
    message   = "a topic was counted twice"
  }
}
policy "acls" {
  on   = ["create"]
  kind = "kafka_acl"
  deny {
    condition = true
    message   = "no ACLs at all"
  }
}
"""
DAY = date(2026, 11, 21)


def policies(folder: Path) -> Mapping[str, tuple[Policy, ...]]:
    (folder / "main.tf").write_text(POLICIES, encoding="utf-8")
    found = load_configuration(folder, Inputs(), KINDS)
    assert not found.diagnostics
    return {"eu": found.policies}


def memory() -> MemoryCluster:
    cluster = MemoryCluster()
    cluster.seed([NewTopic("fine", 12, 1), NewTopic("wide", 13, 1), NewTopic("waived.x", 90, 1)])
    return cluster


def told(found: list[dict[str, Any]]) -> set[tuple[str, ...]]:
    return {(each["policy"], each["standing"], each["identity"]) for each in found}


def test_policies_judge_what_is_live_as_if_it_came_now(tmp_path: Path) -> None:
    rows = read_rows(SnapshotSource("eu", {}, memory))
    found = list(check_cluster(rows, FleetPolicies(policies(tmp_path), today=DAY)))
    assert told(found) == {("partitions", "refused", "wide"), ("partitions", "waived", "waived.x")}
    assert "13 partitions are more than 12" in {each["message"] for each in found}
    later = check_cluster(rows, FleetPolicies(policies(tmp_path), today=date(2027, 1, 1)))
    assert ("partitions", "refused", "waived.x") in told(list(later))


def test_what_could_not_be_read_is_told_and_not_let_pass(tmp_path: Path) -> None:
    def refused() -> MemoryCluster:
        raise UnreachableError("nobody answers")

    cluster = memory()
    cluster.disable_authorizer()
    blind = check_cluster(
        read_rows(SnapshotSource("eu", {}, lambda: cluster)), FleetPolicies(policies(tmp_path))
    )
    assert ("", "unread", "") in told(list(blind))
    down = list(
        check_cluster(
            read_rows(SnapshotSource("eu", {}, refused)), FleetPolicies(policies(tmp_path))
        )
    )
    assert [(each["standing"], each["kind"]) for each in down] == [("unread", "*")]


def test_a_configuration_that_cannot_be_used_is_a_problem() -> None:
    rows = read_rows(SnapshotSource("eu", {}, memory))
    (found,) = check_cluster(rows, FleetPolicies(problems={"eu": "KP142: no such resource"}))
    assert (found["standing"], found["reason"]) == ("problem", "KP142: no such resource")


REFERRING = """
variable "unset" {}
variable "most" { default = 12 }
locals {
  limit = min(var.most, tonumber(trimspace(file("limit.txt"))))
}
resource "kafka_topic" "unset" {
  name = var.unset
}
resource "kafka_topic" "wide" {
  for_each   = { "wide" = 13 }
  name       = each.key
  partitions = each.value
}
module "team" {
  source = "./team"
  most   = local.limit
}
policy "partitions" {
  on   = ["create"]
  kind = "kafka_topic"
  when = requested.name == kafka_topic.wide["wide"].name
  deny {
    condition = requested.partitions > module.team.most
    message   = "more than ${local.limit}"
  }
}
"""


def write_referring(folder: Path) -> None:
    team = 'variable "most" {}\noutput "most" {\n  value = var.most\n}\n'
    for name, text in {"main.tf": REFERRING, "team/main.tf": team}.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")


def test_policies_are_loaded_without_what_they_do_not_refer_to(tmp_path: Path) -> None:
    """They are asked elsewhere: what they refer to is computed where the files are."""
    write_referring(tmp_path)
    limit = tmp_path / "limit.txt"
    limit.write_text("10\n", encoding="utf-8")
    loaded = load_policies(tmp_path, Inputs(), KINDS)
    assert [each.code for each in loaded.diagnostics] == []
    limit.unlink()
    asked = FleetPolicies({"eu": unpack(pack(loaded.policies))})
    rows = read_rows(SnapshotSource("eu", {}, memory))
    (found,) = check_cluster(rows, asked)
    assert (found["identity"], found["message"]) == ("wide", "more than 10")


def test_an_error_of_what_a_policy_refers_to_is_a_problem(tmp_path: Path) -> None:
    write_referring(tmp_path)
    (found,) = load_policies(tmp_path, Inputs(), KINDS).diagnostics
    assert "limit.txt" in found.detail


@pytest.mark.parametrize(
    "value",
    [
        'tolist(["wide"])',
        'toset(["wide"])',
        '[for each in toset(["wide"]) : each]',
        'tomap({ a = tolist(["wide"]) })["a"]',
        'sensitive(["wide"])',
    ],
)
def test_a_policy_goes_to_other_processes_with_values_of_every_type(
    value: str, tmp_path: Path
) -> None:
    text = f"""
locals {{ names = {value} }}
policy "known" {{
  on   = ["create"]
  kind = "kafka_topic"
  deny {{
    condition = contains(local.names, requested.name)
    message   = "refused"
  }}
}}
"""
    (tmp_path / "main.tf").write_text(text, encoding="utf-8")
    loaded = load_policies(tmp_path, Inputs(), KINDS)
    asked = FleetPolicies({"eu": unpack(pack(loaded.policies))})
    rows = read_rows(SnapshotSource("eu", {}, memory))
    assert told(list(check_cluster(rows, asked))) == {("known", "refused", "wide")}


def test_a_variable_that_a_policy_uses_is_held_against_its_rules(tmp_path: Path) -> None:
    rule = '  validation {\n    condition     = var.most > 0\n    error_message = "positive"\n  }\n'
    text = POLICIES.replace("{ default = 12 }", "{\n  default = -1\n" + rule + "}")
    (tmp_path / "main.tf").write_text(text, encoding="utf-8")
    (found,) = load_policies(tmp_path, Inputs(), KINDS).diagnostics
    assert (found.code, "positive" in found.detail) == ("KP172", True)


DATA = 'data "kafka_topic" "w" {\n  name = "wide"\n}\n'
OF_DATA = POLICIES.replace("var.most", "data.kafka_topic.w.partitions")


def test_policies_that_data_decide_are_loaded_again_with_the_data(tmp_path: Path) -> None:
    for text in (
        DATA + "policies {\n  paths = [data.kafka_topic.w.name]\n}\n",
        DATA + POLICIES.replace("kind = ", "description = data.kafka_topic.w.name\n  kind = "),
        DATA + OF_DATA,
    ):
        (tmp_path / "main.tf").write_text(text, encoding="utf-8")
        assert load_policies(tmp_path, Inputs(), KINDS).lacks_data


def test_what_a_policy_reads_of_the_run_goes_with_it_and_not_the_run(tmp_path: Path) -> None:
    rows = read_rows(SnapshotSource("eu", {}, memory))
    lock = Lock()  # as what talks to Spark has one: it goes nowhere

    def load_snapshot() -> Snapshot:
        with lock:
            found = snapshot_from_rows(rows)
        assert isinstance(found, Snapshot)
        return found

    (tmp_path / "main.tf").write_text(DATA + OF_DATA, encoding="utf-8")
    loaded = load_policies(tmp_path, Inputs(), KINDS, SnapshotReader(load_snapshot))
    asked = FleetPolicies({"eu": unpack(pack(loaded.policies))}, today=DAY)
    found = list(check_cluster(rows, asked))
    assert ("partitions", "waived", "waived.x") in told(found)
    assert "90 partitions are more than 13" in {each["message"] for each in found}
