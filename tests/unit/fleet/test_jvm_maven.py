import os
from pathlib import Path

import pytest

from kplan.config.fleet_file import FleetConfiguration
from kplan.fleet.spark.jvm import start_gateway
from kplan.fleet.spark.session import SparkSettings
from kplan.model.errors import FleetError
from kplan.workflow.fleet.fleet import choose_engine

IVY = """
:: resolving dependencies ::
\t\tmodule not found: org.apache.spark#spark-sql-kafka-0-10_2.13;4.3.0
\t\t::::::::::::::::::::::::::::::::::::::::::::::
\t\t::          UNRESOLVED DEPENDENCIES         ::
\t\t::::::::::::::::::::::::::::::::::::::::::::::
\t\t:: org.apache.spark#spark-sql-kafka-0-10_2.13;4.3.0: not found
\t\t:: org.apache.kafka#kafka-clients;3.9.2!kafka-clients.jar
Exception in thread "main" java.lang.RuntimeException: [unresolved dependency]
"""


def test_jars_that_cannot_be_fetched_are_told_by_name(tmp_path: Path) -> None:
    java = tmp_path / "java"
    java.write_text(f"#!/bin/sh\ncat <<'EOF'\n{IVY}\nEOF\nexit 1\n", encoding="utf-8")
    java.chmod(0o700)
    options = {"spark.master": "local"}
    with (
        pytest.raises(FleetError, match="could not be fetched from Maven") as missing,
        start_gateway(java, tmp_path, options, os.environ),
    ):
        raise AssertionError("it did not start")
    assert "spark-sql-kafka-0-10_2.13;4.3.0" in missing.value.detail
    assert "kafka-clients;3.9.2" in missing.value.detail
    assert "KPLAN_MAVEN_REPOSITORY" in missing.value.hint
    assert "packages=org.apache.kafka:kafka-clients:VERSION. " in missing.value.hint


def test_the_command_line_wins_over_the_settings_of_the_fleet_file() -> None:
    fleet = FleetConfiguration(Path(), spark_master="yarn", spark_conf={"a": "1", "b": "1"})
    found = choose_engine(fleet, SparkSettings(remote="sc://x:1", conf={"b": "2"}))
    assert (found.master, found.remote, found.conf) == ("", "sc://x:1", {"a": "1", "b": "2"})
    fleet = FleetConfiguration(Path(), spark_remote="sc://x:1")
    found = choose_engine(fleet, SparkSettings(master="local"))
    assert (found.master, found.remote) == ("local", "")
    assert choose_engine(fleet, SparkSettings()).remote == "sc://x:1"
