"""A real schema registry for tests: Apicurio Registry from Maven Central.

It is kept in the cache of the tests, and stores what it is given in memory.
"""

import os
import shutil
import socket
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kplan.sandbox.artifact import MAVEN_CENTRAL, file_lock
from kplan.sandbox.java import find_java
from kplan.sandbox.runtime import java_flags
from tests.http_service import http_service

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kplan-tests"
VERSION = "3.3.3"
_API = "/apis/ccompat/v7"
"""It speaks the API of Confluent's registry, too."""


def install_registry() -> Path:
    """Return the folder of the registry, fetched and unpacked unless it is there."""
    folder = CACHE / f"apicurio-registry-{VERSION}"
    with file_lock(CACHE / "apicurio-registry.lock"):
        if not folder.exists():
            partial = folder.with_suffix(".partial")
            shutil.rmtree(partial, ignore_errors=True)
            with tarfile.open(_fetch_archive()) as archive:
                archive.extractall(partial, filter="data")
            partial.rename(folder)
    return folder


def _fetch_archive() -> Path:
    from jgo.maven import MavenContext, PythonResolver

    source = os.environ.get("KPLAN_MAVEN_REPOSITORY", MAVEN_CENTRAL)
    maven = MavenContext(
        resolver=PythonResolver(),
        repo_cache=CACHE / "maven",
        remote_repos={"central": source},
        timeout=300,
    )
    project = maven.project("io.apicurio", "apicurio-registry-app").at_version(VERSION)
    found: Path = project.artifact("all", "tar.gz").resolve()
    return found


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
    return port


@contextmanager
def registry_server(log: Path) -> Iterator[str]:
    """Run a registry; gives the URL of its API of Confluent's."""
    folder = install_registry()
    java = find_java()
    port, management = _free_port(), _free_port()
    environ = {
        **os.environ,
        "APICURIO_STORAGE_KIND": "sql",
        "QUARKUS_HTTP_HOST": "127.0.0.1",
        "QUARKUS_HTTP_PORT": str(port),
        "QUARKUS_MANAGEMENT_HOST": "127.0.0.1",
        "QUARKUS_MANAGEMENT_PORT": str(management),
    }
    line = [str(java.launcher), *java_flags(java, heap_mb=384, archive=None)]
    command = [*line, "-jar", str(folder / "quarkus-run.jar")]
    with http_service(command, log, (port, f"{_API}/subjects"), cwd=folder, env=environ):
        yield f"http://127.0.0.1:{port}{_API}"


@pytest.fixture(scope="session")
def registry_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Run a schema registry for the tests of a session."""
    with registry_server(tmp_path_factory.mktemp("registry") / "registry.log") as url:
        yield url
