"""Which Spark works where one was started before kplan."""

from pathlib import Path

import pytest

from kplan.config.fleet_file import FleetConfiguration
from kplan.fleet.spark.session import SparkSettings
from kplan.model.errors import FleetError, UsageError
from kplan.workflow.fleet.fleet import choose_engine, choose_local_engine

FLEET = FleetConfiguration(Path(), spark_master="spark://file:7077", spark_conf={"a": "1"})


@pytest.fixture
def submitted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")
    monkeypatch.setenv("PYSPARK_GATEWAY_SECRET", "s")


@pytest.mark.usefixtures("submitted")
def test_the_spark_of_spark_submit_wins_over_the_fleet_file() -> None:
    found = choose_engine(FLEET, SparkSettings(conf={"b": "2"}))
    assert (found.is_joined, found.master, found.conf) == (True, "", {"a": "1", "b": "2"})
    assert choose_local_engine("parquet").is_joined


@pytest.mark.usefixtures("submitted")
def test_another_master_beside_spark_submit_is_refused_and_a_connect_server_is_not() -> None:
    with pytest.raises(UsageError, match="has a Spark already") as refused:
        choose_engine(FLEET, SparkSettings("spark://other:7077"))
    assert "spark-submit --master" in refused.value.hint
    found = choose_engine(FLEET, SparkSettings(remote="sc://x:1"))
    assert (found.is_joined, found.remote) == (False, "sc://x:1")


def test_sparks_own_variable_names_a_connect_server_where_nothing_else_does(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("KPLAN_CACHE", str(tmp_path))  # the user's own server is not found there
    monkeypatch.setenv("SPARK_REMOTE", "sc://environment:15002")
    assert choose_engine(FLEET, SparkSettings()).master == "spark://file:7077"
    bare = FleetConfiguration(Path())
    assert choose_engine(bare, SparkSettings()).remote == "sc://environment:15002"
    assert choose_local_engine("parquet").remote == "sc://environment:15002"
    for own in ("local", "local[2]", "local-cluster[1,1,512]", ""):
        monkeypatch.setenv("SPARK_REMOTE", own)
        assert not choose_engine(bare, SparkSettings()).remote
    monkeypatch.setenv("SPARK_REMOTE", "localhost:15002")
    assert choose_engine(bare, SparkSettings("local[1]")).master == "local[1]"
    with pytest.raises(FleetError, match="SPARK_REMOTE is not an address of Spark Connect"):
        choose_engine(bare, SparkSettings())
