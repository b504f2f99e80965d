"""`python -m tests.bench.blast`: what 100 deletes destroy, on three brokers with 500 groups.

The floor asks the same with confluent-kafka's AdminClient, as many calls at a time as it takes:
first, last and newest offsets, all groups, their offsets, and who is in the live ones. Sizes on
disk and producers it cannot ask for, so kplan does more.
"""

import os
import statistics
import tempfile
import time
from argparse import ArgumentParser
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from confluent_kafka import ConsumerGroupTopicPartitions, Producer, TopicPartition
from confluent_kafka.admin import (  # type: ignore[attr-defined] # no stubs
    AdminClient,
    OffsetSpec,
)

from kplan.cluster.port import Cluster
from kplan.config.inputs import Inputs
from kplan.config.load import Configuration
from kplan.kafka.cluster import open_cluster
from kplan.kafka.settings.resolver import resolve_settings
from kplan.sandbox.layout import SandboxSpec
from kplan.sandbox.lifecycle import temporary_sandbox
from kplan.workflow.apply.apply import ApplyHandlers, apply
from kplan.workflow.plan.plan import make_plan
from kplan.workflow.ports import PlanOptions, Ports, Project
from tests.bench.job import Stages, Wall

TOPICS, PARTITIONS, RECORDS, GROUPS, TOPICS_A_GROUP = 100, 3, 10, 500, 2
NAMES = [f"blast-{each:03}" for each in range(TOPICS)]
PARTS = [TopicPartition(name, number) for name in NAMES for number in range(PARTITIONS)]
STAGE = "Looking at what changes destroy"
BOUND_S = 2.0

CONFIGURATION = f"""
provider "kafka" {{}}
resource "kafka_topic" "t" {{
  for_each           = toset([for each in range({TOPICS}) : format("blast-%03d", each)])
  name               = each.key
  partitions         = {PARTITIONS}
  replication_factor = 3
}}
"""


def filled(bootstrap: str) -> None:
    """Write records to every partition, and have groups that have read some of them."""
    producer = Producer({"bootstrap.servers": bootstrap, "log_level": 0})
    for each in PARTS:
        for number in range(RECORDS):
            producer.produce(each.topic, f"value {number}", partition=each.partition)
    assert producer.flush(60) == 0
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    left = list(range(GROUPS))
    while left:  # coordinators are new, and some refuse at first
        left = [number for number in left if not is_committed(admin, number)]


def is_committed(admin: AdminClient, number: int) -> bool:
    """Commit the offsets of a group; whether all of it was taken."""
    asked = admin.alter_consumer_group_offsets([committed(number)], request_timeout=60)
    answers = [future.result() for future in asked.values()]
    return all(part.error is None for each in answers for part in each.topic_partitions)


def committed(number: int) -> ConsumerGroupTopicPartitions:
    """Say what a group has read: half of two topics."""
    names = [NAMES[(number + each * 7) % TOPICS] for each in range(TOPICS_A_GROUP)]
    parts = [
        TopicPartition(name, each, RECORDS // 2) for name in names for each in range(PARTITIONS)
    ]
    return ConsumerGroupTopicPartitions(f"group-{number:03}", parts)


def floor(bootstrap: str) -> float:
    """Ask with confluent-kafka; seconds."""
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    admin.list_topics(timeout=60)
    begun = time.monotonic()
    spec: Any = OffsetSpec
    wishes = [spec.earliest(), spec.latest(), spec.max_timestamp()]
    offsets = [
        admin.list_offsets(dict.fromkeys(PARTS, wish), request_timeout=60) for wish in wishes
    ]
    listed = admin.list_consumer_groups(request_timeout=60).result()
    assert not listed.errors, listed.errors
    names = [each.group_id for each in listed.valid]
    assert len(names) == GROUPS, len(names)
    held = [
        admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(name)], request_timeout=60)
        for name in names
    ]
    described = admin.describe_consumer_groups(names, request_timeout=60)
    answers: list[dict[Any, Any]] = [*offsets, *held, described]
    for futures in answers:
        for future in futures.values():
            future.result()
    return time.monotonic() - begun


def through_the_port(bootstrap: str) -> float:
    """Ask as kplan does; seconds."""
    cluster = _cluster({"KPLAN_BOOTSTRAP_SERVERS": bootstrap, "KPLAN_TLS_ENABLED": "false"})
    try:
        begun = time.monotonic()
        found = cluster.topic_use(NAMES)
        took = time.monotonic() - begun
    finally:
        cluster.close()
    assert not any(each.unread for each in found.values())
    uses = [each for used in found.values() for each in used.groups or ()]
    assert len(uses) == GROUPS * TOPICS_A_GROUP
    assert all(each.lag == PARTITIONS * RECORDS // 2 for each in uses)
    return took


def _cluster(environ: dict[str, str]) -> Cluster:
    resolved = resolve_settings(None, environ, folder=Path())
    assert resolved.settings is not None
    return open_cluster(resolved.settings)


def in_a_plan(project: Project, bootstrap: str) -> float:
    """Plan to delete everything; seconds from the first question to the end of the plan."""
    stages = Stages()
    made = make_plan(project, PlanOptions(is_destroy=True), _ports(bootstrap, stages)).plan
    took = stages.seconds(time.monotonic())[STAGE]
    told = [each.impact for each in made.changes if each.impact is not None]
    assert len(told) == TOPICS
    assert all(each.records == PARTITIONS * RECORDS for each in told)
    return took


def _ports(bootstrap: str, stages: Stages) -> Ports:
    environ = {**os.environ, "KPLAN_BOOTSTRAP_SERVERS": bootstrap, "KPLAN_TLS_ENABLED": "false"}

    def connect(_: Configuration, key: str) -> Cluster:
        del key
        return _cluster(environ)

    return Ports(connect, stages, Wall(), lambda: datetime.now(UTC), lambda: False)


def told(name: str, seconds: Sequence[float]) -> None:
    """Say the median, and all of them."""
    each = ", ".join(f"{one:.2f}" for one in seconds)
    print(f"  {name:<26} {statistics.median(seconds):5.2f} s   ({each})", flush=True)


def main() -> None:
    """Measure the three in turn."""
    parser = ArgumentParser(prog="python -m tests.bench.blast")
    parser.add_argument("--runs", type=int, default=5)
    runs = parser.parse_args().runs
    with (
        temporary_sandbox(SandboxSpec(brokers=3)) as sandbox,
        tempfile.TemporaryDirectory() as scratch,
    ):
        at, folder = sandbox.bootstrap_servers, Path(scratch)
        (folder / "main.tf").write_text(CONFIGURATION)
        project = Project(folder, folder / "state" / "kplan.json", Inputs())
        stages = Stages()
        apply(project, PlanOptions(), _ports(at, stages), ApplyHandlers(lambda _: True, stages))
        filled(at)
        jobs: dict[str, Callable[[], float]] = {
            "floor": lambda: floor(at),
            "kplan, the questions": lambda: through_the_port(at),
            "kplan, to the plan's end": lambda: in_a_plan(project, at),
        }
        found: dict[str, list[float]] = {name: [] for name in jobs}
        for _ in range(runs):
            for name, job in jobs.items():
                found[name].append(job())
    print(f"{TOPICS} deletes x {PARTITIONS} partitions, {GROUPS} groups, 3 brokers, {runs} runs")
    for name, seconds in found.items():
        told(name, seconds)
    own, theirs = found["kplan, the questions"], found["floor"]
    ratio = statistics.median(one / other for one, other in zip(own, theirs, strict=True))
    slowest = max(found["kplan, to the plan's end"])
    print(f"  ratio {ratio:.2f}; bound {BOUND_S} s {'kept' if slowest <= BOUND_S else 'BROKEN'}")


if __name__ == "__main__":
    main()
