"""Kafka's jars are fetched once, whole, and then used without a network."""

import ssl
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import trustme

from kplan.model.errors import SandboxError
from kplan.sandbox.artifact import LOG4J_VERSION, cache_folder, fetch_jars
from kplan.sandbox.launch import make_credentials
from kplan.sandbox.layout import Security
from kplan.sandbox.sandbox import ProgressStep, Stage, ignore_progress
from tests.unit.sandbox.maven_repository import GROUP, LOGGING, publish, served

VERSION = "4.3.0"


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Kafka 4.3.0 with two dependencies, as the only Maven repository."""
    folder = tmp_path / "repository"
    needs = ("org.apache.kafka:kafka-clients:4.3.0", "org.apache.logging.log4j:log4j-core:2.20.0")
    publish(folder, f"{GROUP}/kafka_2.13", VERSION, needs)
    publish(folder, f"{GROUP}/kafka-clients", VERSION)
    publish(folder, f"{LOGGING}/log4j-core", "2.20.0")
    publish(folder, f"{LOGGING}/log4j-slf4j-impl", "2.20.0")
    with served(folder) as address:
        monkeypatch.setenv("KPLAN_MAVEN_REPOSITORY", address)
        yield folder


def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KPLAN_MAVEN_REPOSITORY", "http://127.0.0.1:1")


def test_the_class_path_holds_kafka_its_dependencies_and_the_logging_jar(
    repository: Path, tmp_path: Path
) -> None:
    """Kafka's POM names no SLF4J binding; without one the broker writes no log at all."""
    assert repository.exists()
    found = fetch_jars(VERSION, tmp_path / "cache", ignore_progress)
    assert {jar.name for jar in found} == {
        "kafka_2.13-4.3.0.jar",
        "kafka-clients-4.3.0.jar",
        "log4j-core-2.20.0.jar",
        "log4j-slf4j-impl-2.20.0.jar",
    }
    assert all(jar.is_file() for jar in found)


def test_an_older_kafka_gets_the_bridge_from_log4j_1(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "repository"
    publish(folder, f"{GROUP}/kafka_2.13", "3.9.1")
    for name in ("log4j-api", "log4j-core", "log4j-slf4j-impl", "log4j-1.2-api"):
        publish(folder, f"{LOGGING}/{name}", LOG4J_VERSION)
    with served(folder) as address:
        monkeypatch.setenv("KPLAN_MAVEN_REPOSITORY", address)
        found = fetch_jars("3.9.1", tmp_path / "cache", ignore_progress)
    assert f"log4j-1.2-api-{LOG4J_VERSION}.jar" in {jar.name for jar in found}


def test_the_second_time_no_network_is_touched(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert repository.exists()
    first = fetch_jars(VERSION, tmp_path / "cache", ignore_progress)
    no_network(monkeypatch)
    assert fetch_jars(VERSION, tmp_path / "cache", ignore_progress) == first


def test_progress_counts_the_jars(repository: Path, tmp_path: Path) -> None:
    assert repository.exists()
    steps: list[ProgressStep] = []
    fetch_jars(VERSION, tmp_path / "cache", steps.append)
    assert {step.stage for step in steps} == {Stage.FETCH}
    assert steps[0].total == 0
    assert [(step.done, step.total) for step in steps[1:]] == [(n, 4) for n in range(5)]


def test_without_network_the_first_fetch_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    no_network(monkeypatch)
    with pytest.raises(SandboxError, match=r"could not be fetched from http://127.0.0.1:1") as told:
        fetch_jars(VERSION, tmp_path / "cache", ignore_progress)
    assert "needs the network" in told.value.hint


@pytest.mark.parametrize("variable", ["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"])
def test_behind_a_proxy_with_its_own_authority_the_variable_for_it_is_named_and_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    """Review F15: it said SSLError, and no more."""
    for each in ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):
        monkeypatch.delenv(each, raising=False)
    folder = tmp_path / "repository"
    publish(folder, f"{GROUP}/kafka_2.13", VERSION)
    for name in ("log4j-api", "log4j-core", "log4j-slf4j-impl", "log4j-1.2-api"):
        publish(folder, f"{LOGGING}/{name}", LOG4J_VERSION)
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    trusted = tmp_path / "ca.pem"
    authority.cert_pem.write_to_path(str(trusted))
    with served(folder, context) as address:
        monkeypatch.setenv("KPLAN_MAVEN_REPOSITORY", address)
        with pytest.raises(SandboxError) as told:
            fetch_jars(VERSION, tmp_path / "cache", ignore_progress)
        assert "set SSL_CERT_FILE or REQUESTS_CA_BUNDLE" in told.value.hint
        monkeypatch.setenv(variable, str(trusted))
        assert fetch_jars(VERSION, tmp_path / "cache", ignore_progress)
        monkeypatch.delenv("REQUESTS_CA_BUNDLE", raising=False)


def test_a_version_that_does_not_exist_is_named(repository: Path, tmp_path: Path) -> None:
    assert repository.exists()
    with pytest.raises(SandboxError, match=r"Kafka 4\.99\.0 was not found"):
        fetch_jars("4.99.0", tmp_path / "cache", ignore_progress)


def test_a_damaged_jar_is_not_kept(repository: Path, tmp_path: Path) -> None:
    jar = repository / GROUP / "kafka-clients" / VERSION / "kafka-clients-4.3.0.jar"
    whole = jar.read_bytes()
    jar.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(SandboxError, match=r"kafka-clients-4\.3\.0\.jar arrived damaged"):
        fetch_jars(VERSION, tmp_path / "cache", ignore_progress)
    jar.write_bytes(whole)
    assert len(fetch_jars(VERSION, tmp_path / "cache", ignore_progress)) == 4


def test_a_fetch_that_was_cut_begins_anew(repository: Path, tmp_path: Path) -> None:
    """Only a folder renamed into place counts."""
    assert repository.exists()
    left = tmp_path / "cache" / "kafka-4.3.0.partial" / GROUP / "kafka-clients" / VERSION
    left.mkdir(parents=True)
    (left / "kafka-clients-4.3.0.jar").write_bytes(b"half of")
    assert len(fetch_jars(VERSION, tmp_path / "cache", ignore_progress)) == 4


def test_a_jar_that_was_deleted_is_fetched_again(repository: Path, tmp_path: Path) -> None:
    assert repository.exists()
    found = fetch_jars(VERSION, tmp_path / "cache", ignore_progress)
    found[0].unlink()
    assert fetch_jars(VERSION, tmp_path / "cache", ignore_progress) == found
    assert found[0].is_file()


def test_a_full_disk_is_not_taken_for_a_missing_network(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert repository.exists()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("kplan.sandbox.artifact._download", full)
    with pytest.raises(OSError, match="No space left"):
        fetch_jars(VERSION, tmp_path / "cache", ignore_progress)


def test_the_cache_is_where_the_user_wants_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KPLAN_CACHE", "/somewhere")
    monkeypatch.setenv("XDG_CACHE_HOME", "/xdg")
    assert cache_folder() == Path("/somewhere")
    monkeypatch.delenv("KPLAN_CACHE")
    assert cache_folder() == Path("/xdg/kplan")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache_folder() == Path.home() / ".cache" / "kplan"


@pytest.mark.parametrize(
    ("missing", "use"),
    [
        ("jgo.maven", lambda folder: fetch_jars(VERSION, folder, ignore_progress)),
        ("trustme", lambda folder: make_credentials(Security.TLS, folder)),
    ],
)
def test_what_is_not_installed_is_told_with_the_extra_that_brings_it(
    missing: str, use: Callable[[Path], object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    monkeypatch.delitem(sys.modules, "kplan.sandbox.certificate", raising=False)
    monkeypatch.delattr("kplan.sandbox.certificate", raising=False)  # if a test before imported it
    with pytest.raises(SandboxError, match=f"{missing} is not installed") as told:
        use(tmp_path)
    assert told.value.hint == "Install kplan[sandbox]."
