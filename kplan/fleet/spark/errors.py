"""Errors of Spark as errors of kplan: what happened, in one line, without traces."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from kplan.model.errors import FleetError, KplanError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_CAUSE_PREFIX = "Caused by: "
_TRACEBACK = "Traceback (most recent call last):"
_MISSING_MODULE = re.compile(r"No module named '([\w.]+)'")
_REFUSED_CALL = re.compile(
    r" of RPC that terminated with:\s+status = StatusCode\.(\w+)\s+details = \"(.*)\"\s*$",
    re.MULTILINE,
)
_ENDED = "Spark ended before it had answered."
_PY4J_HEAD = "An error occurred while calling"
"""How Py4J begins before it says what happened."""
_OUT_OF_MEMORY = "java.lang.OutOfMemoryError"
_MEMORY_HINT = (
    "Java may have had too little memory; it has 1g unless spark.driver.memory is set. Give it "
    "more: -conf=spark.driver.memory=4g"
)
_NO_MEMORY = "Spark ran out of memory."
_NO_MEMORY_HINT = (
    "Its driver has 1g unless spark.driver.memory is set. Give it more: "
    "-conf=spark.driver.memory=4g (of a server: as it is started). On a cluster the executors "
    "have spark.executor.memory."
)
_NO_FILE_SYSTEM = re.compile(
    r"Class (org[.]apache[.]hadoop[.]fs[.][\w.$]+|[\w.]+FileSystem\w*) not found"
    r"|No FileSystem for scheme \"?(\w+)"
)
"""What Hadoop says of a scheme whose jar is not there: the class that is set for it, or none is."""
_FILE_SYSTEM_HINT = (
    "Its jar has to be there, as for s3a org.apache.hadoop:hadoop-aws in the version of Spark's "
    "Hadoop: name it in spark.jars.packages (-conf, or conf in fleet.hcl), and for a Spark that "
    "runs already as that is started. See kplan help fleet-platforms."
)
_NO_PROGRAM = re.compile(r'Cannot run program "([^"]+)".*?error[:=] ?\d+[, (]+([^\n)]+)')
"""What Java says, differently since 25, of a Python that is not there or may not be run."""
_PROGRAM_HINT = (
    "It is the Python of Spark's executors, by default that of kplan. Name one that the user they "
    "run as may start: -conf=spark.pyspark.python=PATH"
)
_SERVER_ENDED = "The Spark server of kplan fleet spark start ended before it had answered."
_SERVER_HINT = (
    "Run the command again: without a server it starts a Spark of its own. If Java had too little "
    "memory, start the server with more: kplan fleet spark start -conf=spark.driver.memory=4g"
)


@contextmanager
def translate_errors(spark: "SparkSession", *, is_remote: bool) -> Iterator[None]:
    """Turn errors of Spark into errors of kplan: its tracebacks do not help users.

    Raises:
        FleetError: with the first line that shows what happened.

    """
    from py4j.protocol import Py4JError  # noqa: PLC0415 - heavy
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JError, ConnectionError) as failure:
        text = _failure_text(failure)
        if text is not None and (known := _known_fault(text)):
            raise FleetError(*known) from failure
        # Py4J and PySpark have many errors for a Java that is gone.
        if text is None or not (is_remote or _has_java(spark)):
            raise FleetError(_ENDED, _MEMORY_HINT) from failure
        if isinstance(failure, ConnectionError):
            raise  # not of Spark
        if missing := _MISSING_MODULE.search(text):
            raise FleetError(
                f"The Python of Spark's executors has no {missing[1]}.",
                "kplan is sent to them, but not what it is built on. Install that there, as "
                "pip install 'kplan[fleet]' does, or name another Python: "
                "-conf=spark.pyspark.python=PATH",
            ) from failure
        raise FleetError(f"Spark ended the job: {_error_line(text)}") from failure


@contextmanager
def translate_server_end(has_ended: Callable[[], bool]) -> Iterator[None]:
    """Say of whatever fails once a server on this machine has ended that this is why.

    Raises:
        FleetError: the server has ended.

    """
    try:
        yield
    except Exception as failure:
        is_of_spark = isinstance(failure, FleetError) or not isinstance(failure, KplanError)
        if is_of_spark and has_ended():
            raise FleetError(_SERVER_ENDED, _SERVER_HINT) from failure
        raise


def drop_rows(rows: "DataFrame") -> None:
    """Drop rows that Spark keeps; one that has ended keeps none, and its end is another error."""
    from py4j.protocol import Py4JError  # noqa: PLC0415 - heavy
    from pyspark.errors import PySparkException

    with suppress(PySparkException, Py4JError, OSError):
        rows.unpersist()


def _error_line(text: str) -> str:
    """Find the line with the cause: the last of a Python traceback, otherwise the first.

    Of a stream Spark tells its plan, too, behind the cause. The first line of a trace that Py4J
    passes on may be only that Spark waited: the last cause is told.
    """
    text = text.partition("=== Streaming Query ===")[0]
    if refused := _REFUSED_CALL.search(text):  # gRPC's own error, over several lines
        if refused[1] == "UNAVAILABLE":  # gRPC or a proxy says so, not the server
            return f"its Connect server is unavailable: {refused[2] or 'without a reason'}"
        return f"its Connect server answered {refused[1]}, {refused[2] or 'without a reason'}"
    lines = [each.strip() for each in text.splitlines() if each.strip()]
    if len(lines) > 1 and lines[0].startswith(_PY4J_HEAD):
        lines = [*_causes(lines)[-1:], lines[1].removeprefix(": "), *lines[2:]]
    ends = (at for at, each in enumerate(lines) if each.startswith(("SQLSTATE", "JVM ")))
    is_python = any(each.endswith(_TRACEBACK) for each in lines)
    if is_python:
        return lines[next(ends, len(lines)) - 1]
    return (lines or ["no reason was returned"])[0]


def _causes(lines: list[str]) -> list[str]:
    """Return what a Java trace names as causes, the first one last."""
    return [
        each.removeprefix(_CAUSE_PREFIX)
        for each in lines
        if each.startswith(_CAUSE_PREFIX) and not each.endswith(_TRACEBACK)
    ]


def _known_fault(text: str) -> tuple[str, str] | None:
    """Return in our words what Java says, and the way out; None where we have none."""
    if _OUT_OF_MEMORY in text:
        return _NO_MEMORY, _NO_MEMORY_HINT
    if found := _NO_FILE_SYSTEM.search(text):
        what = f"class {found[1]}" if found[1] else f"file system for {found[2]}://"
        return f"Spark has no {what}.", _FILE_SYSTEM_HINT
    if found := _NO_PROGRAM.search(text):
        return f"Spark cannot run {found[1]}: {found[2]}.", _PROGRAM_HINT
    return None


def _has_java(spark: "SparkSession") -> bool:
    """Whether the Java of a Spark of this process answers."""
    try:
        spark.sparkContext._jvm.System.nanoTime()  # type: ignore[union-attr] # noqa: SLF001
    except Exception:  # noqa: BLE001 - whatever Py4J makes of it
        return False
    return True


def _failure_text(failure: BaseException) -> str | None:
    """Return what a failure says; None where its text was in a Java that is gone."""
    try:
        return str(failure)
    except Exception:  # noqa: BLE001 - whatever Py4J makes of it
        return None


def failure_reason(failure: BaseException) -> str:
    """Return the cause of a failure of Spark, or its most specific line, without traces."""
    from py4j.protocol import Py4JNetworkError  # noqa: PLC0415 - heavy

    text = _failure_text(failure)
    is_lost = isinstance(failure, (ConnectionError, Py4JNetworkError))  # the connection to Java
    if is_lost or text is None:
        return f"{_ENDED} {_MEMORY_HINT}"
    if known := _known_fault(text):
        return " ".join(known)
    causes = _causes([each.strip() for each in text.splitlines()])
    reason = causes[-1] if causes else _error_line(text)
    if lacking := _MISSING_CLASS.fullmatch(reason):
        name = lacking[1].replace("/", ".")
        return f"Spark has no class {name}. A jar may be built for another version of Spark."
    if denied := _ACCESS_DENIED.fullmatch(reason):
        return f"{denied[1]}: Permission denied"
    if "Mkdirs failed to create" in reason:
        return _NO_FOLDER
    unread = unreadable_file(failure)
    return f"{unread}: {reason}" if unread and causes else reason


def unreadable_file(failure: BaseException) -> str:
    """Name the file that Spark could not read, as in `source` of rows; "" is none."""
    found = _UNREADABLE_FILE.search(str(failure))
    return found[1].replace(":///", ":/", 1) if found else ""


def is_failed_task(failure: BaseException) -> bool:
    """Whether the work of a task failed, not Spark itself or one of its machines."""
    text = str(failure)
    return _FAILED_TASK in text and _LOST_EXECUTOR not in text


_MISSING_CLASS = re.compile(r"(?:java\.lang\.NoClassDefFoundError: )?((?:\w+/)+[\w$]+)")
"""All that Java says of a class that a jar needs and that is not there."""
_ACCESS_DENIED = re.compile(r"java\.nio\.file\.AccessDeniedException: (.+?)(: Permission denied)?")
_NO_FOLDER = (
    "Spark cannot make a folder there: the user that it runs as may not, or it is read-only."
)
"""Java does not say why a folder could not be made."""
_FAILED_TASK, _LOST_EXECUTOR = "Job aborted due to stage failure", "ExecutorLostFailure"
_UNREADABLE_FILE = re.compile(r"Encountered error while reading file (.+?)[.]\s+SQLSTATE")
"""What Spark says of a file that it cannot read, beside the cause."""
