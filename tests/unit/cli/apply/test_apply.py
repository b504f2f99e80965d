"""Apply and destroy in this process: approval, saved plans, messages."""

import io
import json
import sys
from pathlib import Path

import pytest

from tests.unit.cli.memory_command import MemoryCommand, memory_command

Capture = pytest.CaptureFixture[str]


class Keyboard(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def desk(tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> MemoryCommand:
    return memory_command(tmp_path, capsys, monkeypatch)


def sit_down(monkeypatch: pytest.MonkeyPatch, typed: str) -> None:
    """Let somebody sit at the keyboard and type."""
    monkeypatch.setattr(sys, "stdin", Keyboard(typed))


def test_nothing_is_done_without_a_yes(
    desk: MemoryCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    sit_down(monkeypatch, "y\n")
    assert "Cancelled. Nothing was changed." in desk.run_failing("apply")
    assert dict(desk.cluster.topics()) == {}
    sit_down(monkeypatch, "yes\n")
    assert "Apply complete! Resources: 3 added" in desk.run("apply")


def test_destroy_asks_in_other_words_and_deletes_what_is_owned(
    desk: MemoryCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.run("apply", "-auto-approve")
    sit_down(monkeypatch, "no\n")
    assert "There is no undo." in desk.run_failing("destroy")
    sit_down(monkeypatch, "yes\n")
    assert "Destroy complete! Resources: 3 destroyed." in desk.run("destroy")
    assert "Input is disabled" in desk.run_failing("destroy", "-input=false")


@pytest.mark.parametrize(
    "args",
    [
        ("destroy", "-auto-approve"),
        ("plan", "-destroy"),
        ("apply", "-destroy", "-auto-approve"),
        ("destroy", "-auto-approve", "-target=kafka_topic.nope"),
    ],
)
def test_nothing_to_destroy_is_said_as_such(desk: MemoryCommand, args: tuple[str, ...]) -> None:
    """The configuration may declare a lot that the cluster does not have."""
    desk.run("apply", "-auto-approve")
    desk.run("destroy", "-auto-approve")
    told = desk.run(*args)
    assert "No changes. No objects need to be destroyed.\n" in told
    assert "matches the configuration" not in told


def test_a_saved_plan_with_nothing_to_destroy_says_so_when_it_is_shown(
    desk: MemoryCommand,
) -> None:
    desk.run("apply", "-auto-approve")
    desk.run("destroy", "-auto-approve")
    desk.run("plan", "-destroy", "-out=p.kplan")
    for args in (("show", "p.kplan"), ("apply", "p.kplan")):
        assert "No changes. No objects need to be destroyed.\n" in desk.run(*args)


def test_a_saved_plan_asks_nobody(desk: MemoryCommand) -> None:
    desk.run("plan", "-out=p.kplan")
    assert "Apply complete!" in desk.run("apply", "p.kplan")
    assert "The plan is stale" in desk.run_failing("apply", "p.kplan")


def test_messages_tell_the_plan_every_change_and_the_counts(desk: MemoryCommand) -> None:
    told = [json.loads(line) for line in desk.run("apply", "-json", "-auto-approve").splitlines()]
    types = [each["type"] for each in told]
    assert types[0] == "version"
    assert types.count("planned_change") == types.count("apply_complete") == 3
    assert types[-1] == "change_summary"


def test_a_plan_with_errors_is_shown_and_not_carried_out(desk: MemoryCommand) -> None:
    text = (desk.folder / "main.tf").read_text()
    desk.run("apply", "-auto-approve")
    desk.write(text.replace("orders = 3", "orders = 2"))
    assert "cannot be applied" in desk.run("apply", "-auto-approve", code=1)
    assert "main.tf line" in desk.run_failing("apply", "-auto-approve")


def test_the_old_name_of_a_moved_resource_is_given_up(desk: MemoryCommand) -> None:
    desk.run("apply", "-auto-approve")
    assert "Moved kafka_acl.read to kafka_acl.r" in desk.run(
        "state", "mv", "kafka_acl.read", "kafka_acl.r"
    )
    assert "kafka_acl.r\n" in desk.run("state", "list")


def test_outputs_are_shown_of_an_apply_that_did_all(desk: MemoryCommand) -> None:
    """Shown below a failure they would look like its result, as Terraform knows."""
    desk.cluster.refuse("POLICY_VIOLATION", on="orders", call="create_topics", times=1)
    shown = desk.run("apply", "-auto-approve", "-broker-validate=false", code=1)
    assert "Outputs:" not in shown.partition("outcome ")[2]
    assert "\nOutputs:\n\nnames = [" in desk.run("apply", "-auto-approve")


ORDERS = 'kafka_topic.t["orders"]'


def test_who_replaces_a_topic_types_its_name_and_then_yes(
    desk: MemoryCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.run("apply", "-auto-approve")
    old = desk.cluster.topics()["orders"]
    for typed in ("yes\n", "orders\nno\n"):
        sit_down(monkeypatch, typed)
        assert "Cancelled. Nothing was changed." in desk.run_failing("apply", f"-replace={ORDERS}")
    assert desk.cluster.topics()["orders"] == old
    sit_down(monkeypatch, "orders\nyes\n")
    told = desk.run("apply", f"-replace={ORDERS}")
    assert "Apply complete! Resources: 1 added, 0 changed, 1 destroyed." in told
    assert desk.cluster.topics()["orders"] != old


def test_without_a_terminal_the_loss_must_be_acknowledged(desk: MemoryCommand) -> None:
    """Design law 6."""
    desk.run("apply", "-auto-approve")
    for words in (("plan", "-out=p.kplan"), ("apply", "-auto-approve")):
        said = desk.run_failing(*words, f"-replace={ORDERS}")
        assert "KP247" in said
        assert "-acknowledge-data-loss='kafka_topic.t[\"orders\"]'" in said
    assert not (desk.folder / "p.kplan").exists()
    given = (f"-replace={ORDERS}", f"-acknowledge-data-loss={ORDERS}")
    planned = desk.run("plan", "-out=p.kplan", *given)
    assert "(because -replace was given)" in planned
    assert f"| deletes all records of {ORDERS} |" in planned.partition("\nkplan: ")[2]
    assert "1 destroyed" in desk.run("apply", "p.kplan")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("plan", "-replace=orders"), "is not a resource address"),
        (("plan", "-acknowledge-data-loss=*"), "is not a resource address"),
        (("destroy", "-auto-approve", f"-replace={ORDERS}"), "cannot be combined with destroy"),
        (("apply", "-resume", f"-replace={ORDERS}"), "-resume finishes an approved plan"),
        (("apply", "p.kplan", f"-replace={ORDERS}"), "A saved plan cannot be combined with"),
    ],
)
def test_replace_that_makes_no_sense_is_refused(
    desk: MemoryCommand, words: tuple[str, ...], said: str
) -> None:
    assert said in desk.run_failing(*words)
