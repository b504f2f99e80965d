"""Which settings of Spark are shown nowhere."""

import re

import pytest

from kplan.fleet.spark.credentials import REDACTION_SETTING, is_secret, split_secrets
from kplan.fleet.spark.session import server_options
from kplan.model.fleet import SECRET_SETTINGS


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


def test_settings_that_are_sensitive_in_the_fleet_file_are_secret() -> None:
    conf = {
        "spark.hadoop.fs.own.pin": "1234",
        "spark.sql.shuffle.partitions": "4",
        SECRET_SETTINGS: "spark.hadoop.fs.own.pin",
    }
    shown, secret = split_secrets(server_options(conf, 1))
    assert secret == {"spark.hadoop.fs.own.pin": "1234"}
    hidden = re.compile(shown[REDACTION_SETTING])
    assert hidden.search("spark.hadoop.fs.own.pin")
    assert hidden.search("fs.own.pin"), "a page of Spark has those of Hadoop apart"
    assert not hidden.search("spark.sql.shuffle.partitions")
