"""Where tables are written: nothing is ever deleted that Spark did not write."""

from pathlib import Path
from typing import Any, cast, get_type_hints

import pytest

from kplan.cli.fleet.command import RunOptions
from kplan.fleet.figures import check_output, write_table
from kplan.model.errors import FleetError, UsageError


def test_a_folder_with_anything_else_in_it_is_not_written_over(tmp_path: Path) -> None:
    """Spark overwrites a folder by deleting it first."""
    (tmp_path / "main.tf").touch()
    with pytest.raises(UsageError, match=r"holds main\.tf") as refused:
        check_output(str(tmp_path))
    assert "where nothing is yet" in refused.value.hint
    with pytest.raises(UsageError, match="is a file"):
        check_output(_csv(tmp_path))


def _csv(folder: Path) -> str:
    file = folder / "mine.csv"
    file.write_text("a,b", encoding="utf-8")
    return str(file)


def test_a_table_of_before_is_written_over(tmp_path: Path) -> None:
    table = tmp_path / "out.csv"
    table.mkdir()
    for name in ("_SUCCESS", "._SUCCESS.crc", "part-00000-x.csv", ".part-00000-x.csv.crc"):
        (table / name).touch()
    check_output(str(table))


@pytest.mark.parametrize("path", ["", "new", "new/deeper.parquet", "s3://bucket/anything.json"])
def test_what_is_not_there_or_elsewhere_is_for_spark_to_write(
    path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    check_output(path)


def test_an_ending_that_nobody_knows_is_refused() -> None:
    with pytest.raises(UsageError, match="no ending that is known") as refused:
        check_output("out.xlsx")
    assert ".csv, .json, .parquet" in refused.value.hint


def test_a_place_below_a_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="does not write to"):
        check_output(f"{_csv(tmp_path)}/table")


def test_a_further_table_has_its_name_before_the_ending(tmp_path: Path) -> None:
    """`out.largest` has no ending of its own."""
    (tmp_path / "out.largest").write_text("mine", encoding="utf-8")
    with pytest.raises(UsageError, match=r"out\.largest is a file"):
        write_table(cast("Any", Unasked()), str(tmp_path / "out"), {}, "largest")
    with pytest.raises(FleetError, match=r"other\.largest\.csv could not be written: asked"):
        write_table(cast("Any", Unasked()), str(tmp_path / "other.csv"), {}, "largest")


def test_lineage_takes_the_place_of_no_column(tmp_path: Path) -> None:
    with pytest.raises(FleetError, match=r"with the names of its lineage: requests$"):
        write_table(cast("Any", Unasked()), str(tmp_path / "out"), {"run": "a", "requests": "9"})


def test_a_further_table_is_beside_a_folder_that_is_named_as_one(tmp_path: Path) -> None:
    """In the folder it would be a foreign file for the next run."""
    (tmp_path / "out.largest.csv").write_text("mine", encoding="utf-8")
    with pytest.raises(UsageError, match=r"out\.largest\.csv is a file"):
        write_table(cast("Any", Unasked()), f"{tmp_path}/out.csv/", {}, "largest")


class Unasked:
    """A DataFrame that nobody may ask."""

    columns = ("cluster", "requests")

    def withColumns(self, columns: object) -> None:  # noqa: N802 - Spark's name
        del columns
        raise ValueError("asked")


def test_the_help_of_output_says_that_it_is_a_folder() -> None:
    described = next(
        each for each in get_type_hints(RunOptions, include_extras=True)["output"].__metadata__
    )
    assert "a folder of files" in described.help
