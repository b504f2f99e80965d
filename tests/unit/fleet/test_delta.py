import pytest

from kplan.fleet import jars
from kplan.fleet.jars import DELTA_VERSION
from kplan.fleet.tables import delta_settings
from kplan.model.errors import FleetError

JARS = "spark.jars.packages"


def spark_is(monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    monkeypatch.setattr(jars, "spark_version", lambda: version)


def test_the_jar_is_the_one_built_for_this_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    spark_is(monkeypatch, "4.2.1")
    found = delta_settings({}, {})
    assert found[JARS] == f"io.delta:delta-spark_4.2_2.13:{DELTA_VERSION}"
    spark_is(monkeypatch, "3.5.9")
    assert delta_settings({}, {})[JARS] == "io.delta:delta-spark_2.12:3.3.3"
    assert "spark.jars.repositories" not in found
    assert delta_settings({}, {"KPLAN_MAVEN_REPOSITORY": "https://mirror.example"})[
        "spark.jars.repositories"
    ] == ("https://mirror.example")


def test_what_the_user_set_is_kept_beside_it(monkeypatch: pytest.MonkeyPatch) -> None:
    spark_is(monkeypatch, "4.2.1")
    own = {JARS: "a:b:1", "spark.sql.extensions": "x.Y", "spark.sql.catalog.spark_catalog": "z.Z"}
    found = delta_settings(own, {})
    assert found[JARS] == f"a:b:1,io.delta:delta-spark_4.2_2.13:{DELTA_VERSION}"
    assert found["spark.sql.extensions"].startswith("x.Y,io.delta.")
    assert found["spark.sql.catalog.spark_catalog"] == "z.Z"


def test_a_spark_that_no_delta_lake_runs_on_is_told_with_the_way_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    spark_is(monkeypatch, "4.3.0")
    with pytest.raises(FleetError, match=r"does not run on Spark 4\.3\.0") as refused:
        delta_settings({}, {})
    assert "pip install 'kplan[fleet,delta]'" in refused.value.hint
