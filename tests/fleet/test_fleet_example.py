"""`examples/fleet`, from files and with real clusters; in CI on two sorts of Spark."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.commands import environ, kplan
from tests.fleet.spark_target import SparkTarget

pytestmark = [pytest.mark.spark, pytest.mark.broker]

EXAMPLE = Path(__file__).parents[2] / "examples" / "fleet"


def test_files_are_read_as_the_readme_says(at_work: SparkTarget, tmp_path: Path) -> None:
    folder = tmp_path / "fleet"
    shutil.copytree(EXAMPLE, folder)
    taken = kplan(folder, "fleet", "snapshot", *at_work.options, env={})
    assert taken.code == 0, taken
    assert "prod-eu" in taken.out
    assert list((folder / "tables" / "runs").glob("attempt=*"))


@pytest.mark.timeout(900)
def test_three_real_clusters_are_read_drift_are_audited_and_replayed(
    for_commands: SparkTarget, tmp_path: Path
) -> None:
    """Issue 6, real input: every step checks its exit code, and clients are real.

    The broker itself writes the authorizer's log.
    """
    folder = tmp_path / "live"
    played = subprocess.run(
        [sys.executable, EXAMPLE / "run.py", folder, *for_commands.options],
        env=environ({}),
        capture_output=True,
        text=True,
        check=False,
    )
    assert played.returncode == 0, f"{played.stdout[-3000:]}\n{played.stderr[-3000:]}"
    told = played.stdout
    assert "bob writes to shop.orders: KafkaError{code=TOPIC_AUTHORIZATION_FAILED" in told
    drifted = r"shop +drift +update +kafka_topic +kafka_topic\.orders +shop\.orders"
    assert re.search(drifted, after(told, "fleet drift\n"))
    since = r"shop +kafka_topic +shop\.orders +changed +config\.retention\.ms: 604800000 -> 3600000"
    assert re.search(since, after(told, "fleet drift -since=morning"))
    assert re.search(r"stock +shadowed +User:CN=alice.*levels", after(told, "fleet lint"))
    used = after(told, "fleet audit usage")
    assert re.search(r"shop +User:alice +TOPIC +shop\.orders +DESCRIBE, READ, WRITE", used)
    assert "User:bob" not in used
    replayed = after(told, "fleet replay")
    denied = re.findall(r"^ +denied +shop +(\S+) +\S+ +(\w+) +TOPIC +(\S+)", replayed, re.MULTILINE)
    assert set(denied) == {("User:alice", "READ", "shop.orders")}

    review = (folder / "review" / "shop.unused.tf").read_text(encoding="utf-8")
    assert "from = kafka_topic.exports" in review
    assert "from = kafka_acl.exporter" in review
    page = (folder / "fleet.html").read_text(encoding="utf-8")
    assert "<svg" in page
    assert "1 drifted object" in page
    assert "http://" not in page.replace("http://www.w3.org", "")


def after(told: str, command: str) -> str:
    """Give what a command answered."""
    return told.partition(f"$ kplan {command}")[2].partition("\n$ ")[0]
