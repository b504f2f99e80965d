import os
import sys
from pathlib import Path

import pytest

from kplan.fleet.spark.jvm import (
    RETRY_AFTER_S,
    STALE_AFTER_S,
    ClassArchive,
    find_class_archive,
    start_gateway,
)

FAKE_JAVA = f"""#!{sys.executable}
import os, struct, sys
place = os.environ["_PYSPARK_DRIVER_CONN_INFO_PATH"]
with open(place + ".new", "wb") as file:
    file.write(struct.pack("!ii", 4711, 6) + b"secret")
os.rename(place + ".new", place)
sys.stdin.read()
for each in sys.argv:
    if each.startswith("-XX:ArchiveClassesAtExit="):
        open(each.partition("=")[2], "w").write("classes")
"""


@pytest.fixture
def java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make what looks like a Java 17, and a Spark beside it."""
    monkeypatch.setenv("KPLAN_CACHE", str(tmp_path / "cache"))
    (tmp_path / "jars").mkdir()
    (tmp_path / "jars" / "spark.jar").write_text("1", encoding="utf-8")
    (tmp_path / "release").write_text('JAVA_VERSION="17.0.15"\n', encoding="utf-8")
    return tmp_path / "bin" / "java"


def found(java: Path) -> ClassArchive:
    archive = find_class_archive(java, java.parents[1], {})
    assert archive is not None
    return archive


def test_the_first_java_makes_the_archive_that_later_ones_use(java: Path) -> None:
    archive = found(java)
    assert archive.java_options() == (f"-XX:ArchiveClassesAtExit={archive.temporary_file}",)
    archive.temporary_file.write_text("classes", encoding="utf-8")
    archive.store(0, had_time=True)
    assert f"-XX:SharedArchiveFile={archive.file}" in found(java).java_options()
    assert list(archive.file.parent.iterdir()) == [archive.file]


def test_java_25_makes_a_cache_of_its_own_form(java: Path) -> None:
    (java.parents[1] / "release").write_text('JAVA_VERSION="25.0.2"\n', encoding="utf-8")
    archive = found(java)
    assert archive.java_options() == (f"-XX:AOTCacheOutput={archive.temporary_file}",)
    archive.temporary_file.write_text("classes", encoding="utf-8")
    archive.store(0, had_time=True)
    assert f"-XX:AOTCache={archive.file}" in archive.java_options()


def test_a_java_that_was_killed_is_no_reason_not_to_try_again(java: Path) -> None:
    archive = found(java)
    archive.temporary_file.write_text("half", encoding="utf-8")
    archive.store(-9, had_time=False)
    assert not archive.exists
    assert not archive.temporary_file.exists()


def test_a_java_that_is_too_slow_is_asked_again_a_day_later(java: Path) -> None:
    """The machine may have been busy, and each start without an archive takes ten seconds more."""
    archive = found(java)
    archive.temporary_file.write_text("half", encoding="utf-8")
    archive.store(-9, had_time=True)
    assert found(java).java_options() == ()
    day_before = archive.file.stat().st_mtime - RETRY_AFTER_S
    os.utime(archive.file, (day_before, day_before))
    assert "ArchiveClassesAtExit" in found(java).java_options()[0]
    archive.temporary_file.write_text("classes", encoding="utf-8")
    archive.store(0, had_time=True)
    assert "SharedArchiveFile" in found(java).java_options()[0]


def test_a_java_that_makes_none_is_not_asked_again(java: Path) -> None:
    found(java).store(0, had_time=True)
    assert found(java).java_options() == ()


def test_the_archive_of_other_jars_is_not_used_and_goes(java: Path) -> None:
    before = found(java)
    before.temporary_file.write_text("classes", encoding="utf-8")
    before.store(0, had_time=True)
    left = before.file.with_name(".spark-left.1.new")
    left.touch()
    os.utime(left, (0, left.stat().st_mtime - 2 * STALE_AFTER_S))
    (java.parents[1] / "jars" / "spark.jar").write_text("22", encoding="utf-8")
    after = found(java)
    assert not after.exists
    after.temporary_file.write_text("classes", encoding="utf-8")
    after.store(0, had_time=True)
    assert list(after.file.parent.iterdir()) == [after.file]


def test_none_is_made_where_java_could_not(java: Path) -> None:
    assert find_class_archive(java, java.parents[1], {"SPARK_CONF_DIR": "/etc/spark"}) is None
    (java.parents[1] / "release").unlink()
    assert find_class_archive(java, java.parents[1], {}) is None


def test_a_ci_job_makes_none_unless_its_cache_is_named(java: Path) -> None:
    job = {"CI": "true"}
    assert find_class_archive(java, java.parents[1], job) is None
    assert find_class_archive(java, java.parents[1], {**job, "KPLAN_CACHE": "cache"}) is not None
    archive = found(java)
    archive.temporary_file.write_text("classes", encoding="utf-8")
    archive.store(0, had_time=True)
    assert find_class_archive(java, java.parents[1], job) is not None


def test_it_is_said_when_the_first_java_makes_the_archive(java: Path) -> None:
    java.parent.mkdir()
    java.write_text(FAKE_JAVA, encoding="utf-8")
    java.chmod(0o700)
    environ = {k: v for k, v in os.environ.items() if k not in ("CI", "SPARK_CONF_DIR")}
    stages: list[str] = []
    for _ in range(2):
        with start_gateway(
            java, java.parents[1], {"spark.master": "local"}, environ, stage=stages.append
        ) as gateway:
            assert gateway == (4711, "secret")
    assert stages == ["Storing Java classes, once for all later starts"]
    assert found(java).file.read_text(encoding="utf-8") == "classes"
