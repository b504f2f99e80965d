"""Libraries that Spark needs beside its own: the jar that is built for it, and how it gets that."""

from collections.abc import Mapping

from kplan.fleet.compat import minor_version, scala_version, spark_version
from kplan.model.dataclass import dataclass
from kplan.model.errors import FleetError

PACKAGES_SETTING = "spark.jars.packages"
_JAR_SETTINGS = (PACKAGES_SETTING, "spark.jars")
_ANY_SPARK = ""


@dataclass(frozen=True, slots=True)
class SparkLibrary:
    """A library with a jar for each Spark: `jars` are its Maven coordinates by version of Spark.

    The names of all its jars have `artifact` in them; `remedy` helps where Spark has none.
    """

    title: str
    artifact: str
    jars: Mapping[str, str]
    remedy: str = ""

    def jar(self, spark: str) -> str:
        """Return the coordinates of the jar for a version of Spark; "" where none is built."""
        found = self.jars.get(minor_version(spark), self.jars.get(_ANY_SPARK, ""))
        return found.format(spark=spark, minor=minor_version(spark), scala=scala_version(spark))

    def start_hint(self, spark: str) -> str:
        """Say how Spark of a version is started with the jar."""
        if not (jar := self.jar(spark)):
            return self._refusal(spark)
        return f"Start Spark {spark} with: --packages {jar}; see kplan help fleet-platforms."

    def settings(self, conf: Mapping[str, str], environ: Mapping[str, str]) -> dict[str, str]:
        """Return the settings by which the Spark that is installed fetches the jar from Maven.

        Whoever names a jar of the library in `conf` is taken to know which one. Raises FleetError
        where none is built.
        """
        files = (each for name in _JAR_SETTINGS for each in conf.get(name, "").split(","))
        if any(self.artifact in each.rpartition("/")[2] for each in files):
            return {}
        spark = spark_version()
        if not (jar := self.jar(spark)):
            raise FleetError(self._refusal(spark), self.remedy)
        return maven_settings(conf, environ, jar)

    def _refusal(self, spark: str) -> str:
        return f"{self.title} does not run on Spark {spark}, but on {', '.join(self.jars)}."


DELTA_VERSION = "4.4.0"
DELTA_LAKE = SparkLibrary(
    "Delta Lake",
    "delta-spark",
    {
        "3.5": "io.delta:delta-spark_{scala}:3.3.3",
        **dict.fromkeys(
            ("4.0", "4.1", "4.2"), f"io.delta:delta-spark_{{minor}}_{{scala}}:{DELTA_VERSION}"
        ),
    },
    "Install one of these with: pip install 'kplan[fleet,delta]'",
)
"""On Spark 4.3 its writes pass and its reads do not."""
_ICEBERG = "org.apache.iceberg:iceberg-spark-runtime-{minor}_{scala}:"
ICEBERG_RUNTIME = SparkLibrary(
    "Iceberg",
    "iceberg-spark-runtime",
    {"3.5": f"{_ICEBERG}1.12.0", "4.0": f"{_ICEBERG}1.11.0", "4.1": f"{_ICEBERG}1.12.0"},
    "Install one of these, for example: pip install 'pyspark[connect]==4.1.*'. Or name a jar for "
    "this Spark: -conf=spark.jars=FILE",
)
"""The newest that is built for each Spark."""
KAFKA_CONNECTOR = SparkLibrary(
    "Spark's Kafka connector",
    "spark-sql-kafka-0-10",
    {_ANY_SPARK: "org.apache.spark:spark-sql-kafka-0-10_{scala}:{spark}"},
)


def maven_settings(conf: Mapping[str, str], environ: Mapping[str, str], jar: str) -> dict[str, str]:
    """Return the settings by which Spark fetches one more jar from Maven."""
    found = {PACKAGES_SETTING: append_setting(conf, PACKAGES_SETTING, jar)}
    if repository := environ.get("KPLAN_MAVEN_REPOSITORY"):
        name = "spark.jars.repositories"
        found[name] = append_setting(conf, name, repository)
    return found


def append_setting(conf: Mapping[str, str], name: str, more: str) -> str:
    """Return a setting that is a list with one more element."""
    return ",".join(filter(None, (conf.get(name, ""), more)))
