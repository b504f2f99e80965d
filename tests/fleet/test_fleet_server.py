"""`kplan fleet spark start|stop|status`: a Spark that commands find by themselves."""

import json
import os
import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from kplan.fleet.compat import asks_for_tokens, spark_version
from kplan.sandbox.artifact import cache_folder
from tests.e2e.commands import Ran, kplan, start
from tests.e2e.places import until
from tests.fleet.connect_server import FAST_SETTINGS, as_options, event_log_settings

pytestmark = [
    pytest.mark.spark,
    pytest.mark.skipif(
        not asks_for_tokens(spark_version()), reason="kplan starts no server of this Spark"
    ),
]

EXAMPLE = Path(__file__).parents[2] / "examples" / "fleet"
SECRET = "server\\secret-7310"
START = (*as_options(FAST_SETTINGS), f"-conf=spark.hadoop.fs.s3a.secret.key={SECRET}")
Command = Callable[..., Ran]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the folder of a fleet and of a cache, and so of a server, of their own."""
    found = tmp_path_factory.mktemp("server")
    shutil.copytree(EXAMPLE, found / "fleet")
    return found


@pytest.fixture(scope="module")
def command(place: Path) -> Iterator[Command]:
    """Run fleet commands there. A server that one test started serves the next ones, too."""

    def run(*args: str) -> Ran:
        return kplan(place / "fleet", "fleet", *args, env={"KPLAN_CACHE": str(place / "cache")})

    yield run
    run("spark", "stop")


def log_line(number: int) -> str:
    """Return a line of an authorizer log that no other is like."""
    return (
        f"[2026-11-01 10:00:00,123] INFO Principal = User:a{number} is Allowed operation = READ "
        "from host = 10.0.0.1 on resource = Topic:LITERAL:orders for request = FETCH with "
        "resourceRefCount = 1 based on rule X (kafka.authorizer.logger)\n"
    )


def status(command: Command) -> dict[str, Any]:
    """Return what kplan knows of the server."""
    found: dict[str, Any] = json.loads(command("spark", "status", "-json").out)
    return found


def record(folder: Path) -> Path:
    """Return the record of the server."""
    return folder / "cache" / "spark-server" / "server.json"


def is_running(pid: int) -> bool:
    """Whether a process runs that is no zombie."""
    try:
        return ") Z" not in Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except OSError:
        return False


@contextmanager
def own_java(place: Path) -> Iterator[dict[str, str]]:
    """Have a Java that a command starts itself write events, and use classes that others kept."""
    kept = place / "cache" / "spark"
    kept.symlink_to(cache_folder() / "spark")
    defaults = event_log_settings(place / "events")
    options = (f"-D{name}={value}" for name, value in defaults.items())
    try:
        yield {"JDK_JAVA_OPTIONS": " ".join(("-XX:TieredStopAtLevel=1", *options))}
    finally:
        kept.unlink()


@pytest.mark.timeout(900)
def test_a_command_uses_the_server_and_starts_no_java(command: Command, place: Path) -> None:
    assert status(command) == {"running": False}
    started = command("spark", "start", *START)
    assert started.code == 0, started.err
    assert SECRET not in started.out
    known = status(command)
    assert known["used"]
    assert known["conf"]["spark.hadoop.fs.s3a.secret.key"] == "(sensitive value)"
    line = Path(f"/proc/{known['pid']}/cmdline").read_bytes().decode()
    assert SECRET not in line
    assert not list(place.rglob("secrets"))
    assert record(place).stat().st_mode & 0o077 == 0

    again = command("spark", "start", *START)
    assert again.code == 0, again.err
    assert status(command)["pid"] == known["pid"]
    other = command("spark", "start", "-conf=spark.sql.shuffle.partitions=7")
    assert other.code == 1
    assert "A Spark with other settings runs" in other.err

    # A Java that a command starts itself leaves its archive of classes in the cache.
    took = command("snapshot", "-run=one")
    assert took.code == 0, took.err
    assert not (place / "cache" / "spark").exists()


@pytest.mark.timeout(900)
def test_a_server_of_an_older_kplan_is_used(command: Command, place: Path) -> None:
    assert command("spark", "start", *START).code == 0
    told = json.loads(record(place).read_text(encoding="utf-8"))
    record(place).write_text(json.dumps({**told, "package": "/old 1"}), encoding="utf-8")
    older = command("snapshot", "-run=one")  # which is sent the modules of this kplan
    assert older.code == 0, older.err
    assert not (place / "cache" / "spark").exists()


@pytest.mark.timeout(900)
def test_a_command_whose_server_ends_says_so_within_seconds_and_the_next_one_does_without(
    command: Command, place: Path
) -> None:
    """PySpark would try again for ten minutes, and as long again to drop the rows that it keeps."""
    folder = place / "logs"
    shutil.copytree(EXAMPLE, folder)
    lines = "".join(map(log_line, range(20_000)))
    (folder / "logs" / "prod-eu-2.log").write_text(lines, encoding="utf-8")
    assert command("spark", "start", *START).code == 0
    known = status(command)
    environ = {"KPLAN_CACHE": str(place / "cache")}
    with start(folder, "fleet", "audit", "ingest", env=environ) as ingest:
        try:
            until(lambda: any(folder.glob("tables/requests/*")))  # rows are in memory by then
            os.kill(known["pid"], signal.SIGKILL)
            _, told = ingest.communicate(timeout=60)
        finally:
            ingest.kill()
    assert ingest.returncode == 1
    assert "The Spark server of kplan fleet spark start ended" in " ".join(told.split())
    assert "Run the command again" in told
    assert "Warning" not in told
    assert "Traceback" not in told

    assert not is_running(known["pid"])
    assert record(place).exists()
    assert status(command) == {"running": False}
    with own_java(place) as for_java:
        alone = kplan(folder, "fleet", "audit", "ingest", env={**environ, **for_java})
    assert alone.code == 0, alone.err
    assert any((place / "events").iterdir())
    assert "No Spark is running" in command("spark", "stop").out
    assert not record(place).exists()


@pytest.mark.timeout(900)
def test_stop_waits_for_a_start_and_a_start_that_was_killed_leaves_no_spark(
    command: Command, place: Path
) -> None:
    command("spark", "stop")
    environ = {"KPLAN_CACHE": str(place / "cache")}
    begun = record(place).with_name("unfinished.json")
    with start(place / "fleet", "fleet", "spark", "start", *START, env=environ) as first:
        until(begun.exists)
        left = json.loads(begun.read_text(encoding="utf-8"))["pid"]
        first.kill()
    assert is_running(left)
    assert status(command) == {"running": False}

    with start(place / "fleet", "fleet", "spark", "start", *START, env=environ) as second:
        try:
            until(lambda: not is_running(left))
            stopped = command("spark", "stop")
            _, told = second.communicate(timeout=60)
        finally:
            second.kill()
    assert second.returncode == 0, told
    assert stopped.code == 0, stopped.err
    assert stopped.out.startswith("Stopped sc://localhost:")
    assert status(command) == {"running": False}
    assert not begun.exists()
