"""Two writers of one Parquet table: Spark would put the folder of one into that of the other."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Self, cast

from kplan.fleet.tables import ParquetTables


class Rows:
    """Rows whose writing takes a while; `most` is how many were written at once."""

    def __init__(self) -> None:
        self._at_work = 0
        self._lock = threading.Lock()
        self.most = 0
        self.paths: list[str] = []

    @property
    def write(self) -> Self:
        return self

    def mode(self, name: str) -> Self:
        assert name == "overwrite"
        return self

    def partitionBy(self, *names: str) -> Self:  # noqa: N802 - Spark's name
        assert names == ("cluster", "file")
        return self

    def parquet(self, path: str) -> None:
        with self._lock:
            self._at_work += 1
            self.most = max(self.most, self._at_work)
        time.sleep(0.02)
        with self._lock:
            self._at_work -= 1
            self.paths.append(path)


def written(root: str) -> Rows:
    rows = Rows()
    tables = ParquetTables(cast("Any", None), root)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: tables.replace_rows("audit", cast("Any", rows)), range(4)))
    assert rows.paths == [f"{root}/audit"] * 4
    return rows


def test_writers_of_a_folder_wait_for_each_other(tmp_path: Path) -> None:
    assert written(str(tmp_path / "new" / "store")).most == 1
    assert written(f"file://{tmp_path}/store").most == 1


def test_a_store_elsewhere_is_not_locked_here(tmp_path: Path) -> None:
    """A folder that cannot be made here may be one of the machine that Spark works on."""
    (tmp_path / "file").touch()
    assert written("s3://bucket/store").most > 1
    assert written(str(tmp_path / "file" / "store")).most > 1
