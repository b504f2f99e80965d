"""What the campaign found once: each stays as it is mended."""

import tempfile
from contextlib import suppress
from pathlib import Path

import pytest

from kplan.config.fleet_file import load_fleet
from kplan.config.inputs import Inputs
from kplan.model.errors import KplanError
from tests.fuzz.commands import Case, check, read_plan_members, repair_plan, working_folder

PLAN = working_folder()


def plan_file(old: bytes, new: bytes, member: str = "meta.json") -> Case:
    members = read_plan_members(PLAN["p.kplan"])
    assert old in members[member]
    members[member] = members[member].replace(old, new)
    args = ("apply", "-auto-approve", "p.kplan")
    return Case({**PLAN, "p.kplan": repair_plan(members)}, args, writes=frozenset({"state"}))


@pytest.mark.parametrize(
    "case",
    [
        Case({"x.yaml": b"apiVersion: kafka.jikkou.io/v1\nkind: ConfigMap\nmetadata: x\n"},
             ("convert", "x.yaml")),
        Case({"main.tf": b"locals {\n  x = { a = 1 !b = 2 }\n}\n"}, ("validate",)),
        plan_file(b'"digest":"', b'"digest":[],"x":"', "plan.json"),
        plan_file(b'"variables": {', b'"variables": null, "x": {'),
        plan_file(b'"expires_at": "', b'"expires_at": 5, "x": "'),
        plan_file(b'"expires_at": "2', b'"expires_at": "2026-01-01", "x": "'),
    ],
)  # fmt: skip
def test_it_is_told_as_a_mistake(case: Case) -> None:
    check(case)


def test_a_resource_in_a_fleet_file_is_a_mistake() -> None:
    with tempfile.TemporaryDirectory() as name:
        (Path(name) / "fleet.hcl").write_text('resource "kafka_topic" "x" {}\n')
        with suppress(KplanError):
            found = load_fleet(Path(name), Inputs())
            assert [each.code for each in found.diagnostics] == ["KP126"]
