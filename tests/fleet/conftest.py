"""One Spark for all tests of the fleet, of the sort that `--engine` names."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from xdist.scheduler import LoadFileScheduling  # type: ignore[import-untyped]

from kplan.fleet.snapshot import OBJECT_SCHEMA, Row
from kplan.fleet.spark.session import SparkSettings, open_session
from kplan.fleet.tables import DELTA, PARQUET
from tests.e2e import warmed
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

LIVE = "::test_three_real_clusters"
EXPLAIN = "::test_a_connect_server_shows_plans"
COMMANDS = (LIVE, "test_fleet_command.py", "test_fleet_stream_kill.py", EXPLAIN)
SECURED = "test_fleet_credentials.py"
"""It asks a cluster that commands have asked."""
SERVER = "server"
EARLY = (SERVER, "test_fleet_example.py", "test_fleet_logs.py", "test_fleet_bounded.py")
"""The longest; the second keeps what Java has loaded, so that those after it start sooner."""
LATE = ("test_fleet_interrupt.py", "test_fleet_standalone.py", "test_fleet_submit.py")
"""Short ones, each with a Spark of its own: they fill what time a process has left."""
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


def work_of(test: str) -> str:
    """Name what a test is done together with, by its node id: what one server serves, or a file."""
    if any(each in test for each in (*COMMANDS, SECURED)):
        return SERVER
    return test.partition("::")[0].rpartition("/")[2]


class ByWork(LoadFileScheduling):  # type: ignore[misc]
    """What the server serves is done by one process: no other has to start it, too.

    Files of jobs go to whichever process has time. Each opens a session of its own for them, which
    takes less than what one process would have to do alone in the end.
    """

    def _split_scope(self, nodeid: str) -> str:
        return work_of(nodeid)


def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> ByWork:
    """Spread tests over processes."""
    return ByWork(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the longest: the last one to begin decides when two processes are done."""
    order = {name: at - len(EARLY) for at, name in enumerate(EARLY)}
    order |= {name: at + 1 for at, name in enumerate(LATE)}
    items.sort(key=lambda each: (order.get(work_of(each.nodeid), 0), LIVE not in each.nodeid))


@pytest.fixture(scope="session", autouse=True)
def loaded() -> None:
    """Have forks loaded what commands on a Connect server take a second each to import."""
    warmed.ALSO_LOADED[:] = ["kplan.workflow.fleet.fleet", "pyspark.sql.connect.session"]


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
        if at_work.name == LOCAL:
            remember_classes(found)
        yield found


def remember_classes(spark: "SparkSession") -> None:
    """Have PySpark ask Java once for classes that it names without their package.

    Java looks for such a name in all packages that PySpark imports, in some hundred jars each.
    """
    java = spark._jvm
    for name in ("functions", "PythonUtils", "PythonSQLUtils"):
        setattr(java, name, getattr(java, name))


@pytest.fixture
def objects(spark: "SparkSession") -> Callable[[Sequence[Row]], "DataFrame"]:
    """Make the rows of a run a DataFrame."""
    return lambda rows: spark.createDataFrame([tuple(each) for each in rows], OBJECT_SCHEMA)
