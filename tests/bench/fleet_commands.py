"""What each fleet command takes on a fleet of a million objects, as its user runs it.

    python -m tests.bench.fleet_commands [--clusters 100] [--topics 5000] [--acls 5000]
        [--lines 1000000] [--only recommend,report] [--keep DIR]

Each command is a process of its own with the default heap: it starts Spark, reads the store and
prints its tables. `--keep` names a folder that is made once and used again. Beside the seconds are
the CPU seconds of all its processes, and the most memory that one of them held.
"""

import argparse
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from kplan.fleet.snapshot import snapshot_rows, write_snapshot
from kplan.kinds.acl import Acl, AclKind
from kplan.kinds.base import ResourceKind
from kplan.kinds.topic import TopicKind
from kplan.kinds.topic_rules import Topic
from kplan.model.resource import Identity
from kplan.model.state import Broker, KindSnapshot, LiveObject, Snapshot
from tests.bench.fleet import Took, below, most_mb
from tests.bench.fleet_made import PRINCIPALS, TEAMS

DAYS = 30
_SAMPLE_S = 0.1
_KPLAN = str(Path(sys.executable).with_name("kplan"))
_SNAPSHOT = "snapshot.jsonl"
"""What every cluster has."""
_COMMANDS: dict[str, Sequence[str]] = {
    "inventory": ("inventory",),
    "history": ("history", "team0.topic.0"),
    "drift -since": ("drift", "-since=a"),
    "lint": ("lint",),
    "access": ("access", "of", "User:7"),
    "audit usage": ("audit", "usage"),
    "recommend": ("recommend", f"-window={(DAYS - 2) * 24}h"),
    "costs": ("costs",),
    "trends": ("trends",),
    "anomalies": ("anomalies",),
    "report": ("report", "-html=fleet.html"),
}


@dataclass(frozen=True, slots=True)
class Fleet:
    """How many clusters, and of what in each of them."""

    clusters: int
    topics: int
    acls: int
    lines: int


def main() -> None:
    """Make the fleet, run the commands, and print."""
    asked = argparse.ArgumentParser(description=__doc__)
    for name, count in (("clusters", 100), ("topics", 5_000), ("acls", 5_000)):
        asked.add_argument(f"--{name}", type=int, default=count)
    asked.add_argument("--lines", type=int, default=1_000_000)
    asked.add_argument("--only", default="")
    asked.add_argument("--keep", default="")
    given = asked.parse_args()
    fleet = Fleet(given.clusters, given.topics, given.acls, given.lines // given.clusters)
    chosen = given.only.split(",") if given.only else list(_COMMANDS)
    with _folder(given.keep) as folder:
        if not (folder / "tables").exists():
            _make(folder, fleet)
        for name in chosen:
            _run(folder, name, _COMMANDS[name])


@contextmanager
def _folder(kept: str) -> Iterator[Path]:
    if kept:
        Path(kept).mkdir(parents=True, exist_ok=True)
        yield Path(kept)
        return
    with tempfile.TemporaryDirectory(prefix="kplan-bench-") as scratch:
        yield Path(scratch)


def _make(folder: Path, fleet: Fleet) -> None:
    blocks = [
        f'cluster "c{n}" {{\n  snapshot = "{_SNAPSHOT}"\n  audit = ["logs/c{n}.log"]\n}}\n'
        for n in range(fleet.clusters)
    ]
    (folder / "fleet.hcl").write_text('store {\n  path = "tables"\n}\n' + "\n".join(blocks))
    _write_snapshot(folder, fleet, 1)
    _run(folder, "snapshot (the first)", ("snapshot", "-run=a"))
    _write_snapshot(folder, fleet, 0)
    _run(folder, "snapshot", ("snapshot", "-run=b"))
    (folder / "logs").mkdir(exist_ok=True)
    text = "".join(_log_lines(fleet))
    for n in range(fleet.clusters):
        (folder / f"logs/c{n}.log").write_text(text)
    _run(folder, "audit ingest", ("audit", "ingest"))
    shutil.rmtree(folder / "logs")


def _run(folder: Path, name: str, arguments: Sequence[str]) -> None:
    """Run a command, and print what it took."""
    began, before = time.monotonic(), _children_cpu()
    log, most = folder / "said.txt", 0
    with log.open("w") as out:
        command = [_KPLAN, "fleet", *arguments]
        process = subprocess.Popen(command, cwd=folder, stdout=out, stderr=subprocess.STDOUT)
        while process.poll() is None:
            most = max(most, *map(most_mb, (process.pid, *below(process.pid))))
            time.sleep(_SAMPLE_S)
    took = Took(time.monotonic() - began, _children_cpu() - before)
    print(f"{name:<22}{took}, {most:5,} MB, exit {process.returncode}", flush=True)
    if process.returncode not in (0, 2, 3):
        print(log.read_text()[-2_000:], flush=True)


def _children_cpu() -> float:
    """Return the CPU seconds of all processes that this one, and those below it, waited for."""
    found = resource.getrusage(resource.RUSAGE_CHILDREN)
    return found.ru_utime + found.ru_stime


# ---- what is made


def _write_snapshot(folder: Path, fleet: Fleet, age_days: int) -> None:
    """Write what each cluster has; a thousandth of the topics differs from the day before."""
    objects: list[tuple[ResourceKind, Topic | Acl]] = [
        *((TopicKind(), each) for each in _topics(fleet, age_days)),
        *((AclKind(), each) for each in _acls(fleet)),
    ]
    readings: dict[str, dict[Identity, LiveObject]] = {}
    for kind, each in objects:
        readings.setdefault(kind.name, {})[kind.identify(each)] = LiveObject(each, "")
    at = datetime.now(UTC) - timedelta(days=age_days)
    snapshot = Snapshot(
        "cluster-id",
        (Broker(1, "127.0.0.1", 9092, ""),),
        {name: KindSnapshot(found) for name, found in readings.items()},
        taken_at=at.isoformat(timespec="seconds"),
    )
    write_snapshot(folder / _SNAPSHOT, tuple(snapshot_rows("cluster", snapshot, {})))


def _topics(fleet: Fleet, age_days: int) -> Iterator[Topic]:
    placed = ((1, 2, 3), (2, 3, 1), (3, 1, 2))
    for n in range(fleet.topics):
        retention = "1000" if n % 1000 < age_days else "86400000"
        yield Topic(_topic(n), 3, 3, placed, config={"retention.ms": retention})


def _acls(fleet: Fleet) -> Iterator[Acl]:
    """Make ACLs: a third is for a prefix, a fiftieth denies, a half is of what is used."""
    for n in range(fleet.acls):
        topic = n % fleet.topics
        is_prefix = n % 3 == 0
        yield Acl(
            resource_name=f"team{topic % TEAMS}.topic." if is_prefix else _topic(topic),
            resource_type="Topic",
            resource_pattern_type_filter="Prefixed" if is_prefix else "Literal",
            acl_principal=f"User:{_principal(topic)}",
            acl_host="*",
            acl_operation="Read" if n % 2 == 0 else "Write",
            acl_permission_type="Deny" if n % 50 == 49 else "Allow",
        )


def _log_lines(fleet: Fleet) -> Iterator[str]:
    """Make the lines of the log of one cluster, evenly over the days."""
    step = timedelta(days=DAYS) / max(fleet.lines, 1)
    at = datetime.now(UTC).replace(microsecond=0) - timedelta(days=DAYS)
    for line in range(fleet.lines):
        at += step
        topic = line * 7 % fleet.topics
        operation, request = ("READ", "FETCH") if topic % 4 < 2 else ("WRITE", "PRODUCE")
        yield (
            f"[{at:%Y-%m-%d %H:%M:%S},000] INFO Principal = User:{_principal(topic)} is "
            f"{'Denied' if topic % 97 == 0 else 'Allowed'} operation = {operation} from host = "
            f"10.0.{topic % 250}.7 on resource = Topic:LITERAL:{_topic(topic)} for request = "
            f"{request} with resourceRefCount = 1 based on rule "
            "MatchingAcl(acl=StandardAcl(...)) (kafka.authorizer.logger)\n"
        )


def _topic(number: int) -> str:
    return f"team{number % TEAMS}.topic.{number}"


def _principal(topic: int) -> int:
    return topic * 7919 % PRINCIPALS


if __name__ == "__main__":
    main()
