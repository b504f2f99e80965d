"""KPLAN_LOG and KPLAN_LOG_PATH."""

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from kplan.cli import logs
from kplan.model.errors import UsageError


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    root = logging.getLogger()
    level, handlers = root.level, root.handlers[:]
    root.handlers = []
    yield
    for handler in root.handlers:
        handler.close()
    root.level, root.handlers = level, handlers


def test_nothing_is_logged_unless_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure_logging({})
    logging.getLogger("kafka.conn").error("a library is worried")
    assert capsys.readouterr() == ("", "")


def test_the_log_goes_to_stderr_at_the_level_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure_logging({"KPLAN_LOG": "INFO"})
    logging.getLogger("kplan").info("seen")
    logging.getLogger("kplan").debug("not seen")
    out, err = capsys.readouterr()
    assert out == ""
    assert "INFO kplan seen" in err
    assert "not seen" not in err


def test_the_log_goes_to_a_file_where_one_is_named(tmp_path: Path) -> None:
    file = tmp_path / "kplan.log"
    logs.configure_logging({"KPLAN_LOG": "debug", "KPLAN_LOG_PATH": str(file)})
    logging.getLogger("kplan").debug("seen")
    assert "DEBUG kplan seen" in file.read_text(encoding="utf-8")


def test_a_log_on_a_full_disk_is_told_once_and_without_a_traceback(
    capsys: pytest.CaptureFixture[str],
) -> None:
    logs.configure_logging({"KPLAN_LOG": "debug", "KPLAN_LOG_PATH": "/dev/full"})
    logging.getLogger("kplan").debug("lost")
    logging.getLogger("kplan").debug("lost too")
    (told,) = capsys.readouterr().err.splitlines()
    assert told == (
        "Warning: The log /dev/full cannot be written: No space left on device. Records are lost."
    )


def test_an_unknown_level_is_told_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match="KPLAN_LOG=loud is not a log level") as told:
        logs.configure_logging({"KPLAN_LOG": "loud"})
    assert "trace, debug, info" in told.value.hint


def test_a_log_file_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be written: No such file or directory"):
        logs.configure_logging(
            {"KPLAN_LOG": "info", "KPLAN_LOG_PATH": str(tmp_path / "no" / "file")}
        )
