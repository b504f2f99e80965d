"""What is done by hand where a version of PySpark lacks it."""

from pathlib import Path

import pyarrow as pa
import pytest

from kplan.fleet.compat import split_groups
from kplan.fleet.spark import server
from kplan.model.errors import FleetError


def test_a_group_is_whole_however_its_rows_lie_in_batches() -> None:
    rows = [("a", "x", 1), ("a", "x", 2), ("a", "y", 3), (None, "y", 4), (None, "y", 5)]
    for size in range(1, 6):
        parts = [rows[at : at + size] for at in range(0, len(rows), size)]
        batches = [
            pa.RecordBatch.from_arrays(
                [pa.array(column) for column in zip(*part, strict=True)], names=["k", "l", "n"]
            ).cast(pa.schema({"k": pa.string(), "l": pa.string(), "n": pa.int64()}))
            for part in parts
        ]
        found = [table.column("n").to_pylist() for table in split_groups(batches, ("k", "l"))]
        assert found == [[1, 2], [3], [4, 5]], size
    assert list(split_groups([], ("k",))) == []


def test_a_server_that_everyone_could_use_is_not_started(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("KPLAN_CACHE", str(tmp_path))
    monkeypatch.setattr(server, "spark_version", lambda: "3.5.9")
    with pytest.raises(FleetError, match=r"Spark 3\.5\.9 asks for no token") as refused:
        server.start_server({}, "2026-11-24T00:00:00+00:00")
    assert "PySpark 4.0 or later" in refused.value.hint
    assert not list(tmp_path.iterdir())
