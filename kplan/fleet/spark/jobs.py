"""Names of jobs, as the pages and the event log of Spark show them."""

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from kplan.fleet.compat import is_on_connect

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

DEFAULT_COMMAND = "kplan"
_COMMAND_SETTING = "spark.kplan.command"
"""The command of a session. Threads have no name for jobs of their own, and find it here."""
_GROUP, _DESCRIPTION = "spark.jobGroup.id", "spark.job.description"


def name_jobs(spark: "SparkSession", command: str) -> Callable[[], None]:
    """Name the jobs of a session after a command, such as `kplan fleet inventory`.

    They are a job group, or have a tag on a Connect server. Returns what restores the names of a
    Spark that others use, too.
    """
    spark.conf.set(_COMMAND_SETTING, command)
    context = _context(spark)
    before = {
        name: context.getLocalProperty(name)
        for name in (_GROUP, _DESCRIPTION)
        if context is not None
    }
    describe_jobs(spark, "")

    def restore() -> None:
        from py4j.protocol import Py4JError  # noqa: PLC0415 - heavy

        with suppress(Py4JError, OSError):  # Spark has ended before us
            for name, value in before.items():
                if context is not None:
                    context.setLocalProperty(name, value)  # type: ignore[arg-type]

    return restore


def describe_jobs(spark: "SparkSession", work: str) -> None:
    """Say what the next jobs of this thread do, after the name of the command.

    Micro-batches of streams stay in the job group of their query, by which Spark stops them.
    """
    command = str(spark.conf.get(_COMMAND_SETTING, DEFAULT_COMMAND))
    text = f"{command}: {work}" if work else command
    context = _context(spark)
    if context is None:
        spark.clearTags()
        spark.addTag(text.replace(",", ";"))  # a comma separates tags
    elif context.getLocalProperty(_GROUP) is None:
        context.setJobGroup(command, text)
    else:
        context.setJobDescription(text)


def _context(spark: "SparkSession") -> "SparkContext | None":
    """Return the context of a session; one on a Connect server has none."""
    return None if is_on_connect(spark) else spark.sparkContext
