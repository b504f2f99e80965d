"""`kplan records delete` as somebody types it."""

import json
from pathlib import Path

import pytest

from kplan.cli.terminal import Terminal
from kplan.cluster.request import NewTopic
from kplan.cluster.usage import PartitionUse, TopicUse
from tests.unit.cli.memory_command import MemoryCommand, memory_command

POLICY = """
policy "keep" {
  on    = ["delete_records"]
  kind  = "kafka_topic"
  level = "soft"
  deny {
    condition = change.identity == "b"
    message   = "b is kept"
  }
}
"""
ALL_OF = ("-before=end", "-auto-approve")


@pytest.fixture
def desk(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> MemoryCommand:
    found = memory_command(tmp_path, capsys, monkeypatch)
    found.write(POLICY)
    found.cluster.seed([NewTopic("a", 2, 1), NewTopic("b", 1, 1)])
    for name in ("a", "b"):
        used = TopicUse({0: PartitionUse(10, 1110, 0, 2048, 0)}, groups=())
        found.cluster.set_topic_use(name, used)
    return found


def first_offset(desk: MemoryCommand, topic: str) -> int | None:
    return desk.cluster.topic_use([topic])[topic].partitions[0].start


def test_the_plan_is_shown_then_what_became_of_it(desk: MemoryCommand) -> None:
    told = " ".join(desk.run("records", "delete", "a", *ALL_OF).split())
    assert "- a:0 10 1,110 1,110 1,100 2 KiB" in told
    assert "Plan: up to 1,100 records (2 KiB) of 1 partition to delete." in told
    assert "a:0 ok first offset is 1,110" in told
    assert "Deletion complete!" in told
    again = desk.run("records", "delete", "a", *ALL_OF)
    assert "No records will be deleted." in again


def test_a_plan_that_deletes_nothing_is_the_last_that_is_said(desk: MemoryCommand) -> None:
    told = desk.run("records", "delete", "a:0=10", "-auto-approve")
    assert told.rstrip().endswith("No records will be deleted.")
    assert "Deletion" not in told


def test_nobody_to_ask_is_an_error_before_any_work(desk: MemoryCommand) -> None:
    assert "approval is not possible" in desk.run_failing("records", "delete", "a", "-before=end")
    told = desk.run("records", "delete", "a", "-before=end", "-json", code=1)
    assert "-auto-approve or -dry-run" in told
    assert desk.cluster.calls == []


@pytest.mark.parametrize(("answer", "code", "left"), [("yes", 0, 1110), ("y", 1, 10)])
def test_only_yes_deletes(
    desk: MemoryCommand, monkeypatch: pytest.MonkeyPatch, answer: str, code: int, left: int
) -> None:
    monkeypatch.setattr(Terminal, "can_ask", property(lambda _: True))
    monkeypatch.setattr(Terminal, "ask", lambda *_: answer)
    desk.run("records", "delete", "a", "-before=end", code=code)
    assert first_offset(desk, "a") == left


def test_a_dry_run_only_tells(desk: MemoryCommand) -> None:
    asked = ("records", "delete", "a:0=20", "-dry-run")
    desk.run(*asked)
    desk.run(*asked, "-detailed-exitcode", code=2)
    row = json.loads(desk.run(*asked, "-json"))["partitions"][0]
    assert row["records"] == 10
    assert row["low_watermark"] == 10
    assert row["high_watermark"] == 1110
    desk.run("records", "delete", "b:0=20", "-dry-run", "-detailed-exitcode", code=3)
    assert first_offset(desk, "a") == 10


def test_exit_codes_tell_what_a_policy_kept(desk: MemoryCommand) -> None:
    detailed = (*ALL_OF, "-detailed-exitcode")
    told = desk.run("records", "delete", "b", *detailed, code=3)
    assert "b is kept" in told
    assert "Deletion incomplete: 0 of 1 ok." in told
    desk.run("records", "delete", "a", "b", *detailed, code=4)
    desk.run("records", "delete", "b", *ALL_OF, code=1)
    desk.run("records", "delete", "b", *detailed, "-override=keep=asked for by law")
    assert first_offset(desk, "b") == 1110


def test_an_unknown_outcome_has_an_exit_code_of_its_own(desk: MemoryCommand) -> None:
    desk.cluster.time_out(call="delete_records", carried_out=False)
    told = desk.run("records", "delete", "a", *ALL_OF, "-json", "-detailed-exitcode", code=5)
    outcomes = json.loads(told)["outcomes"]
    assert [each["status"] for each in outcomes] == ["unknown", "applied"]


def test_offsets_come_from_a_file_too(desk: MemoryCommand) -> None:
    rows = [{"topic": "a", "partition": 0, "offset": 30}]
    desk.write(json.dumps({"version": 1, "partitions": rows}), "offsets.json")
    desk.run("records", "delete", "-offset-json-file=offsets.json", "-auto-approve")
    assert first_offset(desk, "a") == 30
    assert "cannot be read" in desk.run_failing("records", "delete", "-offset-json-file=none.json")


def test_what_makes_no_sense_is_refused(desk: MemoryCommand) -> None:
    assert "KP207" in desk.run_failing("records", "delete", "__consumer_offsets", *ALL_OF)
    assert "KP461" in desk.run_failing("records", "delete", "a:0=9999", "-auto-approve")
    assert "KP462" in desk.run_failing("records", "delete", "none", *ALL_OF)
    assert "no connection" in desk.run_failing("records", "delete", "a", *ALL_OF, "-provider=west")
