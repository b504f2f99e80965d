"""A Spark that was started for this process before kplan: by spark-submit, or by a platform.

Its settings count before those that kplan would choose, and its jars are those that it was started
with: the driver can take no more.
"""

import os
import re
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from kplan.fleet.compat import is_on_connect
from kplan.model.dataclass import dataclass
from kplan.model.errors import FleetError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_GATEWAY = ("PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET")
"""What spark-submit sets for the Python that it starts."""
_PLATFORM = "DATABRICKS_RUNTIME_VERSION"
"""What is set where `SparkSession.builder.getOrCreate()` returns the session of the platform."""
_OWN_SERVER = re.compile(r"local(-cluster)?(\[.*\])?").fullmatch
"""The masters of which PySpark would start a Connect server of its own."""
_OF_ITS_START = ("spark.master", "spark.ui.", "spark.driver.", "spark.jars")
"""How the settings begin that belong to whoever starts Spark."""
_SESSION_SETTINGS = ("spark.sql.session.timeZone", "spark.sql.sources.partitionOverwriteMode")


class JoinedSession(NamedTuple):
    """A session on such a Spark. One that kplan did not make is not ended either."""

    spark: "SparkSession"
    master: str
    is_remote: bool = False
    is_ours: bool = False


@dataclass(frozen=True, slots=True)
class JoinSettings:
    """`chosen` settings are set, `usual` ones where nothing else is."""

    chosen: Mapping[str, str]
    usual: Mapping[str, str]


def has_spark(environ: Mapping[str, str]) -> bool:
    """Whether this process was given a Spark."""
    return (
        all(environ.get(name) for name in _GATEWAY)
        or _PLATFORM in environ
        or _active_session() is not None
    )


def environment_remote(environ: Mapping[str, str]) -> str:
    """Return the Connect server that PySpark's own variable names, "" for none.

    It may also ask PySpark for a server of its own (`local[2]`), which is none to connect to.

    Raises:
        FleetError: it names neither.

    """
    found = environ.get("SPARK_REMOTE", "")
    if not found or _OWN_SERVER(found):
        return ""
    if not found.startswith("sc://"):
        raise FleetError(
            "SPARK_REMOTE is not an address of Spark Connect.",
            "Set it to sc://HOST:PORT, or unset it.",
        )
    return found


def submitted_master() -> str:
    """Return the master of the Spark that spark-submit started, "" where that is not how."""
    from pyspark import SparkConf, SparkContext

    if not all(os.environ.get(name) for name in _GATEWAY) or _active_session() is not None:
        return ""
    SparkContext._ensure_initialized()  # noqa: SLF001 - what a context does first
    return str(SparkConf(_jvm=SparkContext._jvm).get("spark.master") or "")  # noqa: SLF001


def join_spark(settings: JoinSettings) -> JoinedSession:
    """Return a session on the Spark of this process.

    Raises:
        FleetError: it does not take one.

    """
    from py4j.protocol import Py4JError  # noqa: PLC0415 - heavy
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    try:
        if (found := _active_session()) is not None:
            spark = found.newSession()
            _set_session(spark, settings)
            return JoinedSession(spark, str(spark.sparkContext.master))
        if not all(os.environ.get(name) for name in _GATEWAY):
            spark = SparkSession.builder.getOrCreate()
            _set_session(spark, settings)
            return JoinedSession(spark, "", is_remote=is_on_connect(spark))
        return _start_context(settings)
    except (PySparkException, Py4JError) as failure:
        line = str(failure).partition("\n")[0]
        raise FleetError(f"The Spark of this process did not take the job: {line}") from failure


def _start_context(settings: JoinSettings) -> JoinedSession:
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

    SparkContext._ensure_initialized()  # noqa: SLF001 - what a context does first
    conf = SparkConf(_jvm=SparkContext._jvm)  # noqa: SLF001 - with all that spark-submit was told
    for name, value in settings.usual.items():
        if not name.startswith(_OF_ITS_START):
            conf.setIfMissing(name, value)
    for name, value in settings.chosen.items():
        if not name.startswith(_OF_ITS_START):
            conf.set(name, value)
    context = SparkContext.getOrCreate(conf)
    context.setLogLevel("ERROR")
    return JoinedSession(SparkSession(context), str(context.master), is_ours=True)


def _set_session(spark: "SparkSession", settings: JoinSettings) -> None:
    every = {name: settings.usual[name] for name in _SESSION_SETTINGS} | dict(settings.chosen)
    for name, value in every.items():
        if name.startswith("spark.sql."):
            spark.conf.set(name, value)


def _active_session() -> "SparkSession | None":
    """Return the session that a program around this one has; a process has one Spark at most."""
    if "pyspark" not in sys.modules:  # to import it takes long
        return None
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    context = SparkContext._active_spark_context  # noqa: SLF001 - nothing public asks only
    return None if context is None else SparkSession(context)
