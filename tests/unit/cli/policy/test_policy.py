"""`kplan policy list`, `kplan policy test`, and policies in plan and apply, in this process."""

import json
import shutil
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from tests.unit.cli.memory_command import MemoryCommand, memory_command

ROOT = Path(__file__).parents[4]
RULES = """
policy "cap" {
  description = "Few partitions."
  on    = ["create"]
  kind  = "kafka_topic"
  level = "soft"
  waivers = [{ owner = "me", reason = "old", expires = "2020-01-31", applies_to = ["x"] }]
  deny {
    condition = requested.partitions > 3
    message   = "${requested.partitions} are many"
  }
}
"""
ONE = 'resource "kafka_topic" "t" {\n  name       = "t"\n  partitions = 1\n}\n'
CASES = """
case "many" {
  on        = "create"
  requested = { name = "t", partitions = 4 }
  expect    = "deny"
  message   = "4 are many"
}
case "few" {
  on        = "create"
  requested = { name = "t", partitions = 3 }
  expect    = "EXPECT"
}
"""


@pytest.fixture
def desk(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> MemoryCommand:
    found = memory_command(tmp_path, capsys, monkeypatch)
    found.write(RULES, "rules.hcl")
    return found


def test_policies_are_listed_with_what_they_decide_and_who_is_excepted(desk: MemoryCommand) -> None:
    shown = desk.run("policy", "list")
    assert "cap  soft  create of kafka_topic  rules.hcl:2:1" in shown
    assert "Few partitions." in shown
    assert "waived for x until 2020-01-31 by me: old (ended)" in shown
    (found,) = json.loads(desk.run("policy", "list", "-json"))
    assert (found["name"], found["level"], found["waivers"][0]["expired"]) == ("cap", "soft", True)
    (desk.folder / "rules.hcl").unlink()
    assert "There are no policies." in desk.run("policy", "list")
    assert "KP327" in desk.run_failing("policy", "list", "-policy=nowhere")


def test_cases_pass_and_fail_and_ci_gets_a_report(desk: MemoryCommand) -> None:
    """K201-27."""
    (desk.folder / "tests").mkdir()
    desk.write(CASES.replace("EXPECT", "pass"), "tests/cap.policytest.hcl")
    shown = desk.run("policy", "test", "-junit-xml=report.xml")
    assert "Success! 2 passed, 0 failed." in shown
    cases = ET.parse(desk.folder / "report.xml").getroot().iter("testcase")  # noqa: S314 - our own
    assert [each.get("name") for each in cases] == ["many", "few"]
    desk.write(CASES.replace("EXPECT", "warn"), "tests/cap.policytest.hcl")
    assert "Failure! 1 passed, 1 failed." in desk.run("policy", "test", code=1)
    told = desk.run_failing("policy", "test")
    assert 'Expected "warn", got no finding.' in told
    assert "tests/cap.policytest.hcl line 8" in told
    assert desk.cluster.calls == []


def test_without_test_files_that_is_said(desk: MemoryCommand) -> None:
    told = desk.run_failing("policy", "test")
    assert "found no *.policytest.hcl files here or in tests/." in told


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('case "a" {\n on = "creates"\n expect = "pass"\n}', 'Did you mean "create"?'),
        ('case "a" {\n on = "create"\n}', "KP122"),
        ('case "a" {\n on = "create"\n expect = "no"\n}', "is not one of pass, deny"),
        ('cas "a" {\n}', 'Did you mean "case"?'),
        ("x = 1", "cluster and case blocks"),
        ('case "a" {\n on = "create"\n expect = "pass"\n requested = 1\n}', "holds the attributes"),
        ('case "a" {\n on = "create"\n expect = "pass"\n today = "x"\n}', "is not a date"),
        ('case "a" {\n on = "create"\n expect = "pass"\n requested = var.no\n}', "KP140"),
        ('case "a" {\n on = "create"\n expect = "pass"\n requested = {}\n}', "cannot be made"),
        ('case "a" {\n on = "create"\n expect = "pass"\n kind = "x"\n}', "no kind"),
        ('case "a" {\n on = "delete"\n expect = "pass"\n topic = "t"\n}', "not on the cluster"),
        ('case "a" {\n on = "create"\n expect = "pass"\n policy = "x"\n requested = {name="t"}\n}',
         'no policy "x"'),
        ('case "a" {\n on = "delete_records"\n expect = "pass"\n offsets = { x = 1 }\n}', "KP137"),
        ('case "a" {', "KP104"),
        ('cluster {\n brokers = "many"\n}', "KP705"),
        ('cluster {\n platform = "azure"\n}', "KP705"),
    ],
)  # fmt: skip
def test_a_mistake_in_a_file_of_cases_is_told_at_its_line(
    desk: MemoryCommand, text: str, told: str
) -> None:
    desk.write(text, "a.policytest.hcl")
    found = desk.run_failing("policy", "test")
    assert told in found
    assert "a.policytest.hcl line" in found


def test_a_case_may_be_on_a_platform(desk: MemoryCommand) -> None:
    desk.write(
        """policy "msk-only" {
  on = "create"
  deny {
    condition = cluster.platform != "msk"
    message   = "on ${coalesce(cluster.platform, "none")}"
  }
}
""",
        "policy.tf",
    )
    case = """case "topic" {
  on        = "create"
  requested = { name = "t" }
  policy    = "msk-only"
  expect    = "EXPECT"
}
"""
    desk.write(case.replace("EXPECT", "deny"), "none.policytest.hcl")
    desk.write(
        'cluster { platform = "msk" }\n' + case.replace("EXPECT", "pass"), "msk.policytest.hcl"
    )
    assert "2 passed" in desk.run("policy", "test")


def test_the_cases_of_the_example_pass(
    desk: MemoryCommand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for each in ("modules", "examples/policies"):
        shutil.copytree(ROOT / each, tmp_path / "copy" / each)
    monkeypatch.chdir(tmp_path / "copy" / "examples" / "policies")
    assert "checks.py is Python" in desk.run_failing("policy", "test")
    assert "Success!" in desk.run("policy", "test", "-allow-python")


def test_a_refused_change_is_in_the_exit_code_and_a_reason_lets_it_through(
    desk: MemoryCommand,
) -> None:
    desk.run_failing("plan", "-detailed-exitcode", code=3)
    assert "refused  create of payments by policy cap" in desk.run("plan", code=1)
    shown = desk.run("apply", "-auto-approve", "-detailed-exitcode", code=3)
    assert "POLICY_VIOLATION" in shown
    assert sorted(desk.cluster.topics()) == ["orders"]
    assert "has no reason" in desk.run_failing("plan", "-override=cap")
    shown = desk.run("apply", "-auto-approve", "-override", "cap=load test")
    assert "overridden: load test" in shown
    assert sorted(desk.cluster.topics()) == ["orders", "payments"]


def test_an_apply_of_which_nothing_is_left_is_no_success(desk: MemoryCommand) -> None:
    desk.write(RULES.replace("> 3", "> 0"), "rules.hcl")
    desk.write(ONE)
    desk.run("apply", "-auto-approve", code=1)
    desk.run("apply", "-auto-approve", "-detailed-exitcode", code=3)
    assert desk.cluster.topics() == {}


def test_nothing_is_done_where_all_or_nothing_is_asked_for(desk: MemoryCommand) -> None:
    told = desk.run_failing(
        "apply", "-auto-approve", "-policy-mode=all", "-detailed-exitcode", code=3
    )
    assert "KP329" in told
    assert desk.cluster.topics() == {}
    assert 'is not "item" or "all"' in desk.run_failing("plan", "-policy-mode=some")
    assert "is not a principal" in desk.run_failing("plan", "-as=me")


def test_machines_read_what_policies_said(desk: MemoryCommand) -> None:
    lines = [json.loads(each) for each in desk.run("plan", "-json", code=1).splitlines()]
    (plan,) = [each for each in lines if each["type"] == "plan"]
    (said,) = plan["kplan"]["policies"]
    assert (said["policy"], said["standing"], said["origin"]) == ("cap", "refused", "policy")
    assert (said["policy_at"], said["resource_at"]) == ("rules.hcl:9:17", "main.tf:4:1")
    assert any(each["type"] == "diagnostic" and "KP320" in str(each) for each in lines)


def test_the_folder_of_policies_is_asked_where_it_is_named(desk: MemoryCommand) -> None:
    (desk.folder / "more").mkdir()
    desk.write(RULES.replace("cap", "lid").replace("soft", "hard"), "more/rules.hcl")
    (desk.folder / "rules.hcl").unlink()
    told = desk.run_failing("plan", "-policy=more")
    assert "more/rules.hcl line 9" in told
    assert "Policy lid" in told
    desk.write('policies {\n paths = ["more"]\n}', "policies.hcl")
    assert "Policy lid" in desk.run_failing("plan")


STRICT = RULES.replace("cap", "strict").replace("> 3", "> 9")


def test_a_saved_plan_is_checked_by_the_policies_it_was_made_with(desk: MemoryCommand) -> None:
    """The paths of `-policy` at plan time and their digests are in the plan."""
    (desk.folder / "rules.hcl").unlink()
    (desk.folder / "strict").mkdir()
    desk.write(STRICT, "strict/rules.hcl")
    desk.run("plan", "-policy=strict", "-out=a.plan")
    shutil.rmtree(desk.folder / "strict")
    assert "strict, which is missing here" in desk.run_failing("apply", "a.plan")
    (desk.folder / "strict").mkdir()
    desk.write(STRICT.replace("> 9", "> 5"), "strict/rules.hcl")
    told = desk.run_failing("apply", "a.plan")
    assert "The policies in strict changed since the plan was made" in told
    assert sorted(desk.cluster.topics()) == ["orders"]


def test_an_apply_for_another_principal_needs_leave_and_is_recorded(desk: MemoryCommand) -> None:
    told = desk.run_failing("apply", "-auto-approve", "-as=User:boss", "-override=cap=x")
    assert "An apply cannot evaluate policies for User:boss (-as)" in told
    assert "policies as User:boss" in desk.run("plan", "-as=User:boss", "-override=cap=x", "-out=a")
    assert "An apply cannot evaluate" in desk.run_failing("apply", "a")
    assert desk.cluster.topics() == {}
    desk.write(RULES + "policies {\n  allow_as = true\n}\n", "rules.hcl")
    desk.run("plan", "-as=User:boss", "-override=cap=x", "-out=a")
    desk.run("apply", "a")
    state = json.loads(desk.run("state", "pull"))
    assert [each["policy_principal"] for each in state["applied_plans"]] == ["User:boss"]


def test_tests_of_other_places_are_run_by_their_path(desk: MemoryCommand) -> None:
    other = desk.folder / "other"
    (other / "tests").mkdir(parents=True)
    (other / "tests" / "a.policytest.hcl").write_text(CASES.replace("EXPECT", "pass"))
    assert "2 passed" in desk.run("policy", "test", "other")
    assert "2 passed" in desk.run("policy", "test", "other/tests/a.policytest.hcl")
    assert "There is no file or folder nowhere" in desk.run_failing("policy", "test", "nowhere")


def test_coverage_names_the_rules_that_no_case_makes_speak(desk: MemoryCommand) -> None:
    (desk.folder / "checks.py").write_text(
        "class Checks:\n"
        "    def validate_create_topic(self, request, cluster):\n"
        "        if request.topic == 'bad':\n            raise ValueError('bad')\n"
        "    def validate_delete_topic(self, request, cluster):\n        raise ValueError('no')\n"
    )
    desk.write(CASES.replace("EXPECT", "pass"), "a.policytest.hcl")
    shown = desk.run("policy", "test", "-coverage", "-policy=checks.py")
    assert "Coverage: 1 of 3 rules fired." in shown
    assert "never: Checks: validate_create_topic" in shown
    assert "never: cap" not in shown
    lines = desk.run("policy", "test", "-coverage", "-policy=checks.py", "-json").splitlines()
    told = json.loads(lines[-1])
    assert (told["type"], told["rules"], told["fired"]) == ("policy_coverage", 3, 1)
    assert told["never_fired"][0] == {"policy": "Checks", "rule": "validate_create_topic"}


def test_the_shipped_module_has_a_case_for_every_rule(
    desk: MemoryCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT / "modules" / "policies")
    shown = desk.run("policy", "test", "-coverage", "-var-file=tests/policies.tfvars")
    assert "0 failed" in shown
    assert "never:" not in shown


def test_a_sarif_report_has_a_rule_for_each_policy_that_points_at_it(desk: MemoryCommand) -> None:
    desk.write(ONE.replace("= 1", "= 9"))
    desk.run("plan", "-report=sarif=plan.sarif", code=1)
    (run,) = json.loads((desk.folder / "plan.sarif").read_text())["runs"]
    rules = [each["id"] for each in run["tool"]["driver"]["rules"]]
    (result,) = [each for each in run["results"] if each["ruleId"] == "policy/cap"]
    assert rules[result["ruleIndex"]] == "policy/cap"
    (related,) = result["relatedLocations"]
    assert related["physicalLocation"]["artifactLocation"]["uri"] == "rules.hcl"
    assert related["message"]["text"] == "the policy"
