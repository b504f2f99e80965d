"""What differs between versions of PySpark, so that all else is written once (decision 0140).

PySpark 3.5 lacks what is used here of 4.0 and later. Where that exists it is used.
"""

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

_SPARK_3 = "3."
_SPARK_3_NEWEST_JAVA = 20
"""Arrow of Spark 3.5 calls a constructor that later versions of Java lack."""
_SPARK_3_SETTINGS = {
    "spark.sql.ansi.enabled": "true",  # as later versions have it by themselves
    # Plans are longer than in later versions, and each is kept as a text: heaps were too small.
    "spark.sql.maxPlanStringLength": "200000",
}
_MAX_RETRIES, _MAX_BACKOFF_MS = 8, 5_000
"""How often a client of Spark Connect tries again: for about 25 seconds."""


@cache
def spark_version() -> str:
    """Return the version of PySpark, without importing it where it was installed as a package."""
    try:
        return version("pyspark")
    except PackageNotFoundError:  # a platform has it in a folder
        from pyspark import __version__

        return str(__version__)


def minor_version(spark: str) -> str:
    """Return a version such as 4.1 of one such as 4.1.4."""
    return ".".join(spark.split(".")[:2])


def scala_version(spark: str) -> str:
    """Return the version of Scala that the jars of a Spark are built with."""
    return "2.12" if spark.startswith(_SPARK_3) else "2.13"


def newest_java(spark: str) -> int | None:
    """Return the last Java that a Spark runs on; None is any."""
    return _SPARK_3_NEWEST_JAVA if spark.startswith(_SPARK_3) else None


def session_settings(spark: str) -> Mapping[str, str]:
    """Return the settings by which a Spark gives the answers of later ones."""
    return _SPARK_3_SETTINGS if spark.startswith(_SPARK_3) else {}


def silence_pyspark() -> None:
    """Keep PySpark from writing failures to stderr: some only show that a table does not exist.

    Nor does it write a traceback of its own when Java ends before it, or warn of a Connect server
    that does not answer, which is an error.
    """
    from pyspark import accumulators

    warnings.filterwarnings("ignore", r"\[RETRIES_EXCEEDED\]", UserWarning)
    for name in ("AccumulatorTCPServer", "AccumulatorServer"):
        if server := getattr(accumulators, name, None):
            server.handle_error = lambda *_: None
    try:
        from pyspark.logger import PySparkLogger
    except ImportError:  # before 4.0 it writes none
        return
    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        PySparkLogger.getLogger(name).disabled = True


def limit_retries(spark: "SparkSession", has_ended: Callable[[], bool]) -> None:
    """Have a client of Spark Connect try again for seconds, where PySpark does for ten minutes.

    Where the server `has_ended`, or was given up once, it does not at all: cleaning up would take
    as long again. Before 4.0 a client knows no policies, only how often and after which time.
    """
    client: Any = spark.client
    if not hasattr(client, "set_retry_policies"):
        limits = {"max_retries": _MAX_RETRIES, "max_backoff": _MAX_BACKOFF_MS}
        client._retry_policy.update(limits)  # noqa: SLF001 - nothing public sets it
        return
    from pyspark.sql.connect.client.retries import DefaultPolicy, RetryPolicyState

    given_up: list[bool] = []

    class Attempts(RetryPolicyState):
        def next_attempt(self, *failure: Any) -> int | None:  # noqa: ANN401 - none in 4.0
            found = super().next_attempt(*failure)
            if found is None:
                given_up.append(True)
            return found

    class Retries(DefaultPolicy):
        def can_retry(self, e: BaseException) -> bool:
            return super().can_retry(e) and not (given_up or has_ended())

        def to_state(self) -> RetryPolicyState:
            return Attempts(self)

    client.set_retry_policies([Retries(_MAX_RETRIES, max_backoff=_MAX_BACKOFF_MS)])


def skip_interrupt_requests(spark: "SparkSession") -> None:
    """Have a client not ask for the end of a query that was interrupted.

    The end of the session does, and waits for seconds; PySpark for as long as the server takes.
    """
    client: Any = spark.client
    client.interrupt_operation = lambda _: None


def properties_options(file: str, spark: str) -> tuple[str, ...]:
    """Return how spark-submit reads a file of settings: before 4.0 as its only defaults."""
    is_alone = spark.startswith(_SPARK_3)
    return ("--properties-file", file, *(() if is_alone else ("--load-spark-defaults",)))


def asks_for_tokens(spark: str) -> bool:
    """Whether a Connect server of a Spark can ask for a token."""
    return not spark.startswith(_SPARK_3)


def map_groups(
    rows: "DataFrame", keys: Sequence[str], work: Callable[[Any], Any], schema: str
) -> "DataFrame":
    """Return what `work` makes of the rows of each group: Arrow tables in and out."""
    groups = rows.groupBy(*keys)
    if hasattr(groups, "applyInArrow"):
        return groups.applyInArrow(work, schema)

    def apply(batches: Iterator[Any]) -> Iterator[Any]:
        for group in split_groups(batches, keys):
            yield from work(group).to_batches()

    return rows.repartition(*keys).sortWithinPartitions(*keys).mapInArrow(apply, schema)


def split_groups(batches: Iterable[Any], keys: Sequence[str]) -> Iterator[Any]:
    """Cut Arrow batches that are sorted by keys into a table for each group."""
    import pyarrow as pa  # noqa: PLC0415 - on the executor

    parts = (part for batch in batches for part in _key_parts(batch, keys))
    for _, each in groupby(parts, key=itemgetter(0)):
        yield pa.Table.from_batches([part for _, part in each])


def _key_parts(batch: Any, keys: Sequence[str]) -> Iterator[tuple[tuple[Any, ...], Any]]:  # noqa: ANN401 - of Arrow
    """Cut a batch where the key changes."""
    start = 0
    found = zip(*(batch.column(each).to_pylist() for each in keys), strict=True)
    for key, rows in groupby(found):
        count = sum(1 for _ in rows)
        yield key, batch.slice(start, count)
        start += count


def rebalance(rows: "DataFrame", column: str) -> "DataFrame":
    """Have rows lie in partitions of a good size; before 4.0 a hint takes no column to do it by."""
    from pyspark.sql import functions as F  # noqa: N812 - heavy; its customary name

    if spark_version().startswith(_SPARK_3):
        return rows.hint("rebalance")
    return rows.hint("rebalance", F.col(column))


def is_on_connect(found: "SparkSession | DataFrame") -> bool:
    """Whether a session, or what it made, is of a Connect server."""
    return "connect" in type(found).__module__


def can_observe(rows: "DataFrame") -> bool:
    """Whether rows can be counted while they are written: not on Connect before 4.0."""
    return not (is_on_connect(rows) and spark_version().startswith(_SPARK_3))


def names_unreadable_files() -> bool:
    """Whether an error of Spark says which file could not be read."""
    return not spark_version().startswith(_SPARK_3)


def takes_arrow_tables() -> bool:
    """Whether DataFrames can be made of Arrow tables."""
    return not spark_version().startswith(_SPARK_3)


def rows_dataframe(
    spark: "SparkSession", rows: Sequence[Sequence[object]], schema: str
) -> "DataFrame":
    """Return a DataFrame of rows that are no Arrow table for Spark, as none are before Spark 4.

    Maps may be lists of pairs. Of no rows Spark 4.2 makes no Arrow schema with timestamps.
    """
    import pandas as pd  # noqa: PLC0415 - heavy; Spark makes values of its plan of it, too
    from pyspark.sql.types import MapType

    meant = spark.createDataFrame([], schema)
    if not rows:
        return meant
    columns: dict[str, Any] = {}
    for field, found in zip(meant.schema, zip(*rows, strict=True), strict=True):
        is_map = isinstance(field.dataType, MapType)
        values = [None if each is None else dict(each) for each in found] if is_map else found
        columns[field.name] = pd.Series(values, dtype=object)
    return spark.createDataFrame(pd.DataFrame(columns), meant.schema)


def valid_utf8(text: "Column") -> "Column":
    """Replace what is no UTF-8 by U+FFFD."""
    from pyspark.sql import functions as F  # noqa: N812 - heavy; its customary name

    if hasattr(F, "make_valid_utf8"):
        return F.make_valid_utf8(text)
    return F.decode(text.cast("binary"), "UTF-8")  # fails in later versions
