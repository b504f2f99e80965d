"""The sandbox verbs: what they ask for, and what they tell."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from kplan.cli.run import run
from kplan.sandbox import lifecycle
from kplan.sandbox.launch import make_credentials
from kplan.sandbox.layout import SandboxSpec, Security, make_nodes
from kplan.sandbox.lifecycle import SandboxStatus
from kplan.sandbox.process import ProcessState
from kplan.sandbox.sandbox import Progress, ProgressStep, Sandbox, Stage

Capture = pytest.CaptureFixture[str]
FOLDER = Path("/box")


def sandbox(spec: SandboxSpec) -> Sandbox:
    users = make_credentials(spec.security, FOLDER).users
    return Sandbox(FOLDER, spec, "c-1", make_nodes(spec, tuple(range(9001, 9020))), users)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Path, SandboxSpec]]:
    """Remember what was to be started where."""
    seen: list[tuple[Path, SandboxSpec]] = []

    def start(folder: Path, spec: SandboxSpec, progress: Progress) -> Sandbox:
        progress(ProgressStep(Stage.START, "node 1", 1, 1))
        seen.append((folder, spec))
        return sandbox(spec)

    monkeypatch.setattr(lifecycle, "start_sandbox", start)
    return seen


def test_one_broker_without_passwords_is_what_starts_by_itself(
    asked: list[tuple[Path, SandboxSpec]], capsys: Capture
) -> None:
    assert run(["sandbox", "start"], {}) == 0
    assert asked == [(lifecycle.default_folder(), SandboxSpec())]
    first, *rest = capsys.readouterr().out.splitlines()
    assert first == "export KPLAN_BOOTSTRAP_SERVERS=127.0.0.1:9001 KPLAN_TLS_ENABLED=false"
    assert all(line.startswith("# ") for line in rest), "a shell can take all of it"


def test_the_shape_is_as_asked_for_and_passwords_come_in_a_file(
    asked: list[tuple[Path, SandboxSpec]], capsys: Capture
) -> None:
    options = ["-brokers=3", "-controllers", "1", "-kafka-version=4.1.0", "-security=sasl"]
    assert run(["sandbox", "start", *options, "-log-allowed", "-folder=/a b"], {}) == 0
    spec = SandboxSpec(3, 1, "4.1.0", Security.SASL, logs_allowed=True)
    assert asked == [(Path("/a b"), spec)]
    out = capsys.readouterr().out
    assert out.startswith("export KPLAN_COMMAND_CONFIG=/box/admin.properties\n")
    assert "3 brokers and 1 controller, security sasl" in out


def test_a_script_gets_all_it_needs(asked: list[tuple[Path, SandboxSpec]], capsys: Capture) -> None:
    assert run(["sandbox", "start", "-json"], {}) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["bootstrap_servers"] == told["properties"]["bootstrap.servers"]
    assert told["bootstrap_controllers"]
    assert asked


def test_status_is_good_only_while_every_node_runs(
    monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    found = sandbox(SandboxSpec())
    for states, code in (({1: ProcessState.RUNNING}, 0), ({1: ProcessState.ENDED}, 1)):
        monkeypatch.setattr(
            lifecycle, "read_status", lambda _, states=states: SandboxStatus(found, states)
        )
        assert run(["sandbox", "status"], {}) == code
        assert f"# node 1: {states[1].value}" in capsys.readouterr().out
        assert run(["sandbox", "status", "-json"], {}) == code
        assert json.loads(capsys.readouterr().out)["running"] is (code == 0)
    stopped = SandboxStatus(replace(found, processes={}), {})
    monkeypatch.setattr(lifecycle, "read_status", lambda _: stopped)
    assert run(["sandbox", "status"], {}) == 1
    assert capsys.readouterr().out == "No sandbox is running.\n"


@pytest.mark.parametrize(
    ("has_run", "told"),
    [
        (True, "Stopped the sandbox. The next start is an empty cluster: it removes the topics"),
        (False, "No sandbox is running.\n"),
    ],
)
def test_stop_tells_whether_there_was_something_to_stop(
    has_run: bool, told: str, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setattr(lifecycle, "stop_sandbox", lambda *_, **__: has_run)
    assert run(["sandbox", "stop"], {}) == 0
    assert capsys.readouterr().out.startswith(told)
    assert run(["sandbox", "stop", "-json"], {}) == 0
    assert json.loads(capsys.readouterr().out) == {"stopped": has_run, "kept": False}


def test_logs_are_those_of_the_node_that_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setattr(
        lifecycle, "read_logs", lambda folder, node, lines: f"{folder} {node} {lines}"
    )
    assert run(["sandbox", "logs", "-folder=/x", "-node=2", "-lines=5"], {}) == 0
    assert run(["sandbox", "logs", "-folder=/x"], {}) == 0
    assert capsys.readouterr().out == "/x 2 5\n/x None 100\n"


def test_logs_of_no_sandbox_are_an_error(tmp_path: Path, capsys: Capture) -> None:
    assert run(["sandbox", "logs", f"-folder={tmp_path}"], {}) == 1
    assert "kplan sandbox start" in capsys.readouterr().err
