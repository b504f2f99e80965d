from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest
from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark.errors import PySparkException

from kplan.fleet.spark.errors import _error_line, failure_reason, translate_errors
from kplan.model.errors import FleetError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PYTHON = """An exception was thrown from the Python worker:
Traceback (most recent call last):
  File "/x/planning.py", line 90, in findings
AttributeError: 'PlanRequest' object has no attribute 'clusters'
"""
BEHIND = """ SQLSTATE: 38000

JVM stacktrace:
org.apache.spark.SparkException
"""


def translated(told: str) -> FleetError:
    """Return the error that kplan makes of what a Spark elsewhere tells."""
    with (
        pytest.raises(FleetError) as failed,
        translate_errors(cast("SparkSession", None), is_remote=True),
    ):
        raise PySparkException(told)
    return failed.value


@pytest.mark.parametrize("behind", ["", BEHIND.lstrip(" "), BEHIND[17:]])
def test_of_a_failure_in_python_its_last_line_is_told(behind: str) -> None:
    """Spark writes what comes behind it differently from version to version."""
    told = "AttributeError: 'PlanRequest' object has no attribute 'clusters'"
    assert _error_line(f"{PYTHON}{behind}") == told


def test_of_any_other_failure_the_first_line_is_told() -> None:
    assert _error_line("[PATH_NOT_FOUND] There is no x.\n\nJVM stacktrace:\nat y") == (
        "[PATH_NOT_FOUND] There is no x."
    )
    assert _error_line("") == "no reason was returned"


@pytest.mark.parametrize(
    ("details", "told"),
    [
        ("", "its Connect server answered UNKNOWN, without a reason"),
        ('no "x"', 'its Connect server answered UNKNOWN, no "x"'),
    ],
)
def test_of_a_call_that_a_connect_server_refuses_the_reason_is_told(
    details: str, told: str
) -> None:
    """The first line of gRPC's error says only that there was one."""
    text = (
        "<_InactiveRpcError of RPC that terminated with:\n\tstatus = StatusCode.UNKNOWN\n"
        f'\tdetails = "{details}"\n\tdebug_error_string = "UNKNOWN:Error received from peer"\n>'
    )
    assert _error_line(text) == told


def test_a_connect_server_that_is_gone_has_answered_nothing() -> None:
    text = (
        "<_MultiThreadedRendezvous of RPC that terminated with:\n"
        '\tstatus = StatusCode.UNAVAILABLE\n\tdetails = "Connection refused"\n>'
    )
    assert _error_line(text) == "its Connect server is unavailable: Connection refused"


def test_the_cause_of_a_failure_comes_before_all() -> None:
    disk = "Caused by: java.io.IOException: No space left on device"
    told = f"Job aborted.\nCaused by: org.apache.spark.SparkException: x\n{disk}\n\tat y"
    assert failure_reason(OSError(told)) == "java.io.IOException: No space left on device"
    python = f"[PYTHON_DATA_SOURCE_ERROR] Failed to create it: {PYTHON.partition(':')[2]}"
    assert failure_reason(OSError(python)).startswith("AttributeError: ")


def test_a_folder_that_cannot_be_made_is_told_in_words() -> None:
    told = (
        "Job aborted due to stage failure\nCaused by: java.io.IOException: Mkdirs failed to create "
        "file:/srv/tables/objects/attempt=1/_temporary/0 (exists=false, cwd=file:/tmp)\n\tat y"
    )
    reason = failure_reason(OSError(told))
    assert reason.startswith("Spark cannot make a folder there: the user that it runs as may not")


@pytest.mark.parametrize(
    ("told", "said"),
    [
        (
            "ClassNotFoundException: Class org.apache.hadoop.fs.s3a.S3AFileSystem not found",
            "Spark has no class org.apache.hadoop.fs.s3a.S3AFileSystem.",
        ),
        (
            'org.apache.hadoop.fs.UnsupportedFileSystemException: No FileSystem for scheme "gs"',
            "Spark has no file system for gs://.",
        ),
    ],
)
def test_a_file_system_without_its_jar_is_told_with_the_way_out(told: str, said: str) -> None:
    assert failure_reason(RuntimeError(told)).startswith(f"{said} Its jar has to be there")
    failure = translated(told)
    assert failure.detail == said
    assert "hadoop-aws" in failure.hint


@pytest.mark.parametrize(
    "told", ["error=13, Permission denied", "Exec failed, error: 13 (Permission denied)"]
)
def test_a_python_that_cannot_be_run_is_named_with_the_way_out(told: str) -> None:
    """The last cause has only the error, without the program."""
    text = (
        "Job aborted due to stage failure: Lost task 0.0 in stage 0.0: java.io.IOException: "
        f'Cannot run program "/opt/my env/python3": {told}\n\tat java.base/x\n'
        "Caused by: java.io.IOException: error=13, Permission denied\n"
    )
    said = "Spark cannot run /opt/my env/python3: Permission denied."
    assert failure_reason(RuntimeError(text)).startswith(said)
    failure = translated(text)
    assert failure.detail == said
    assert "-conf=spark.pyspark.python=PATH" in failure.hint


def test_a_file_that_cannot_be_read_is_named() -> None:
    told = (
        "[FAILED_READ_FILE.NO_HINT] Encountered error while reading file file:///a/x.log.gz.  "
        "SQLSTATE: KD001\nCaused by: java.io.EOFException: Unexpected end of input stream"
    )
    reason = "file:/a/x.log.gz: java.io.EOFException: Unexpected end of input stream"
    assert failure_reason(OSError(told)) == reason


def test_a_lost_line_to_a_java_that_lives_is_an_error_of_its_job() -> None:
    system = SimpleNamespace(System=SimpleNamespace(nanoTime=lambda: 1))
    spark = SimpleNamespace(sparkContext=SimpleNamespace(_jvm=system))
    with (
        pytest.raises(FleetError, match="Spark ended the job: Answer from Java side is empty"),
        translate_errors(cast("SparkSession", spark), is_remote=False),
    ):
        raise Py4JNetworkError("Answer from Java side is empty")


def test_the_reason_why_a_stream_failed_is_told_and_not_its_plan() -> None:
    """Spark writes the whole plan of the query behind the cause."""
    plan = "\n=== Streaming Query ===\nIdentifier: [id = 1]\n+- ~StreamingRelation[x#1]\n"
    raised = "An exception was raised by the Python Proxy. Return Message: " + PYTHON
    assert failure_reason(RuntimeError(raised + plan)) == _error_line(PYTHON)
    assert "Streaming" not in failure_reason(RuntimeError(raised + plan))


@pytest.mark.parametrize(
    "told",
    [
        "org/apache/spark/sql/connector/read/streaming/SupportsRealTimeMode",
        (
            "Job failed.\nCaused by: java.lang.NoClassDefFoundError: "
            "org/apache/spark/sql/connector/read/streaming/SupportsRealTimeMode"
        ),
    ],
    ids=["of a stream", "of a job"],
)
def test_a_jar_of_another_spark_is_told_by_the_class_that_it_needs(told: str) -> None:
    assert failure_reason(RuntimeError(told)) == (
        "Spark has no class org.apache.spark.sql.connector.read.streaming.SupportsRealTimeMode. "
        "A jar may be built for another version of Spark."
    )


class NoTextError(Exception):
    """An error of Java whose text Py4J asks of a Java that is gone."""

    def __str__(self) -> str:
        raise Py4JNetworkError("An error occurred while trying to connect to the Java server")


def test_an_error_whose_java_is_gone_says_that_spark_ended() -> None:
    assert failure_reason(NoTextError()).startswith("Spark ended before it had answered.")
    spark = SimpleNamespace()
    with (
        pytest.raises(FleetError, match=r"Spark ended before it had answered\.") as raised,
        translate_errors(cast("SparkSession", spark), is_remote=False),
    ):
        raise Py4JError("py4j.reflection.TypeUtil does not exist in the JVM")
    assert "-conf=spark.driver.memory=4g" in raised.value.hint


@pytest.mark.parametrize("is_remote", [False, True])
def test_a_spark_out_of_memory_says_so_and_what_gives_it_more(is_remote: bool) -> None:
    """`toArrow` of many rows: its first line says only which call of Py4J it was."""
    told = (
        "An error occurred while calling o118.getResult.\n: org.apache.spark.SparkException: x\n"
        "Caused by: java.lang.OutOfMemoryError: Java heap space\n\tat y"
    )
    assert failure_reason(RuntimeError(told)).startswith("Spark ran out of memory.")
    with (
        pytest.raises(FleetError, match=r"Spark ran out of memory\.") as raised,
        translate_errors(cast("SparkSession", SimpleNamespace()), is_remote=is_remote),
    ):
        raise Py4JError(told)
    assert "-conf=spark.driver.memory=4g" in raised.value.hint


def test_the_line_behind_the_head_of_py4j_is_told() -> None:
    text = (
        "An error occurred while calling None.org.apache.spark.api.java.JavaSparkContext.\n"
        ": org.apache.spark.SparkIllegalArgumentException: System memory 1 must be at least 2.\n"
        "\tat org.apache.spark.memory"
    )
    assert _error_line(text) == (
        "org.apache.spark.SparkIllegalArgumentException: System memory 1 must be at least 2."
    )


def test_of_a_job_that_spark_waited_for_the_cause_is_told() -> None:
    """As Py4J passes it on from `toArrow`: the line behind its head names no cause."""
    text = (
        "An error occurred while calling o2782.getResult.\n"
        ": org.apache.spark.SparkException: Exception thrown in awaitResult: \n"
        "\tat org.apache.spark.util.ThreadUtils$.awaitResult(ThreadUtils.scala:359)\n"
        "Caused by: org.apache.spark.SparkException: Job aborted due to stage failure: Task 1\n"
        "\tat org.apache.spark.scheduler\n"
        "Caused by: java.io.IOException: No space left on device\n"
        "\t... 1 more\n"
    )
    with (
        pytest.raises(FleetError, match=r"^Spark ended the job: java\.io\.IOException: No space"),
        translate_errors(cast("SparkSession", SimpleNamespace()), is_remote=True),
    ):
        raise Py4JError(text)


@pytest.mark.parametrize("told", ["/logs/eu", "/logs/eu: Permission denied"])
def test_what_may_not_be_read_is_told_without_the_name_of_a_class(told: str) -> None:
    text = f"Lost task 0.0\n\tat x\nCaused by: java.nio.file.AccessDeniedException: {told}\n"
    assert failure_reason(RuntimeError(text)) == "/logs/eu: Permission denied"
