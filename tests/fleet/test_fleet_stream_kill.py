"""A stream of files and of a topic is killed, and in the end each line counts once.

`python -m tests.soak.ingest` has many kills.
"""

import csv
import random
import re
import shutil
import signal
import subprocess
import time
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest
from confluent_kafka import Producer

from kplan.cluster.request import NewTopic
from kplan.kafka.cluster import open_cluster
from kplan.kafka.transaction import librdkafka_settings
from kplan.sandbox.sandbox import Sandbox
from tests.contract.clusters import settings_of
from tests.e2e.commands import KPLAN, environ, kplan
from tests.fleet.audit_writer import FILES, FLEET, FLEET_OF_TOPIC, TOPIC, AuditWriter
from tests.fleet.connect_server import FAST_SETTINGS, as_options
from tests.fleet.kafka_connector import connector
from tests.fleet.spark_target import SparkTarget

pytestmark = [pytest.mark.spark, pytest.mark.broker, pytest.mark.timeout(900)]

AUDIT = "stream.audit"
TIMEOUT_S = 400.0
FOLLOW = ("fleet", "audit", "ingest", "-follow", "-interval=1s")


@pytest.fixture
def writer(tmp_path: Path, open_broker: Sandbox) -> AuditWriter:
    """Write a fleet of a cluster with files and of one with a topic."""
    settings = settings_of(open_broker, "anonymous")
    with closing(open_cluster(settings)) as cluster:
        assert cluster.create_topics([NewTopic(AUDIT, 3, 1)]) == {AUDIT: None}
    text = (FLEET + FLEET_OF_TOPIC).format(servers=open_broker.bootstrap_servers, topic=AUDIT)
    (tmp_path / "fleet.hcl").write_text(text, encoding="utf-8")
    (tmp_path / "logs").mkdir()
    producer = Producer(librdkafka_settings(settings))
    return AuditWriter(tmp_path / "logs", random.Random(7), producer, AUDIT)


def counted(folder: Path, target: SparkTarget) -> Counter[tuple[str, str]]:
    """Ingest what is left, and count what is stored."""
    ran = kplan(folder, "fleet", "audit", "ingest", "-output=rows.csv", *target.options)
    assert ran.code == 0, ran
    found = Counter[tuple[str, str]]()
    for part in (folder / "rows.csv").glob("part-*"):
        with part.open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                found[row["cluster"], row["resource_name"]] += int(row["count"])
    return found


def followed(folder: Path, writer: AuditWriter, number: signal.Signals) -> str:
    """Follow logs that grow until a signal; returns what was shown."""
    for _ in range(5):
        writer.step()
    writer.flush()
    shown = folder / "shown"
    with shown.open("wb") as stderr:
        stream = subprocess.Popen(
            [*KPLAN, *FOLLOW, *as_options({**FAST_SETTINGS, **connector()})],
            cwd=folder,
            env=environ(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=stderr,
        )
    try:
        for source in (FILES, f"{TOPIC}: kafka://{AUDIT}"):
            await_text(shown, stream, f"Z {source}: [0-9,]+ lines? of ")
        writer.step()
        writer.flush()
        stream.send_signal(number)
        code = stream.wait(TIMEOUT_S)
    finally:
        stream.kill()
    assert code == (-number if number == signal.SIGKILL else 128 + number), shown.read_text()
    assert "Traceback" not in shown.read_text()
    return shown.read_text()


def await_text(file: Path, process: "subprocess.Popen[bytes]", pattern: str) -> None:
    """Wait until something is shown."""
    deadline = time.monotonic() + TIMEOUT_S
    while re.search(pattern, file.read_text()) is None:
        assert process.poll() is None, file.read_text()
        assert time.monotonic() < deadline, file.read_text()
        time.sleep(0.1)


def test_a_stream_that_is_killed_loses_and_doubles_nothing(
    tmp_path: Path, writer: AuditWriter, for_commands: SparkTarget
) -> None:
    """Also where the tables are older than its checkpoint, and together with an ingest."""
    followed(tmp_path, writer, signal.SIGKILL)
    shutil.rmtree(tmp_path / "fleet" / "logs")  # a copy of the tables has none of it yet
    shown = followed(tmp_path, writer, signal.SIGTERM)
    assert "Stopping after the batch at work" in shown
    assert counted(tmp_path, for_commands) == writer.written
    assert set(writer.written) > {(FILES, "t1"), (TOPIC, "t1")}
