"""The folders below a store of Parquet: which there are, since when, and their removal.

Hadoop's file system does it, by which Spark writes them, wherever they lie. A client of Spark
Connect has no Java to ask: it works on folders of its own machine.
"""

import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from kplan.fleet.compat import is_on_connect
from kplan.model.errors import FleetError
from kplan.model.file_url import local_path

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_WITH_ALL = True
"""What Hadoop is told so that it goes through the folders of a folder, too."""


class Folders(Protocol):
    """The folders below a root, by their path in it."""

    def names(self, parent: str) -> list[str]:
        """List the names of the folders in one; one that is not there has none."""
        ...

    def changed_at(self, name: str) -> float:
        """Return when something in a folder was written last, in seconds of the epoch.

        Where something goes while it is looked at that is now.
        """
        ...

    def remove(self, name: str) -> None:
        """Remove a folder with all that is in it, if it is there; raises FleetError."""
        ...


def open_folders(spark: "SparkSession", root: str) -> Folders:
    """Open the folders below a root; raises FleetError where they cannot be removed from here."""
    if not is_on_connect(spark):
        return _HadoopFolders(spark, root)
    path = local_path(root)
    if path is None or not path.is_dir():
        raise FleetError(
            f"{root} is not a folder of this machine, and a client of Spark Connect removes no "
            "files elsewhere.",
            "Run this command without -remote, with -master=URL or by spark-submit; see kplan help "
            "fleet-platforms.",
        )
    return _LocalFolders(path)


class _LocalFolders:
    def __init__(self, root: Path) -> None:
        self._root = root

    def names(self, parent: str) -> list[str]:
        return sorted(each.name for each in self._root.glob(f"{parent}/*") if each.is_dir())

    def changed_at(self, name: str) -> float:
        try:
            return (self._root / name).stat().st_mtime
        except FileNotFoundError:
            return time.time()

    def remove(self, name: str) -> None:
        while (folder := self._root / name).exists():
            try:
                shutil.rmtree(folder)
            except FileNotFoundError:
                continue  # another command is removing it, too
            except OSError as failure:
                raise _removal_error(folder, failure.strerror or str(failure)) from failure


class _HadoopFolders:
    def __init__(self, spark: "SparkSession", root: str) -> None:
        self._jvm: Any = spark.sparkContext._jvm  # noqa: SLF001 - nothing public removes files
        self._root = root
        state: Any = spark._jsparkSession.sessionState()  # noqa: SLF001 - as above
        self._system = self._path("").getFileSystem(state.newHadoopConf())

    def names(self, parent: str) -> list[str]:
        if not self._system.exists(self._path(parent)):
            return []
        found = self._system.listStatus(self._path(parent))
        return sorted(each.getPath().getName() for each in found if each.isDirectory())

    def changed_at(self, name: str) -> float:
        """Ask its files: folders of object stores have no time of their own."""
        from py4j.protocol import Py4JJavaError  # noqa: PLC0415 - heavy

        try:
            found, files = [], self._system.listFiles(self._path(name), _WITH_ALL)
            while files.hasNext():
                found.append(files.next().getModificationTime())
            own = self._system.getFileStatus(self._path(name))
        except Py4JJavaError as failure:
            if "FileNotFoundException" not in str(failure):
                raise
            return time.time()  # Spark moves what it writes, and removes what it has moved
        return float(max(found or [own.getModificationTime()])) / 1_000

    def remove(self, name: str) -> None:
        """Ask whether it is gone, too: Hadoop raises nothing where a folder of a disk stays."""
        place = self._path(name)
        if not self._system.delete(place, _WITH_ALL) and self._system.exists(place):
            raise _removal_error(place, "the user that Spark runs as may not, or it is read-only")

    def _path(self, name: str) -> Any:  # noqa: ANN401 - of Java
        return self._jvm.org.apache.hadoop.fs.Path(f"{self._root}/{name}")


def _removal_error(place: object, why: str) -> FleetError:
    return FleetError(
        f"{place} could not be removed: {why}.", "Nothing that counts is lost: run it again."
    )
