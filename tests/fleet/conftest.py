"""One Spark for all tests of the fleet, of the sort that `--engine` names."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from xdist.scheduler import LoadFileScheduling  # type: ignore[import-untyped]

from kplan.fleet.snapshot import OBJECT_SCHEMA, Row
from kplan.fleet.spark.session import SparkSettings, open_session
from kplan.fleet.tables import DELTA, PARQUET
from tests.fleet.connect_server import (
    FAST_SETTINGS,
    as_options,
    connect_server,
    delta_server_settings,
    has_delta,
    iceberg_test_settings,
)
from tests.fleet.kafka_connector import connector
from tests.fleet.spark_target import CONNECT, LOCAL, MIXED, STANDALONE, SparkTarget
from tests.fleet.standalone_cluster import ON_LOOPBACK, standalone

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

LIVE, FILES = "::test_three_real_clusters", "::test_files_are_read"
COMMANDS = (LIVE, "test_fleet_command.py", "test_fleet_stream_kill.py", "test_fleet_explain.py")
ALONE = (FILES, "test_fleet_standalone.py", "test_fleet_interrupt.py", "test_fleet_submit.py")
"""Tests that start a Spark of their own."""
SERVER, SESSION = "server", "session"
EARLY = (SERVER, FILES, SESSION, *ALONE)
"""The longest; the second keeps what Java has loaded, so that those after it start sooner."""
TABLES = DELTA if has_delta() else PARQUET


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let the same suite run on any Spark."""
    parser.addoption(
        "--engine",
        choices=(MIXED, LOCAL, STANDALONE, CONNECT),
        default=MIXED,
        help="where Spark works: one that kplan starts itself, a standalone master with two "
        "workers, or a Connect server; mixed, as in CI, has jobs on the first and commands on "
        "the last",
    )


def spark_of(test: str) -> str:
    """Name the Spark that serves a test, by its node id."""
    if any(each in test for each in COMMANDS):
        return SERVER
    return next((each for each in ALONE if each in test), SESSION)


class BySpark(LoadFileScheduling):  # type: ignore[misc]
    """What one Spark serves is done by one process: no other has to start it, too."""

    def _split_scope(self, nodeid: str) -> str:
        return spark_of(nodeid)


def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> BySpark:
    """Spread tests over processes."""
    return BySpark(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the longest: the last one to begin decides when two processes are done."""
    items.sort(key=lambda each: (EARLY.index(spark_of(each.nodeid)), LIVE not in each.nodeid))


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkTarget]:
    """Start a Connect server; it can read topics."""
    log = tmp_path_factory.mktemp("connect") / "spark.log"
    with connect_server(log, {**connector(), **delta_server_settings()}) as remote:
        yield SparkTarget(
            CONNECT, SparkSettings(remote=remote, table_format=TABLES), (f"-remote={remote}",)
        )


@pytest.fixture(scope="session")
def workers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkTarget]:
    """Start a master and two workers."""
    conf = {**FAST_SETTINGS, **ON_LOOPBACK}
    with (
        standalone(tmp_path_factory.mktemp("standalone")) as (master, java_home),
        pytest.MonkeyPatch.context() as ours,
    ):
        ours.setenv("JAVA_HOME", str(java_home))
        engine = SparkSettings(master, conf=conf, table_format=TABLES)
        yield SparkTarget(STANDALONE, engine, (f"-master={master}", *as_options(conf)))


@pytest.fixture(scope="session")
def at_work(request: pytest.FixtureRequest) -> SparkTarget:
    """Give the Spark that jobs of this process run on."""
    match request.config.getoption("--engine"):
        case "connect":
            found: SparkTarget = request.getfixturevalue("server")
        case "standalone":
            found = request.getfixturevalue("workers")
        case _:
            # Commands run on a server that plans adaptively: here it costs a tenth of the time.
            conf = {**FAST_SETTINGS, "spark.sql.adaptive.enabled": "false"}
            conf |= iceberg_test_settings()
            engine = SparkSettings("local[2,4]", conf=conf, table_format=TABLES)
            found = SparkTarget(LOCAL, engine, as_options(FAST_SETTINGS))
    return found


@pytest.fixture(scope="session")
def for_commands(request: pytest.FixtureRequest) -> SparkTarget:
    """Give the Spark that commands run on: one that is there already serves them faster."""
    is_mixed = request.config.getoption("--engine") == MIXED
    found: SparkTarget = request.getfixturevalue("server" if is_mixed else "at_work")
    if found.name == CONNECT:
        return found
    return replace(found, options=(*found.options, *as_options(connector())))


@pytest.fixture(scope="session")
def spark(at_work: SparkTarget) -> Iterator["SparkSession"]:
    """Open one session for all tests of this process."""
    with open_session(at_work.engine) as found:
        yield found


@pytest.fixture
def objects(spark: "SparkSession") -> Callable[[Sequence[Row]], "DataFrame"]:
    """Make the rows of a run a DataFrame."""
    return lambda rows: spark.createDataFrame([tuple(each) for each in rows], OBJECT_SCHEMA)
