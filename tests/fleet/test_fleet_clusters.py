"""A cluster that was renamed in the fleet file, or removed from it (decision 0168)."""

import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kplan.cluster.memory.cluster import MemoryCluster
from kplan.config.inputs import Inputs
from kplan.fleet.dataframe import create_dataframe
from kplan.fleet.history import cluster_changes
from kplan.fleet.logs.requests import removal_candidates
from kplan.fleet.snapshot import CLUSTER, OBJECT_SCHEMA, Row
from kplan.model.errors import UsageError
from kplan.model.table import Figures
from kplan.workflow.fleet import audit, fleet, ingest, insight, recommend, report
from kplan.workflow.fleet.inputs import open_inputs
from kplan.workflow.fleet.ports import FleetOptions, FleetPorts
from tests.fleet.spark_target import commands_at_work
from tests.project_harness import ProjectHarness, SilentProgress

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

EXAMPLE = Path(__file__).parents[2] / "examples" / "fleet"
REST = """
cluster "us" {
  snapshot = "snapshots/prod-us.jsonl"
}
costs {
  per_million_requests = 1000000
  per_partition_month  = 30
}
store { path = "tables" }
"""
LOGGED = """
cluster "NAME" {
  snapshot = "snapshots/prod-eu.jsonl"
  audit    = ["logs/*.log"]
}
"""
ADVICE = recommend.RecommendOptions(timedelta(days=30))
NOTE = "Not counted, because fleet.hcl does not have them: alpha."
Ask = Callable[[Callable[[FleetOptions, FleetPorts], Any]], Any]


@pytest.fixture
def progress() -> SilentProgress:
    return SilentProgress()


def clock(first_day: int) -> Callable[[], datetime]:
    """Count the days of commands, each one a day after the one before."""
    days = iter(range(first_day, 99))
    return lambda: datetime(2026, 11, 5, tzinfo=UTC) + timedelta(days=next(days))


def ports_of(progress: SilentProgress, now: Callable[[], datetime]) -> FleetPorts:
    return FleetPorts(lambda _: (MemoryCluster, ()), lambda *_: None, lambda _: {}, progress, now)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, spark: "SparkSession") -> Path:
    """Make the fleet once that each test begins with: stored logs have the place of their file."""
    found = tmp_path_factory.mktemp("clusters")
    folder, ports = found / "fleet", ports_of(SilentProgress(), clock(0))
    shutil.copytree(EXAMPLE, folder)
    (folder / "fleet.hcl").write_text(LOGGED.replace("NAME", "alpha") + REST)
    with commands_at_work(folder, spark):
        fleet.take_snapshot(FleetOptions(folder, Inputs(), run="r1"), ports)
        ingest.ingest_logs(FleetOptions(folder, Inputs()), ports)
    folder.rename(found / "begun")
    return found


@pytest.fixture
def ask(place: Path, spark: "SparkSession", progress: SilentProgress) -> Iterator[Ask]:
    """Ask a fleet that had a run, and read the log of its cluster `alpha`."""
    folder, ports = place / "fleet", ports_of(progress, clock(2))
    shutil.copytree(place / "begun", folder)
    with commands_at_work(folder, spark):
        yield lambda work: work(FleetOptions(folder, Inputs()), ports)
    shutil.rmtree(folder)


def costs(ask: Ask) -> Figures:
    found: Figures = ask(lambda o, p: insight.read_costs(o, p, 1))
    return found


def column(found: Figures, table: str, name: str) -> list[object]:
    (meant,) = (each for each in found.tables if each.name == table)
    return [row[meant.columns.index(name)] for row in meant.rows]


def declare(text: str) -> None:
    """Write the fleet file of the working folder."""
    Path("fleet.hcl").write_text(text)


def test_a_renamed_cluster_counts_once_and_its_old_name_is_noted(
    ask: Ask, progress: SilentProgress
) -> None:
    before = costs(ask)
    declare(LOGGED.replace("NAME", "beta") + REST)
    ask(fleet.take_snapshot)
    ask(ingest.ingest_logs)
    found = costs(ask)
    assert column(found, "costs", "requests") == column(before, "costs", "requests")
    assert column(found, "costs", "request_cost") == column(before, "costs", "request_cost")
    for table in ("clusters", "coverage"):
        assert set(column(found, table, "cluster")) == {"beta", "us"}
    assert column(found, "unknown_requests", "cluster") == ["us"]
    assert [each for each in found.notes if each.startswith(NOTE)]
    assert not any("alpha" in each for each in before.notes)
    trends = ask(lambda o, p: insight.read_trends(o, p, 30))
    assert [each for each in trends.notes if each.startswith(NOTE)]

    used = ask(audit.read_usage)
    assert set(column(used, "used", "cluster")) == {"beta"}
    assert used.notes == (), "they say that an answer is incomplete"
    advised = ask(lambda o, p: recommend.recommend_privileges(o, p, ADVICE))
    assert not [each for each in progress.notes if NOTE in each], "they are in the answer"
    page = ask(report.build_report)
    assert [each for each in progress.notes if each.startswith(f"Warning: {NOTE}")]
    for each in (used, advised, page):
        assert [told for told in each.remarks if told.startswith(NOTE)]
    assert len({each.lineage["logged_requests"] for each in (found, before, used)}) == 1


def test_a_removed_cluster_counts_neither_for_requests_nor_for_storage(ask: Ask) -> None:
    declare(REST + 'team "gone" { owners = ["eu"] }\nteam "met" { topics = ["*"] }\n')
    found = costs(ask)  # of the run that has it
    assert [each for each in found.notes if each.startswith("Team ")] == [
        'Team "gone" applies to no topic.'
    ]
    for table in ("clusters", "coverage", "unknown_requests"):
        assert set(column(found, table, "cluster")) == {"us"}
    assert set(column(found, "costs", "requests")) == {None}
    assert [each for each in found.notes if each.startswith(NOTE)]
    used = ask(audit.read_usage)
    for table in ("used", "unused_acls", "unused_topics", "unheard"):
        assert "alpha" not in column(used, table, "cluster")


def test_a_run_of_one_cluster_is_not_the_last_one_of_the_others(ask: Ask) -> None:
    """`kplan fleet snapshot -cluster=us` after the run of the day."""

    def take(hour: int, *names: str) -> None:
        at = datetime(2026, 12, 20, hour, tzinfo=UTC)
        ask(
            lambda o, p: fleet.take_snapshot(
                replace(o, cluster_names=names), replace(p, now=lambda: at)
            )
        )

    take(6)
    take(12, "us")
    found = costs(ask)
    for table in ("clusters", "coverage"):
        assert set(column(found, table, "cluster")) == {"alpha", "us"}
    assert not [each for each in found.notes if "no run of this time has" in each]


def test_of_hourly_runs_only_those_that_count_are_opened(
    ask: Ask, progress: SilentProgress
) -> None:
    """Lines of earlier versions do not say what was read: then the rows of each run do."""
    hours = (datetime(2026, 11, 20, n, tzinfo=UTC) for n in range(24))
    ports = ports_of(progress, lambda: next(hours))
    for run in ("first", "between", "last"):
        ask(lambda o, _, run=run: fleet.take_snapshot(replace(o, run=run), ports))  # type: ignore[misc]

    def answers() -> list[object]:
        trends = ask(lambda o, p: insight.read_trends(o, p, 30))
        advised = ask(lambda o, p: recommend.recommend_privileges(o, p, ADVICE))
        return [each.tables for each in (costs(ask), trends, advised)]

    known = answers()
    lines = {each: json.loads(each.read_text()) for each in Path("tables/runs").glob("*/*.json")}
    for file, line in lines.items():
        file.with_name(f".{file.name}.crc").unlink(missing_ok=True)
        file.write_text(json.dumps({k: v for k, v in line.items() if k != "kinds_read"}))
    assert answers() == known
    for file, line in lines.items():
        file.write_text(json.dumps(line))
        if line["run"] == "between":
            shutil.rmtree(Path("tables/objects", file.parent.name))
    assert answers() == known


def test_clusters_that_only_one_run_has_are_changes_since_that_run(ask: Ask) -> None:
    declare(LOGGED.replace("NAME", "beta") + REST)
    ask(fleet.take_snapshot)
    found = ask(lambda o, p: fleet.compare_snapshots(o, p, "r1"))
    assert found.tables[0].columns == ("cluster", "kind", "identity", "change", "attributes")
    assert [(*row,) for row in found.tables[0].rows] == [
        ("alpha", "cluster", "prod-eu-cluster-id0000", "deleted", "{}"),
        ("beta", "cluster", "prod-eu-cluster-id0000", "created", "{}"),
    ]


def test_a_comparison_names_what_the_earlier_run_could_not_read(ask: Ask) -> None:
    declare(LOGGED.replace("NAME", "alpha") + REST.replace("prod-us", "away"))
    ask(fleet.take_snapshot)
    blind = max(Path("tables/runs").glob("*/*.json"), key=lambda each: each.stat().st_mtime)
    name = json.loads(blind.read_text())["run"]
    declare(LOGGED.replace("NAME", "alpha") + REST)
    ask(fleet.take_snapshot)
    found = ask(lambda o, p: fleet.compare_snapshots(o, p, name))
    assert not found.tables[0].rows
    away = Path("snapshots/away.jsonl").absolute()
    assert found.notes == (
        f"us could not be read in run {name}: {away}: No such file or directory.",
    )
    only_alpha = ask(
        lambda o, p: fleet.compare_snapshots(replace(o, cluster_names=("alpha",)), p, name)
    )
    assert not only_alpha.notes


def test_a_cluster_that_left_the_fleet_file_is_not_selected_and_the_hint_says_where_it_is(
    ask: Ask,
) -> None:
    declare(LOGGED.replace("NAME", "beta") + REST)
    ask(fleet.take_snapshot)
    with pytest.raises(UsageError, match="has no cluster alpha") as refused:
        ask(
            lambda o, p: fleet.compare_snapshots(replace(o, cluster_names=("alpha",)), p, "r1"),
        )
    assert "drift -since" in refused.value.hint
    assert "without -cluster" in refused.value.hint


def test_a_cluster_that_no_run_has_is_noted(ask: Ask) -> None:
    added = LOGGED.replace("NAME", "ap").replace('audit    = ["logs/*.log"]', "")
    declare(LOGGED.replace("NAME", "alpha") + REST + added)
    told = "Topics are not counted, because no run of this time has the clusters: ap. "

    def noted(work: Callable[[FleetOptions, FleetPorts], Figures]) -> bool:
        return any(each.startswith(told) for each in ask(work).notes)

    assert noted(lambda o, p: insight.read_costs(o, p, 1))
    assert noted(lambda o, p: insight.read_trends(o, p, 30))
    assert not noted(lambda o, p: insight.read_costs(replace(o, cluster_names=("us",)), p, 1))
    ask(fleet.take_snapshot)
    assert not noted(lambda o, p: insight.read_costs(o, p, 1))


def test_a_cluster_that_a_run_could_not_read_is_in_it(spark: "SparkSession") -> None:
    def rows(*names: str) -> list[Row]:
        return [Row(each, CLUSTER, "") for each in names]

    before, after = (
        create_dataframe(spark, [tuple(each) for each in given], OBJECT_SCHEMA)
        for given in (rows("eu", "us"), [Row("eu", CLUSTER, "id"), *rows("ap")])
    )
    found = cluster_changes(before, after).orderBy("cluster").collect()
    assert [(row["cluster"], row["change"]) for row in found] == [
        ("ap", "created"),
        ("us", "deleted"),
    ]


def test_a_cluster_with_two_names_is_noted_in_costs(ask: Ask) -> None:
    declare("".join(LOGGED.replace("NAME", each) for each in ("alpha", "beta")) + REST)
    ask(fleet.take_snapshot)
    told = [each for each in costs(ask).notes if "one cluster" in each]
    assert told == [
        "alpha, beta are one cluster: its topics count and cost under each of the names."
    ]


def test_what_is_younger_than_the_log_is_not_removed(ask: Ask, progress: SilentProgress) -> None:
    """No line of the log can name it."""

    def listed(options: FleetOptions, ports: FleetPorts) -> set[str]:
        with open_inputs(options, ports) as given:
            idle = audit.unused_objects(given)
            found = removal_candidates(given.objects, idle["unused_acls"], idle["unused_topics"])
            return {row["identity"] for row in audit.without_young(given, found).collect()}

    file = Path("snapshots/prod-eu.jsonl")
    before = ask(listed)
    assert before
    head, about, acl, *rows, _ = file.read_text().splitlines()
    lines = [json.dumps({**json.loads(head), "rows": len(rows) + 3}), about, acl, *rows]
    lines.insert(2, acl.replace("User:", "User:a"))
    file.write_text("\n".join([*lines, json.dumps({"end": len(rows) + 3})]) + "\n")
    ask(fleet.take_snapshot)
    assert ask(listed) == before
    assert progress.notes[-1] == (
        "alpha: left out of the HCL: 1 object that may be younger than the log, which ends on "
        "2026-11-02."
    )


def own_acl(cluster_id: str, provider: str = "") -> None:
    """Make `conf` the configuration of `alpha`; its state owns an unused ACL on a cluster."""
    Path("conf").mkdir()
    cluster = MemoryCluster(cluster_id=cluster_id)
    site = ProjectHarness(Path("conf"), cluster, clusters={"eu": cluster})
    alias = f'alias = "{provider}"' if provider else ""
    argument = f"provider = kafka.{provider}" if provider else ""
    site.write(
        f'provider "kafka" {{\n  {alias}\n  bootstrap_servers = ["127.0.0.1:1"]\n}}\n'
        f'resource "kafka_acl" "mine" {{\n  {argument}\n  acl_principal = "User:reports"\n'
        '  resource_type = "Topic"\n  resource_name = "shop.reports"\n  acl_host = "*"\n'
        '  acl_operation = "Read"\n  acl_permission_type = "Allow"\n}\n'
    )
    site.apply()
    more = '  configuration = "conf"\n  state = "conf/state/kplan.state.json"\n  snapshot'
    declare((LOGGED.replace("NAME", "alpha") + REST).replace("  snapshot", more, 1))


def test_no_hcl_is_written_from_the_state_of_another_cluster(
    ask: Ask, progress: SilentProgress
) -> None:
    """Design law 3: its addresses are those of objects elsewhere."""
    own_acl("elsewhere")
    folder = Path("hcl")
    ask(lambda o, p: audit.read_usage(o, p, folder))
    advice = replace(ADVICE, window=timedelta(0), hcl=folder)
    ask(lambda o, p: recommend.recommend_privileges(o, p, advice))
    assert [*folder.iterdir()] == []
    known = "The state belongs to cluster elsewhere; prod-eu-cluster-id0000 answers"
    assert sum(f"alpha: no HCL is written. {known}" in each for each in progress.notes) == 2


def test_what_is_owned_through_an_alias_is_owned(ask: Ask, progress: SilentProgress) -> None:
    own_acl("prod-eu-cluster-id0000", "eu")
    ask(lambda o, p: audit.read_usage(o, p, Path("hcl")))
    assert "from = kafka_acl.mine\n" in Path("hcl/alpha.unused.tf").read_text()
    assert "shop.reports" not in Path("hcl/alpha.unmanaged.tf").read_text()
    assert any("alpha: objects are owned through kafka.eu." in each for each in progress.notes)
