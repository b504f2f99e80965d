"""Kafka's jars: fetched once from Maven Central, then used offline."""

import fcntl
import os
import shutil
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kplan.model.errors import SandboxError
from kplan.sandbox.sandbox import Progress, ProgressStep, Stage

MAVEN_CENTRAL = "https://repo1.maven.org/maven2"
LOG4J_VERSION = "2.25.4"
CLASS_PATH_FILE = "class-path.txt"


def cache_folder() -> Path:
    """Return the folder of downloads: `KPLAN_CACHE`, otherwise `kplan` in the user's cache."""
    if own := os.environ.get("KPLAN_CACHE"):
        return Path(own).expanduser().absolute()
    users = os.environ.get("XDG_CACHE_HOME")
    return (Path(users) if users else Path.home() / ".cache").absolute() / "kplan"


def is_cache_kept(environ: Mapping[str, str]) -> bool:
    """Whether the next run finds what this one stores: of CI jobs where the cache is named.

    A job that throws its folders away stores nothing that takes longer to make than it saves.
    """
    return not environ.get("CI") or bool(environ.get("KPLAN_CACHE"))


def kafka_folder(cache: Path, version: str) -> Path:
    """Return the folder of one Kafka version's jars."""
    return cache / f"kafka-{version}"


def fetch_jars(version: str, cache: Path, progress: Progress) -> tuple[Path, ...]:
    """Return Kafka's class path, downloading it unless `cache` has all of it.

    The folder is renamed into place when the last jar is there, so a cut fetch is never taken for
    a whole one; no network is touched for a version that exists. Another process that fetches
    the same version is waited for. Raises SandboxError.
    """
    folder = kafka_folder(cache, version)
    if found := _cached_jars(folder):
        return found
    with file_lock(folder.with_name(f"{folder.name}.lock")):
        if found := _cached_jars(folder):
            return found
        partial = folder.with_name(f"{folder.name}.partial")
        shutil.rmtree(partial, ignore_errors=True)
        shutil.rmtree(folder, ignore_errors=True)
        names = [jar.relative_to(partial) for jar in _fetch(version, partial, progress)]
        (partial / CLASS_PATH_FILE).write_text(
            "".join(f"{name}\n" for name in names), encoding="utf-8"
        )
        partial.rename(folder)
        return tuple(folder / name for name in names)


@contextmanager
def file_lock(file: Path) -> Iterator[None]:
    """Hold `file` for this process alone; another holder is waited for."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("w", encoding="utf-8") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _cached_jars(folder: Path) -> tuple[Path, ...]:
    try:
        names = (folder / CLASS_PATH_FILE).read_text(encoding="utf-8").split()
    except FileNotFoundError:
        return ()
    found = tuple(folder / name for name in names)
    return found if all(jar.is_file() for jar in found) else ()


_NETWORK_HINT = (
    "The first start of a Kafka version needs the network; KPLAN_MAVEN_REPOSITORY names another "
    "Maven repository, KPLAN_CACHE another cache folder."
)
_UNTRUSTED_HINT = (
    "Behind a proxy with its own certificate authority set SSL_CERT_FILE or REQUESTS_CA_BUNDLE to "
    "the file with its certificate."
)


def _trust_authority_of_system() -> None:
    """Let the HTTP client of jgo trust the certificates of OpenSSL's own variables."""
    if authority := os.environ.get("SSL_CERT_FILE"):
        os.environ.setdefault("REQUESTS_CA_BUNDLE", authority)


def _fetch(version: str, repository: Path, progress: Progress) -> list[Path]:
    source = os.environ.get("KPLAN_MAVEN_REPOSITORY", MAVEN_CENTRAL)
    _trust_authority_of_system()
    try:
        return _download(version, repository, source, progress)
    except ImportError as failure:
        raise SandboxError(
            f"Kafka {version} cannot be fetched: {failure.name} is not installed.",
            hint="Install kplan[sandbox].",
        ) from failure
    except OSError as failure:
        if failure.errno is not None:  # the disk; what requests raises is an OSError without number
            raise
        raise SandboxError(
            f"Kafka {version} is not in {repository.parent} and could not be fetched "
            f"from {source}: {type(failure).__name__}.",
            hint=_UNTRUSTED_HINT if type(failure).__name__ == "SSLError" else _NETWORK_HINT,
        ) from failure
    except (RuntimeError, ValueError) as failure:  # jgo's own word for "not there"
        raise SandboxError(
            f"Kafka {version} was not found at {source}.",
            hint="Check the version number at https://kafka.apache.org/downloads.",
        ) from failure


def _download(version: str, repository: Path, source: str, progress: Progress) -> list[Path]:
    from jgo.maven import MavenContext, PythonResolver

    progress(ProgressStep(Stage.FETCH, f"dependencies of Kafka {version}", 0, 0))
    resolver = PythonResolver()
    maven = MavenContext(
        resolver=resolver, repo_cache=repository, remote_repos={"central": source}, timeout=30
    )
    kafka = maven.create_dependency(f"org.apache.kafka:kafka_2.13:{version}")
    # Resolved alone: a second coordinate in the same call is taken as a list of versions to manage,
    # and then brings older Kafka clients and Jackson in (seen with jgo 3.2.0).
    mine, others = resolver.resolve([kafka])
    wanted = [each.artifact for each in (*mine, *others)]
    wanted += [
        maven.create_dependency(coordinate).artifact
        for coordinate in _logging_artifacts({each.artifactId: each.version for each in wanted})
    ]
    found = []
    for number, artifact in enumerate(wanted):
        progress(ProgressStep(Stage.FETCH, artifact.filename, number, len(wanted)))
        found.append(_resolve_jar(artifact))
    progress(ProgressStep(Stage.FETCH, f"Kafka {version}", len(wanted), len(wanted)))
    return found


def _logging_artifacts(versions: dict[str, str]) -> tuple[str, ...]:
    """Name the logging jars that Kafka's distribution adds by hand beside its dependencies."""
    group = "org.apache.logging.log4j"
    if version := versions.get("log4j-core"):
        return (f"{group}:log4j-slf4j-impl:{version}",)
    # Kafka 3.9 logs through the classes of log4j 1; its bridge to log4j 2 serves them.
    names = ("log4j-api", "log4j-core", "log4j-slf4j-impl", "log4j-1.2-api")
    return tuple(f"{group}:{name}:{LOG4J_VERSION}" for name in names)


def _resolve_jar(artifact: Any) -> Path:  # noqa: ANN401 - jgo is not typed for us
    jar: Path = artifact.resolve()
    if not zipfile.is_zipfile(jar):
        raise SandboxError(f"{jar.name} arrived damaged.", hint="Start again to download it again.")
    return jar
