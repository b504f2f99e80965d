"""Reading a large cluster: `python -m tests.bench.snapshot [TOPICS ACLS PARTITIONS]`.

Three brokers, 10,000 topics of three partitions and 20,000 ACLs unless told otherwise; a quarter
of them first, so that growth can be told. kplan reads all kinds as a plan does, beside the raw
floor of `tests.bench.floor` in turn, each in a process of its own. Prints the ratio of seconds,
both peaks of memory and kplan's requests by API; absolute seconds belong to the machine and the
moment. `... read BOOTSTRAP TOPICS ACLS PARTITIONS` is kplan's half.
"""

import json
import resource
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kplan.kafka.cluster import open_cluster
from kplan.kafka.settings.resolver import resolve_settings
from kplan.kinds import KINDS
from kplan.model.resource import Identity
from kplan.sandbox.lifecycle import temporary_sandbox
from kplan.workflow.snapshot import read_snapshot
from tests.bench.job import counted
from tests.bench.sizes import Size, cluster_for, topic_names

LARGE = Size(10_000, 20_000)
RUNS = 3
APIS = {3: "Metadata", 18: "ApiVersions", 29: "DescribeAcls", 32: "DescribeConfigs"}
APIS |= {60: "DescribeCluster", 75: "DescribeTopicPartitions"}


def read(bootstrap: str, size: Size) -> Mapping[str, object]:
    """Read what a plan about all of these topics reads."""
    asked: list[int] = []
    counted(asked)
    environ = {"KPLAN_BOOTSTRAP_SERVERS": bootstrap, "KPLAN_TLS_ENABLED": "false"}
    settings = resolve_settings(None, environ, folder=Path()).settings
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
    requests = Counter(APIS.get(each, "others") for each in asked)
    return {"seconds": took[0], "cpu": took[1], "peak_mb": peak_mb, "requests": requests}


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
    """Make a quarter of the estate and read it in turn with the floor, then the whole of it."""
    quarter = Size(size.topics // 4, size.acls // 4, size.partitions)
    with temporary_sandbox(cluster_for(size)) as sandbox:
        small, large = (compare(each, sandbox.bootstrap_servers) for each in (quarter, size))
    more = (large - small) * 1024 / (size.topics - quarter.topics)
    print(
        f"kplan's peak grows by {more:.1f} KB for a topic and its {size.acls / size.topics:g} ACLs"
    )


def compare(size: Size, servers: str) -> float:
    """Make what is not there yet, read it in turn, print it, and give kplan's peak in MB."""
    counts = [str(each) for each in (size.topics, size.acls, size.partitions)]
    made = ran("tests.bench.floor", "create", servers, *counts)
    print(f"{size} of {size.partitions} partitions, answered in {made['seconds']:.0f} s,", end=" ")
    print(f"served {made['visible']:.0f} s later", flush=True)
    floor, ours = [], []
    for _ in range(RUNS):
        floor.append(ran("tests.bench.floor", "read", servers, *counts))
        ours.append(ran("tests.bench.snapshot", "read", servers, *counts))
    for name, runs in (("floor", floor), ("kplan", ours)):
        seconds, cpu, peak = (_median(runs, each) for each in ("seconds", "cpu", "peak_mb"))
        print(f"{name}: {seconds:.2f} s, {cpu:.2f} s of CPU, peak {peak:.0f} MB")
    told = ", ".join(f"{number} {api}" for api, number in sorted(ours[-1]["requests"].items()))
    print(f"ratio {_median(ours, 'seconds') / _median(floor, 'seconds'):.2f}; requests: {told}")
    return _median(ours, "peak_mb")


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
