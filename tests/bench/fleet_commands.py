"""What each fleet command takes on a fleet of a million objects, as its user runs it.

    python -m tests.bench.fleet_commands [--clusters 100] [--topics 5000] [--acls 5000]
        [--lines 2000000] [--only recommend,report] [--keep DIR]

Each command is a process of its own with the default heap: it starts Spark, reads the store and
prints its tables. `--keep` names a folder that is made once and used again. Beside the seconds are
the CPU seconds of all its processes, and the most memory that Java held.
"""

import argparse
import json
import os
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

from tests.bench.fleet import below, ticks

TEAMS, PRINCIPALS, DAYS, USED = 500, 2_000, 30, 4
_SAMPLE_S = 0.1
_KPLAN = str(Path(sys.executable).with_name("kplan"))
_MAKING = {
    "snapshot": ("snapshot", "-run=b"),
    "audit ingest": ("audit", "ingest"),
}
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
    asked.add_argument("--lines", type=int, default=2_000_000)
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
        f'cluster "c{n}" {{\n  snapshot = "snapshots/c{n}.jsonl"\n  audit = ["logs/c{n}.log"]\n}}\n'
        for n in range(fleet.clusters)
    ]
    (folder / "fleet.hcl").write_text('store {\n  path = "tables"\n}\n' + "\n".join(blocks))
    _write_logs(folder / "logs", fleet)
    _write_snapshots(folder / "snapshots", fleet, 1)
    _run(folder, "snapshot (the first)", ("snapshot", "-run=a"))
    _write_snapshots(folder / "snapshots", fleet, 0)
    for name, arguments in _MAKING.items():
        _run(folder, name, arguments)
    shutil.rmtree(folder / "logs")


def _run(folder: Path, name: str, arguments: Sequence[str]) -> None:
    """Run a command, and print what it took."""
    began = time.monotonic()
    log = folder / "said.txt"
    with log.open("w") as out:
        command = [_KPLAN, "fleet", *arguments]
        process = subprocess.Popen(command, cwd=folder, stdout=out, stderr=subprocess.STDOUT)
        cpu: dict[int, float] = {}
        most_kb: dict[int, int] = {}
        while process.poll() is None:
            for pid in (process.pid, *below(process.pid)):
                cpu[pid] = max(cpu.get(pid, 0.0), ticks(pid) / os.sysconf("SC_CLK_TCK"))
                most_kb[pid] = max(most_kb.get(pid, 0), _most_kb(pid))
            time.sleep(_SAMPLE_S)
    wall = time.monotonic() - began
    # A process that ended is in what its parent waited for, so the first one has seen it all.
    spent = max(cpu.values(), default=0.0)
    most = max(most_kb.values(), default=0) >> 10
    print(
        f"{name:<22}{wall:6.1f} s ({spent:6.1f} s CPU), Java {most:5,} MB, "
        f"exit {process.returncode}",
        flush=True,
    )
    if process.returncode not in (0, 2, 3):
        print(log.read_text()[-2_000:], flush=True)


def _most_kb(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
        is_java = Path(f"/proc/{pid}/comm").read_text().strip() == "java"
    except OSError:  # it has ended
        return 0
    found = (int(each.split()[1]) for each in lines if each.startswith("VmHWM"))
    return next(found, 0) if is_java else 0


# ---- what is made


def _write_snapshots(folder: Path, fleet: Fleet, age_days: int) -> None:
    """Write one file per cluster; a thousandth of the topics differs from the day before."""
    folder.mkdir(exist_ok=True)
    taken_at = (datetime.now(UTC) - timedelta(days=age_days)).isoformat(timespec="seconds")
    objects = [*_topics(fleet, age_days), *_acls(fleet)]
    rows = [json.dumps(each) for each in objects]
    count = len(rows) + 1
    for n in range(fleet.clusters):
        with (folder / f"c{n}.jsonl").open("w") as out:
            head = {"kind": "kplan snapshot", "format": 1, "kplan_version": "0.1.0", "rows": count}
            out.write(json.dumps(head) + "\n")
            out.write(json.dumps(_cluster(f"c{n}", taken_at)) + "\n")
            out.writelines(f'["c{n}", {row[1:]}\n' for row in rows)
            out.write(json.dumps({"end": count}) + "\n")


def _cluster(name: str, taken_at: str) -> list[object]:
    kinds = '["kafka_acl","kafka_broker_config","kafka_quota","kafka_topic"]'
    brokers = json.dumps([[n, "127.0.0.1", 9091 + n, ""] for n in (1, 2, 3)])
    attributes = {
        "allow_everyone": "false",
        "brokers": brokers,
        "cluster_id": f"{name}-id",
        "kinds": kinds,
        "principal": "User:kplan",
        "super_users": "[]",
        "taken_at": taken_at,
    }
    return [name, "cluster", f"{name}-id", "", None, attributes]


def _topics(fleet: Fleet, age_days: int) -> Iterator[list[object]]:
    placed = [[1, 2, 3], [2, 3, 1], [3, 1, 2]]
    for n in range(fleet.topics):
        name = _topic(n)
        retention = "1000" if n % 1000 < age_days else "86400000"
        value = {
            "config": {"retention.ms": retention},
            "name": name,
            "partitions": 3,
            "replica_assignment": placed,
            "replication_factor": 3,
        }
        attributes = {
            "config.retention.ms": retention,
            "name": name,
            "partitions": "3",
            "replica_assignment": json.dumps(placed, separators=(",", ":")),
            "replication_factor": "3",
        }
        text = json.dumps(value, separators=(",", ":"), sort_keys=True)
        yield ["kafka_topic", name, f"uid{n:019}", text, attributes]


def _acls(fleet: Fleet) -> Iterator[list[object]]:
    """Make ACLs: a third is for a prefix, a fiftieth denies, a half is of what is used."""
    for n in range(fleet.acls):
        topic = n % fleet.topics
        is_prefix = n % 3 == 0
        name = f"team{topic % TEAMS}.topic." if is_prefix else _topic(topic)
        value = {
            "acl_host": "*",
            "acl_operation": "Read" if n % 2 == 0 else "Write",
            "acl_permission_type": "Deny" if n % 50 == 49 else "Allow",
            "acl_principal": f"User:{_principal(topic)}",
            "resource_name": name,
            "resource_pattern_type_filter": "Prefixed" if is_prefix else "Literal",
            "resource_type": "Topic",
        }
        identity = "|".join(
            (
                value["acl_principal"],
                value["acl_host"],
                value["acl_operation"],
                value["acl_permission_type"],
                value["resource_type"],
                value["resource_name"],
                value["resource_pattern_type_filter"],
            )
        )
        text = json.dumps(value, separators=(",", ":"), sort_keys=True)
        yield ["kafka_acl", identity, "", text, value]


def _write_logs(folder: Path, fleet: Fleet) -> None:
    """Write one log per cluster: what a half of the ACLs allows was done, evenly over the days."""
    folder.mkdir(exist_ok=True)
    end = datetime.now(UTC).replace(microsecond=0)
    step = timedelta(days=DAYS) / max(fleet.lines, 1)
    for n in range(fleet.clusters):
        at = end - timedelta(days=DAYS)
        with (folder / f"c{n}.log").open("w") as out:
            for line in range(fleet.lines):
                at += step
                topic = line * 7 % fleet.topics
                is_read = topic % USED < USED // 2
                out.write(
                    f"[{at:%Y-%m-%d %H:%M:%S},000] INFO Principal = User:{_principal(topic)} is "
                    f"{'Denied' if topic % 97 == 0 else 'Allowed'} operation = "
                    f"{'READ' if is_read else 'WRITE'} from host = 10.0.{topic % 250}.7 on "
                    f"resource = Topic:LITERAL:{_topic(topic)} for request = "
                    f"{'FETCH' if is_read else 'PRODUCE'} with resourceRefCount = 1 based on rule "
                    "MatchingAcl(acl=StandardAcl(...)) (kafka.authorizer.logger)\n"
                )


def _topic(number: int) -> str:
    return f"team{number % TEAMS}.topic.{number}"


def _principal(topic: int) -> int:
    return topic * 7919 % PRINCIPALS


if __name__ == "__main__":
    main()
