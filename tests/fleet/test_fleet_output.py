"""What `-output` writes: every column of an answer has its own values there."""

import csv
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyarrow.dataset import dataset

from kplan.cluster.memory.cluster import MemoryCluster
from kplan.config.inputs import Inputs
from kplan.fleet.dataframe import create_dataframe
from kplan.fleet.figures import write_table
from kplan.model.table import Figures, FigureTable
from kplan.workflow.fleet import fleet, ingest, insight, recommend
from kplan.workflow.fleet.ports import FleetOptions, FleetPorts
from tests.fleet.spark_target import commands_at_work
from tests.project_harness import SilentProgress

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

EXAMPLE = Path(__file__).parents[2] / "examples" / "fleet"
COLUMNS = "n long, less long, name string"
NOW = datetime(2026, 11, 3, tzinfo=UTC)
ADVICE = recommend.RecommendOptions(timedelta(days=1))
VERBS: dict[str, Callable[[FleetOptions, FleetPorts], Figures]] = {
    "costs": lambda o, p: insight.read_costs(o, p, 3),
    "recommend": lambda o, p: recommend.recommend_privileges(
        o, p, replace(ADVICE, hcl=o.folder / "hcl")
    ),
}


@pytest.fixture(scope="module")
def options(
    tmp_path_factory: pytest.TempPathFactory, spark: "SparkSession"
) -> Iterator[FleetOptions]:
    folder = tmp_path_factory.mktemp("output") / "fleet"
    shutil.copytree(EXAMPLE, folder)
    asked = FleetOptions(folder, Inputs())
    before = replace(PORTS, now=lambda: NOW - timedelta(days=4))  # the ACLs are older than the log
    with commands_at_work(folder, spark):
        fleet.take_snapshot(replace(asked, run="before"), before)
        fleet.take_snapshot(replace(asked, run="first"), PORTS)
        ingest.ingest_logs(asked, PORTS)
        yield asked


PORTS = FleetPorts(
    lambda _: (MemoryCluster, ()), lambda *_: None, lambda _: {}, SilentProgress(), lambda: NOW
)


def read_rows(path: Path, columns: Sequence[str]) -> list[str]:
    """Read the columns of a table where it was written, in any order."""
    rows = dataset(sorted(map(str, path.glob("part-*")))).to_table().to_pylist()
    return sorted(str(tuple(row[name] for name in columns)) for row in rows)


@pytest.mark.parametrize("verb", VERBS)
def test_written_columns_have_the_values_that_are_shown(
    options: FleetOptions, tmp_path: Path, verb: str
) -> None:
    found = VERBS[verb](replace(options, output=str(tmp_path / "out")), PORTS)
    first, *others = found.tables
    assert first.rows
    places = {"out": first, **{f"out.{each.name}": each for each in others}}
    shown = {
        place: sorted(str(tuple(row)) for row in each.rows)
        for place, each in places.items()
        if (tmp_path / place).exists()
    }
    assert shown.keys() == {each.name for each in tmp_path.iterdir()}
    assert {place: read_rows(tmp_path / place, places[place].columns) for place in shown} == shown
    if verb == "recommend":
        check_hcl(first, options.folder / "hcl")


def check_hcl(found: FigureTable, folder: Path) -> None:
    """Look for the evidence of each ACL of the cluster that has a configuration."""
    advice = [dict(zip(found.columns, row, strict=True)) for row in found.rows]
    texts = {each.name: each.read_text() for each in folder.iterdir()}
    assert {name.partition(".")[0] for name in texts} == {"prod-eu"}
    for each in advice:
        evidence = f"{each['identity']}: {each['requests']} request"
        assert any(evidence in text for text in texts.values()) == (each["cluster"] == "prod-eu")
    narrow = {each["action"] for each in advice if each["cluster"] == "prod-eu"}
    assert ("prod-eu.narrow.tf" in texts) == ("narrow" in narrow)


def test_csv_keeps_names_and_has_no_formulas(spark: "SparkSession", tmp_path: Path) -> None:
    """Clients choose the names of groups and transactions."""
    names = (" a ", "=HYPERLINK(1)", "+x", "-x", "@x", "\tx", "-1.5", "a=1", 'say "a"', "'x", "")
    rows = create_dataframe(spark, [(n, -n, name) for n, name in enumerate(names)], COLUMNS)
    write_table(rows.coalesce(1), str(tmp_path / "out.csv"), {"run": "=r"})
    (file,) = (tmp_path / "out.csv").glob("part-*.csv")
    with file.open(encoding="utf-8", newline="") as opened:
        head, *found = csv.reader(opened)
    assert head == ["n", "less", "name", "run"]
    guarded = {"=HYPERLINK(1)", "+x", "-x", "@x", "\tx"}
    assert found == [
        [str(n), str(-n), f"'{name}" if name in guarded else name, "'=r"]
        for n, name in enumerate(names)
    ]
