"""The sorts of Spark that this suite runs on."""

from dataclasses import dataclass

from kplan.fleet.spark.session import SparkSettings

MIXED, LOCAL, STANDALONE, CONNECT = "mixed", "local", "standalone", "connect"


@dataclass(frozen=True, slots=True)
class SparkTarget:
    """A Spark: `engine` for sessions of a test's own process, `options` for commands."""

    name: str
    engine: SparkSettings
    options: tuple[str, ...]
