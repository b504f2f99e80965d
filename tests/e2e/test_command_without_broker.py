"""The installed command where no Kafka answers: bad input, closed pipes, signals, no terminal."""

import json
import os
import pty
import re
import resource
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.commands import KPLAN, environ, kplan, start

TOPIC = """
provider "kafka" {}
resource "kafka_topic" "orders" {
  name               = "orders"
  partitions         = 3
  replication_factor = 1
}
"""
ANSI = re.compile(r"\x1b\[")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "main.tf").write_text(TOPIC, encoding="utf-8")
    return tmp_path


@pytest.fixture
def deaf() -> Iterator[str]:
    """Give the address of somebody who accepts connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}"


def assert_clear(err: str, summary: str) -> None:
    """Check for one problem in kplan's own words, and nobody else's."""
    assert f"Error: {summary}" in err
    assert "Traceback" not in err
    assert "%" not in err  # librdkafka's log lines begin with %3|, %4|...


def test_an_unknown_flag_is_an_error_that_names_it(folder: Path) -> None:
    ran = kplan(folder, "plan", "-detailed-exit")
    assert (ran.code, ran.out) == (1, "")
    assert_clear(ran.err, "Invalid command line")
    assert "-detailed-exit" in ran.err


def test_a_missing_folder_is_an_error(folder: Path) -> None:
    ran = kplan(folder, "-chdir=no/such/folder", "plan")
    assert ran.code == 1
    assert_clear(ran.err, "Invalid command line")
    assert "no/such/folder" in ran.err


def test_chdir_works_in_the_other_folder(folder: Path) -> None:
    assert kplan(folder.parent, f"-chdir={folder.name}", "validate").code == 0


def test_a_folder_without_configuration_is_an_error_and_not_a_plan_to_delete(
    tmp_path: Path,
) -> None:
    for verb in ("validate", "plan", "drift"):
        ran = kplan(tmp_path, verb)
        assert ran.code == 1, verb
        assert_clear(ran.err, "No configuration files")


def test_every_mistake_of_every_file_is_told_at_once(folder: Path) -> None:
    (folder / "more.hcl").write_text('resource "kafka_topic" "x" {\n  nme = "y"\n}\n')
    (folder / "third.tf").write_text('output "o" {\n  value = var.nowhere\n}\n')
    ran = kplan(folder, "validate", "-json")
    told = json.loads(ran.out)
    files = {each["range"]["filename"] for each in told["diagnostics"]}
    assert (ran.code, ran.err, told["valid"]) == (1, "", False)
    assert files == {"more.hcl", "third.tf"}


def test_nobody_at_the_address_is_told_precisely_and_soon(folder: Path) -> None:
    env = {"KPLAN_BOOTSTRAP_SERVERS": "127.0.0.1:1"}
    ran = kplan(folder, "plan", env=env)
    assert (ran.code, ran.out) == (1, "")
    assert_clear(ran.err, "Cannot reach the cluster")
    assert "127.0.0.1:1" in ran.err
    assert kplan(folder, "plan", "-detailed-exitcode", env=env).code == 7


def test_a_host_that_is_not_there_is_told_as_json_too(folder: Path) -> None:
    ran = kplan(folder, "plan", "-json", env={"KPLAN_BOOTSTRAP_SERVERS": "nowhere.invalid:9092"})
    (message,) = [json.loads(line) for line in ran.out.splitlines()]
    assert ran.code == 1
    assert message["type"] == "diagnostic"
    assert message["diagnostic"]["summary"] == "Cannot reach the cluster"


def test_somebody_who_never_answers_is_given_up_within_the_timeout(folder: Path, deaf: str) -> None:
    provider = f'provider "kafka" {{\n  bootstrap_servers = ["{deaf}"]\n  tls_enabled = false\n'
    (folder / "main.tf").write_text(f"{provider}  timeout = 3\n}}\n")
    began = time.monotonic()
    ran = kplan(folder, "plan")
    assert ran.code == 1
    assert_clear(ran.err, "Cannot reach the cluster")
    assert time.monotonic() - began < 30  # 3 s, and the start of python on a busy machine


def test_apply_without_a_terminal_fails_before_any_work(folder: Path) -> None:
    """Not even the configuration is read: it is broken here, and that is not what is told."""
    (folder / "main.tf").write_text("{{{")
    for env in ({}, {"CI": "true"}, {"KPLAN_INPUT": "false"}):
        ran = kplan(folder, "apply", env=env, typed="yes\n")
        assert ran.code == 1
        assert "approval is not possible" in ran.err
        assert "-auto-approve" in ran.err
    assert not (folder / "state").exists()


def test_apply_as_json_cannot_ask(folder: Path) -> None:
    ran = kplan(folder, "apply", "-json")
    assert ran.code == 1
    assert "because kplan cannot ask" in json.loads(ran.out)["diagnostic"]["detail"]


def test_no_escape_sequence_goes_into_a_pipe_unless_forced(folder: Path) -> None:
    (folder / "main.tf").write_text("resource {}\n")
    for env in ({}, {"CI": "1"}, {"NO_COLOR": "1", "FORCE_COLOR": "1"}):
        assert not ANSI.search(kplan(folder, "validate", env=env).err), env
    assert ANSI.search(kplan(folder, "validate", env={"FORCE_COLOR": "1"}).err)
    assert not ANSI.search(kplan(folder, "validate", "-no-color", env={"FORCE_COLOR": "1"}).err)


@pytest.mark.parametrize(
    ("env", "has_colour"), [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)]
)
def test_a_terminal_gets_colour_unless_it_asks_for_none(
    folder: Path, env: dict[str, str], has_colour: bool
) -> None:
    (folder / "main.tf").write_text("resource {}\n")
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [*KPLAN, "validate"], cwd=folder, env=environ({"TERM": "xterm", **env}), stderr=theirs
    ) as process:
        os.close(theirs)
        written = b"".join(iter(lambda: _read(ours), b"")).decode()
        process.wait()
    os.close(ours)
    assert "Error:" in ANSI.sub("", written)
    assert bool(ANSI.search(written)) is has_colour


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 4096)
    except OSError:  # how Linux tells that the other side of a terminal is gone
        return b""


def test_an_ascii_terminal_gets_ascii(folder: Path) -> None:
    (folder / "main.tf").write_text("resource {}\n")
    ran = kplan(folder, "validate", env={"PYTHONIOENCODING": "ascii"})
    assert ran.err.isascii()
    assert "Error:" in ran.err


def test_a_reader_that_stops_reading_is_no_error(folder: Path) -> None:
    for typed in ("version", "-help", "--version"):
        with start(folder, typed) as process:
            assert process.stdout is not None
            process.stdout.close()
            assert process.stderr is not None
            assert process.stderr.read() == ""
            assert process.wait() == 0


def test_a_closed_stdout_is_no_defect(folder: Path) -> None:
    for typed in ("version", "-help", "--version"):
        script = " ".join(["exec", *KPLAN, typed, ">&-"])
        done = subprocess.run(
            ["/bin/sh", "-c", script],
            cwd=folder,
            env=environ(),
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_a_signal_during_plan_stops_it_at_once(
    folder: Path, deaf: str, number: signal.Signals, code: int
) -> None:
    env = {"KPLAN_BOOTSTRAP_SERVERS": deaf, "KPLAN_TLS_ENABLED": "false"}
    lock = folder / "state" / "kplan.lock.json"
    with start(folder, "plan", env=env) as process:
        while not lock.exists():
            assert process.poll() is None
            time.sleep(0.05)
        time.sleep(0.5)  # into the connection
        process.send_signal(number)
        began = time.monotonic()
        out, err = process.communicate(timeout=30)
    assert process.returncode == code
    assert (out, "Traceback" in err) == ("", False)
    assert time.monotonic() - began < 10
    assert not lock.exists(), "the lock is given back"


def test_an_unknown_variable_of_the_environment_is_a_warning(folder: Path) -> None:
    ran = kplan(folder, "validate", env={"KPLAN_LOKC_TIMEOUT": "5s"})
    assert ran.code == 0
    assert "Did you mean KPLAN_LOCK_TIMEOUT?" in ran.err


def test_arguments_of_the_environment_are_put_before_those_typed(folder: Path) -> None:
    ran = kplan(folder, "validate", env={"KPLAN_CLI_ARGS_validate": "-json"})
    assert json.loads(ran.out)["valid"] is True


def test_the_log_is_told_only_when_asked_for(folder: Path) -> None:
    env = {"KPLAN_LOG": "debug", "KPLAN_LOG_PATH": str(folder / "kplan.log")}
    assert kplan(folder, "validate", env=env).err == ""
    assert (folder / "kplan.log").exists()


def test_version_and_help_are_quick(folder: Path) -> None:
    """Under 200 ms on a quiet machine; on a busy one only the processor's time can be held to."""
    for typed, most_s in (("--version", 0.1), ("--help", 0.3)):
        took = []
        for _ in range(5):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            assert kplan(folder, typed).code == 0
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            took.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        assert min(took) < most_s, (typed, took)


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("kplan pl", ["plan"]),
        ("kplan sandbox st", ["start", "status", "stop"]),
        ("kplan plan -detailed", ["-detailed-exitcode"]),
    ],
)
def test_the_shell_completes_verbs_and_options(
    tmp_path: Path, typed: str, offered: list[str]
) -> None:
    ran = kplan(tmp_path, typed, env={"_KPLAN_COMPLETE": "bash"})
    assert (ran.code, ran.out.split()) == (0, offered)


def test_a_wait_gives_up_in_its_time_where_a_broker_accepts_and_never_answers(
    folder: Path, deaf: str
) -> None:
    begun = time.monotonic()
    ran = kplan(
        folder,
        "wait",
        "-timeout=1s",
        "-detailed-exitcode",
        env={"KPLAN_BOOTSTRAP_SERVERS": deaf, "KPLAN_TLS_ENABLED": "false"},
    )
    assert time.monotonic() - begun < 30  # of the 120 s a request may take
    assert ran.code == 7
    assert_clear(ran.err, "Cannot reach the cluster")
