"""kplan for Spark's executors: its own modules go with the session, in a zip.

A cluster then runs the very version that asks. What kplan is built on, above all pyarrow and, for
reading clusters live, confluent-kafka and kafka-python, has to be installed there.
"""

import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import kplan

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_NAME = "kplan.zip"
_SHIPPED = (".py", ".json")
_LONG_AGO = (1980, 1, 1, 0, 0, 0)


def ship(spark: "SparkSession", folder: Path, *, is_remote: bool) -> None:
    """Send kplan to wherever Python runs for this session."""
    package = write_package(folder)
    if is_remote:
        spark.addArtifacts(str(package), pyfile=True)
    else:
        spark.sparkContext.addPyFile(str(package))


def write_package(folder: Path) -> Path:
    """Write the modules of this kplan and what they read into a zip, the same bytes every time."""
    top = Path(*kplan.__path__)
    file = folder / _NAME
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as package:
        files = (each for each in top.rglob("*") if each.suffix in _SHIPPED)
        for module in sorted(files):
            name = module.relative_to(top.parent).as_posix()
            package.writestr(zipfile.ZipInfo(name, _LONG_AGO), module.read_bytes())
    return file
