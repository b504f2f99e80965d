"""What a Spark that kplan starts shows of a command: names of jobs, and no credentials."""

import json
import os
import shutil
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kplan.cli.run import run
from kplan.fleet.spark.jobs import describe_jobs
from kplan.fleet.spark.session import SparkSettings, open_session
from tests.e2e.commands import kplan
from tests.fleet.connect_server import FAST_SETTINGS, as_options, event_log_settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "fleet"
SECRETS = {
    "spark.hadoop.fs.s3a.secret.key": "s3-secret-5821",
    "spark.hadoop.fs.s3a.access.key": "s3-access-5821",
    "spark.sql.catalog.lake.jdbc.password": " jdbc\\secret-5821",
    "spark.sql.catalog.lake.uri": "jdbc:postgresql://db/lake?user=u&password=url-secret-5821",
    "spark.hadoop.fs.azure.account.key.lake.dfs.core.windows.net": "hidden-5821",
    "spark.sql.catalog.lake.credential": "u:hidden-5821",
    "spark.sql.catalog.lake.header.Authorization": "Basic hidden-5821",
    "spark.jars.repositories": "https://u:hidden-5821@127.0.0.1:1/maven",
}
MARKS = ("secret-5821", "s3-access-5821", "hidden-5821")


def events(folder: Path) -> Iterator[Mapping[str, Any]]:
    """Read the event logs of Spark."""
    for file in folder.rglob("*"):
        if file.is_file() and file.name.startswith(("local-", "events_")):
            yield from map(json.loads, file.read_text(encoding="utf-8").splitlines())


def job_names(folder: Path) -> set[tuple[str, str]]:
    """List the job groups and descriptions of all jobs."""
    jobs = (each["Properties"] for each in events(folder) if each["Event"].endswith("JobStart"))
    return {(each.get("spark.jobGroup.id"), each.get("spark.job.description")) for each in jobs}


def commands_of_java() -> str:
    """Return the command lines of all processes, as everyone on the machine can read them."""
    lines = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = file.read_bytes().split(b"\0")
        except OSError:
            continue
        if words[0].endswith(b"java"):
            lines.append(b" ".join(words).decode(errors="replace"))
    return "\n".join(lines)


def rest(spark: "SparkSession", what: str) -> str:
    """Ask the page of a Spark."""
    context = spark.sparkContext
    base = str(context.uiWebUrl).replace("localhost", "127.0.0.1")
    address = f"{base}/api/v1/applications/{context.applicationId}/{what}"
    with urllib.request.urlopen(address) as answer:  # noqa: S310 - of this machine
        return str(answer.read().decode())


def look_around(place: Path) -> dict[str, Any]:
    """Start a Spark with credentials; return those that arrived, and what can be seen of it.

    A command reads the logs of the fleet there, too.
    """
    own = {"spark.ui.enabled": "true", "spark.ui.port": "0", **event_log_settings(place / "events")}
    engine = SparkSettings("local[2]", conf={**FAST_SETTINGS, **SECRETS, **own})
    with open_session(engine, command="kplan fleet inventory") as spark:
        describe_jobs(spark, "show table inventory")
        spark.range(3).collect()
        spark.sparkContext.setLocalProperty("spark.jobGroup.id", None)  # type: ignore[arg-type]
        os.chdir(place / "fleet")
        assert run(["fleet", "audit", "ingest"], {}) == 0
        taken = {name: spark.sparkContext.getConf().get(name) for name in SECRETS}
        pages = {
            each: rest(spark, each)
            for each in ("environment", "jobs", "stages", "sql?details=true&planDescription=true")
        }
        return {"taken": taken, "seen": {**pages, "commands": commands_of_java()}}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the folder of a fleet, and of the events of two Sparks that work on it."""
    found = tmp_path_factory.mktemp("jobs")
    shutil.copytree(EXAMPLE, found / "fleet")
    return found


@pytest.fixture(scope="module")
def looked(place: Path) -> dict[str, Any]:
    """Look around in a process of its own: one has one Spark, and the other tests have theirs."""
    command = [sys.executable, "-m", "tests.fleet.test_fleet_jobs", str(place)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert ran.returncode == 0, ran.stderr
    found: dict[str, Any] = json.loads(ran.stdout.splitlines()[-1])
    return found


def test_jobs_have_the_name_of_the_command_and_of_their_work(
    place: Path, looked: dict[str, Any]
) -> None:
    assert looked
    logs = (place / "events", place / "events-of-a-command")
    conf = {**FAST_SETTINGS, **SECRETS, **event_log_settings(logs[1])}
    took = kplan(place / "fleet", "fleet", "snapshot", "-run=one", *as_options(conf))
    assert took.code == 0, took.err
    ours, names = map(job_names, logs)
    assert {group for group, _ in names} == {"kplan fleet snapshot"}
    assert {group for group, _ in ours} == {"kplan fleet inventory", "kplan fleet audit ingest"}
    texts = {text for _, text in ours | names}
    assert "kplan fleet snapshot: store run one" in texts
    assert "kplan fleet audit ingest: list logs" in texts
    assert any(
        each.startswith("kplan fleet audit ingest: read ") and each.endswith("of cluster prod-eu")
        for each in texts
    ), texts
    for folder in logs:
        told = "".join(map(json.dumps, events(folder)))
        assert "s3a.secret.key" in told
        assert not [each for each in MARKS if each in told]


def test_credentials_are_in_no_page_plan_or_command_line(looked: dict[str, Any]) -> None:
    seen = looked["seen"]
    assert looked["taken"] == SECRETS  # they have arrived all the same
    assert "kplan fleet inventory: show table inventory" in seen["jobs"]
    assert "s3a.secret.key" in seen["environment"]
    for name, text in seen.items():
        assert not [each for each in MARKS if each in text], name


if __name__ == "__main__":
    sys.stdout.write(json.dumps(look_around(Path(sys.argv[1]))) + "\n")
