"""What is said before anything slow is imported."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kplan.cli.main import main
from kplan.cli.run import run


@pytest.mark.parametrize("words", [["version"], ["version", "-json"], ["version", "--json"]])
def test_versions_are_told_at_once_as_the_verb_tells_them(
    words: list[str], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["kplan", *words])
    main()
    at_once = capfd.readouterr().out
    assert run(words, os.environ) == 0
    assert capfd.readouterr().out == at_once


def test_an_option_of_version_that_nobody_knows_is_told(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["kplan", "version", "-jsn"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 1
    assert "-jsn" in capfd.readouterr().err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a disk that is always full")
@pytest.mark.parametrize("words", [["version"], ["version", "-json"], ["-version"], ["-v"]])
def test_a_full_disk_is_told(words: list[str]) -> None:
    command = [sys.executable, "-m", "kplan.cli.main", *words]
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (ended.returncode, "No space left on device" in ended.stderr) == (1, True)


@pytest.mark.parametrize("words", [["version"], ["-v"]])
def test_a_reader_that_has_gone_is_no_error(words: list[str]) -> None:
    command = [sys.executable, "-m", "kplan.cli.main", *words]
    reader, writer = os.pipe()
    os.close(reader)
    ended = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writer)
    assert (ended.returncode, ended.stderr) == (0, "")
