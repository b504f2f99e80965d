"""Data sources with depends_on: read after what they depend on, not from the cluster of before."""

import json
import signal
from pathlib import Path

import pytest

from kplan.cli.apply import execution
from kplan.cli.run import run
from kplan.cli.terminal import Session
from kplan.cluster.request import NewTopic, TopicDescription, TopicRef
from kplan.workflow.apply.apply import ApplyResult
from tests.unit.cli.memory_command import MemoryCommand, memory_command

Capture = pytest.CaptureFixture[str]
TEXT = """
provider "kafka" { bootstrap_servers = ["127.0.0.1:1"] }
resource "kafka_topic" "a" {
  name               = "a"
  partitions         = 1
  replication_factor = 1
}
data "kafka_topics" "all" { depends_on = [kafka_topic.a] }
output "names" { value = [for each in data.kafka_topics.all.list : each.topic_name] }
"""
USER = """
resource "kafka_acl" "r" {
  for_each            = toset([for each in data.kafka_topics.all.list : each.topic_name])
  resource_name       = each.key
  resource_type       = "Topic"
  acl_principal       = "User:a"
  acl_host            = "*"
  acl_operation       = "Read"
  acl_permission_type = "Allow"
}
"""


@pytest.fixture
def desk(tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> MemoryCommand:
    return memory_command(tmp_path, capsys, monkeypatch)


def test_outputs_are_known_after_the_apply_and_then_stay(desk: MemoryCommand) -> None:
    desk.write(TEXT)
    told = desk.run("plan")
    assert "Changes to Outputs:\n  + names = (known after apply)\n" in told
    assert "Plan: 1 to add" in told
    told = desk.run("apply", "-auto-approve")
    assert (
        desk.run("output", "-json", "names").strip().replace("\n", "").replace(" ", "") == '["a"]'
    )
    assert "No changes." in desk.run("plan", "-detailed-exitcode")
    desk.write(TEXT.replace("partitions         = 1", "partitions         = 2"))
    told = desk.run("plan", "-detailed-exitcode", code=2)
    assert "1 to change" in told
    assert '  ~ names = ["a"] -> (known after apply)\n' in told
    assert "names" not in desk.run("destroy", "-auto-approve").partition("Destroy complete")[2]
    assert desk.run("output", "-json").strip() == "{}"


def test_an_output_that_is_null_after_the_apply_is_not_kept(desk: MemoryCommand) -> None:
    """As in Terraform: neither a new one, nor the former value of one that there was."""
    value = 'value = length(data.kafka_topics.all.list) < 2 ? "one" : null\n'
    outputs = f'output "few" {{\n  {value}}}\noutput "secret" {{\n  sensitive = true\n  {value}}}\n'
    desk.write(TEXT + outputs)
    desk.run("apply", "-auto-approve")
    assert json.loads(desk.run("output", "-json")).keys() == {"few", "names", "secret"}
    more = TEXT.replace("partitions         = 1", "partitions         = 2")
    desk.write(more + outputs + outputs.replace('"few"', '"new"').replace('"secret"', '"hidden"'))
    desk.cluster.seed([NewTopic("b", 1, 1)])
    desk.run("apply", "-auto-approve")
    assert json.loads(desk.run("output", "-json")).keys() == {"names"}
    assert "No changes." in desk.run("plan", "-detailed-exitcode")


SECRET = """
output "count" {
  sensitive = true
  value     = length(data.kafka_topics.all.list)
}
"""


def test_documents_say_which_outputs_are_known_after_the_apply(desk: MemoryCommand) -> None:
    """As in Terraform's JSON; a saved plan keeps it, and the apply fills it in."""
    desk.write(TEXT + SECRET)
    desk.run("plan", "-out=p.kplan")
    told = json.loads(desk.run("show", "-json", "p.kplan"))
    names, count = (told["output_changes"][each] for each in ("names", "count"))
    assert (names["actions"], names["after"], names["after_unknown"]) == (["create"], None, True)
    assert (count["after_unknown"], count["after_sensitive"]) == (True, True)
    outputs = {"count": {"sensitive": True}, "names": {"sensitive": False}}
    assert told["planned_values"]["outputs"] == outputs
    assert "(sensitive value)" in desk.run("show", "p.kplan")
    desk.run("apply", "p.kplan")
    assert desk.run("output") == 'count = <sensitive>\nnames = [\n  "a",\n]\n'
    assert "No changes." in desk.run("plan", "-detailed-exitcode")


def test_a_resource_that_needs_it_is_an_error_until_the_targets_are_applied(
    desk: MemoryCommand,
) -> None:
    desk.write(TEXT + USER)
    told = desk.run_failing("plan")
    assert "KP510" in told
    assert "kplan apply -target=kafka_topic.a" in told
    desk.run("apply", "-auto-approve", "-target=kafka_topic.a")
    assert "Plan: 1 to add" in desk.run("plan")
    desk.run("apply", "-auto-approve")
    assert "No changes." in desk.run("plan", "-detailed-exitcode")


def test_depends_on_of_a_module_call_counts_for_the_data_sources_in_it(desk: MemoryCommand) -> None:
    inner, _, _ = (
        TEXT[TEXT.index("data ") :]
        .replace("{ depends_on = [kafka_topic.a] }", "{}")
        .partition("\0")
    )
    (desk.folder / "m").mkdir()
    desk.write(inner, "m/main.tf")
    outer = TEXT[: TEXT.index("data ")]
    call = 'module "m" {\n  source     = "./m"\n  depends_on = [kafka_topic.a]\n}\n'
    desk.write(outer + call + 'output "n" { value = length(module.m.names) }\n')
    desk.run("apply", "-auto-approve")
    assert desk.run("output", "n").strip() == "1"
    assert "No changes." in desk.run("plan", "-detailed-exitcode")


CHAIN = """
provider "kafka" { bootstrap_servers = ["127.0.0.1:1"] }
resource "kafka_topic" "a" {
  name               = "a"
  partitions         = 2
  replication_factor = 1
  config             = { "retention.ms" = "1000" }
}
data "kafka_topic" "a" {
  name       = "a"
  depends_on = [kafka_topic.a]
}
resource "kafka_topic" "b" {
  name               = "${data.kafka_topic.a.name}-b"
  partitions         = data.kafka_topic.a.partitions
  replication_factor = 1
  config             = data.kafka_topic.a.config
}
output "b" { value = kafka_topic.b.partitions }
"""
POLICY = """
policy "keep" {
  on   = ["create"]
  kind = "kafka_topic"
  deny {
    condition = change.identity == "a-b"
    message   = "not this one"
  }
}
"""
EXTRA = """
resource "kafka_topic" "extra" {
  name               = "extra"
  partitions         = 1
  replication_factor = 1
}
"""


def topic_names(desk: MemoryCommand) -> list[str]:
    return sorted(desk.cluster.topics(None))


def partitions(desk: MemoryCommand, name: str) -> int:
    found = desk.cluster.topics([name])[name]
    assert isinstance(found, TopicDescription)
    return len(found.assignment)


def test_a_resource_that_needs_it_is_announced_by_the_plan(desk: MemoryCommand) -> None:
    desk.write(CHAIN)
    told = desk.run("plan", "-out=p.kplan")
    assert "kafka_topic.a will be created" in told
    assert "kafka_topic.b will be created" not in told
    assert "Plan: 1 to add, 0 to change, 0 to destroy." in told
    assert "+ b = (known after apply)" in told
    assert "partial because 1 resource can be planned only after it is\napplied" in told
    document = json.loads(desk.run("show", "-json", "p.kplan"))
    assert (document["complete"], document["applyable"]) == (False, True)


def test_an_apply_plans_it_as_soon_as_its_data_is_read(desk: MemoryCommand) -> None:
    desk.write(CHAIN)
    told = desk.run("apply", "-auto-approve")
    first, _, second = told.partition("kafka_topic.b will be created")
    assert "kafka_topic.a will be created" in first
    assert "1 added" in second
    assert partitions(desk, "a-b") == 2
    assert desk.run("output", "b").strip() == "2"
    assert "No changes." in desk.run("plan", "-detailed-exitcode")


def test_it_follows_when_its_data_changes_and_is_not_deleted_meanwhile(desk: MemoryCommand) -> None:
    desk.write(CHAIN)
    desk.run("apply", "-auto-approve")
    desk.write(CHAIN.replace("partitions         = 2", "partitions         = 5"))
    assert "Plan: 0 to add, 1 to change, 0 to destroy." in desk.run("plan")
    desk.run("apply", "-auto-approve")
    assert partitions(desk, "a-b") == 5
    assert desk.run("output", "b").strip() == "5"
    assert "No changes." in desk.run("plan", "-detailed-exitcode")


def test_targets_do_not_delete_a_resource_that_has_no_value_yet(desk: MemoryCommand) -> None:
    desk.write(CHAIN)
    desk.run("apply", "-auto-approve")
    desk.write(CHAIN.replace("partitions         = 2", "partitions         = 5"))
    both = ("-target=kafka_topic.a", "-target=kafka_topic.b")
    assert "Plan: 0 to add, 1 to change, 0 to destroy." in desk.run("plan", *both)


@pytest.mark.parametrize("is_saved", [False, True])
def test_a_destroy_leaves_nothing_to_be_planned(
    desk: MemoryCommand, capsys: Capture, is_saved: bool
) -> None:
    desk.write(CHAIN)
    desk.run("apply", "-auto-approve")
    told = desk.run("plan", "-destroy", "-out=p.kplan")
    assert "Plan: 0 to add, 0 to change, 2 to destroy." in told
    assert "partial" not in told
    assert json.loads(desk.run("show", "-json", "p.kplan"))["complete"] is True
    assert run(["apply", "p.kplan"] if is_saved else ["destroy", "-auto-approve"], {}) == 0
    assert "KP" not in capsys.readouterr().err
    assert topic_names(desk) == []


def test_a_destroy_of_nothing_reads_no_data(desk: MemoryCommand) -> None:
    data = 'data "kafka_topic" "gone" {\n  name = "a"\n  depends_on = [kafka_topic.a]\n}\n'
    desk.write(TEXT + data)
    assert "No objects need to be destroyed." in desk.run("destroy", "-auto-approve")


def test_nothing_is_deleted_before_all_resources_are_known(desk: MemoryCommand) -> None:
    desk.write(CHAIN + EXTRA)
    desk.run("apply", "-auto-approve")
    desk.write(CHAIN.replace("partitions         = 2", "partitions         = 5"))
    told = desk.run_failing("apply", "-auto-approve")
    assert "KP510" in told
    assert "kplan apply -target=kafka_topic.a" in told
    assert partitions(desk, "a") == 2


def test_a_saved_plan_does_its_part_and_names_the_rest(desk: MemoryCommand) -> None:
    desk.write(CHAIN)
    desk.run("plan", "-out=p.kplan")
    assert desk.run("apply", "p.kplan")
    assert topic_names(desk) == ["a"]
    assert "Plan: 1 to add" in desk.run("plan", "-out=q.kplan")
    desk.run("apply", "q.kplan")
    assert topic_names(desk) == ["a", "a-b"]
    assert "No changes." in desk.run("plan", "-detailed-exitcode")
    desk.run("destroy", "-auto-approve")
    assert topic_names(desk) == []


def test_a_later_round_changes_only_what_was_announced(
    desk: MemoryCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody deletes another topic between the rounds; nobody approved creating it again."""
    desk.write(CHAIN + EXTRA)
    run_round = execution._run_round

    def run_disturbed(
        session: Session, options: execution.ApplyOptions, announced: frozenset[str] | None
    ) -> tuple[int, frozenset[str]]:
        if announced is not None:
            extra = desk.cluster.topics(["extra"])["extra"]
            assert isinstance(extra, TopicDescription)
            desk.cluster.delete_topics([TopicRef("extra", extra.topic_id)])
        return run_round(session, options, announced)

    monkeypatch.setattr(execution, "_run_round", run_disturbed)
    told = desk.run_failing("apply", "-auto-approve")
    assert "also changes kafka_topic.extra." in told
    assert topic_names(desk) == ["a"]


def test_one_document_is_about_one_plan(desk: MemoryCommand) -> None:
    desk.write(CHAIN)
    assert run(["apply", "-auto-approve", "-json"], {}) == 0
    told = desk.capture.readouterr()
    assert topic_names(desk) == ["a"]
    assert "Not planned yet: kafka_topic.b." in told.err
    assert all(json.loads(each) for each in told.out.splitlines())


def test_a_policy_that_refuses_the_rest_leaves_the_first_part_applied(desk: MemoryCommand) -> None:
    desk.write(CHAIN + POLICY)
    desk.run_failing("apply", "-auto-approve")
    assert topic_names(desk) == ["a"]


def test_keys_that_need_it_are_still_refused(desk: MemoryCommand) -> None:
    keys = "for_each = toset([for key, _ in data.kafka_topic.a.config : key])"
    block = CHAIN[: CHAIN.index("output ")].replace('"b" {', f'"b" {{\n  {keys}')
    desk.write(block)
    assert "KP510" in desk.run_failing("apply", "-auto-approve")
    assert topic_names(desk) == []


def test_no_round_begins_after_an_interrupt(
    desk: MemoryCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As late as after the last outcome of the first; a later run goes on."""
    desk.write(CHAIN)
    show_result = execution._show_result

    def show_and_interrupt(
        session: Session, options: execution.ApplyOptions, done: ApplyResult
    ) -> int:
        session.signals.number = signal.SIGINT
        return show_result(session, options, done)

    with monkeypatch.context() as patch:
        patch.setattr(execution, "_show_result", show_and_interrupt)
        assert run(["apply", "-auto-approve"], {}) == 0
    assert topic_names(desk) == ["a"]
    assert "Not planned yet: kafka_topic.b." in desk.capture.readouterr().err
    desk.run("apply", "-auto-approve")
    assert topic_names(desk) == ["a", "a-b"]
    assert "No changes." in desk.run("plan", "-detailed-exitcode")
