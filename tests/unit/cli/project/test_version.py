"""What is said before anything slow is imported."""

import os
import sys

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
