"""`kplan console` at a pipe, for people and for programs, and at a terminal."""

import io
import json
from pathlib import Path

import pytest

from kplan.cli.run import run
from tests.unit.cli.memory_command import MemoryCommand, memory_command

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def desk(tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> MemoryCommand:
    return memory_command(tmp_path, capsys, monkeypatch)


def piped(monkeypatch: pytest.MonkeyPatch, raw: bytes) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(raw), encoding="ascii"))


def test_every_line_is_an_expression(desk: MemoryCommand, monkeypatch: pytest.MonkeyPatch) -> None:
    piped(monkeypatch, b'local.sizes["orders"] + 1\n\nkafka_acl.read.acl_host\r\n"\xff"\n')
    assert desk.run("console") == '4\n"*"\n"?"\n'.replace("?", "\ufffd")


def test_a_failed_line_does_not_stop_the_others_and_is_in_the_exit_code(
    desk: MemoryCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    piped(monkeypatch, b"nosuch.thing\n2\nexit\n3\n")
    assert desk.run("console", code=1) == "2\n"
    piped(monkeypatch, b"nosuch.thing\n2\n")
    told = desk.run_failing("console")
    assert "on <console> line 1, column 1: 1: nosuch.thing" in told


def test_help_says_how_to_leave(desk: MemoryCommand, monkeypatch: pytest.MonkeyPatch) -> None:
    piped(monkeypatch, b"help\n")
    assert "To leave the console, type exit" in desk.run("console")


def test_problems_of_the_folder_are_told_and_hide_nothing_else(
    desk: MemoryCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.write("locals {\n  x = [\n}\n", "broken.tf")
    piped(monkeypatch, b"local.sizes.orders\n")
    assert "broken.tf line 2" in desk.run_failing("console", code=0)


def test_json_answers_each_request_with_one_line(
    desk: MemoryCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    requests = [
        {"expr": "local.sizes"},
        {"expr": "local.size"},
        {"expr": 1},
        {"expr": "sensitive(1)"},
        [1],
    ]
    raw = "\n\n".join(json.dumps(each) for each in requests)
    piped(monkeypatch, f"{raw}\nno json\n{'[' * 10_000}\n{'9' * 10_000}\n".encode())
    answers = [json.loads(line) for line in desk.run("console", "-json").splitlines()]
    assert answers[0] == {
        "ok": True,
        "type": ["object", {"orders": "number", "payments": "number"}],
        "value": {"orders": 3, "payments": 6},
    }
    assert answers[3] == {
        "ok": True,
        "sensitive": True,
        "type": "number",
        "value": "(sensitive value)",
    }
    refused = [answers[at] for at in (1, 2, 4, 5, 6, 7)]
    assert len(answers) == len(requests) + 3
    assert [each["ok"] for each in refused] == [False] * 6
    codes = [each["diagnostics"][0]["code"] for each in refused]
    assert codes == ["KP141", "KP119", "KP119", "KP119", "KP119", "KP119"]
    assert refused[0]["diagnostics"][0]["snippet"]["code"] == "local.size"


def test_variables_are_given_as_for_a_plan(
    desk: MemoryCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.write('variable "v" {\n  type = number\n}\nvariable "f" {}\n', "v.tf")
    (desk.folder / "more.tfvars").write_text('f = "file"\n')
    piped(monkeypatch, b"[var.v, var.f]\n")
    assert desk.run("console", "-var", "v=3", "-var-file=more.tfvars") == '[\n  3,\n  "file",\n]\n'


class Screen(io.StringIO):
    """A stream where a person sits."""

    def isatty(self) -> bool:
        return True


def test_a_person_is_asked_and_may_go_on_in_the_next_line(
    desk: MemoryCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    lines = iter(["[1,", "2]", "[", "", "nosuch"])

    def typed(prompt: str) -> str:
        asked.append(prompt)
        if (line := next(lines, None)) is None:
            raise EOFError
        return line

    shown = Screen()
    monkeypatch.setattr("sys.stdin", Screen())
    monkeypatch.setattr("sys.stdout", shown)
    monkeypatch.setattr("builtins.input", typed)
    assert run(["console"], {}) == 0
    assert asked == ["> ", ": ", "> ", ": ", "> ", "> "]
    assert shown.getvalue() == "[\n  1,\n  2,\n]\n"
    told = desk.capture.readouterr().err
    assert told.count("Error:") == 2
