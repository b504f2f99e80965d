"""Reading a large cluster: `python -m tests.bench.snapshot [TOPICS ACLS PARTITIONS]`.

Three brokers, 10,000 topics of three partitions and 20,000 ACLs unless told otherwise. kplan reads
all kinds as a plan does, beside the raw floor of `tests.bench.floor` in turn, each in a process of
its own. Prints the ratio of seconds and both peaks of memory; absolute seconds belong to the
machine and the moment. `... read BOOTSTRAP TOPICS` is kplan's half.
"""

import json
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from kplan.kafka.cluster import open_cluster
from kplan.kafka.resolve import connection_settings
from kplan.kinds import KINDS
from kplan.model.resource import Identity
from kplan.sandbox.lifecycle import running
from kplan.sandbox.spec import SandboxSpec
from kplan.workflow.snapshot import read_snapshot
from tests.bench.sizes import Size, topic_names

LARGE = Size(10_000, 20_000)
RUNS = 3


def read(bootstrap: str, size: Size) -> dict[str, float]:
    """Read what a plan about all of these topics reads."""
    environ = {"KPLAN_BOOTSTRAP_SERVERS": bootstrap}
    settings = connection_settings(None, environ, folder=Path()).settings
    assert settings is not None
    begun, cpu = time.monotonic(), time.process_time()
    cluster = open_cluster(settings)
    wanted = {"kafka_topic": [Identity(name) for name in topic_names(size)]}
    found = read_snapshot(cluster, cluster.describe(), KINDS, wanted)
    took = time.monotonic() - begun, time.process_time() - cpu
    cluster.close()
    assert not found.unread, found.unread
    counts = {name: len(each.objects) for name, each in found.readings.items()}
    assert counts["kafka_topic"] >= size.topics, counts
    assert counts["kafka_acl"] >= size.acls, counts
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"seconds": took[0], "cpu": took[1], "peak_mb": peak_mb}


def ran(module: str, *args: str) -> dict[str, Any]:
    """Run one half in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", module, *args], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(done.stderr)
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def measure(size: Size) -> None:
    """Make the estate, then read it in turn."""
    counts = [str(each) for each in (size.topics, size.acls, size.partitions)]
    with running(SandboxSpec(brokers=3, heap_mb=1024)) as sandbox:
        servers = sandbox.bootstrap_servers
        made = ran("tests.bench.floor", "create", servers, *counts)
        print(f"{size} of {size.partitions} partitions, made in {made['seconds']:.0f} s")
        floor, ours = [], []
        for _ in range(RUNS):
            floor.append(ran("tests.bench.floor", "read", servers, *counts))
            ours.append(ran("tests.bench.snapshot", "read", servers, *counts))
    for name, runs in (("floor", floor), ("kplan", ours)):
        seconds, cpu, peak = (_median(runs, each) for each in ("seconds", "cpu", "peak_mb"))
        print(f"{name}: {seconds:.2f} s, {cpu:.2f} s of CPU, peak {peak:.0f} MB")
    print(f"ratio {_median(ours, 'seconds') / _median(floor, 'seconds'):.2f}")


def _median(runs: list[dict[str, Any]], key: str) -> float:
    return float(statistics.median(each[key] for each in runs))


def main() -> None:
    """Read the arguments."""
    args = sys.argv[1:]
    if args[:1] == ["read"]:
        print(json.dumps(read(args[1], Size(*map(int, args[2:])))))
    else:
        measure(Size(*map(int, args)) if args else LARGE)


if __name__ == "__main__":
    main()
