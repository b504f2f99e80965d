"""Which tables `plan -replay` compares with."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import pytest

from kplan.cli.run import run
from kplan.config.inputs import Inputs, Trust
from kplan.fleet.spark.session import SparkSettings
from kplan.model.errors import FleetError, UsageError
from kplan.workflow.fleet import fleet, plan_replay

FLEET = """
cluster "eu" { snapshot = "eu.jsonl" }
store {
  format  = "iceberg"
  catalog = "lake.kplan"
}
spark { remote = "sc://127.0.0.1:1" }
"""


class Tables:
    """What was opened: a store without a run, and the Spark for it."""

    def __init__(self) -> None:
        self.opened: list[object] = []

    @contextmanager
    def open_session(self, engine: SparkSettings, *_: object) -> Iterator[None]:
        self.opened.append((engine.table_format, engine.remote))
        yield None

    def open_store(self, _: object, *place: Any) -> "Tables":  # noqa: ANN401
        named = [getattr(each, "store_catalog", each) for each in place]
        self.opened.append(tuple(named))
        return self

    def runs(self) -> tuple[()]:
        return ()


@pytest.fixture
def tables(monkeypatch: pytest.MonkeyPatch) -> Tables:
    found = Tables()
    monkeypatch.setattr(plan_replay, "open_session", found.open_session)
    monkeypatch.setattr(fleet, "has_spark", lambda _: False)
    monkeypatch.setattr(plan_replay, "open_store", found.open_store)
    monkeypatch.setattr(plan_replay, "Store", found.open_store)
    monkeypatch.setattr(
        plan_replay, "choose_local_engine", lambda form: SparkSettings(table_format=form)
    )
    monkeypatch.setattr(plan_replay, "compare_plan", lambda *_: "compared")
    return found


def replay(place: object, **inputs: Any) -> object:  # noqa: ANN401 - of Inputs
    nothing = cast("Any", None)
    return plan_replay.replay_plan(str(place), nothing, nothing, {}, Inputs(**inputs))


def test_tables_are_those_that_the_fleet_file_of_a_folder_names(
    tables: Tables, tmp_path: Path
) -> None:
    (tmp_path / "fleet.hcl").write_text(FLEET)
    assert replay(tmp_path) == "compared"
    assert tables.opened == [("iceberg", "sc://127.0.0.1:1"), ("lake.kplan",)]
    with pytest.raises(UsageError, match=r"fleet\.hcl is not read") as refused:
        replay(tmp_path, trust=Trust(tmp_path))
    assert "-replay=TABLES" in refused.value.hint


@pytest.mark.parametrize(("folder", "form"), [("runs", "parquet"), ("delta/runs", "delta")])
@pytest.mark.parametrize("scheme", ["", "file:", "file://"])
def test_tables_of_this_machine_show_what_they_are(
    tables: Tables, tmp_path: Path, folder: str, form: str, scheme: str
) -> None:
    (tmp_path / folder).mkdir(parents=True)
    assert replay(f"{scheme}{tmp_path}") == "compared"
    assert tables.opened == [(form, ""), (f"{scheme}{tmp_path}", form)]


def test_a_store_that_changed_its_format_needs_its_fleet_file(
    tables: Tables, tmp_path: Path
) -> None:
    for each in ("runs", "delta/runs"):
        (tmp_path / each).mkdir(parents=True)
    with pytest.raises(UsageError, match="several formats: parquet, delta") as refused:
        replay(tmp_path)
    assert "-replay=DIR" in refused.value.hint
    assert not tables.opened


def test_tables_elsewhere_are_parquet_or_need_their_fleet_file(tables: Tables) -> None:
    with pytest.raises(FleetError, match="no run of Parquet tables in s3a://b/fleet") as refused:
        replay("s3a://b/fleet")
    assert "fleet.hcl" in refused.value.hint
    assert tables.opened == [("parquet", ""), ("s3a://b/fleet", "parquet")]


def test_a_folder_without_tables_is_told_before_anything_is_planned(tmp_path: Path) -> None:
    """A plan that changes no ACL asks for none, and would pass with any place."""
    (tmp_path / "notes").mkdir()
    for place in (tmp_path, tmp_path / "none", f"file://{tmp_path}/none"):
        with pytest.raises(UsageError, match="no tables of a fleet") as refused:
            plan_replay.check_tables(str(place))
        assert "-replay=TABLES" in refused.value.hint


def test_a_plan_with_a_wrong_place_ends_before_it_asks_a_cluster(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "main.tf").write_text('provider "kafka" { bootstrap_servers = ["127.0.0.1:1"] }\n')
    monkeypatch.chdir(tmp_path)
    assert run(["plan", "-replay=none"], {}) == 1
    assert "There are no tables of a fleet in none." in capfd.readouterr().err


@pytest.mark.parametrize("name", ["runs", "delta", "iceberg", "fleet.hcl"])
def test_a_store_and_the_folder_of_a_fleet_file_have_tables(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    plan_replay.check_tables(str(tmp_path))
    plan_replay.check_tables("s3a://b/fleet")
