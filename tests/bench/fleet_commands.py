"""What each fleet command takes on a fleet of a million objects, as its user runs it.

    python -m tests.bench.fleet_commands [--clusters 100] [--topics 5000] [--acls 5000]
        [--lines 1000000] [--runs-a-day 1] [--only recommend,report] [--keep DIR]

Each command is a process of its own with the default heap: it starts Spark, reads the store and
prints its tables. Every cluster has a configuration and a state of its own with all its objects.
There are runs of today and of each of the DAYS before, and logs of the same days. What clusters
have changes every STEP_DAYS: kplan takes a run of that, and those of the other days are the same
files under other names and times. `--keep` names a folder that is made once and used again. Beside
the seconds are the CPU seconds of all its processes, and the most memory that one of them held.
"""

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from kplan.config.inputs import Inputs
from kplan.config.load import load_configuration
from kplan.fleet.snapshot import USE, Row, snapshot_rows, write_snapshot
from kplan.kinds import KINDS
from kplan.kinds.acl import Acl, AclKind
from kplan.kinds.base import ResourceKind
from kplan.kinds.topic import TopicKind
from kplan.kinds.topic_rules import Topic
from kplan.model.address import Address
from kplan.model.plan import Action, Change, Plan, PlanBasis
from kplan.model.resource import Identity
from kplan.model.state import Broker, KindSnapshot, LiveObject, OwnedObject, Snapshot, State
from kplan.state.file import write_state
from kplan.state.plan_file import plan_metadata, write_plan
from tests.bench.fleet import Took, below, most_mb
from tests.bench.fleet_made import PRINCIPALS, TEAMS

DAYS, STEP_DAYS = 40, 10
"""Days before today with runs and logs, and after how many of them clusters have changed."""
YOUNG_DAYS = 20
"""Days ago on which a twentieth of the ACLs was created: they are younger than the window."""
NEW_DAYS = 1
"""Days with principals, hosts and denials that the logs of the days before have not."""
_SAMPLE_S = 0.1
_KPLAN = str(Path(sys.executable).with_name("kplan"))
_SNAPSHOT = "snapshot.jsonl"
"""What every cluster has."""
_CLUSTER_ID = "cluster-id"
_COMMANDS: dict[str, Sequence[str]] = {
    "inventory": ("inventory",),
    "history": ("history", "team0.topic.0"),
    "drift -since": ("drift", "-since=day-1"),
    "plan": ("plan",),
    "drift": ("drift",),
    "lint": ("lint",),
    "access": ("access", "of", "User:7"),
    "audit usage": ("audit", "usage"),
    "replay": ("replay", "saved.kplan"),
    "recommend": ("recommend",),
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
    runs_a_day: int = 1


def main() -> None:
    """Make the fleet, run the commands, and print."""
    asked = argparse.ArgumentParser(description=__doc__)
    for name, count in (("clusters", 100), ("topics", 5_000), ("acls", 5_000)):
        asked.add_argument(f"--{name}", type=int, default=count)
    asked.add_argument("--lines", type=int, default=1_000_000)
    asked.add_argument("--runs-a-day", type=int, default=1)
    asked.add_argument("--only", default="")
    asked.add_argument("--keep", default="")
    given = asked.parse_args()
    lines = given.lines // given.clusters
    fleet = Fleet(given.clusters, given.topics, given.acls, lines, given.runs_a_day)
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
        f'cluster "c{n}" {{\n  snapshot = "{_SNAPSHOT}"\n  audit = ["logs/c{n}.log"]\n'
        f'  configuration = "clusters/c{n}"\n  allow_everyone = false\n}}\n'
        for n in range(fleet.clusters)
    ]
    (folder / "fleet.hcl").write_text('store {\n  path = "tables"\n}\n' + "\n".join(blocks))
    _write_configurations(folder, fleet)
    _write_plan(folder / "saved.kplan", fleet)
    for age_days in (*range(DAYS, 0, -STEP_DAYS), 0):
        _write_snapshot(folder, fleet, age_days)
        _run(folder, f"snapshot, {age_days} days ago", ("snapshot", f"-run=day-{age_days}"))
        if age_days:
            _repeat_run(folder / "tables", age_days, fleet.runs_a_day)
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
    print(f"{name:<24}{took}, {most:5,} MB, exit {process.returncode}", flush=True)
    if process.returncode not in (0, 2, 3):
        print(log.read_text()[-2_000:], flush=True)


def _children_cpu() -> float:
    """Return the CPU seconds of all processes that this one, and those below it, waited for."""
    found = resource.getrusage(resource.RUSAGE_CHILDREN)
    return found.ru_utime + found.ru_stime


# ---- what is made


def _write_configurations(folder: Path, fleet: Fleet) -> None:
    """Declare and own all that a cluster has; of a hundredth of its topics another retention."""
    one = folder / "clusters" / "c0"
    one.mkdir(parents=True)
    text = _CONFIGURATION.replace("TOPICS", str(fleet.topics)).replace("ACLS", str(fleet.acls))
    (one / "main.tf").write_text(text.replace("TEAMS", str(TEAMS)))
    declared = load_configuration(one, Inputs(), KINDS).resources
    assert {each.identity for each in declared if each.address.kind == "kafka_acl"} == {
        AclKind().identify(each) for each in _acls(fleet)
    }
    owned = {
        each.address: OwnedObject(each.address, each.identity, each.value) for each in declared
    }
    (one / "state").mkdir()
    write_state(one / "state/kplan.json", State("bench", 1, _CLUSTER_ID, owned=owned))
    for n in range(1, fleet.clusters):
        shutil.copytree(one, folder / "clusters" / f"c{n}")


_CONFIGURATION = """\
resource "kafka_topic" "all" {
  count              = TOPICS
  name               = "team${count.index % TEAMS}.topic.${count.index}"
  partitions         = 3
  replication_factor = 3
  config             = { "retention.ms" = count.index % 100 == 99 ? "1000" : "86400000" }
}

resource "kafka_acl" "all" {
  count                        = ACLS
  resource_type                = "Topic"
  resource_pattern_type_filter = count.index % 3 == 0 ? "Prefixed" : "Literal"
  resource_name = join(".", [
    "team${count.index % TOPICS % TEAMS}.topic",
    count.index % 3 == 0 ? "" : count.index % TOPICS
  ])
  acl_principal       = "User:${count.index % TOPICS * 7919 % PRINCIPALS}"
  acl_host            = "*"
  acl_operation       = count.index % 2 == 0 ? "Read" : "Write"
  acl_permission_type = count.index % 50 == 49 ? "Deny" : "Allow"
}
""".replace("PRINCIPALS", str(PRINCIPALS))


def _write_plan(file: Path, fleet: Fleet) -> None:
    """Save a plan, for all clusters, that deletes a hundredth of the ACLs."""
    kind = AclKind()
    changes = tuple(
        Change(
            Address(kind.name, "all", n), kind.name, kind.identify(each), Action.DELETE, each, None
        )
        for n, each in enumerate(_acls(fleet))
        if n % 100 == 0
    )
    plan = Plan(PlanBasis("", "", 0, _CLUSTER_ID), changes, ())
    write_plan(file, plan, plan_metadata(plan, expires_at="", nonce="1"))


def _write_snapshot(folder: Path, fleet: Fleet, age_days: int) -> None:
    """Write what each cluster had so many days ago, with the use of its topics."""
    objects: list[tuple[ResourceKind, Topic | Acl]] = [
        *((TopicKind(), each) for each in _topics(fleet, age_days)),
        *((AclKind(), each) for each in _acls(fleet, age_days)),
    ]
    readings: dict[str, dict[Identity, LiveObject]] = {}
    for kind, each in objects:
        readings.setdefault(kind.name, {})[kind.identify(each)] = LiveObject(each, "")
    at = datetime.now(UTC) - timedelta(days=age_days)
    snapshot = Snapshot(
        _CLUSTER_ID,
        (Broker(1, "127.0.0.1", 9092, ""),),
        {name: KindSnapshot(found) for name, found in readings.items()},
        taken_at=at.isoformat(timespec="seconds"),
    )
    use = (
        Row("cluster", USE, each.name, attributes={"bytes": str((DAYS - age_days + n) << 20)})
        for n, each in enumerate(_topics(fleet, age_days))
    )
    rows = (*snapshot_rows("cluster", snapshot, {}), *use)
    write_snapshot(folder / _SNAPSHOT, rows)


def _repeat_run(tables: Path, age_days: int, runs_a_day: int) -> None:
    """Store the last run as that of its day, and again for the days until clusters change.

    Each is an attempt of its own, whose files are links to those of the first.
    """
    lines = {each.parent: json.loads(each.read_text()) for each in tables.glob("runs/*/*.json")}
    ((first, line),) = (each for each in lines.items() if each[1]["run"] == f"day-{age_days}")
    today = datetime.now(UTC)
    for day in range(age_days, age_days - STEP_DAYS, -1):
        for number in range(runs_a_day):
            name = f"day-{day}" + (f"-{number}" if number else "")
            at = today - timedelta(days=day, hours=number * 24 / runs_a_day)
            attempt = f"attempt={uuid.uuid4().hex}"
            copied = tables / "objects" / attempt
            shutil.copytree(tables / "objects" / first.name, copied, copy_function=os.link)
            (tables / "runs" / attempt).mkdir()
            changed = {**line, "run": name, "at": at.isoformat(timespec="seconds")}
            (tables / "runs" / attempt / "part-0.json").write_text(json.dumps(changed))
    for part in ("runs", "objects"):
        shutil.rmtree(tables / part / first.name)


def _topics(fleet: Fleet, age_days: int) -> Iterator[Topic]:
    """Make topics: of each day back a thousandth is not there, and one had another retention."""
    placed = ((1, 2, 3), (2, 3, 1), (3, 1, 2))
    for n in range(fleet.topics):
        if n % 1000 < 1000 - age_days:
            retention = "1000" if n % 1000 < age_days else "86400000"
            yield Topic(_topic(n), 3, 3, placed, config={"retention.ms": retention})


def _acls(fleet: Fleet, age_days: int = 0) -> Iterator[Acl]:
    """Make ACLs: a third is for a prefix, a fiftieth denies, a half is of what is used."""
    for n in range(fleet.acls):
        topic = n % fleet.topics
        is_prefix = n % 3 == 0
        if age_days > YOUNG_DAYS and n % 20 == 7:
            continue
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
    """Make the lines of the log of one cluster, evenly over the days.

    A half is the same on each day, the other half goes through all topics.
    """
    step = timedelta(days=DAYS) / max(fleet.lines, 1)
    begin = datetime.now(UTC).replace(microsecond=0) - timedelta(days=DAYS)
    daily = max(fleet.lines // DAYS // 2, 1)
    for line in range(fleet.lines):
        at = begin + line * step
        is_daily = line % 2 == 0
        topic = (line // 2 % daily if is_daily else line // 2 * 7) % fleet.topics
        operation, request = ("READ", "FETCH") if topic % 4 < 2 else ("WRITE", "PRODUCE")
        who, host, is_denied = f"User:{_principal(topic)}", f"10.0.{topic % 250}.7", topic % 97 == 0
        if at >= begin + timedelta(days=DAYS - NEW_DAYS) and is_daily and topic % 5 == 0:
            who, host, is_denied = {
                0: (f"User:new-{topic}", host, is_denied),
                1: (who, "10.1.0.1", is_denied),
                2: (f"User:{_principal(0)}", host, True),
            }[topic // 5 % 3]
        yield (
            f"[{at:%Y-%m-%d %H:%M:%S},000] INFO Principal = {who} is "
            f"{'Denied' if is_denied else 'Allowed'} operation = {operation} from host = "
            f"{host} on resource = Topic:LITERAL:{_topic(topic)} for request = "
            f"{request} with resourceRefCount = 1 based on rule "
            "MatchingAcl(acl=StandardAcl(...)) (kafka.authorizer.logger)\n"
        )


def _topic(number: int) -> str:
    return f"team{number % TEAMS}.topic.{number}"


def _principal(topic: int) -> int:
    return topic * 7919 % PRINCIPALS


if __name__ == "__main__":
    main()
