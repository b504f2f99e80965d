"""`python -m tests.soak.ingest`: what reading logs survives, as a table.

Every line is a way of reading authorizer logs that is killed at random moments while logs grow, are
rotated and packed, and records come into a topic. In the end one ingest runs undisturbed; then the
sums in the tables are compared with what was written: no line may be lost or counted twice.
"""

import csv
import random
import shutil
import subprocess
import sys
import time
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp

from confluent_kafka import Producer

from kplan.cluster.request import NewTopic
from kplan.kafka.cluster import open_cluster
from kplan.sandbox.layout import SandboxSpec
from kplan.sandbox.lifecycle import temporary_sandbox
from kplan.sandbox.sandbox import Sandbox
from tests.contract.clusters import settings_of
from tests.e2e.commands import KPLAN, environ, start
from tests.fleet.audit_writer import FLEET, FLEET_OF_TOPIC, AuditTraffic, AuditWriter
from tests.fleet.connect_server import FAST_SETTINGS, as_options
from tests.fleet.kafka_connector import connector

TOPIC = "audit"
INGEST = ("fleet", "audit", "ingest")
FOLLOW = (*INGEST, "-follow", "-interval=1s")
LONGEST_RUN_S = 900
STEPS_IN_A_RUN = 30
"""How often logs grow while one ingest runs."""
READERS: Mapping[str, tuple[str, Sequence[Sequence[str]]]] = {
    "batch": ("batch ingest", (INGEST,)),
    "stream": ("stream of files and a topic", (FOLLOW,)),
    "both": ("stream and batch ingest in turns", (FOLLOW, INGEST)),
}


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the table."""

    reader: str
    kills: int
    written: int
    lost: int
    doubled: int
    took_s: float

    def __str__(self) -> str:
        """Write it."""
        return (
            f"{self.reader:<42}{self.kills:>6}{self.written:>10,}{self.lost:>7}{self.doubled:>9}"
            f"{self.took_s:>9.0f}"
        )


def killed(reader: str, commands: Sequence[Sequence[str]], kills: int, seed: int) -> Line:
    """Kill a reader so many times; `commands` take turns."""
    chance, begun = random.Random(seed), time.monotonic()
    folder = Path(mkdtemp(prefix="kplan-ingest-"))
    conf = as_options({**FAST_SETTINGS, **connector()})
    with temporary_sandbox(SandboxSpec()) as sandbox:
        writer = prepare(folder, sandbox, chance)
        measured = time.monotonic()
        complete(folder, conf)
        whole_s = time.monotonic() - measured
        with AuditTraffic(writer, whole_s / STEPS_IN_A_RUN):
            done = 0
            while done < kills:
                command = commands[done % len(commands)]
                moment_s = chance.uniform(0.2, 1.2 if command is INGEST else 2.5) * whole_s
                done += kill(start(folder, *command, *conf, stdout=subprocess.DEVNULL), moment_s)
                print(f"{reader}: kill {done} of {kills}", file=sys.stderr, flush=True)
        complete(folder, conf)
        found = stored(folder, conf)
    lost = (writer.written - found).total()
    doubled = (found - writer.written).total()
    if lost or doubled:
        print(f"{reader}: see {folder}", file=sys.stderr, flush=True)
    else:
        shutil.rmtree(folder, ignore_errors=True)
    took_s = time.monotonic() - begun
    return Line(reader, kills, writer.written.total(), lost, doubled, took_s)


def prepare(folder: Path, sandbox: Sandbox, chance: random.Random) -> AuditWriter:
    """Write a fleet file, and the first lines of its logs and topic."""
    (folder / "logs").mkdir()
    servers = sandbox.bootstrap_servers
    with closing(open_cluster(settings_of(sandbox, "anonymous"))) as cluster:
        assert cluster.create_topics([NewTopic(TOPIC, 3, 1)]) == {TOPIC: None}
    text = (FLEET + FLEET_OF_TOPIC).format(servers=servers, topic=TOPIC)
    (folder / "fleet.hcl").write_text(text, encoding="utf-8")
    producer = Producer({"bootstrap.servers": servers})
    writer = AuditWriter(folder / "logs", chance, producer, TOPIC)
    writer.step()
    writer.flush()
    return writer


def kill(process: "subprocess.Popen[str]", moment_s: float) -> bool:
    """Kill a process at a moment; False where it had ended before.

    Such an ingest may have failed to read a file that was renamed meanwhile, and says so.
    """
    try:
        _, told = process.communicate(timeout=moment_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return True
    assert process.returncode in {0, 1}, told
    assert "Traceback" not in told, told
    return False


def complete(folder: Path, conf: Sequence[str], *more: str) -> None:
    """Ingest without a disturbance."""
    done = subprocess.run(
        [*KPLAN, *INGEST, *conf, *more],
        cwd=folder,
        env=environ(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        timeout=LONGEST_RUN_S,
    )
    assert done.returncode == 0, done.stderr


def stored(folder: Path, conf: Sequence[str]) -> Counter[tuple[str, str]]:
    """Ingest once more, which finds nothing new, and count what is stored."""
    complete(folder, conf, "-output=rows.csv")
    found = Counter[tuple[str, str]]()
    for part in (folder / "rows.csv").glob("part-*"):
        with part.open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                found[row["cluster"], row["resource_name"]] += int(row["count"])
    return found


def main() -> None:
    """Kill what is asked for and print the table."""
    parser = ArgumentParser(prog="python -m tests.soak.ingest")
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--readers", nargs="+", choices=READERS, default=list(READERS))
    parser.add_argument("--seed", type=int, default=int(time.time()))
    asked = parser.parse_args()
    print(f"seed {asked.seed}")
    head = f"{'reader':<42}{'kills':>6}{'written':>10}{'lost':>7}{'doubled':>9}{'seconds':>9}"
    print(head, flush=True)
    is_bad = False
    for each in asked.readers:
        reader, commands = READERS[each]
        line = killed(reader, commands, asked.kills, asked.seed)
        is_bad |= bool(line.lost or line.doubled)
        print(line, flush=True)
    raise SystemExit(is_bad)


if __name__ == "__main__":
    main()
