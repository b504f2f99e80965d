"""The real objects: what is put into them, and what connecting may end in."""

import sys
from pathlib import Path

import pytest

from kplan.cli import main, wiring
from kplan.cli.options import StateOptions
from kplan.cli.progress import LineProgress
from kplan.cli.run import run
from kplan.cli.signals import Signals
from kplan.cli.terminal import Session, Terminal
from kplan.model.ci_job import ci_commit, ci_run_url
from kplan.model.version import VERSION

Capture = pytest.CaptureFixture[str]
GITHUB = {
    "GITHUB_SERVER_URL": "https://github.example",
    "GITHUB_REPOSITORY": "shop/topics",
    "GITHUB_RUN_ID": "42",
    "GITHUB_SHA": "7d1e0aa",
}


def test_a_ci_job_is_named_in_the_lock() -> None:
    session = Session(GITHUB, Terminal({}), Signals())
    holder = wiring.build_ports(
        session, "plan", StateOptions(), LineProgress(session.terminal)
    ).holder
    assert holder is not None
    assert (holder.op, holder.commit) == ("plan", "7d1e0aa")
    assert holder.ci == "https://github.example/shop/topics/actions/runs/42"


def test_without_a_lock_nobody_holds_it() -> None:
    session = Session({}, Terminal({}), Signals())
    states = StateOptions(lock=False)
    assert (
        wiring.build_ports(session, "plan", states, LineProgress(session.terminal)).holder is None
    )


def test_other_ci_services_name_job_and_commit_in_their_own_variables() -> None:
    environ = {"CI_JOB_URL": "https://gitlab.example/1", "CI_COMMIT_SHA": "abc"}
    assert (ci_run_url(environ), ci_commit(environ)) == ("https://gitlab.example/1", "abc")
    assert (ci_run_url({}), ci_commit({})) == ("", "")


def test_settings_that_cannot_be_are_told_with_their_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "main.tf").write_text('provider "kafka" {\n  bootstrap_servers = ["here"]\n}\n')
    assert run(["plan"], {}) == 1
    err = capsys.readouterr().err
    assert "Invalid connection setting" in err
    assert "main.tf line 2" in err


def test_a_broker_that_is_not_there_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "main.tf").write_text('provider "kafka" {}\n')
    assert run(["plan", "-detailed-exitcode"], {"KPLAN_BOOTSTRAP_SERVERS": "127.0.0.1:1"}) == 7
    assert "127.0.0.1:1" in capsys.readouterr().err


def test_the_process_ends_with_the_code_of_the_run(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["kplan", "-version"])
    main.main()
    assert capfd.readouterr().out == f"kplan {VERSION}\n"
    monkeypatch.setattr(sys, "argv", ["kplan", "version", "-no-color"])
    with pytest.raises(SystemExit) as ended:
        main.main()
    assert ended.value.code == 0
    assert capfd.readouterr().out.startswith(f"kplan {VERSION}\n")


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("", "-bootstrap-controller is empty."),
        ("here", '"here" is not host:port.'),
        ("127.0.0.1:1", "127.0.0.1:1 refused the connection"),
    ],
)
def test_controllers_that_cannot_be_asked_are_told_and_no_broker_is(
    value: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    """K919-03: the option wins, also with nothing in it."""
    monkeypatch.chdir(tmp_path)
    block = 'bootstrap_servers = ["broker.invalid:9092"]\n  tls_enabled = false'
    (tmp_path / "main.tf").write_text(f'provider "kafka" {{\n  {block}\n}}\n')
    for verb in (["plan"], ["cluster", "id"], ["features"], ["quorum", "describe"]):
        assert run([*verb, f"-bootstrap-controller={value}"], {}) == 1
        err = capsys.readouterr().err
        assert told in err
        assert "broker.invalid" not in err


def test_a_file_of_variables_needs_a_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    """As from a shell variable that is not set: it is not the folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "main.tf").touch()
    for verb in ("plan", "validate", "console"):
        assert run([verb, "-var-file="], {}) == 1
        err = capsys.readouterr().err
        assert "-var-file is empty." in err
        assert "directory" not in err


def test_controllers_stand_for_one_connection(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    """K919-03: which of several is meant is not guessed."""
    monkeypatch.chdir(tmp_path)
    blocks = (f'provider "kafka" {{\n  alias = "{name}"\n}}\n' for name in ("west", "east"))
    (tmp_path / "main.tf").write_text("".join(blocks))
    assert run(["cluster", "versions", "-bootstrap-controller=127.0.0.1:1"], {}) == 1
    assert "declares\n│ several" in capsys.readouterr().err
