"""The files of authorizer logs by name: those that patterns fit."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote

from kplan.fleet.figures import open_query_pool
from kplan.fleet.logs.part import READER_VERSION, ZONED_READER_VERSION
from kplan.fleet.spark.errors import failure_reason
from kplan.model.errors import FleetError
from kplan.model.file_url import escape_glob
from kplan.model.log_layout import LogLayout

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


_HIDDEN = (".", "_")


class LogPatterns(NamedTuple):
    """The files of one cluster, as patterns of Hadoop's file systems, and how they are read.

    Without a layout that of each line is found.
    """

    cluster: str
    patterns: tuple[str, ...]
    time_zone: str = ""
    layout: LogLayout | None = None

    @property
    def settings(self) -> str:
        """Return what makes a log be read otherwise."""
        version = ZONED_READER_VERSION if self.time_zone else READER_VERSION
        usual = f"{self.time_zone} {version}"
        return f"{usual} {self.layout.text}" if self.layout else usual


class NamedFile(NamedTuple):
    """A file that a pattern fits. `source` is what rows call it."""

    cluster: str
    source: str
    settings: str
    layout: LogLayout | None = None


def escape_pattern(source: str) -> str:
    """Return the pattern of Hadoop's file systems that fits this file alone."""
    return escape_glob(unquote(source))


def list_log_files(
    spark: "SparkSession", given: Sequence[LogPatterns]
) -> tuple[list[NamedFile], list[tuple[str, FleetError]]]:
    """List the files that patterns fit, and by cluster what is wrong with patterns.

    A file is listed once; a layout that is named for it applies.
    """
    found: dict[tuple[str, str], NamedFile] = {}
    failures: list[tuple[str, FleetError]] = []
    with open_query_pool() as pool:
        asked = [(each, pool.submit(_list_files, spark, each)) for each in given]
        for each, listed in asked:
            sources, failed = listed.result()
            failures += [(each.cluster, failure) for failure in failed]
            for source in sources:
                file = NamedFile(each.cluster, source, each.settings, each.layout)
                other = found.setdefault((each.cluster, source), file)
                if other.layout is None:
                    found[each.cluster, source] = file
    return list(found.values()), failures


def _list_files(spark: "SparkSession", given: LogPatterns) -> tuple[list[str], list[FleetError]]:
    """List files by name, and what is wrong with patterns, such as one that fits nothing.

    Spark fails for all of them then: each is asked for by itself.
    """
    try:
        return _pattern_files(spark, given.cluster, given.patterns), []
    except FleetError as failure:
        if len(given.patterns) == 1:
            return [], [failure]
    found: list[str] = []
    failures: list[FleetError] = []
    for each in given.patterns:
        try:
            found += _pattern_files(spark, given.cluster, [each])
        except FleetError as failure:
            failures.append(failure)
    return sorted({*found}), failures


def _pattern_files(spark: "SparkSession", cluster: str, patterns: Sequence[str]) -> list[str]:
    """List files by name; raises FleetError where a pattern fits nothing."""
    from pyspark.errors import AnalysisException

    for each in patterns:
        if each.rpartition("/")[2].startswith(_HIDDEN):
            raise _hidden_error(cluster, each)
    try:
        listed = _input_files(spark, patterns)
    except AnalysisException as failure:
        path = (failure.getMessageParameters() or {}).get("path", "")
        detail = f"there is no log {path}" if path else failure_reason(failure)
        raise FleetError(f"Cluster {cluster}: {detail}.") from failure
    except Exception as failure:
        raise FleetError(f"Cluster {cluster}: {failure_reason(failure)}") from failure
    if not listed:
        raise _hidden_error(cluster, patterns[0])
    return sorted({re.sub(r"^file:/+", "file:/", each) for each in listed})


def _input_files(spark: "SparkSession", patterns: Sequence[str]) -> list[str]:
    """List files as Spark does; raises its errors.

    Hadoop fits no pattern to the names of a folder if one of them has a colon, as where a log is
    rotated by the hour: all of the folder are listed then, and filtered.
    """
    reader = spark.read.format("binaryFile")
    try:
        return reader.load(list(patterns)).inputFiles()
    except Exception as failure:
        folder, _, name = patterns[0].rpartition("/")
        if len(patterns) > 1 or not folder or "URISyntaxException" not in str(failure):
            raise
        return reader.option("pathGlobFilter", name).load(folder).inputFiles()


def _hidden_error(cluster: str, pattern: str) -> FleetError:
    return FleetError(
        f"Cluster {cluster}: there is no log {pattern}: Spark leaves out empty folders, and "
        "files whose names begin with a point or an underscore."
    )
