"""Verbs on the state and its lock: what they write, and their exit codes."""

import io
import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from kplan.cli.run import run
from kplan.cluster.request import ConfigAlteration, TopicRef
from kplan.state.file import read_state
from kplan.state.lock import lock_state_file, note_path
from kplan.state.lock_holder import current_holder, encode_holder
from tests.unit.cli.memory_command import MemoryCommand, memory_command

STATE = Path("state/kplan.json")


@pytest.fixture
def desk(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> MemoryCommand:
    found = memory_command(tmp_path, capsys, monkeypatch)
    found.run("apply", "-auto-approve")
    return found


def test_a_state_is_pulled_and_pushed(desk: MemoryCommand, monkeypatch: pytest.MonkeyPatch) -> None:
    told = desk.run("state", "pull")
    assert told == STATE.read_text()
    Path("copy.json").write_text(told)
    assert desk.run("state", "push", "copy.json") == (
        "The state is at serial 1 and owns 3 objects.\n"
    )
    desk.run("state", "rm", "kafka_acl.read")
    assert "It is not a later state" in desk.run_failing("state", "push", "copy.json")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(told.encode())))
    assert desk.run("state", "push", "-force", "-") == (
        "Ownership:\n  + kafka_acl.read\n\nThe state is at serial 3 and owns 3 objects.\n"
    )
    assert "no.json cannot be read" in desk.run_failing("state", "push", "no.json")


def test_the_history_is_listed_and_gone_back_to(desk: MemoryCommand) -> None:
    desk.run("state", "rm", "kafka_acl.read")
    head, newest, oldest = desk.run("state", "history").splitlines()
    assert head.split() == ["serial", "written", "objects", "change"]
    assert (newest.split()[0], newest.split()[2:]) == ("2", ["2", "-1", "current"])
    assert oldest.split()[0] == "1"
    found = json.loads(desk.run("state", "history", "-json"))
    assert found[1]["differences"]["removed"] == ["kafka_acl.read"]
    assert "would own 3 objects" in desk.run("state", "restore", "-dry-run", "1")
    assert "is at serial 3 and owns 3 objects" in desk.run("state", "restore", "1")
    assert "There is no backup of serial 9" in desk.run_failing("state", "restore", "9")


def test_a_move_can_be_looked_at_first(desk: MemoryCommand) -> None:
    before = STATE.read_bytes()
    args = ("kafka_topic.t", "kafka_topic.u")
    assert desk.run("state", "mv", "-dry-run", *args) == (
        'Would move kafka_topic.t["orders"] to kafka_topic.u["orders"].\n'
        'Would move kafka_topic.t["payments"] to kafka_topic.u["payments"].\n'
    )
    told = desk.run_failing("state", "mv", "-dry-run", "kafka_topic.t", "kafka_acl.read")
    assert told == desk.run_failing("state", "mv", "kafka_topic.t", "kafka_acl.read")
    assert STATE.read_bytes() == before
    with lock_state_file(STATE, current_holder("apply"), 0, lambda _: None):
        assert desk.run("state", "mv", "-dry-run", *args).startswith("Would move")
    assert desk.run("state", "mv", *args) == (
        'Moved kafka_topic.t["orders"] to kafka_topic.u["orders"].\n'
        'Moved kafka_topic.t["payments"] to kafka_topic.u["payments"].\n'
        "Successfully moved 2 object(s).\n"
    )


def test_a_resource_is_found_by_the_id_of_its_object(desk: MemoryCommand) -> None:
    at = 'kafka_topic.t["orders"]'
    assert desk.run("state", "list", "-id=orders") == f"{at}\n"
    assert desk.run("state", "list", "-id=orders", "kafka_topic.t") == f"{at}\n"
    assert desk.run("state", "list", "-id=orders", "kafka_acl.read") == ""
    assert desk.run("state", "list", "-id=nothing") == ""
    (found,) = json.loads(desk.run("state", "show", "-json", "kafka_acl.read"))
    acl_id = found["values"]["id"]
    assert desk.run("state", "list", f"-id={acl_id}") == "kafka_acl.read\n"


def test_verify_tells_by_its_exit_code_whether_all_is_there(desk: MemoryCommand) -> None:
    assert "3 of 3 objects as last applied." in desk.run("state", "verify")
    desk.cluster.delete_topics([TopicRef("payments")])
    told = desk.run("state", "verify", code=2)
    assert 'kafka_topic.t["payments"]  gone' in told
    assert "2 of 3 objects as last applied, 1 gone." in told
    found = json.loads(desk.run("state", "verify", "-json", code=2))
    assert [each["standing"] for each in found["objects"]] == ["as_applied", "as_applied", "gone"]


def test_verify_fails_where_it_cannot_be_told(desk: MemoryCommand) -> None:
    desk.cluster.hide_topic("orders")
    assert "hidden from us" in desk.run("state", "verify", code=1)


def test_a_lost_state_is_rebuilt_after_a_yes_only(desk: MemoryCommand) -> None:
    before = STATE.read_bytes()
    STATE.unlink()
    assert "3 objects to own." in desk.run("state", "rebuild", "-dry-run")
    assert not STATE.exists()
    assert "approval is not possible" in desk.run_failing("state", "rebuild")
    assert f"Wrote the state to {STATE}." in desk.run("state", "rebuild", "-auto-approve")
    state = read_state(STATE)
    assert state is not None
    assert [str(each.address) for each in state.owned.values()] == [
        each["address"] for each in json.loads(before)["resources"]
    ]
    again = desk.run("state", "rebuild", "-auto-approve")
    assert "3 objects in the current state will stay." in again
    assert "Nothing to own was found." in again


def test_a_damaged_state_is_named_before_it_is_replaced(desk: MemoryCommand) -> None:
    STATE.write_text("")
    told = " ".join(desk.run("state", "rebuild", "-auto-approve").split())
    assert "cannot be read and will be replaced: state/kplan.json: It is empty." in told
    desk.run("plan", "-detailed-exitcode", code=2)  # the outputs were in the state that is lost


def test_the_lock_tells_who_holds_it(desk: MemoryCommand) -> None:
    assert desk.run("lock", "status") == f"The state in {STATE} is not locked.\n"
    run = current_holder("apply")
    with lock_state_file(STATE, run, 0, lambda _: None):
        assert f"is locked by apply by {run.who}" in desk.run("lock", "status")
        assert "Its process is running." in desk.run("lock", "status")
        found = json.loads(desk.run("lock", "status", "-json"))
        assert (found["locked"], found["holder"]["id"]) == (True, run.id)
        assert (found["alive"], found["seen_s_ago"] < 60) == (True, True)
        note = note_path(STATE).read_text()
    note_path(STATE).write_text(note.replace(f'"pid": {run.pid}', '"pid": 4194305'))
    assert "ended" in desk.run("lock", "status")
    assert json.loads(desk.run("lock", "status", "-json"))["dead"] is True
    afar = replace(run, host="elsewhere", heartbeat="2026-01-01T00:00:00Z")
    note_path(STATE).write_bytes(encode_holder(afar))
    assert "It was not seen for " in desk.run("lock", "status")
    assert json.loads(desk.run("lock", "status", "-json"))["alive"] is None
    note_path(STATE).write_bytes(encode_holder(replace(afar, heartbeat="?")))
    assert desk.run("lock", "status").endswith(f"Lock id: {run.id}.\n")
    assert json.loads(desk.run("lock", "status", "-json"))["seen_s_ago"] is None
    note_path(STATE).write_text("{}")
    assert desk.run("lock", "status") == (
        f"The state in {STATE} counts as locked. Its lock cannot be read, so no run takes it.\n"
    )


def test_a_sensitive_output_is_shown_when_it_is_named_and_stored_nowhere(
    desk: MemoryCommand,
) -> None:
    text = (desk.folder / "main.tf").read_text()
    desk.write(text + 'output "pw" {\n  value     = "hunter-2"\n  sensitive = true\n}\n')
    desk.run("apply", "-auto-approve")
    assert "hunter" not in STATE.read_text()
    assert "pw = <sensitive>" in desk.run("output").replace("  ", " ")
    assert "hunter" not in desk.run("output", "-json")
    assert desk.run("output", "-raw", "pw") == "hunter-2"
    assert desk.run("output", "-json", "pw") == '"hunter-2"\n'
    assert desk.run("output", "pw") == '"hunter-2"\n'
    desk.write(text)
    assert "does not declare it any more" in desk.run_failing("output", "-raw", "pw")


def test_a_value_that_was_declared_as_sensitive_is_shown_by_no_command(desk: MemoryCommand) -> None:
    plain = (desk.folder / "main.tf").read_text()
    desk.write(plain.replace('"86400000"', 'sensitive("91600001")'))
    desk.run("apply", "-auto-approve")
    desk.cluster.alter_topic_configs([ConfigAlteration("orders", {"retention.ms": "91600002"})])
    address = 'kafka_topic.t["orders"]'
    shown = desk.run("state", "show", address)
    assert '"retention.ms" = (sensitive value)' in shown
    (found,) = json.loads(desk.run("state", "show", "-json", address))
    assert found["values"]["config"] == {"retention.ms": "(sensitive value)"}
    assert found["sensitive_values"] == {"config": {"retention.ms": True}}
    said = [shown, json.dumps(found), desk.run("show"), desk.run("show", "-json")]
    said += [desk.run(*args, code=2) for args in (("drift",), ("drift", "-json"))]
    plans = [("plan",), ("plan", "-json"), ("plan", "-destroy"), ("plan", "-destroy", "-json")]
    said += [desk.run(*args) for args in plans]
    desk.write(plain)
    said += [desk.run(*args) for args in plans]
    assert not [each for each in said if "9160000" in each]


def test_a_value_that_is_sensitive_since_the_last_apply_is_not_shown_by_drift(
    desk: MemoryCommand,
) -> None:
    desk.cluster.alter_topic_configs([ConfigAlteration("orders", {"retention.ms": "91600002"})])
    text = (desk.folder / "main.tf").read_text()
    desk.write(text.replace('"86400000"', 'sensitive("86400000")'))
    said = [desk.run(*args, code=2) for args in (("drift",), ("drift", "-json"))]
    said += [desk.run(*args) for args in (("plan",), ("plan", "-json"))]
    assert not [each for each in said if "86400000" in each or "91600002" in each]


def test_an_apply_notes_that_a_value_is_sensitive_from_now_on_or_no_longer(
    desk: MemoryCommand,
) -> None:
    note = '# kafka_topic.t["orders"] has other sensitive values than before'
    plain = (desk.folder / "main.tf").read_text()
    hidden = plain.replace('"86400000"', 'sensitive("86400000")')
    for text, shown in ((hidden, "(sensitive value)"), (plain, '"86400000"')):
        desk.write(text)
        assert note in desk.run("plan")
        desk.run("apply", "-auto-approve")
        assert f'"retention.ms" = {shown}' in desk.run("state", "show", 'kafka_topic.t["orders"]')
        assert note not in desk.run("plan")


SENSITIVE_TF = """variable "password" {
  default = "hunter-2"
}
output "pw" {
  value     = var.password
  sensitive = true
}
output "plain" {
  value = 7
}
"""


def test_a_sensitive_output_that_is_named_warns_that_it_is_not_the_value_applied(
    desk: MemoryCommand,
) -> None:
    desk.write(SENSITIVE_TF, "outputs.tf")
    desk.run("apply", "-auto-approve")
    for form, value in ((["-raw"], "never-applied"), (["-json"], '"never-applied"\n')):
        assert run(["output", *form, "-var=password=never-applied", "pw"], {}) == 0
        shown = desk.capture.readouterr()
        assert shown.out == value
        assert shown.err.count("KP249") == 1
        told = " ".join(shown.err.replace("│", " ").split())
        assert "from the configuration and the variables as they are now, not as they were" in told
    assert run(["output", "-raw", "plain"], {}) == 0
    assert desk.capture.readouterr() == ("7", "")


def test_outputs_as_json_say_once_which_are_null_and_how_to_get_them(desk: MemoryCommand) -> None:
    desk.write(
        SENSITIVE_TF + SENSITIVE_TF[SENSITIVE_TF.index("output") :].replace('t "p', 't "q'),
        "outputs.tf",
    )
    desk.run("apply", "-auto-approve")
    assert run(["output", "-json"], {}) == 0
    shown = desk.capture.readouterr()
    assert json.loads(shown.out)["pw"]["value"] is None
    assert shown.err.count("KP249") == 1
    told = " ".join(shown.err.replace("│", " ").split())
    assert "null is written for pw, qw. hint: kplan output -json NAME evaluates one" in told
    assert run(["output"], {}) == 0
    assert desk.capture.readouterr().err == ""
