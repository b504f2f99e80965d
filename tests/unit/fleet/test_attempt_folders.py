"""The folders of a store, as a client of Spark Connect sees them, which has no Java to ask."""

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, cast
from unittest.mock import MagicMock

import pytest

from kplan.fleet.attempt_folders import open_folders
from kplan.fleet.tables import ParquetTables
from kplan.model.errors import FleetError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CONNECT = type("SparkSession", (), {"__module__": "pyspark.sql.connect.session"})
SPARK = cast("SparkSession", CONNECT())


@pytest.mark.parametrize("form", ["{}", "file:{}", "file://{}"])
def test_folders_of_this_machine_are_listed_and_removed(tmp_path: Path, form: str) -> None:
    for name in ("attempt=a", "attempt=b"):
        (tmp_path / "logs" / name).mkdir(parents=True)
        (tmp_path / "logs" / name / "part-0.json").touch()
    folders = open_folders(SPARK, form.format(tmp_path))
    assert folders.names("logs") == ["attempt=a", "attempt=b"]
    assert folders.names("requests") == []
    assert folders.changed_at("logs/attempt=a") == (tmp_path / "logs/attempt=a").stat().st_mtime
    folders.remove("logs/attempt=a")
    folders.remove("requests/attempt=a")
    assert folders.names("logs") == ["attempt=b"]


def test_a_folder_that_another_command_is_removing_is_removed_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, remove = tmp_path / "requests" / "attempt=a", shutil.rmtree
    folder.mkdir(parents=True)
    for each in range(3):
        (folder / f"part-{each}").touch()
    asked: list[Path] = []

    def remove_with_another(path: Path) -> None:
        asked.append(path)
        if len(asked) == 1:
            (folder / "part-0").unlink()
            raise FileNotFoundError(folder / "part-0")  # as rmtree, which lists a folder first
        remove(path)
        if len(asked) == 2:
            raise FileNotFoundError(folder)

    monkeypatch.setattr(shutil, "rmtree", remove_with_another)
    open_folders(SPARK, str(tmp_path)).remove("requests/attempt=a")
    assert not folder.exists()


def refuse(*_: object) -> None:
    raise PermissionError(13, "Permission denied")


def disk(*, is_there: bool) -> "SparkSession":
    """Return a Spark with Hadoop's file system of a disk on which nothing goes."""
    spark = MagicMock()
    path = spark.sparkContext._jvm.org.apache.hadoop.fs.Path
    path.side_effect = lambda text: MagicMock(__str__=lambda _: text, getFileSystem=lambda _: path)
    path.delete.return_value, path.exists.return_value = False, is_there
    return cast("SparkSession", spark)


def test_a_folder_that_stays_is_told_and_not_counted_as_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a store that is read-only, or another user's, `vacuum` said that runs were deleted."""
    (tmp_path / "runs").mkdir()
    monkeypatch.setattr(shutil, "rmtree", refuse)
    for spark, why in ((SPARK, "Permission denied"), (disk(is_there=True), "read-only")):
        folders = open_folders(spark, str(tmp_path))
        with pytest.raises(FleetError, match=rf"{tmp_path}/runs could not be removed: .*{why}"):
            folders.remove("runs")
    open_folders(disk(is_there=False), str(tmp_path)).remove("runs")


@pytest.mark.parametrize("root", ["s3a://bucket/fleet", "hdfs:/fleet", "/not/here"])
def test_a_store_elsewhere_is_refused_with_the_way_out(root: str) -> None:
    with pytest.raises(FleetError, match="is not a folder of this machine") as refused:
        ParquetTables(SPARK, root).check_removal()
    assert "without -remote" in refused.value.hint
