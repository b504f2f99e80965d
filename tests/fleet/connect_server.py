"""A Spark Connect server of one's own, on loopback, for tests."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path

from kplan.fleet.compat import spark_version
from kplan.fleet.iceberg_tables import iceberg_settings
from kplan.fleet.jars import DELTA_LAKE, ICEBERG_RUNTIME, PACKAGES_SETTING, maven_settings
from kplan.fleet.spark.jvm import find_class_archive, find_java, spark_command
from kplan.fleet.spark.session import spark_home
from kplan.fleet.tables import delta_settings

START_TIMEOUT_S = 120.0
SQLITE = "org.xerial:sqlite-jdbc:3.50.3.0"
FAST_SETTINGS = {
    "spark.sql.shuffle.partitions": "2",
    # For tables of a few rows: what is compiled is never run often enough to pay.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    # With one compiler Java keeps 48 MB of code, and fails when they are full; with two, 240.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m",
    "spark.databricks.delta.snapshotPartitions": "1",
}
"""Settings of a Spark that is started for a handful of small tables."""


def event_log_settings(folder: Path) -> dict[str, str]:
    """Return the settings by which Spark writes its event log, as text."""
    folder.mkdir()
    return {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.compress": "false",
        "spark.eventLog.dir": folder.as_uri(),
    }


def has_delta() -> bool:
    """Whether a Delta Lake runs on the Spark that is installed."""
    return bool(DELTA_LAKE.jar(spark_version()))


def has_iceberg() -> bool:
    """Whether an Iceberg runs on the Spark that is installed."""
    return bool(ICEBERG_RUNTIME.jar(spark_version()))


def iceberg_test_settings() -> dict[str, str]:
    """Give the settings of a Spark with Iceberg tables, also in SQLite; none where none runs."""
    return iceberg_settings({PACKAGES_SETTING: SQLITE}, os.environ) if has_iceberg() else {}


def delta_server_settings() -> dict[str, str]:
    """Give the settings of a Spark with Delta tables; none where no Delta Lake runs on it."""
    return delta_settings({}, os.environ) if has_delta() else {}


def as_options(settings: Mapping[str, str]) -> tuple[str, ...]:
    """Write settings of Spark as options of kplan."""
    return tuple(f"-conf={name}={value}" for name, value in settings.items())


@contextmanager
def connect_server(log: Path, more: Mapping[str, str]) -> Iterator[str]:
    """Run a server with more settings of Spark; yields its `sc://` address."""
    port = free_port()
    java = find_java(os.environ)
    options = {
        **FAST_SETTINGS,
        **more,
        "spark.master": "local[2,4]",
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
        "spark.connect.grpc.binding.address": "127.0.0.1",
    }
    if (spark := spark_version()).startswith("3."):  # it is not in Spark
        jar = f"org.apache.spark:spark-connect_2.12:{spark}"
        options |= maven_settings(options, os.environ, jar)
    server_class = "org.apache.spark.sql.connect.service.SparkConnectServer"
    work = ("--class", server_class, "spark-internal")
    launcher, *rest = spark_command(java, spark_home(), options, os.environ, work)
    command = [launcher, *kept_classes(java), *rest]
    environ = {**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_HOME": str(spark_home())}
    with log.open("wb") as output:
        server = subprocess.Popen(command, env=environ, stdout=output, stderr=subprocess.STDOUT)
    try:
        await_port(server, port, log)
        yield f"sc://127.0.0.1:{port}"
    finally:
        server.terminate()  # it removes its scratch folders
        server.wait()


def kept_classes(java: Path) -> tuple[str, ...]:
    """Give the options by which a Java uses what one that kplan has started before has kept.

    To load and check these classes again takes some ten seconds of a processor.
    """
    found = find_class_archive(java, spark_home(), os.environ)
    return found.java_options() if found and found.exists else ()


def free_port() -> int:
    """Find one."""
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def await_port(server: "subprocess.Popen[bytes]", port: int, log: Path) -> None:
    """Wait until a process listens."""
    deadline = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < deadline and server.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.2)
        else:
            return
    raise AssertionError(log.read_text(errors="replace")[-2000:])
