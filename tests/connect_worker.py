"""A real Kafka Connect worker for tests, with Kafka's file connectors, from Maven Central."""

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kplan.sandbox.artifact import MAVEN_CENTRAL, file_lock
from kplan.sandbox.java import find_java
from kplan.sandbox.layout import DEFAULT_KAFKA_VERSION
from kplan.sandbox.runtime import java_flags
from kplan.sandbox.sandbox import Sandbox
from tests.http_service import http_service
from tests.registry_server import CACHE

_ARTIFACTS = ("connect-runtime", "connect-file", "connect-json")


def install_worker() -> tuple[Path, ...]:
    """Return the class path of a worker, fetched unless it is in the cache."""
    listed = CACHE / f"connect-{DEFAULT_KAFKA_VERSION}.txt"
    with file_lock(CACHE / "connect.lock"):
        if not listed.exists():
            listed.write_text("\n".join(map(str, _fetch_jars())))
    return tuple(Path(each) for each in listed.read_text().split("\n"))


def _fetch_jars() -> Iterator[Path]:
    from jgo.maven import MavenContext, PythonResolver

    resolver = PythonResolver()
    maven = MavenContext(
        resolver=resolver,
        repo_cache=CACHE / "maven",
        remote_repos={"central": os.environ.get("KPLAN_MAVEN_REPOSITORY", MAVEN_CENTRAL)},
        timeout=120,
    )
    found = {}
    for name in _ARTIFACTS:
        wanted = maven.create_dependency(f"org.apache.kafka:{name}:{DEFAULT_KAFKA_VERSION}")
        mine, others = resolver.resolve([wanted])
        for each in (*mine, *others):
            found[each.artifact.groupId, each.artifact.artifactId] = each.artifact
    for artifact in found.values():
        yield artifact.resolve()


@contextmanager
def connect_worker(bootstrap: str, folder: Path) -> Iterator[str]:
    """Run a distributed worker on a broker; gives the URL of its REST API."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
    group = f"connect-{port}"
    properties = {
        "bootstrap.servers": bootstrap,
        "group.id": group,
        "key.converter": "org.apache.kafka.connect.storage.StringConverter",
        "value.converter": "org.apache.kafka.connect.storage.StringConverter",
        "config.storage.topic": f"{group}-configs",
        "offset.storage.topic": f"{group}-offsets",
        "status.storage.topic": f"{group}-status",
        "config.storage.replication.factor": "1",
        "offset.storage.replication.factor": "1",
        "offset.storage.partitions": "1",
        "status.storage.replication.factor": "1",
        "status.storage.partitions": "1",
        "offset.flush.interval.ms": "500",
        "plugin.discovery": "only_scan",
        "scheduled.rebalance.max.delay.ms": "0",
        "listeners": f"http://127.0.0.1:{port}",
    }
    file = folder / "connect.properties"
    file.write_text("".join(f"{key}={each}\n" for key, each in properties.items()))
    java = find_java()
    line = [str(java.launcher), *java_flags(java, heap_mb=256, archive=None)]
    jars = ":".join(map(str, install_worker()))
    log = folder / "connect.log"
    command = [*line, "-cp", jars, "org.apache.kafka.connect.cli.ConnectDistributed", str(file)]
    with http_service(command, log, (port, "/connectors")):
        yield f"http://127.0.0.1:{port}"


@pytest.fixture(scope="module")
def connect_url(broker: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Run Kafka Connect on the broker of a file of tests."""
    bootstrap = broker.properties["bootstrap.servers"]
    with connect_worker(bootstrap, tmp_path_factory.mktemp("connect")) as url:
        yield url
