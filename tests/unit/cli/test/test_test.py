"""`kplan test` in this process."""

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from tests.unit.cli.memory_command import MemoryCommand, memory_command

GOOD = """
run "creates" {
  command = plan
  assert {
    condition     = plan.add == 3
    error_message = "It adds ${plan.add}."
  }
}
run "applies" {}
"""
BAD = GOOD.replace("== 3", "== 4")


@pytest.fixture
def desk(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> MemoryCommand:
    return memory_command(tmp_path, capsys, monkeypatch)


def test_passes_and_failures_are_told_and_are_in_the_exit_code(desk: MemoryCommand) -> None:
    desk.write(GOOD, "good.kptest.hcl")
    assert desk.run("test") == (
        "good.kptest.hcl... in progress\n"
        '  run "creates"... pass\n'
        '  run "applies"... pass\n'
        "good.kptest.hcl... pass\n"
        "\n"
        "Success! 2 passed, 0 failed.\n"
    )
    desk.write(BAD, "good.kptest.hcl")
    assert "Failure! 1 passed, 1 failed." in desk.run("test", code=1)
    assert "Error: Test assertion failed [KP701]" in desk.run_failing("test")
    assert desk.cluster.calls == [], "the cluster of the provider block is not asked"
    assert not (desk.folder / "state").exists()


def test_a_run_is_chosen_by_name_and_shown_with_its_plan(desk: MemoryCommand) -> None:
    desk.write(BAD, "bad.kptest.hcl")
    shown = desk.run("test", "-filter=applies", "-verbose")
    assert "Plan: 3 to add, 0 to change, 0 to destroy." in shown
    assert shown.count('resource "kafka_topic" "t"') > 1
    assert "fits no test file" in desk.run_failing("test", "-filter=nosuch")


def test_machines_get_messages_and_ci_gets_a_report(desk: MemoryCommand) -> None:
    (desk.folder / "checks").mkdir()
    desk.write(BAD, "checks/bad.kptest.hcl")
    lines = desk.run(
        "test", "-json", "-test-directory=checks", "-junit-xml=report.xml", code=1
    ).splitlines()
    told = [json.loads(line) for line in lines]
    assert [each["type"] for each in told] == [
        "test_abstract",
        "test_file",
        "test_run",
        "diagnostic",
        "test_run",
        "test_file",
        "test_summary",
    ]
    report = ET.parse(desk.folder / "report.xml")  # noqa: S314 - our own text
    assert [each.get("failures") for each in report.getroot()] == ["1"]


def test_variables_are_given_as_for_a_plan_but_those_of_the_tests_win(desk: MemoryCommand) -> None:
    desk.write('variable "a" {}\nvariable "b" {}\n', "v.tf")
    desk.write(
        'variables {\n  a = "file"\n}\nrun "r" {\n  command = plan\n  assert {\n'
        '    condition     = "${var.a}-${var.b}" == "file-typed"\n'
        '    error_message = "${var.a}-${var.b}"\n  }\n}\n',
        "v.kptest.hcl",
    )
    desk.run("test", "-var", "a=typed", "-var", "b=typed")


def test_a_folder_without_tests_says_so(desk: MemoryCommand) -> None:
    assert "Found no *.kptest.hcl files" in desk.run_failing("test", code=0)


def test_test_files_of_terraform_are_not_passed_over(desk: MemoryCommand) -> None:
    (desk.folder / "tests").mkdir()
    desk.write(GOOD, "tests/topics.tftest.hcl")
    told = desk.run_failing("test")
    assert "Error: Test files of Terraform do not run [KP707]" in told
    assert "did not run tests/topics.tftest.hcl." in told
    assert "hint: mv tests/topics.tftest.hcl tests/topics.kptest.hcl" in told
    assert "KP707" in desk.run_failing("test", "-filter=topics.tftest.hcl")
    desk.write(GOOD, "good.kptest.hcl")
    assert "Warning: Test files of Terraform do not run [KP707]" in desk.run_failing("test", code=0)


def test_test_files_in_json_are_told_to_be_unreadable(desk: MemoryCommand) -> None:
    desk.write("{}", "topics.tftest.json")
    assert "hint: Write topics.kptest.hcl in HCL" in desk.run_failing("test")


def test_mistakes_of_test_files_are_shown_with_their_lines(desk: MemoryCommand) -> None:
    desk.write('run "r" {\n  comand = plan\n}\n', "bad.kptest.hcl")
    told = desk.run_failing("test")
    assert "on bad.kptest.hcl line 2" in told
    assert 'Did you mean "command"?' in told
