"""Rules and patterns that others write for Terraform's plans hold on the golden plans.

The rules are written the way conftest policies and Checkov's YAML rules reach into a plan: by
`resource_changes[_].change`, `planned_values.root_module.resources[_].values` and the path of an
attribute. The patterns are equal in effect to those of Atlantis and tfcmt.
"""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kplan.report import views
from kplan.report.format import PLAIN_STYLE
from tests.golden.case import CASES, told
from tests.golden.test_golden import NAMES

Json = dict[str, Any]
PLANS = [name for name in NAMES if (CASES / name / "plan.json").exists()]
TFCMT = {
    "create": re.compile(r"^ *# (.*) will be created$", re.MULTILINE),
    "update": re.compile(r"^ *# (.*) will be updated in-place$", re.MULTILINE),
    "delete": re.compile(r"^ *# (.*) will be destroyed$", re.MULTILINE),
    "replace": re.compile(r"^ *# (.*?)(?: is tainted, so)? must be replaced$", re.MULTILINE),
}


def plan(name: str) -> Json:
    found: Json = json.loads((CASES / name / "plan.json").read_text(encoding="utf-8"))
    return found


def path(value: Any, *steps: str) -> Any:  # noqa: ANN401 - JSON in, JSON out
    """Walk as Rego does: what is not there is undefined, here None."""
    for step in steps:
        value = value.get(step) if isinstance(value, dict) else None
    return value


def deny_deleted_topics(found: Json) -> Iterator[str]:
    # deny[msg] { r := input.resource_changes[_]; r.change.actions[_] == "delete" ... }
    for each in found["resource_changes"]:
        if each["type"] == "kafka_topic" and "delete" in each["change"]["actions"]:
            yield each["address"]


def deny_few_replicas(found: Json) -> Iterator[str]:
    # deny[msg] { input.resource_changes[_].change.after.replication_factor < 2 }
    for each in found["resource_changes"]:
        factor = path(each, "change", "after", "replication_factor")
        if factor is not None and factor < 2:
            yield each["address"]


def deny_shorter_retention(found: Json) -> Iterator[str]:
    # deny[msg] { after.config["retention.ms"] < before.config["retention.ms"] }
    for each in found["resource_changes"]:
        sides = [
            path(each, "change", side, "config", "retention.ms") for side in ("before", "after")
        ]
        if None not in sides and int(sides[1]) < int(sides[0]):
            yield each["address"]


def all_resources(module: Json) -> Iterator[Json]:
    """Walk modules as Checkov's runner does."""
    yield from module.get("resources", ())
    for child in module.get("child_modules", ()):
        yield from all_resources(child)


@pytest.mark.parametrize("name", PLANS)
def test_the_head_of_a_plan_is_what_checkov_and_conftest_look_for(name: str) -> None:
    """Checkov passes a plan without terraform_version unseen (measured, plan-apply.md 1d)."""
    found = plan(name)
    assert re.fullmatch(r"\d+\.\d+\.\d+", found["terraform_version"])
    assert found["format_version"].startswith("1.")
    for key in ("planned_values", "resource_changes", "configuration", "prior_state"):
        assert key in found
    for each in found["resource_changes"]:
        assert {"address", "mode", "type", "name", "provider_name", "change"} <= each.keys()
        assert set(each["change"]["actions"]) <= {"no-op", "create", "update", "delete", "forget"}
        assert {"before", "after", "after_unknown"} <= each["change"].keys()


@pytest.mark.parametrize("name", PLANS)
def test_planned_values_hold_what_the_changes_end_in(name: str) -> None:
    found = plan(name)
    planned = {
        each["address"]: each for each in all_resources(found["planned_values"]["root_module"])
    }
    for each in found["resource_changes"]:
        if each["change"]["after"] is not None:
            assert planned[each["address"]]["values"] == each["change"]["after"]
            assert planned[each["address"]]["type"] == each["type"]


@pytest.mark.parametrize(
    ("rule", "name", "denied"),
    [
        (deny_deleted_topics, "mixed", ["kafka_topic.legacy"]),
        (deny_deleted_topics, "create", []),
        (deny_few_replicas, "no_changes", []),
        (deny_few_replicas, "sensitive", ["kafka_topic.orders"]),
        (deny_shorter_retention, "update_config", ["kafka_topic.orders"]),
        (deny_shorter_retention, "create", []),
    ],
)
def test_a_rule_finds_what_it_is_for(
    rule: Callable[[Json], Iterator[str]], name: str, denied: list[str]
) -> None:
    assert list(rule(plan(name))) == denied


@pytest.mark.parametrize("name", PLANS)
def test_tfcmt_lists_each_change_of_a_plan_for_automation(name: str, tmp_path: Path) -> None:
    """For automation ACLs are not grouped, so that every change has a comment line."""
    found = told(CASES / name, tmp_path)
    assert found.plan is not None
    text = views.plan_text(found.plan, PLAIN_STYLE, is_grouped=False)
    listed = {verb: sorted(pattern.findall(text)) for verb, pattern in TFCMT.items()}
    wanted: dict[str, list[str]] = {verb: [] for verb in TFCMT}
    for each in plan(name)["resource_changes"]:
        actions = each["change"]["actions"]
        verb = "replace" if len(actions) == 2 else actions[0]
        if verb in wanted:
            wanted[verb].append(each["address"])
    assert listed == {verb: sorted(addresses) for verb, addresses in wanted.items()}
