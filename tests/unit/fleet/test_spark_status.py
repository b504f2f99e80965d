"""What `kplan fleet spark` says of a server that runs, and what a start leaves that was stopped."""

import json
import signal
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import pytest

from kplan.fleet.compat import spark_version
from kplan.fleet.spark import server
from kplan.sandbox.process import Process, is_alive, send_signal, spawn
from tests.e2e.commands import kplan

FLEET = 'cluster "a" { snapshot = "a.jsonl" }\n'
USED = "Fleet commands use it."
OTHER = "Fleet commands do not use it here: fleet.hcl or SPARK_REMOTE names another Spark."
UNLIKE = "Fleet commands do not use it here: it was started with other settings."


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """Give a folder with the record of a server that has 4g, whose process runs."""
    process = spawn(("/bin/sleep", "120"), tmp_path / "log")
    record = {
        "format": 1,
        "process": asdict(process),
        "port": 1,
        "token": "secret",
        "conf": {"spark.driver.memory": "4g"},
        "spark": spark_version(),
        "python": f"{sys.version_info.major}.{sys.version_info.minor}",
        "package": "",
        "began_at": "2026-11-30T00:00:00+00:00",
    }
    known = tmp_path / "cache" / "spark-server"
    known.mkdir(parents=True)
    (known / "server.json").write_text(json.dumps(record), encoding="utf-8")
    yield tmp_path
    send_signal(process, signal.SIGKILL)


@pytest.mark.parametrize(
    ("spark", "remote", "said"),
    [
        ("", "", USED),
        ('spark { conf = { "spark.driver.memory" = "4g" } }', "", USED),
        ('spark { conf = { "spark.driver.memory" = "2g" } }', "", UNLIKE),
        ('spark { master = "spark://elsewhere:7077" }', "", OTHER),
        ('spark { remote = "sc://elsewhere:15002" }', "", OTHER),
        ("", "sc://elsewhere:15002", OTHER),
    ],
)
def test_a_server_is_used_where_the_fleet_and_the_environment_name_no_other_spark(
    folder: Path, spark: str, remote: str, said: str
) -> None:
    environ = {"KPLAN_CACHE": str(folder / "cache"), "SPARK_REMOTE": remote}
    (folder / "fleet.hcl").write_text(f"{FLEET}{spark}\n", encoding="utf-8")
    status = kplan(folder, "fleet", "spark", "status", env=environ)
    assert (status.code, status.err) == (0, "")
    assert said in status.out
    again = kplan(folder, "fleet", "spark", "start", "-conf=spark.driver.memory=4g", env=environ)
    assert again.code == 0, again.err
    assert said in again.out
    told = json.loads(kplan(folder, "fleet", "spark", "status", "-json", env=environ).out)
    assert told["used"] == (said == USED)


def test_an_interrupt_as_java_is_started_leaves_no_process_and_no_secrets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KPLAN_CACHE", str(tmp_path))
    begun: list[Process] = []

    def interrupt(command: tuple[str, ...], output: Path) -> Process:
        assert "--properties-file" in command
        begun.append(spawn(("/bin/sleep", "120"), output))
        signal.raise_signal(signal.SIGINT)
        return begun[0]

    monkeypatch.setattr(server, "spawn", interrupt)
    with pytest.raises(KeyboardInterrupt):
        server.start_server({"spark.hadoop.fs.s3a.secret.key": "s3cret"}, "")
    (process,) = begun
    assert not is_alive(process)
    assert {each.name for each in server.server_folder().iterdir()} == {"lock", "spark.log"}
