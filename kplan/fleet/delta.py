"""Delta Lake for the Spark that kplan starts: which version fits, and what Spark is told of it.

Its jars come from Maven through Spark's own `spark.jars.packages`, and are kept in ~/.ivy2.
"""

from collections.abc import Mapping
from importlib.metadata import version

from kplan.model.errors import FleetError

DELTA_LAKE = "4.4.0"
FITS = ("4.0", "4.1", "4.2")
"""The Sparks this Delta Lake is built for. On 4.3 its writes pass and its reads do not."""

_EXTENSIONS = "spark.sql.extensions"
_PACKAGES = "spark.jars.packages"
_TASKS = "8"


def fits(spark: str) -> bool:
    """Whether Delta Lake runs on a version of Spark."""
    return ".".join(spark.split(".")[:2]) in FITS


def delta_options(conf: Mapping[str, str], environ: Mapping[str, str]) -> dict[str, str]:
    """Give the settings of Spark for Delta tables, beside those in `conf`.

    Whoever names a jar of Delta in `conf` is taken to know which one. Raises FleetError where no
    Delta Lake runs on this Spark.
    """
    found = {
        _EXTENSIONS: _joined(conf, _EXTENSIONS, "io.delta.sql.DeltaSparkSessionExtension"),
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        # The tables are small beside what these are meant for: 50 and 10,000 tasks.
        "spark.databricks.delta.snapshotPartitions": _TASKS,
        "spark.sql.sources.parallelPartitionDiscovery.parallelism": _TASKS,
    }
    found |= {name: conf[name] for name in found.keys() & conf.keys() if name != _EXTENSIONS}
    if any("delta" in conf.get(name, "") for name in (_PACKAGES, "spark.jars")):
        return found
    spark = version("pyspark")
    if not fits(spark):
        raise FleetError(
            f"Delta Lake {DELTA_LAKE} does not run on Spark {spark}, but on {', '.join(FITS)}.",
            "Install one of these with: pip install 'kplan[fleet,delta]'",
        )
    minor = ".".join(spark.split(".")[:2])
    jar = f"io.delta:delta-spark_{minor}_2.13:{DELTA_LAKE}"
    found[_PACKAGES] = _joined(conf, _PACKAGES, jar)
    if repository := environ.get("KPLAN_MAVEN_REPOSITORY"):
        found["spark.jars.repositories"] = _joined(conf, "spark.jars.repositories", repository)
    return found


def _joined(conf: Mapping[str, str], name: str, more: str) -> str:
    return ",".join(filter(None, (conf.get(name, ""), more)))
