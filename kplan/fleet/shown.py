"""The border between Spark and the rest of kplan: a bounded number of rows comes over."""

from pathlib import Path
from typing import TYPE_CHECKING

from kplan.fleet.engine import first_line
from kplan.model.errors import FleetError
from kplan.model.tables import Cell, FigureTable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

LIMIT = 1_000
FORMATS = {".csv": "csv", ".json": "json", ".parquet": "parquet", "": "parquet"}


def table(name: str, found: "DataFrame", limit: int = LIMIT) -> FigureTable:
    """Bring at most `limit` rows over; that there are more is told, never how many."""
    rows = found.limit(limit + 1).collect()
    cells: tuple[tuple[Cell, ...], ...] = tuple(tuple(row) for row in rows[:limit])
    return FigureTable(name, tuple(found.columns), cells, is_cut=len(rows) > limit)


def write_out(found: "DataFrame", path: str) -> None:
    """Write all rows where Spark writes: Parquet, or CSV or JSON lines by the name's ending.

    The result is a folder of part files, as Spark makes them. Raises FleetError.
    """
    form = FORMATS.get(Path(path).suffix)
    if form is None:
        known = ", ".join(sorted(filter(None, FORMATS)))
        raise FleetError(f"{path} has no ending that is known.", f"Use one of {known}.")
    place = path if "://" in path else str(Path(path).absolute())
    try:
        found.write.mode("overwrite").option("header", value=True).format(form).save(place)
    except Exception as failure:
        raise FleetError(f"{path} could not be written: {first_line(failure)}") from failure
