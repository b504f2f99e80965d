"""Checkov, which is made for Terraform's plan JSON, reads kplan's plans with rules for topics."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from kplan.sandbox.artifact import cache_folder, file_lock
from tests.golden.case import CASES

UV = (sys.executable, "-m", "uv")
CHECKOV = "checkov==3.3.30"
RULES = """
metadata:
  id: CKV2_KPLAN_{number}
  name: {name}
  category: GENERAL_SECURITY
definition:
  cond_type: attribute
  resource_types: [{kind}]
  attribute: {attribute}
  operator: {operator}
  value: "{value}"
"""
READ = ("create", "mixed", "sensitive", "destroy")
"""Golden plans with creates, updates, deletes, ACLs, modules and secrets."""


@pytest.fixture(scope="module")
def checkov() -> Path:
    """Install Checkov once, into an environment of its own: its requirements are not kplan's."""
    folder = cache_folder() / "tools" / CHECKOV.replace("==", "-")
    command = folder / "bin" / "checkov"
    with file_lock(folder.with_suffix(".lock")):
        if not command.exists():
            subprocess.run([*UV, "venv", "--quiet", "--clear", str(folder)], check=True)
            python = str(folder / "bin" / "python")
            install = [*UV, "pip", "install", "--quiet", "--python", python, CHECKOV]
            subprocess.run(install, check=True)
    return command


def test_checkov_finds_in_plans_what_is_in_them(checkov: Path, tmp_path: Path) -> None:
    """It passes a file that it does not take for a plan without a word: resources are counted."""
    rules = tmp_path / "rules"
    rules.mkdir()
    made = (
        (1, "Two replicas", "kafka_topic", "replication_factor", "greater_than_or_equal", "2"),
        (2, "No wildcard", "kafka_acl", "acl_principal", "not_equals", "User:*"),
    )  # fmt: skip
    for number, name, kind, attribute, operator, value in made:
        text = RULES.format(number=number, name=name, kind=kind, attribute=attribute,
                            operator=operator, value=value)  # fmt: skip
        (rules / f"{number}.yaml").write_text(text)
    plans = {name: json.loads((CASES / name / "plan.json").read_text()) for name in READ}
    for name, plan in plans.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(plan))
    done = subprocess.run(
        [str(checkov), "--framework", "terraform_plan", "--skip-download", "--quiet", "--compact",
         "--output", "json", "--soft-fail", "--external-checks-dir", str(rules),
         "--check", "CKV2_KPLAN_1,CKV2_KPLAN_2",
         *(f"--file={tmp_path / name}.json" for name in READ)],
        check=True, capture_output=True, text=True, cwd=tmp_path,
    )  # fmt: skip
    found = json.loads(done.stdout)
    wanted = sorted(
        (f"/{name}.json", each["address"])
        for name, plan in plans.items()
        for each in plan["resource_changes"]
        if each["type"] == "kafka_topic" and (each["change"]["after"] or {"replication_factor": 2})
        ["replication_factor"] < 2
    )  # fmt: skip
    failed = found["results"]["failed_checks"]
    assert wanted
    assert sorted((each["file_path"], each["resource_address"]) for each in failed) == wanted
    assert found["summary"]["parsing_errors"] == 0
