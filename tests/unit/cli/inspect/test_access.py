"""Who may do what, and what is odd about it, asked for by the command."""

import json
from pathlib import Path

import pytest

from kplan.report.documents.access import (
    allowed_principals_data,
    allowed_principals_document,
    permissions_document,
)
from kplan.report.format import PLAIN_STYLE
from kplan.report.formats.text import render_text
from kplan.state.lock import lock_state_file
from kplan.state.lock_holder import current_holder
from tests.unit.cli.memory_command import MemoryCommand, memory_command

Capture = pytest.CaptureFixture[str]
CONFIGURATION = """
provider "kafka" {
  super_users = ["User:root"]
}
resource "kafka_topic" "orders" {
  name = "orders"
}
resource "kafka_acl" "reader" {
  resource_type       = "Topic"
  resource_name       = "orders"
  acl_principal       = "User:billing"
  acl_host            = "*"
  acl_operation       = "Read"
  acl_permission_type = "Allow"
}
"""


@pytest.fixture
def desk(tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> MemoryCommand:
    found = memory_command(tmp_path, capsys, monkeypatch)
    for each in tmp_path.glob("*.tf"):
        each.unlink()
    (tmp_path / "main.tf").write_text(CONFIGURATION)
    return found


def test_who_may_read_is_told_before_and_after_a_plan(desk: MemoryCommand) -> None:
    asked = ("access", "who-can", "read", "topic:orders")
    assert "billing" not in desk.run(*asked)
    planned = desk.run(*asked, "-planned")
    assert "User:billing" in planned
    assert "ALLOW READ on TOPIC orders for User:billing" in planned
    assert "User:root" in planned
    desk.run("apply", "-auto-approve")
    assert desk.run(*asked) == planned
    holders = json.loads(desk.run(*asked, "-json"))["holders"]
    assert [each["principal"] for each in holders] == ["User:root", "User:billing"]


def test_what_is_live_is_asked_without_variables_and_without_the_lock(desk: MemoryCommand) -> None:
    asked = ("access", "who-can", "read", "topic:orders")
    desk.run("apply", "-auto-approve")
    desk.write('variable "name" {}\noutput "name" { value = var.name }\n', "more.tf")
    with lock_state_file(Path("state/kplan.json"), current_holder("apply"), 0, lambda _: None):
        assert "ALLOW READ on TOPIC orders for User:billing" in desk.run(*asked)
        assert "TOPIC orders" in desk.run("access", "of", "User:billing")
        assert "[KP921]" in desk.run_failing(*asked, "-planned", "-var=name=x")
    assert "No value for required variable" in desk.run_failing(*asked, "-planned")


def test_an_answer_as_a_report_has_its_name_and_no_filter_of_changes(desk: MemoryCommand) -> None:
    desk.run("apply", "-auto-approve")
    asked = ("access", "who-can", "read", "topic:orders")
    desk.run(*asked, "-report=md=a.md", "-report=html=a.html")
    for name in ("a.md", "a.html"):
        told = (desk.folder / name).read_text()
        assert "kplan access" in told
        assert "because of" in told
        assert "Groups of changes" not in told
        assert 'id="filter"' not in told


def test_super_users_that_nobody_can_name_are_told_in_every_answer() -> None:
    told = ("who is super is not known",)
    for document in (
        allowed_principals_document("READ", ("TOPIC", "orders"), (), told),
        permissions_document("User:app", (), told, is_super=False),
    ):
        assert told[0] in render_text(document, PLAIN_STYLE)
    assert allowed_principals_data("READ", ("TOPIC", "orders"), (), told) == {
        "operation": "READ",
        "resource_type": "TOPIC",
        "resource_name": "orders",
        "holders": [],
        "unknown": list(told),
    }


def test_what_somebody_may_do_is_told_with_live_topics(desk: MemoryCommand) -> None:
    desk.run("apply", "-auto-approve")
    told = desk.run("access", "of", "User:billing")
    assert "TOPIC orders" in told
    assert "READ, DESCRIBE" in told
    assert "1 live topic" in told
    assert "is allowed nothing" in desk.run("access", "of", "User:nobody")
    assert "is a super user" in desk.run("access", "of", "User:root")
    data = json.loads(desk.run("access", "of", "User:billing", "-json"))
    assert data["holdings"][0]["operations"] == ["READ", "DESCRIBE"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("who-can", "read", "orders"), '"orders" is not a resource'),
        (("who-can", "read", "topic:"), "Which topic?"),
        (("who-can", "fly", "topic:orders"), 'Kafka never requires "fly" on a topic'),
        (("of", "billing"), "Write it as User:billing"),
    ],
)
def test_a_question_that_makes_no_sense_is_refused(
    desk: MemoryCommand, words: tuple[str, ...], said: str
) -> None:
    assert said in desk.run_failing("access", *words)


def test_lint_tells_what_is_odd_with_its_place(desk: MemoryCommand) -> None:
    desk.run("lint", "-detailed-exitcode", code=2)
    assert "[KP407]" in desk.run_failing("lint", code=0)
    assert json.loads(desk.run("lint", "-json"))["diagnostics"][0]["code"] == "KP407"


def test_a_plan_tells_what_is_odd_about_what_it_brings(desk: MemoryCommand) -> None:
    desk.write(CONFIGURATION.replace('resource_name       = "orders"', 'resource_name = "order"'))
    assert "[KP405]" in desk.run_failing("plan", code=0)
    desk.run("apply", "-auto-approve")
    assert "[KP405]" not in desk.run_failing("plan", code=0)
