"""Tests of configurations, on clusters in memory, by Terraform's test language."""

import json
import shutil
from itertools import count
from pathlib import Path

import pytest

from kplan.config.diagnostic import EvaluationError
from kplan.config.inputs import Inputs
from kplan.model.diagnostic import Diagnostic
from kplan.model.errors import ConfigError, UnsupportedError, UsageError
from kplan.model.table import RunResult, RunStatus
from kplan.workflow.ports import Project
from kplan.workflow.test.test import ConfigurationTests, open_suite

ORACLE = Path(__file__).parent / "testing_oracle"
MAIN = """
variable "partitions" {
  type    = number
  default = 3
}
resource "kafka_topic" "orders" {
  name               = "orders"
  partitions         = var.partitions
  replication_factor = 2
  config             = { "retention.ms" = "1000" }
}
output "partitions" { value = kafka_topic.orders.partitions }
"""


def read(folder: Path, tests: str, *filters: str, main: str = MAIN) -> ConfigurationTests:
    (folder / "main.tf").write_text(main, encoding="utf-8")
    (folder / "tests").mkdir(exist_ok=True)
    (folder / "tests" / "t.kptest.hcl").write_text(tests, encoding="utf-8")
    return open_suite(Project(folder, folder / "state.json", Inputs()), filters)


def results(found: ConfigurationTests) -> list[RunResult]:
    ticks = count()
    return [
        each
        for script in found.test_files
        for each in found.run_file(script, lambda: float(next(ticks)))
    ]


def outcome(folder: Path, tests: str, main: str = MAIN) -> RunResult:
    """Give what became of the last run, after passes only."""
    found = results(read(folder, tests, main=main))
    assert all(each.status is RunStatus.PASS for each in found[:-1]), found
    return found[-1]


def codes(found: RunResult) -> list[str]:
    return [each.code for each in found.diagnostics]


def mistakes(folder: Path, tests: str, main: str = MAIN) -> list[tuple[str, str]]:
    with pytest.raises(ConfigError) as raised:
        read(folder, tests, main=main)
    return [(each.code, place(each)) for each in raised.value.diagnostics]


def place(each: Diagnostic) -> str:
    return f"{each.subject.line}:{each.subject.column}" if each.subject else ""


def run(body: str, name: str = "r") -> str:
    return f'run "{name}" {{\n{body}\n}}\n'


def holds(condition: str, message: str = "No.") -> str:
    return f'assert {{\n condition = {condition}\n error_message = "{message}"\n}}\n'


def test_runs_come_out_as_in_terraform(tmp_path: Path) -> None:
    shutil.copy(ORACLE / "main.tf", tmp_path)
    for file in ORACLE.glob("*.tftest.hcl"):
        shutil.copy(file, tmp_path / file.name.replace(".tftest.", ".kptest."))
    recorded = json.loads((ORACLE / "statuses.json").read_text(encoding="utf-8"))
    found: dict[str, dict[str, str]] = {}
    for each in results(open_suite(Project(tmp_path, tmp_path / "state.json", Inputs()))):
        found.setdefault(each.path.replace(".kptest.", ".tftest."), {})[each.name] = each.status
    assert found == recorded


def test_an_apply_changes_the_cluster_and_a_plan_does_not(tmp_path: Path) -> None:
    tests = (
        run(f"command = plan\n{holds('length(cluster.kafka_topic) == 0')}", "plan")
        + run(holds('cluster.kafka_topic["orders"].partitions == 3'), "apply")
        + run(
            "command = plan\nvariables {\n partitions = 6\n}\n"
            + holds('plan.changes["kafka_topic.orders"].action == "update"')
            + holds("[plan.add, plan.change, plan.destroy] == [0, 1, 0]"),
            "grow",
        )
    )
    assert outcome(tmp_path, tests).status is RunStatus.PASS
    assert not (tmp_path / "state.json").exists()


def test_a_cluster_block_says_what_is_there_before(tmp_path: Path) -> None:
    tests = """
cluster {
  brokers = 2
  resource "kafka_topic" "old" {
    for_each           = toset(["orders", "foreign"])
    name               = each.key
    partitions         = 3
    replication_factor = 2
  }
}
run "adopts" {
  command = plan
  assert {
    condition     = plan.add == 0 && plan.change == 1
    error_message = "It is there."
  }
  assert {
    condition     = keys(cluster.kafka_topic) == ["foreign", "orders"]
    error_message = join(",", keys(cluster.kafka_topic))
  }
}
run "refuses_to_shrink" {
  command         = plan
  variables {
    partitions = 1
  }
  expect_failures = [kafka_topic.orders]
}
"""
    assert outcome(tmp_path, tests).status is RunStatus.PASS


def test_every_file_has_a_cluster_and_a_state_of_its_own(tmp_path: Path) -> None:
    tests = run(holds("plan.add == 1"))
    (tmp_path / "a.kptest.hcl").write_text(tests, encoding="utf-8")
    found = results(read(tmp_path, tests))
    assert [(each.path, each.status) for each in found] == [
        ("a.kptest.hcl", RunStatus.PASS),
        ("tests/t.kptest.hcl", RunStatus.PASS),
    ]


def test_what_the_brokers_refuse_is_an_error_unless_it_was_expected(tmp_path: Path) -> None:
    few = "cluster {\n brokers = 1\n}\n"
    found = outcome(tmp_path, few + run(""))
    assert found.status is RunStatus.ERROR
    assert "kafka_topic.orders" in str(found.diagnostics[0].address)
    assert outcome(tmp_path, few + run("expect_failures = [kafka_topic.orders]")).status is (
        RunStatus.PASS
    )


def test_a_cluster_that_refuses_its_own_objects_ends_the_file(tmp_path: Path) -> None:
    tests = """
cluster {
  brokers = 1
  resource "kafka_topic" "t" {
    name               = "t"
    replication_factor = 3
  }
}
"""
    found = results(read(tmp_path, tests + run("command = plan") + run("", "s")))
    assert [each.status for each in found] == [RunStatus.ERROR, RunStatus.SKIP]
    assert codes(found[0]) == ["KP705"]
    assert found[1].reason == 'Run "r" came to no end.'


def test_a_failure_that_does_not_come_fails_the_run_and_not_those_after_it(
    tmp_path: Path,
) -> None:
    """Terraform leaves out the rest of the file."""
    tests = run("command = plan\nexpect_failures = [kafka_topic.orders]") + run("", "next")
    found = results(read(tmp_path, tests))
    assert [each.status for each in found] == [RunStatus.FAIL, RunStatus.PASS]
    assert codes(found[0]) == ["KP702"]
    assert found[0].diagnostics[0].detail == (
        "kafka_topic.orders was expected to fail, and did not."
    )


@pytest.mark.parametrize(
    "expected", ['kafka_topic.t["a.b"]', "kafka_topic.t", 'module.m.kafka_topic.t["x"]']
)
def test_an_instance_its_block_or_one_in_a_module_may_be_expected_to_fail(
    tmp_path: Path, expected: str
) -> None:
    block = """
resource "kafka_topic" "t" {
  for_each   = toset(["KEY"])
  name       = each.key
  partitions = 0
}
"""
    is_inner = expected.startswith("module")
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "main.tf").write_text(block.replace("KEY", "x") if is_inner else "")
    main = 'module "m" { source = "./m" }\n' + ("" if is_inner else block.replace("KEY", "a.b"))
    tests = run(f"command = plan\nexpect_failures = [{expected}]")
    assert outcome(tmp_path, tests, main=main).status is RunStatus.PASS


@pytest.mark.parametrize(
    "wrong",
    [
        "[kafka_topic.orders.name]",
        "[module.m]",
        "[kafka_topic.orders[var.x]]",
        "[kafka_topic.orders[true]]",
        "[kafka_topic.other]",
        "[var]",
        "[each.key]",
        "var.partitions",
        "[" + ".".join(["a"] * 5000) + "]",
    ],
    ids=lambda each: each[:25],
)
def test_what_has_no_conditions_cannot_be_expected_to_fail(tmp_path: Path, wrong: str) -> None:
    main = f'{MAIN}module "m" {{ source = "./m" }}\n'
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "main.tf").write_text("locals {}\n")
    found = mistakes(tmp_path, run(f"expect_failures = {wrong}"), main=main)
    assert [code for code, _ in found] == ["KP704"]


def test_a_test_file_that_is_no_text_is_told(tmp_path: Path) -> None:
    (tmp_path / "main.tf").write_text(MAIN)
    (tmp_path / "x.kptest.hcl").write_bytes(b"\xff")
    with pytest.raises(ConfigError) as raised:
        open_suite(Project(tmp_path, tmp_path / "state.json", Inputs()))
    assert [each.code for each in raised.value.diagnostics] == ["KP115"]


def test_a_cluster_without_a_number_of_brokers_has_three(tmp_path: Path) -> None:
    main = 'resource "kafka_topic" "t" {\n name = "t"\n replication_factor = 3\n}\n'
    assert outcome(tmp_path, "cluster {}\n" + run(""), main=main).status is RunStatus.PASS


def test_an_assertion_that_python_cannot_follow_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def too_deep(*_: object) -> None:
        raise RecursionError

    monkeypatch.setattr("kplan.config.testing.run.evaluate", too_deep)
    found = outcome(tmp_path, run("command = plan\n" + holds("output.partitions == 3")))
    assert (found.status, codes(found)) == (RunStatus.ERROR, ["KP114"])


def test_what_is_left_to_the_brokers_is_seen_on_the_cluster(tmp_path: Path) -> None:
    main = 'resource "kafka_topic" "t" { name = "t" }\n'
    tests = run(
        holds("kafka_topic.t.partitions == null") + holds("cluster.kafka_topic.t.partitions == 1")
    )
    assert outcome(tmp_path, tests, main=main).status is RunStatus.PASS


def test_what_stops_a_run_is_an_error_of_that_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(*_: object) -> None:
        raise UnsupportedError("No such thing in memory.")

    monkeypatch.setattr("kplan.workflow.test.run.plan_open_project", stopped)
    found = outcome(tmp_path, run(""))
    assert (found.status, codes(found)) == (RunStatus.ERROR, ["KP913"])


def test_a_failed_assertion_says_what_it_saw(tmp_path: Path) -> None:
    found = outcome(tmp_path, run("command = plan\n" + holds("output.partitions > 5")))
    assert found.status is RunStatus.FAIL
    (told,) = found.diagnostics
    assert (told.code, told.detail) == ("KP701", "No.")
    assert told.values == (("output.partitions", "is 3"),)
    assert told.subject is not None
    assert told.subject.file == "tests/t.kptest.hcl"


@pytest.mark.parametrize(
    ("condition", "code"),
    [
        ("1", "KP156"),
        ("output.partitions == upper()", "KP164"),
        ("plan.nosuch == 1", "KP144"),
        ("cluster.kafka_nosuch == {}", "KP144"),
        ('plan.changes["nosuch"].action == "x"', "KP151"),
    ],
)
def test_an_assertion_that_has_no_answer_is_an_error(
    tmp_path: Path, condition: str, code: str
) -> None:
    found = outcome(tmp_path, run("command = plan\n" + holds(condition)))
    assert found.status is RunStatus.ERROR
    assert codes(found) == [code]


def test_what_cannot_be_known_does_not_pass(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever depends on something that failed fails in silence, and silence is no success."""

    def mute(*_: object) -> None:
        raise EvaluationError

    monkeypatch.setattr("kplan.config.testing.run.evaluate", mute)
    found = outcome(tmp_path, run("command = plan\n" + holds("output.partitions == 3")))
    assert (found.status, codes(found)) == (RunStatus.ERROR, ["KP147"])


def test_secrets_stay_secret(tmp_path: Path) -> None:
    main = 'variable "s" {\n default = "hush"\n sensitive = true\n}\n'
    main += 'output "o" {\n value = var.s\n sensitive = true\n}\n'
    tests = run(holds('output.o == "x"', "It is ${var.s}."))
    found = outcome(tmp_path, tests, main=main)
    assert found.status is RunStatus.FAIL
    assert "hush" not in str(found)
    later = run("", "first") + run(
        "variables {\n s = run.first.o\n}\n" + holds('var.s == "x"', "${run.first.o}")
    )
    assert "hush" not in str(outcome(tmp_path, later, main=main))


def test_targets_narrow_the_plan(tmp_path: Path) -> None:
    main = f'{MAIN}resource "kafka_topic" "other" {{ name = "other" }}\n'
    tests = run(
        "command = plan\nplan_options {\n target = [kafka_topic.other]\n}\n"
        + holds('keys(plan.changes) == ["kafka_topic.other"]')
    )
    assert outcome(tmp_path, tests, main=main).status is RunStatus.PASS


def test_a_value_that_a_run_gives_is_told_where_it_stands(tmp_path: Path) -> None:
    found = outcome(tmp_path, run('variables {\n partitions = "many"\n}'))
    assert codes(found) == ["KP171"]
    assert found.diagnostics[0].subject is not None
    assert found.diagnostics[0].subject.file == "tests/t.kptest.hcl"


def test_what_a_value_refers_to_fails_with_its_own_reason(tmp_path: Path) -> None:
    tests = 'variables {\n partitions = "many"\n}\n'
    tests += run("variables {\n partitions = var.partitions + 1\n}")
    assert codes(outcome(tmp_path, tests)) == ["KP171"]


def test_a_run_that_was_left_out_has_no_outputs(tmp_path: Path) -> None:
    tests = run("", "first") + run("variables {\n partitions = run.first.partitions\n}", "second")
    (found,) = results(read(tmp_path, tests, "second"))
    assert codes(found) == ["KP116"]


@pytest.mark.parametrize(
    ("filters", "names"),
    [
        ([], ["one", "two", "other"]),
        (["tests/t.kptest.hcl"], ["other"]),
        (["./a.kptest.hcl"], ["one", "two"]),
        (["t.kptest.hcl"], ["other"]),
        (["tests/*"], ["other"]),
        (["t*"], ["two", "other"]),
        (["one", "other"], ["one", "other"]),
    ],
)
def test_filters_name_files_or_runs(tmp_path: Path, filters: list[str], names: list[str]) -> None:
    (tmp_path / "a.kptest.hcl").write_text(run("", "one") + run("", "two"), encoding="utf-8")
    found = read(tmp_path, run("", "other"), *filters)
    assert [name for each in found.names.values() for name in each] == names


def test_a_filter_that_fits_nothing_is_a_mistake(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="fits no test file and no run"):
        read(tmp_path, run(""), "r", "nosuch")


def test_mistakes_of_all_files_are_told_before_anything_runs(tmp_path: Path) -> None:
    tests = """
run "a" {
  command = destroy
  foo     = 1
  module { source = "./x" }
}
run "a" {
  expect_failures = [local.x, 3, var.nosuch]
  assert {
    condition = true
  }
}
runn "x" {}
cluster { brokers = 0 }
cluster {}
stray = 1
variables {
  partitions = var.x
}
run "b" {
  variables {
    partitions = local.x + run.c.o + run.b.o
  }
  assert {
    condition     = output.nosuch == var.nosuch && run.zz.o == plan
    error_message = "x"
  }
  plan_options {
    target = "x"
  }
}
run {}
"""
    assert mistakes(tmp_path, tests) == [
        ("KP703", "3:13"),
        ("KP121", "4:3"),
        ("KP120", "5:3"),
        ("KP123", "7:1"),
        ("KP704", "8:22"),
        ("KP704", "8:31"),
        ("KP704", "8:34"),
        ("KP122", "9:10"),
        ("KP120", "13:1"),
        ("KP705", "14:21"),
        ("KP128", "15:1"),
        ("KP121", "16:1"),
        ("KP180", "18:16"),
        ("KP180", "22:18"),
        ("KP116", "22:28"),
        ("KP116", "22:38"),
        ("KP116", "25:21"),
        ("KP140", "25:38"),
        ("KP116", "25:52"),
        ("KP116", "25:64"),
        ("KP132", "29:14"),
        ("KP125", "32:5"),
    ]


def test_a_syntax_error_does_not_hide_other_mistakes(tmp_path: Path) -> None:
    tests = 'run "a" {\n  command = [\n}\nrun "b" {\n  foo = 1\n}\n'
    assert [code for code, _ in mistakes(tmp_path, tests)] == ["KP105", "KP121"]


def test_blocks_that_only_terraform_needs_are_left_aside(tmp_path: Path) -> None:
    tests = 'mock_provider "kafka" {}\nprovider "kafka" {}\nvariables {\n nosuch = 1\n}\n'
    found = read(tmp_path, tests + run("command = plan"))
    assert [each.code for each in found.diagnostics] == ["KP195", "KP195", "KP174"]
    assert results(found)[0].status is RunStatus.PASS


def test_a_folder_without_tests_is_an_empty_suite(tmp_path: Path) -> None:
    (tmp_path / "main.tf").write_text(MAIN, encoding="utf-8")
    found = open_suite(Project(tmp_path, tmp_path / "state.json", Inputs()))
    assert found.test_files == ()


def test_runs_are_timed_and_keep_their_plans(tmp_path: Path) -> None:
    found = outcome(tmp_path, run(""))
    assert found.elapsed_s == 1.0
    assert found.plan is not None
    assert [str(each.address) for each in found.owned] == ["kafka_topic.orders"]
