"""Every case of tests/golden/cases, planned and written down."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from kplan.report import views
from kplan.report.format import PLAIN_STYLE
from tests.golden.case import CASES, Told, told

# Equal in effect to the patterns of Atlantis and tfcmt.
COUNTS = re.compile(
    r"^Plan: (?:(\d+) to import, )?(\d+) to add, (\d+) to change, (\d+) to destroy\.$", re.MULTILINE
)
NOTHING = re.compile(
    r"^No changes\. Your infrastructure matches the configuration\.$", re.MULTILINE
)
TFCMT_FAIL = re.compile(r"^(?:[│|] )?Error: ", re.MULTILINE)

NAMES = sorted(each.name for each in CASES.iterdir() if (each / "main.hcl").exists())


@pytest.mark.parametrize("name", NAMES)
def test_a_case_is_planned_as_written_down(
    name: str, tmp_path: Path, golden: Callable[[Path, str], None]
) -> None:
    found = told(CASES / name, tmp_path)
    golden(CASES / name / "plan.txt", _plan_text(found))
    golden(CASES / name / "plan.json", _plan_json(found))
    golden(
        CASES / name / "diagnostics.txt",
        views.diagnostics_text(found.diagnostics, found.sources, PLAIN_STYLE),
    )


@pytest.mark.parametrize("name", NAMES)
def test_a_case_tells_the_same_twice(name: str, tmp_path: Path) -> None:
    """Design law 12."""
    first = told(CASES / name, tmp_path)
    (tmp_path / "again").mkdir()
    second = told(CASES / name, tmp_path / "again")
    assert _plan_json(first) == _plan_json(second)


@pytest.mark.parametrize("name", NAMES)
def test_text_and_json_of_a_case_agree(name: str) -> None:
    """The sentence that Atlantis and tfcmt read counts what conftest and Checkov read."""
    case = CASES / name
    if not (case / "plan.txt").exists():
        assert TFCMT_FAIL.search((case / "diagnostics.txt").read_text())
        return
    text, plan = (case / "plan.txt").read_text(), json.loads((case / "plan.json").read_text())
    said = plan["kplan"].get("policies", [])
    refused = {each["identity"] for each in said if each["standing"] == "refused"}
    actions = [
        each["change"]["actions"]
        for each in plan["resource_changes"]
        if each["kplan"]["identity"] not in refused
    ]
    found = COUNTS.search(text)
    told = [int(each or 0) for each in found.groups()] if found else [0, 0, 0, 0]
    reasons = [each["kplan"]["reason"] for each in plan["resource_changes"]]
    imported = sum("import block" in each for each in reasons)
    assert told == [
        imported,
        *(sum(action in each for each in actions) for action in ("create", "update", "delete")),
    ]
    assert bool(NOTHING.search(text)) == (
        set(map(tuple, actions)) <= {("no-op",)}
        and not imported
        and not any("previous_address" in each for each in plan["resource_changes"])
        and all(each["actions"] == ["no-op"] for each in plan["output_changes"].values())
        and not plan["errored"]
        and not plan["kplan"]["unread"]
    )


def test_no_case_shows_a_secret() -> None:
    """Design law 11."""
    shown = [path for path in CASES.glob("*/*.*") if path.name not in {"main.hcl", "state.json"}]
    assert [path for path in shown if "hunter" in path.read_text()] == []


def _plan_text(found: Told) -> str:
    if found.plan is None:
        return ""
    return views.plan_text(found.plan, PLAIN_STYLE, is_grouped=found.is_grouped)


def _plan_json(found: Told) -> str:
    """Give the JSON indented, so that a change of it can be reviewed."""
    if found.plan is None:
        return ""
    return json.dumps(json.loads(views.plan_json(found.plan)), indent=2) + "\n"
