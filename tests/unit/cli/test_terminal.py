"""What the terminal can show, and what becomes of the streams."""

import io
import os
import signal
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import pytest

from kplan.cli.signals import SignalInterrupt
from kplan.cli.terminal import Terminal, text_style
from kplan.model.errors import KplanError


class Screen(io.TextIOWrapper):
    """A stream that says it is a terminal, and keeps what was written."""

    def __init__(self, encoding: str = "utf-8", *, is_terminal: bool = True) -> None:
        super().__init__(io.BytesIO(), encoding=encoding, write_through=True)
        self.is_terminal = is_terminal

    def isatty(self) -> bool:
        return self.is_terminal

    @property
    def written(self) -> bytes:
        assert isinstance(self.buffer, io.BytesIO)
        return self.buffer.getvalue()


def pipe(encoding: str = "utf-8") -> Screen:
    return Screen(encoding, is_terminal=False)


@pytest.mark.parametrize(
    ("environ", "is_terminal", "has_colour"),
    [
        ({}, True, True),
        ({}, False, False),
        ({"TERM": "dumb"}, True, False),
        ({"NO_COLOR": "1"}, True, False),
        ({"NO_COLOR": ""}, True, True),
        ({"FORCE_COLOR": "1"}, False, True),
        ({"FORCE_COLOR": "0"}, False, False),
        ({"CLICOLOR_FORCE": "1"}, False, True),
        ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, True, False),
        ({"FORCE_COLOR": "1", "TERM": "dumb"}, True, True),
        ({"CI": "true"}, True, True),
    ],
)
def test_colour_is_for_terminals_unless_the_environment_says_otherwise(
    environ: Mapping[str, str],
    is_terminal: bool,
    has_colour: bool,
) -> None:
    stream = Screen(is_terminal=is_terminal)
    assert text_style(environ, stream).colour is has_colour
    assert text_style(environ, stream, no_color=True).colour is False


@pytest.mark.parametrize(
    ("encoding", "is_unicode"),
    [("utf-8", True), ("ascii", False), ("latin-1", False), ("cp437", False)],
)
def test_ascii_is_written_where_the_encoding_cannot_draw(encoding: str, is_unicode: bool) -> None:
    assert text_style({}, pipe(encoding)).unicode is is_unicode


@pytest.mark.parametrize(
    ("columns", "width"), [("120", 120), ("20", 20), ("0", 80), ("19", 80), ("wide", 80), ("²", 80)]
)
def test_the_width_is_that_of_columns_within_reason(columns: str, width: int) -> None:
    assert text_style({"COLUMNS": columns}, pipe()).width == width


@pytest.mark.parametrize(
    ("environ", "is_moving"),
    [({}, True), ({"CI": "1"}, False), ({"TERM": "dumb"}, False), ({"KPLAN_A11Y": "1"}, False)],
)
def test_nothing_moves_where_nobody_watches_or_somebody_listens(
    environ: Mapping[str, str], is_moving: bool
) -> None:
    assert Terminal(environ, stderr=Screen()).can_animate is is_moving
    assert not Terminal(environ, stderr=pipe()).can_animate


@pytest.mark.parametrize(
    ("environ", "can_ask"),
    [
        ({}, True),
        ({"CI": "1"}, False),
        ({"KPLAN_INPUT": "false"}, False),
        ({"KPLAN_INPUT": "1"}, True),
    ],
)
def test_questions_are_asked_only_where_a_person_sits(
    environ: Mapping[str, str], can_ask: bool
) -> None:
    assert Terminal(environ, stdin=Screen()).can_ask is can_ask
    assert not Terminal(environ, stdin=pipe()).can_ask


def test_hints_are_left_out_in_automation_of_either_name() -> None:
    assert Terminal({"TF_IN_AUTOMATION": "1"}).is_automation
    assert Terminal({"KPLAN_IN_AUTOMATION": "1"}).is_automation
    assert not Terminal({}).is_automation


def test_what_the_encoding_cannot_carry_is_written_as_question_marks() -> None:
    stream = pipe("ascii")
    Terminal({}, stdout=stream).write_stdout("größe")
    assert stream.written == b"gr??e\n"


def test_text_ends_with_exactly_one_line_feed_and_nothing_stays_nothing() -> None:
    out, err = pipe(), pipe()
    terminal = Terminal({}, stdout=out, stderr=err)
    for text in ("a", "b\n", ""):
        terminal.write_stdout(text)
    terminal.write_stderr("c")
    assert (out.written, err.written) == (b"a\nb\n", b"c\n")


def test_an_answer_is_one_line_and_no_answer_is_empty() -> None:
    err = pipe()
    terminal = Terminal({}, stdin=io.StringIO(" yes \nmore"), stderr=err)
    assert terminal.ask("Sure? ") == "yes"
    assert err.written == b"Sure? "
    assert Terminal({}, stdin=io.StringIO(""), stderr=err).ask("Sure? ") == ""


def test_what_is_typed_in_another_encoding_is_no_answer() -> None:
    typed = io.TextIOWrapper(io.BytesIO(b"\xff\xfe\n"), encoding="utf-8")
    assert Terminal({}, stdin=typed, stderr=pipe()).ask("Sure? ") == ""


def test_an_interrupted_question_ends_its_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted() -> str:
        raise SignalInterrupt(signal.SIGINT)

    err, stdin = pipe(), io.StringIO()
    monkeypatch.setattr(stdin, "readline", interrupted)
    with pytest.raises(SignalInterrupt):
        Terminal({}, stdin=stdin, stderr=err).ask("Sure? ")
    assert err.written == b"Sure? \n"


def test_a_full_disk_stops_the_result_and_not_the_progress() -> None:
    """An apply whose progress cannot be written any more sends all of its requests."""
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        terminal = Terminal({}, stdout=pipe(), stderr=full)
        terminal.write_stderr("kafka_topic.a: created")
        terminal.write_stderr("kafka_topic.b: created")
    full = Path("/dev/full").open("w", encoding="utf-8")  # noqa: SIM115 - closing it fails
    with pytest.raises(KplanError, match=r"^stdout cannot be written: No space left on device\.$"):
        Terminal({}, stdout=full).write_stdout("Apply complete!")
    with suppress(OSError):
        full.close()


def test_a_reader_that_leaves_does_not_stop_the_run() -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    with os.fdopen(write_end, "w", encoding="utf-8") as stream:
        terminal = Terminal({}, stdout=stream)
        terminal.write_stdout("nobody reads this")
        terminal.write_stdout("nor this")
