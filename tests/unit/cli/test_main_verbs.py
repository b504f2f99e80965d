"""The verbs of the main job in this process, on a cluster in memory."""

import json
from pathlib import Path

import pytest

from kplan.cluster.request import ConfigAlteration, NewTopic
from tests.document_schemas import faults
from tests.unit.cli.memory_command import MemoryCommand, memory_command

Capture = pytest.CaptureFixture[str]
TWO_WARNINGS = "".join(
    f'resource "kafka_topic" "w{number}" {{\n  name = "w.{number}_x"\n}}\n' for number in range(2)
)


@pytest.fixture
def desk(tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> MemoryCommand:
    return memory_command(tmp_path, capsys, monkeypatch)


def test_exit_codes_tell_changes_from_none(desk: MemoryCommand) -> None:
    desk.run("plan")
    desk.run("plan", "-detailed-exitcode", code=2)
    desk.run("apply", "-auto-approve")
    desk.run("plan", "-detailed-exitcode", code=0)
    desk.run("drift", code=0)


def test_a_plan_that_is_not_saved_says_how_to_save_it_but_not_in_automation(
    desk: MemoryCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = desk.run_failing("plan", "-destroy", code=0) + desk.run_failing("plan", code=0)
    assert "The plan is not saved" in told
    assert "kplan plan -out" not in told, "that is another plan where options were given"
    assert "add -out=FILE to the same command" in told
    assert "kplan apply p.kplan" in desk.run_failing("plan", "-out=p.kplan", code=0)
    monkeypatch.setattr("kplan.cli.terminal.Terminal.is_automation", True)
    assert desk.run_failing("plan", code=0) == ""
    assert desk.run_failing("plan", "-out=p.kplan", code=0) == ""


def test_acls_stand_in_a_table_or_each_by_itself(
    desk: MemoryCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tools that read plans find a resource by its comment line."""
    alone = "# kafka_acl.read will be created"
    assert alone not in desk.run("plan", "-out=p.kplan")
    assert alone in desk.run("plan", "-no-group")
    assert alone in desk.run("show", "-group=false", "p.kplan")
    monkeypatch.setattr("kplan.cli.terminal.Terminal.is_automation", True)
    assert alone in desk.run("plan")
    assert alone not in desk.run("plan", "-group")


def test_drift_is_two_with_or_without_detail_and_names_the_topic(desk: MemoryCommand) -> None:
    desk.run("apply", "-auto-approve")
    topic = next(iter(desk.cluster.topics()))
    desk.cluster.alter_topic_configs([ConfigAlteration(topic, {"retention.ms": "77"})])
    assert "77" in desk.run("drift", code=2)
    assert "77" in desk.run("drift", "-json", code=2)


def test_a_foreign_topic_is_counted_and_is_no_drift(desk: MemoryCommand) -> None:
    desk.run("apply", "-auto-approve")
    desk.cluster.create_topics([NewTopic("somebody.elses", 1, 1)])
    desk.run("drift", code=0)


def test_the_state_is_empty_until_something_is_applied(desk: MemoryCommand) -> None:
    assert "No objects are owned." in desk.run("show")
    assert desk.run("state", "list") == ""
    assert "The state has no outputs." in desk.run_failing("output", code=0)
    assert "Run kplan apply first." in desk.run_failing("output", "-raw", "x")
    assert "created by the first apply" in desk.run("init")
    desk.run("apply", "-auto-approve")
    assert "objects owned: 3" in desk.run("init", "-upgrade")
    assert "objects owned: 3" in desk.run("init", "-reconfigure", "-get=false")


def test_the_whole_state_is_shown_with_its_outputs(desk: MemoryCommand) -> None:
    assert json.loads(desk.run("show", "-json"))["values"]["root_module"] == {}
    desk.run("apply", "-auto-approve")
    assert "\nOutputs:\n\nnames = [\n" in desk.run("show")
    values = json.loads(desk.run("show", "-json"))["values"]
    assert len(values["root_module"]["resources"]) == 3
    assert values["outputs"]["names"]["value"] == ["orders", "payments"]


def test_a_state_file_is_shown_as_the_state_is(desk: MemoryCommand) -> None:
    """As terraform show FILE does; what is neither a plan nor a state is still refused."""
    desk.run("apply", "-auto-approve")
    assert desk.run("show", "state/kplan.json") == desk.run("show")
    assert desk.run("show", "-json", "state/kplan.json") == desk.run("show", "-json")
    assert "requires a saved plan" in desk.run_failing("show", "-format=md", "state/kplan.json")
    whole = (desk.folder / "state/kplan.json").read_text()
    (desk.folder / "cut.json").write_text(whole[:200])
    assert "The state" in desk.run_failing("show", "cut.json"), "it is no damaged plan"
    desk.write("{}", "other.json")
    assert "is not a saved plan" in desk.run_failing("show", "other.json")


def test_one_output_needs_a_name_that_is_there(desk: MemoryCommand) -> None:
    desk.write('output "one" {\n  value = 1\n}\noutput "l" {\n  value = ["a"]\n}\n', "o.tf")
    desk.run("apply", "-auto-approve")
    assert desk.run("output", "-raw", "one") == "1"
    assert desk.run("output", "one") == "1\n"
    assert json.loads(desk.run("output", "-json", "l")) == ["a"]
    assert json.loads(desk.run("output", "-json"))["one"]["value"] == 1
    assert "The outputs are l, names, one." in desk.run_failing("output", "-raw")
    assert "The outputs are l, names, one." in desk.run_failing("output", "two")


def test_validate_tells_success_on_stdout_and_problems_on_stderr(desk: MemoryCommand) -> None:
    assert desk.run("validate") == "Success! The configuration is valid.\n"
    desk.write("resource {}\n", "broken.tf")
    assert desk.run("validate", code=1) == ""
    assert "broken.tf line 1" in desk.run_failing("validate")
    assert "broken.tf line 1" in desk.run_failing("init")
    assert json.loads(desk.run("validate", "-json", code=1))["valid"] is False


OUTPUTS = r"""
output "ended" { value = "a\nb\n" }
output "list" { value = tolist([1, 2]) }
output "map" { value = tomap({ a = 1 }) }
output "none" { value = null }
output "object" { value = { x = null, y = "a\nb\n", z = toset([]) } }
output "open" { value = "a\nb" }
output "password" {
  value     = "secret"
  sensitive = true
}
output "third" { value = 1.5 }
output "unset" { value = { l = tolist([null, "a"]), s = tomap({ a = null, b = "x" }) } }
"""
OUTPUTS_OF_TERRAFORM = """\
ended = <<EOT
a
b

EOT
list = tolist([
  1,
  2,
])
map = tomap({
  "a" = 1
})
object = {
  "x" = null
  "y" = <<-EOT
  a
  b
  \n  EOT
  "z" = toset([])
}
open = <<EOT
a
b
EOT
password = <sensitive>
third = 1.5
unset = {
  "l" = tolist([
    tostring(null),
    "a",
  ])
  "s" = tomap({
    "a" = tostring(null)
    "b" = "x"
  })
}
"""


def test_outputs_are_written_as_terraform_writes_them(desk: MemoryCommand) -> None:
    """What terraform 1.11 prints after it applied the same file."""
    desk.write(OUTPUTS)
    told = desk.run("apply", "-auto-approve")
    assert told.endswith(f"\nOutputs:\n\n{OUTPUTS_OF_TERRAFORM}")
    assert desk.run("output") == OUTPUTS_OF_TERRAFORM
    assert desk.run("output", "open") == "<<EOT\na\nb\nEOT\n"
    assert "none" not in json.loads(desk.run("output", "-json")), "a state keeps no null"
    assert 'no output "none"' in desk.run_failing("output", "-raw", "none")
    desk.run("plan", "-detailed-exitcode", code=0)


INVALID_NAMES = "".join(f'resource "kafka_topic" "{n}" {{\n name = "{n} x"\n}}\n' for n in "ab")
INVALID_CONNECTION = """provider "kafka" {
  bootstrap_servers = var.a
  security_protocol = var.b
}
"""


@pytest.mark.parametrize(
    ("verb", "text"),
    [
        ("validate", INVALID_NAMES),
        ("drift", INVALID_NAMES),
        ("lint", INVALID_NAMES),
        # They need only the connection, and work where a resource is wrong.
        ("acl list", INVALID_CONNECTION),
        ("reassign status", INVALID_CONNECTION),
    ],
)
def test_json_of_an_error_is_one_document_unless_the_verb_writes_a_stream(
    desk: MemoryCommand, verb: str, text: str
) -> None:
    desk.write(text)
    document = json.loads(desk.run(*verb.split(), "-json", code=1))
    assert document["error_count"] == 2
    assert not faults("diagnostics", document)
    lines = [json.loads(each) for each in desk.run("plan", "-json", code=1).splitlines()]
    assert [each["type"] for each in lines] == ["diagnostic", "diagnostic"]


def test_a_variable_must_have_a_name_and_a_value(desk: MemoryCommand) -> None:
    assert "-var 'x' is not of the form NAME=VALUE" in desk.run_failing("plan", "-var", "x")


def test_compact_warnings_are_told_by_summary_once_each(desk: MemoryCommand) -> None:
    desk.write("", "terraform.tfvars")
    (desk.folder / "terraform.tfvars").write_text("nobody = 1\nnowhere = 2\n")
    whole = desk.run_failing("plan", code=0)
    assert whole.count("Value for undeclared variable") == 2
    compact = desk.run_failing("plan", "-compact-warnings", code=0)
    assert "Warnings: - Value for undeclared variable [KP174] (2)" in compact
    assert "terraform.tfvars" not in compact


def test_a_plan_with_problems_tells_them_as_messages_too(desk: MemoryCommand) -> None:
    (desk.folder / "terraform.tfvars").write_text("nobody = 1\n")
    told = [json.loads(line) for line in desk.run("plan", "-json").splitlines()]
    assert [each["type"] for each in told if each["@level"] == "warn"] == ["diagnostic"]


def test_nothing_to_apply_asks_for_nothing(desk: MemoryCommand) -> None:
    desk.run("apply", "-auto-approve")
    assert "No changes." in desk.run("apply", "-auto-approve")


def test_a_saved_plan_takes_no_options_that_would_change_it(desk: MemoryCommand) -> None:
    desk.run("plan", "-out=p.kplan")
    assert "A saved plan cannot be combined with" in desk.run_failing(
        "apply", "p.kplan", "-target=kafka_topic.t"
    )
    assert "A saved plan cannot be combined with" in desk.run_failing(
        "apply", "-destroy", "p.kplan"
    )


def test_an_import_and_a_dead_lock(desk: MemoryCommand) -> None:
    desk.run("apply", "-auto-approve")
    address = desk.run("state", "list").splitlines()[-1]
    identity = json.loads(desk.run("state", "show", "-json", address))[0]["kplan"]["identity"]
    assert f"Would forget {address}" in desk.run("state", "rm", "-dry-run", address)
    desk.run("state", "rm", address)
    assert f"{address} now owns {identity}" in desk.run("import", address, identity)
    assert "The state is not locked" in desk.run_failing("force-unlock", "some-id")


def test_variables_count_in_the_order_in_which_they_are_typed(desk: MemoryCommand) -> None:
    """As in Terraform: a file behind a -var wins over it, and the other way round."""
    desk.write('variable "x" {}\noutput "x" {\n  value = var.x\n}\n')
    desk.write('x = "file"\n', "f.vars")
    assert '"file"' in desk.run("plan", "-var=x=option", "-var-file", "f.vars")
    assert '"option"' in desk.run("plan", "-var-file=f.vars", "-var", "x=option")


def test_resources_of_other_providers_may_be_left_out(desk: MemoryCommand) -> None:
    desk.write('resource "aws_s3_bucket" "b" {\n  bucket = "b"\n}\n', "bucket.tf")
    assert "will be created" in desk.run("plan", "-skip-foreign", "-no-group")
    assert "will be created" in desk.run("plan", "-no-group")
    assert "kafka_topic.t" in desk.run("graph", "-skip-foreign")
    assert "1 resource of other providers left out" in desk.run_failing(
        "validate", "-skip-foreign", code=0
    )
