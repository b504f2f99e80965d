"""A Spark Connect server on this machine that fleet commands share, so that Spark starts once."""

import json
import os
import secrets
import socket
import sys
import time
from collections.abc import Mapping
from contextlib import closing, suppress
from dataclasses import asdict, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kplan.fleet.compat import asks_for_tokens, spark_version
from kplan.fleet.spark.credentials import secret_options, split_secrets
from kplan.fleet.spark.jvm import find_java, spark_command, utf8_locale
from kplan.fleet.spark.session import SparkSettings, open_session, server_options, spark_home
from kplan.model.dataclass import dataclass
from kplan.model.errors import FleetError
from kplan.sandbox.artifact import cache_folder, file_lock
from kplan.sandbox.process import Process, end_processes, hold_signals, is_alive, spawn

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

START_TIMEOUT_S = 180.0
STOP_TIMEOUT_S = 10.0
_POLL_INTERVAL_S = 0.1
_FORMAT = 1
_TOKEN_VARIABLE = "SPARK_CONNECT_AUTHENTICATE_TOKEN"  # noqa: S105 - the name of a variable
_LOG_TAIL_LINES = 15
_CLASS = ("--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "spark-internal")
_OWN_SETTINGS = {"spark.connect.grpc.binding.address", "spark.connect.grpc.binding.port"}
_PRIVATE = 0o600


@dataclass(frozen=True, slots=True)
class SparkServer:
    """A server as its file records it. `conf` are the settings that it was started with.

    `package` identifies the kplan that its Python workers import.
    """

    process: Process
    port: int
    token: str = field(repr=False)
    conf: Mapping[str, str]
    spark: str
    python: str
    package: str
    began_at: str

    @property
    def address(self) -> str:
        """The address of the server, without its token."""
        return f"sc://localhost:{self.port}"

    @property
    def settings(self) -> SparkSettings:
        """How a session on it is opened."""
        remote = f"{self.address}/;use_ssl=false;token={self.token}"
        has_package = self.package == package_stamp()
        return SparkSettings(remote=remote, has_package=has_package, process=self.process)

    def suits(self, wanted: Mapping[str, str]) -> bool:
        """Whether it has these settings, and runs this Spark and this Python."""
        return (
            all(self.conf.get(name) == value for name, value in wanted.items())
            and self.spark == spark_version()
            and self.python == _python_version()
        )


def server_folder() -> Path:
    """Return the folder of the record and the log of the server."""
    return cache_folder() / "spark-server"


def find_server() -> SparkServer | None:
    """Return the server of this user that runs."""
    try:
        found = json.loads(_record_file().read_text(encoding="utf-8"))
        if found.pop("format") != _FORMAT:
            return None
        server = SparkServer(**{**found, "process": Process(**found["process"])})
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return server if is_alive(server.process) else None


def start_server(conf: Mapping[str, str], began_at: str) -> tuple[SparkServer, bool]:
    """Return the server that runs, starting one with these settings where there is none.

    The second value is whether it was started now. It listens on loopback, and asks for a token
    that only its owner can read.

    Raises:
        FleetError: one with other settings runs, or Spark does not start or has no tokens, or the
            settings say where it listens.

    """
    if given := sorted(_OWN_SETTINGS & conf.keys()):
        raise FleetError(
            f"{given[0]} cannot be set: the server listens on loopback, at a free port.",
            "kplan fleet spark status -json has its address.",
        )
    spark = spark_version()
    if not asks_for_tokens(spark):
        raise FleetError(
            f"A Connect server of Spark {spark} asks for no token: everyone on this machine could "
            "use it.",
            "Run commands without a server, or install PySpark 4.0 or later.",
        )
    folder = server_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with file_lock(folder / "lock"):
            _end_unfinished_start()
            if (running := find_server()) is not None:
                if not running.suits(conf):
                    raise FleetError(
                        f"A Spark with other settings runs at {running.address}.",
                        "Stop it first: kplan fleet spark stop",
                    )
                return running, False
            return _launch_server(folder, conf, began_at), True
    except OSError as failure:
        raise FleetError(f"{folder}: {failure.strerror or failure}.") from failure


def stop_server() -> SparkServer | None:
    """Stop the server and return it; None where none runs. One that starts is waited for.

    Raises:
        FleetError: the record of the server cannot be removed.

    """
    folder = server_folder()
    if not folder.is_dir():
        return None
    try:
        with file_lock(folder / "lock"):
            _end_unfinished_start()
            running = find_server()
            if running is not None:
                end_processes([running.process], STOP_TIMEOUT_S)
            _record_file().unlink(missing_ok=True)
            return running
    except OSError as failure:
        raise FleetError(f"{folder}: {failure.strerror or failure}.") from failure


def _end_unfinished_start() -> None:
    """End the process of a start that was killed: no record names it, and its token is lost."""
    file = _unfinished_file()
    with suppress(OSError, ValueError, TypeError):
        left = Process(**json.loads(file.read_text(encoding="utf-8")))
        end_processes([left], STOP_TIMEOUT_S)
    file.unlink(missing_ok=True)


def package_stamp() -> str:
    """Identify the modules of this kplan by their place and the time of their last change."""
    top = Path(__file__).parents[2]
    newest = max(each.stat().st_mtime_ns for each in top.rglob("*.py"))
    return f"{top} {newest}"


def _launch_server(folder: Path, conf: Mapping[str, str], began_at: str) -> SparkServer:
    port, token = _free_port(), secrets.token_hex(32)
    java, home, log = find_java(os.environ), spark_home(), folder / "spark.log"
    log.unlink(missing_ok=True)
    shown, secret = split_secrets(server_options(conf, port))
    given = {_TOKEN_VARIABLE: token, "SPARK_HOME": str(home), "PYSPARK_PYTHON": _python(conf)}
    given |= utf8_locale(os.environ)
    file = folder / "secrets"
    process: Process | None = None
    try:
        work = (*secret_options(secret, file), *_CLASS)
        command = spark_command(java, home, shown, os.environ, work, is_brief=False)
        with hold_signals():
            process = _spawn_with(given, tuple(command), log)
            with suppress(OSError):  # no space: a start that is killed then leaves it
                _write_private(_unfinished_file(), asdict(process))
        server = SparkServer(
            process,
            port,
            token,
            dict(conf),
            spark_version(),
            _python_version(),
            package_stamp(),
            began_at,
        )
        _await_server(server, log)
        with open_session(server.settings) as spark:
            _warm_up(spark, folder)
        _write_record(server)  # no command may find it before
    except BaseException:
        end_processes([process] if process else [], 0)
        raise
    finally:
        file.unlink(missing_ok=True)
        _unfinished_file().unlink(missing_ok=True)
    return server


def _spawn_with(given: Mapping[str, str], command: tuple[str, ...], log: Path) -> Process:
    """Start it with some variables in its environment, which no other process can see."""
    before = {name: os.environ.get(name) for name in given}
    os.environ.update(given)
    try:
        return spawn(command, log)
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _await_server(server: SparkServer, log: Path) -> None:
    deadline = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < deadline and is_alive(server.process):
        with suppress(OSError):
            socket.create_connection(("localhost", server.port), timeout=1).close()
            return
        time.sleep(_POLL_INTERVAL_S)
    said = log.read_text(encoding="utf-8", errors="replace").splitlines() if log.exists() else []
    raise FleetError("Spark did not start. Its last words:\n" + "\n".join(said[-_LOG_TAIL_LINES:]))


def _warm_up(spark: "SparkSession", folder: Path) -> None:
    """Let Spark load and compile what most answers take, so that the first one has it."""
    from pyspark.sql import functions as F  # noqa: N812 - heavy; its customary name

    place = str(folder / "warm-up")
    rows = spark.range(100).select(
        F.col("id").cast("string").alias("name"),
        F.create_map(F.lit("key"), F.col("id").cast("string")).alias("attributes"),
        (F.col("id") % 5).alias("kind"),
    )
    rows.write.mode("overwrite").partitionBy("kind").parquet(place)
    read = spark.read.parquet(place)
    counts = read.groupBy("kind").agg(
        F.countDistinct(F.col("attributes")["key"]), F.collect_set("name").alias("names")
    )
    read.join(F.broadcast(counts), "kind").orderBy("name").limit(10).collect()
    # It starts what Python workers are forks of. Connect takes no function without a signature.
    spark.range(1).mapInArrow(lambda batches: batches, "id long").collect()


def _python(conf: Mapping[str, str]) -> str:
    return conf.get("spark.pyspark.python") or os.environ.get("PYSPARK_PYTHON") or sys.executable


def _python_version() -> str:
    return f"{sys.version_info.major}.{sys.version_info.minor}"


def _free_port() -> int:
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _record_file() -> Path:
    return server_folder() / "server.json"


def _unfinished_file() -> Path:
    return server_folder() / "unfinished.json"


def _write_record(server: SparkServer) -> None:
    values = {"format": _FORMAT, **asdict(replace(server, conf=dict(server.conf)))}
    _write_private(_record_file(), values)


def _write_private(file: Path, values: Mapping[str, Any]) -> None:
    fresh = file.with_suffix(f".{os.getpid()}.new")
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, _PRIVATE), "w") as out:
        json.dump(values, out, sort_keys=True)
    fresh.replace(file)
