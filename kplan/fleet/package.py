"""The zip of kplan itself that goes to Spark executors."""

import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import kplan

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_PACKAGE_NAME = "kplan.zip"
_PACKAGE_SUFFIXES = (".py", ".json")
_ZIP_TIMESTAMP = (1980, 1, 1, 0, 0, 0)


def send_package(spark: "SparkSession", folder: Path, *, is_remote: bool) -> None:
    """Send kplan to wherever Python runs for this session."""
    package = write_package(folder)
    if is_remote:
        spark.addArtifacts(str(package), pyfile=True)
    else:
        spark.sparkContext.addPyFile(str(package))


def write_package(folder: Path) -> Path:
    """Write the modules of this kplan and what they read into a zip, the same bytes every time."""
    top = Path(*kplan.__path__)
    file = folder / _PACKAGE_NAME
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as package:
        files = (each for each in top.rglob("*") if each.suffix in _PACKAGE_SUFFIXES)
        for module in sorted(files):
            name = module.relative_to(top.parent).as_posix()
            package.writestr(zipfile.ZipInfo(name, _ZIP_TIMESTAMP), module.read_bytes())
    return file
