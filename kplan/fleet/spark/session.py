"""One Spark session per command: on this machine, on a cluster, or through Spark Connect."""

import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import field, replace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import TYPE_CHECKING

from kplan.fleet import compat
from kplan.fleet.iceberg_tables import iceberg_settings
from kplan.fleet.spark.credentials import REDACTION_SETTING, redaction_pattern
from kplan.fleet.spark.daemon import worker_settings
from kplan.fleet.spark.errors import failure_reason, translate_errors, translate_server_end
from kplan.fleet.spark.jobs import DEFAULT_COMMAND, name_jobs
from kplan.fleet.spark.joined import JoinedSession, JoinSettings, join_spark, submitted_master
from kplan.fleet.spark.jvm import compile_quickly, find_java, send_package, start_gateway
from kplan.fleet.spark.progress import SessionProgress, stop_session, watch_tasks
from kplan.fleet.tables import DELTA, ICEBERG, PARQUET, delta_settings
from kplan.model.dataclass import dataclass
from kplan.model.errors import FleetError
from kplan.sandbox.process import Process, is_alive
from kplan.state.atomic_file import read_umask

if TYPE_CHECKING:
    from pyspark.sql import DataFrame as DataFrame  # noqa: PLC0414 - for workflow, which knows no Spark
    from pyspark.sql import SparkSession as SparkSession  # noqa: PLC0414

_LOCAL = "local"
_UNKNOWN_MASTER = "unknown"
_MAX_FAILURES = 4
"""How often a task is begun when its worker dies, as on a cluster."""
_CONNECT_SCHEME, _STANDALONE_SCHEME = "sc://", "spark://"
_PYTHON_SETTING = "spark.pyspark.python"
_EARLY_IMPORTS = ("pyspark.sql.classic.dataframe", "pandas", "pyarrow")
_CONNECT_PORT = 15002
"""Of Spark Connect, where none is named."""
CONNECT_TIMEOUT_S = 10.0
CODEGEN_MIN_BYTES, CODEGEN_MIN_ROWS = 4 << 20, 100_000
"""Bytes and rows to read from which code made for one query, a second or so of work, is worth it.
Rows tell more where they are known: clusters that are alike take few bytes."""
_HASHED_MB = 16
"""What the tasks at work may hash together, packed as it was shuffled: of 290 MB that all of them
have in a heap of 1 GB, since hashed rows of a join cannot go to the disk."""
SUITS_SETTING = "spark.kplan.suits"
"""Whether a session may be told to make such code."""
_WITHOUT_CODEGEN = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
_WITH_CODEGEN = {
    "spark.sql.codegen.wholeStage": "true",
    "spark.sql.codegen.factoryMode": "FALLBACK",
}
_PARQUET_TIMES = {"spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS"}
"""Times as Parquet has statistics of: Spark's own choice has none, and every row would be read."""
_ADDRESS_HINT = "Name it with -remote or -master, or in a spark block of fleet.hcl."


@dataclass(frozen=True, slots=True)
class SparkSettings:
    """Which Spark does the work.

    `master` is as for spark-submit, "" for this machine; `remote` the `sc://` address of a Spark
    Connect server, which wins. `conf` holds Spark's own settings. `tables` is the form of the
    tables it works on; a Connect server must know Delta by itself. One that `has_package` imports
    this very kplan, and need not be sent it. With `is_joined` it is that of this process, whatever
    its master. `process` is that of a server on this machine. One that `reads_little` does so in
    Java: it works for some seconds only, or Python does most of the work.
    """

    master: str = ""
    remote: str = ""
    conf: Mapping[str, str] = field(default_factory=dict)
    table_format: str = PARQUET
    has_package: bool = False
    is_joined: bool = False
    process: Process | None = None
    reads_little: bool = False

    @property
    def has_ended(self) -> bool:
        """Whether the process of the server was one of this machine and has ended."""
        return self.process is not None and not is_alive(self.process)

    @property
    def is_local(self) -> bool:
        """Whether driver and executors are on this machine."""
        return not self.remote and (not self.master or self.master.startswith(_LOCAL))

    @property
    def starts_java(self) -> bool:
        """Whether a command starts all of it, and is the only one at work there."""
        return self.is_local and not self.is_joined


@contextmanager
def open_session(
    engine: SparkSettings,
    progress: SessionProgress | None = None,
    command: str = DEFAULT_COMMAND,
) -> Iterator["SparkSession"]:
    """Open a session, and end it with everything that was started for it.

    `progress` shows how far its tasks are, and `command` names its jobs. An interrupt ends those
    that are at work.

    Raises:
        FleetError: PySpark or Java is missing, or Spark does not answer.

    """
    home = spark_home()
    with translate_server_end(lambda: engine.has_ended), ExitStack() as stack:
        joined = _join(engine) if engine.is_joined else _start(engine, home, stack, progress)
        spark, is_remote = joined.spark, joined.is_remote
        if joined.is_ours:
            stack.push(_SessionEnd(spark, is_remote=is_remote).end)
        if progress is not None:
            stack.enter_context(watch_tasks(spark, progress.tasks, is_remote=is_remote))
        compat.silence_pyspark()
        with translate_errors(spark, is_remote=is_remote):
            restore_names = name_jobs(spark, command)
            if not joined.is_ours:
                stack.callback(restore_names)
            if not joined.master.startswith(_LOCAL) and not engine.has_package:
                folder = stack.enter_context(TemporaryDirectory(prefix="kplan-package-"))
                send_package(spark, Path(folder), is_remote=is_remote)
            yield spark


def _start(
    engine: SparkSettings, home: Path, stack: ExitStack, progress: SessionProgress | None
) -> JoinedSession:
    """Connect to a Connect server, or start a Spark that ends with the stack."""
    if engine.remote:
        return JoinedSession(_connect_remote(engine), "", is_remote=True, is_ours=True)
    if engine.master.startswith(_STANDALONE_SCHEME):
        check_reachable(engine.master)
    options = _spark_options(engine)
    if engine.reads_little:
        options = compile_quickly(options)
    java = find_java(os.environ)
    stage = (lambda _: None) if progress is None else progress.stage
    gateway = start_gateway(java, home, options, os.environ, _import_pyspark, stage)
    found = stack.enter_context(gateway)
    spark = _connect_gateway(found, options, own_python=engine.is_local)
    return JoinedSession(spark, options["spark.master"], is_ours=True)


def _join(engine: SparkSettings) -> JoinedSession:
    known = replace(engine, master=submitted_master() or _UNKNOWN_MASTER, table_format=PARQUET)
    options = _spark_options(known)
    return join_spark(JoinSettings(engine.conf, options))


def enable_codegen(read: "DataFrame", rows: int = 0) -> "DataFrame":
    """Have Spark make code for its queries from now on where `read` is enough for that to pay.

    `rows` is how many are known to be there. A Spark on this machine begins without. Elsewhere, and
    where the user says, it is left alone.
    """
    conf = read.sparkSession.conf
    if conf.get(SUITS_SETTING, "false") == "true" and (
        rows >= CODEGEN_MIN_ROWS or _size_bytes(read, rows) >= CODEGEN_MIN_BYTES
    ):
        for name, value in _WITH_CODEGEN.items():
            conf.set(name, value)
    return read


def _size_bytes(read: "DataFrame", rows: int) -> int:
    """Estimate what will be read; Spark Connect tells no sizes, so that unknown ones are large."""
    if not hasattr(read, "_jdf"):
        return 0 if rows else CODEGEN_MIN_BYTES
    plan = read._jdf.queryExecution().optimizedPlan()  # noqa: SLF001 - nothing public tells
    return int(plan.stats().sizeInBytes())


def _import_pyspark() -> None:
    """Import the modules that PySpark needs in the background: it takes a second."""
    for name in _EARLY_IMPORTS:
        with suppress(ImportError):
            import_module(name)


@dataclass(frozen=True, slots=True)
class _SessionEnd:
    """How a session ends."""

    spark: "SparkSession"
    is_remote: bool

    def end(
        self,
        kind: type[BaseException] | None,
        failure: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop the session; after an interrupt its jobs first. A failure before counts as such."""
        from py4j.protocol import Py4JError  # noqa: PLC0415 - heavy
        from pyspark.errors import PySparkException

        del failure, trace
        if kind is None or issubclass(kind, Exception):
            # Java, or the server, may have gone, and be what failed.
            with suppress(PySparkException, Py4JError, OSError):
                self.spark.stop()
        else:
            stop_session(self.spark, is_remote=self.is_remote)


def spark_home() -> Path:
    """Find Spark: that of SPARK_HOME, else the one inside PySpark."""
    found = find_spec("pyspark")
    if found is None or found.origin is None:
        raise FleetError(
            "PySpark is not installed; fleet commands run on it.",
            "Install it with: pip install 'kplan[fleet]'",
        )
    own = os.environ.get("SPARK_HOME")
    return Path(own) if own else Path(found.origin).parent


def _spark_options(engine: SparkSettings) -> dict[str, str]:
    """Return Spark's settings: small and quiet on this machine, the user's own before all."""
    cores = os.cpu_count() or 1
    tasks, hashed = str(2 * cores), f"{max(1, _HASHED_MB // cores)}m"
    here = {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": tasks,
        # Folders of many runs are listed by a job, of up to 10,000 tasks.
        "spark.sql.sources.parallelPartitionDiscovery.parallelism": tasks,
        # A side of a join whose partitions are that small is hashed, and the other is not sorted.
        "spark.sql.adaptive.maxShuffledHashJoinLocalMapThreshold": hashed,
        "spark.sql.adaptive.advisoryPartitionSizeInBytes": hashed,
        # The first upper() would have ICU go through all characters, for more than a second.
        "spark.sql.icu.caseMappings.enabled": "false",
        # Hadoop has a umask of its own, by which all users of this machine may read what it writes.
        "spark.hadoop.fs.permissions.umask-mode": f"{read_umask():03o}",
    }
    if "spark.driver.memory" not in engine.conf:
        # Each small table that is sent to all tasks takes a page, of 8 MB in a heap of 1 GB, until
        # the plans that it is a part of go: a report has some fifty of them. A larger heap has
        # larger ones: a task has 8,192 pages at most.
        here["spark.buffer.pageSize"] = "1m"
        # Plans and what their tasks have beside rows take much of a small heap: with the usual 0.6
        # of it for rows a report collects garbage for a third of its time.
        here["spark.memory.fraction"] = "0.4"
    if not engine.conf.get(_PYTHON_SETTING) and not os.environ.get("PYSPARK_PYTHON"):
        here |= worker_settings()
    if not _WITHOUT_CODEGEN.keys() & engine.conf.keys():
        here |= {**_WITHOUT_CODEGEN, SUITS_SETTING: "true"}
    return {
        "spark.app.name": "kplan",
        "spark.ui.showConsoleProgress": "false",
        REDACTION_SETTING: redaction_pattern(engine.conf),
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        # Each column would ask Java some ten things for the line of Python that made it.
        "spark.python.sql.dataFrameDebugging.enabled": "false",
        "spark.sql.sources.partitionOverwriteMode": "dynamic",
        **_PARQUET_TIMES,
        **compat.session_settings(compat.spark_version()),
        **(here if engine.is_local else {}),
        **engine.conf,
        **table_settings(engine.table_format, engine.conf, os.environ),
        "spark.master": engine.master or f"{_LOCAL}[*,{_MAX_FAILURES}]",
    }


def table_settings(
    form: str, conf: Mapping[str, str], environ: Mapping[str, str]
) -> dict[str, str]:
    """Return the settings of Spark for tables of a form; raises FleetError where none fit."""
    makers = {DELTA: delta_settings, ICEBERG: iceberg_settings}
    return makers[form](conf, environ) if form in makers else {}


def server_options(conf: Mapping[str, str], port: int) -> dict[str, str]:
    """Return the settings of a Spark Connect server for this machine alone."""
    return {
        **_spark_options(SparkSettings(conf=conf)),
        "spark.app.name": "kplan server",
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
        "spark.log.level": "ERROR",
    }


def _connect_gateway(
    found: tuple[int, str], options: Mapping[str, str], *, own_python: bool
) -> "SparkSession":
    """Make a session on a gateway that runs. PySpark takes its address from the environment.

    With `own_python` the workers run the Python that runs this.
    """
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

    port, secret = found
    given = {"PYSPARK_GATEWAY_PORT": str(port), "PYSPARK_GATEWAY_SECRET": secret}
    if python := options.get(_PYTHON_SETTING, ""):  # which else only spark-submit reads
        given["PYSPARK_PYTHON"] = python
    elif own_python and "PYSPARK_PYTHON" not in os.environ:
        given["PYSPARK_PYTHON"] = sys.executable
    os.environ.update(given)
    listener = signal.getsignal(signal.SIGINT)
    try:
        conf = SparkConf().setAll(list(options.items()))
        context = SparkContext.getOrCreate(conf)
        context.setLogLevel("ERROR")
        return SparkSession(context)
    except Exception as failure:
        raise FleetError(f"Spark did not take the job: {failure_reason(failure)}") from failure
    finally:
        for name in given:
            os.environ.pop(name, None)
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, listener)  # Spark has put its own in its place


def check_reachable(address: str) -> None:
    """Refuse a Connect server or a standalone master that does not listen.

    Spark itself would try again for minutes. What follows the port may be a token, and is not told.
    Raises FleetError.
    """
    scheme, _, rest = address.partition("://")
    failures: list[str] = []
    for place in rest.partition("/")[0].split(","):
        host, _, port = place.rpartition(":") if ":" in place else (place, ":", str(_CONNECT_PORT))
        try:
            socket.create_connection((host.strip("[]"), int(port)), CONNECT_TIMEOUT_S).close()
        except (OSError, ValueError) as failure:
            failures.append(f"{scheme}://{host}:{port} does not answer: {failure}")
        else:
            return
    raise FleetError("; ".join(failures) + ".", _ADDRESS_HINT)


def _connect_remote(engine: SparkSettings) -> "SparkSession":
    if not engine.remote.startswith(_CONNECT_SCHEME):
        raise FleetError(
            f"This is not an address of Spark Connect: {_CONNECT_SCHEME}HOST:PORT.", _ADDRESS_HINT
        )
    check_reachable(engine.remote)
    name = engine.remote.partition(";")[0].rstrip("/")
    compat.silence_pyspark()
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.remote(engine.remote)
    for key, value in engine.conf.items():
        builder = builder.config(key, value)
    try:
        spark = builder.create()
        compat.limit_retries(spark, lambda: engine.has_ended)
        compat.skip_interrupt_requests(spark)
        spark.conf.set("spark.sql.session.timeZone", "UTC")
        spark.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")
        settings = {**_PARQUET_TIMES, **compat.session_settings(compat.spark_version())}
        for key, value in settings.items():
            spark.conf.set(key, value)
    except ImportError as failure:
        raise FleetError(
            f"{name} cannot be reached: {failure.name} is not installed.",
            "Install what Spark Connect needs with: pip install 'pyspark[connect]'",
        ) from failure
    except (PySparkException, OSError) as failure:
        raise FleetError(f"{name} does not answer: {failure_reason(failure)}") from failure
    return spark
