"""The border between Spark and the rest of kplan: a bounded number of rows comes over."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from kplan.fleet.engine import first_line
from kplan.fleet.rows import CLUSTER
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


def taken(objects: "DataFrame") -> str:
    """Say of which snapshots of clusters the rows are, and from when."""
    from pyspark.sql import functions as F  # noqa: N812 - heavy; its customary name

    at = F.col("attributes")["taken_at"]
    found = objects.where(F.col("kind") == CLUSTER).agg(
        F.count(F.lit(1)).alias("all"), F.count(at).alias("read"), F.min(at), F.max(at)
    )
    (row,) = found.collect()
    count, read, first, last = row
    return f"{read} of {count} clusters" + (f", taken {first} to {last}" if read else "")


def write_out(found: "DataFrame", path: str, lineage: Mapping[str, str], name: str = "") -> None:
    """Write all rows where Spark writes: Parquet, or CSV or JSON lines by the name's ending.

    The result is a folder of part files, as Spark makes them; every row says where it came from. A
    further table has a name, which goes before the ending: `out.unused_acls.csv`. Nothing is done
    where the path is "". Raises FleetError.
    """
    from pyspark.sql import functions as F  # noqa: N812 - heavy; its customary name

    if not path:
        return
    ending = Path(path).suffix
    form = FORMATS.get(ending)
    if form is None:
        known = ", ".join(sorted(filter(None, FORMATS)))
        raise FleetError(f"{path} has no ending that is known.", f"Use one of {known}.")
    named = f"{path.removesuffix(ending)}.{name}{ending}" if name else path
    place = named if "://" in named else str(Path(named).absolute())
    try:
        told = found.withColumns({key: F.lit(each) for key, each in lineage.items()})
        told.write.mode("overwrite").option("header", value=True).format(form).save(place)
    except Exception as failure:
        raise FleetError(f"{named} could not be written: {first_line(failure)}") from failure
