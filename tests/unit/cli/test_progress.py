"""Progress: drawn on a screen, told in few lines elsewhere."""

import io
import logging
import re
import time

import pytest

from kplan.cli.progress import LineProgress, elapsed_text, show_progress
from kplan.cli.progress_bar import BarProgress
from kplan.cli.terminal import Terminal


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_pipe_gets_notes_and_nothing_else_from_quick_work() -> None:
    err = io.StringIO()
    with show_progress(Terminal({}, stderr=err)) as shown:
        assert isinstance(shown, LineProgress)
        shown.stage("Reading the cluster", 3)
        shown.advance()
        shown.note("a note")
    assert err.getvalue() == "a note\n"


def test_slow_work_gives_signs_of_life() -> None:
    err = io.StringIO()
    lines = LineProgress(Terminal({}, stderr=err), heartbeat_s=0.01)
    with lines.show():
        lines.stage("Applying", 5)
        lines.advance(2)
        while "elapsed" not in err.getvalue():
            time.sleep(0.005)
    assert err.getvalue().startswith("Applying... [00m00s elapsed, 2 of 5]\n")


def test_tasks_are_counted_in_signs_of_life_and_on_a_screen() -> None:
    err = io.StringIO()
    lines = LineProgress(Terminal({}, stderr=err), heartbeat_s=0.01)
    with lines.show():
        lines.stage("Reading")
        lines.tasks(3, 8)
        while "elapsed" not in err.getvalue():
            time.sleep(0.005)
    assert "3 of 8" in err.getvalue()
    screen = Screen()
    with show_progress(Terminal({"TERM": "xterm", "COLUMNS": "100"}, stderr=screen)) as shown:
        shown.stage("Reading")
        shown.tasks(3, 8)
        time.sleep(0.15)
        shown.tasks(0, 0)
        time.sleep(0.15)
    drawn = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", screen.getvalue()).split("\r")
    assert any("3/8" in each for each in drawn)
    assert "/" not in [each for each in drawn if "Reading" in each][-1]


def test_nothing_is_told_while_a_person_thinks() -> None:
    err = io.StringIO()
    lines = LineProgress(Terminal({}, stderr=err), heartbeat_s=0.005)
    lines.stage("Planning")
    with lines.pause(), lines.show():
        time.sleep(0.05)
    assert err.getvalue() == ""


def test_a_screen_shows_the_stage_and_is_left_clean() -> None:
    err = Screen()
    with show_progress(Terminal({"TERM": "xterm", "COLUMNS": "100"}, stderr=err)) as shown:
        assert isinstance(shown, BarProgress)
        shown.stage("Connecting")
        shown.note("still connecting")
        shown.stage("Applying", 3)
        shown.advance(2)
        shown.note("kafka_topic.a[0]: [bold]done[/bold]")
        time.sleep(0.15)  # it is drawn ten times a second
        with shown.pause():
            err.write("<question>")
        shown.stage("Settling")
    written = err.getvalue()
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", written)
    assert "Applying" in plain
    assert "2/3" in plain
    assert "/?" not in plain
    assert "kafka_topic.a[0]: [bold]done[/bold]\n" in plain
    assert written.endswith("\x1b[2K"), "the line is taken away"


def test_no_colour_is_drawn_where_none_is_wanted() -> None:
    err = Screen()
    with show_progress(Terminal({"TERM": "xterm", "NO_COLOR": "1"}, stderr=err)) as shown:
        shown.stage("Applying", 3)
        shown.advance(3)
        time.sleep(0.15)
    assert not re.search(r"\x1b\[[0-9;]*3[0-9]m", err.getvalue())


@pytest.mark.parametrize(("seconds", "text"), [(0, "00m00s"), (65.9, "01m05s"), (3600, "60m00s")])
def test_time_is_written_as_terraform_does(seconds: float, text: str) -> None:
    assert elapsed_text(seconds) == text


def test_what_a_stage_waits_for_is_told_with_the_sign_of_life() -> None:
    err = io.StringIO()
    lines = LineProgress(Terminal({}, stderr=err), heartbeat_s=0.01)
    with lines.show():
        lines.stage("Waiting", 5)
        lines.detail("broker 3 does not serve a yet")
        while "broker 3" not in err.getvalue():
            time.sleep(0.005)
        lines.stage("Reading")
        while "Reading" not in err.getvalue():
            time.sleep(0.005)
    assert "0 of 5]: broker 3 does not serve a yet" in err.getvalue()
    assert "broker 3" not in err.getvalue().rpartition("Reading")[2]


@pytest.mark.parametrize("environ", [{}, {"TERM": "xterm", "COLUMNS": "100"}])
def test_an_answer_that_takes_long_is_told_beside_the_progress(environ: dict[str, str]) -> None:
    err = Screen() if environ else io.StringIO()
    with show_progress(Terminal(environ, stderr=err)) as shown:
        shown.stage("Reading the cluster")
        logging.getLogger("kplan.wait").warning("%s has not answered", "b:9092")
    assert "Waiting: b:9092 has not answered" in err.getvalue()
    logging.getLogger("kplan.wait").warning("nobody listens any more")
    assert "nobody listens" not in err.getvalue()


def test_a_bar_says_what_it_waits_for_after_a_while() -> None:
    screen = Screen()
    bar = BarProgress(Terminal({"TERM": "xterm", "COLUMNS": "100"}, stderr=screen), 0.0)
    with bar.show() as shown:
        shown.stage("Waiting", 5)
        shown.detail("broker 3 is late")
        time.sleep(0.15)
    assert "Waiting: broker 3 is late" in screen.getvalue()
