"""`plan -replay`: a plan beside the logged requests of its cluster, on Spark."""

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kplan.fleet.logs.file_names import LogPatterns
from kplan.fleet.snapshot import KINDS_READ, Row, unread_cluster_rows
from kplan.fleet.store import Store
from kplan.fleet.tables import PARQUET
from kplan.kinds.acl import AclKind
from kplan.model.address import Address
from kplan.model.errors import UsageError
from kplan.model.plan import Action, Change, Plan, PlanBasis
from kplan.workflow.fleet.ingest import ingest_files
from kplan.workflow.fleet.plan_replay import compare_plan
from kplan.workflow.ports import ReplayBasis
from tests.fleet.acl_rows import about, acl
from tests.fleet.test_fleet_access import Make

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

LINE = (
    "[2026-11-{day:02} 08:15:02,123] DEBUG Principal = User:{who} is Allowed operation = READ from "
    "host = 10.0.0.1 on resource = Topic:LITERAL:orders for request = Fetch with resourceRefCount "
    "= 1 based on rule x (kafka.authorizer.logger)"
)


def delete(name: str) -> Change:
    held = acl(name)
    identity = AclKind().identify(held)
    return Change(Address("kafka_acl", name), "kafka_acl", identity, Action.DELETE, held, None)


def test_a_plan_is_told_what_it_would_have_denied(
    spark: "SparkSession", objects: Make, tmp_path: Path
) -> None:
    """Issue 19, 4.5: the ACLs of the live cluster, the requests of the tables."""
    store = Store(spark, str(tmp_path), PARQUET)
    rows = [about("eu"), Row("us", "cluster", "id-us", attributes={"super_users": "[]"})]
    store.add_run(objects(rows), "now", datetime(2026, 11, 20, tzinfo=UTC))
    lines = [LINE.format(day=day, who="a") for day in (16, 16, 17)]
    log = tmp_path / "a.log"
    log.write_text("".join(f"{each}\n" for each in (*lines, LINE.format(day=16, who="root"))))
    assert not ingest_files(store, spark, [LogPatterns("eu", (str(log),), "")]).notes
    basis = ReplayBasis("id-eu", (acl("orders"), acl("other")))
    plan = Plan(PlanBasis("", "", 0, "id-eu"), (delete("orders"), delete("other")), ())

    told = compare_plan(spark, store, plan, {"": basis})
    assert told.replay is not None
    assert (told.replay.denied, told.replay.requests, told.replay.since) == (3, 4, "2026-11-16")
    assert told.replay.principals == (("User:a", 3),)  # User:root is a super user of the fleet
    (said,) = told.diagnostics
    assert said.code == "KP370"
    assert "would have denied 3 requests of User:a since Monday, 2026-11-16" in said.detail
    assert "User:a READ on TOPIC orders (3, last 2026-11-17T08:15:02Z)" in said.detail

    blind = compare_plan(spark, store, plan, {"": ReplayBasis("id-us", basis.acls)})
    assert blind.replay is not None
    assert blind.replay.denied is None
    assert [each.code for each in blind.diagnostics] == ["KP371"]
    with pytest.raises(UsageError, match="has no cluster id-ap"):
        compare_plan(spark, store, plan, {"": ReplayBasis("id-ap", basis.acls)})

    partly = compare_plan(spark, store, plan, {"": basis, "ap": ReplayBasis("id-ap", basis.acls)})
    assert partly.replay is not None
    assert (partly.replay.denied, partly.replay.principals) == (None, (("User:a", 3),))
    assert [each.code for each in partly.diagnostics] == ["KP370", "KP371"]
    assert "kafka.ap: The latest run in" in partly.diagnostics[1].detail


def test_a_cluster_with_two_names_is_heard_under_either_and_each_log_counts_once(
    spark: "SparkSession", objects: Make, tmp_path: Path
) -> None:
    store = Store(spark, str(tmp_path), PARQUET)
    names = ("eu", "eu-old", "eu-silent")
    rows = [about("eu")._replace(cluster=name) for name in names]
    store.add_run(objects(rows), "now", datetime(2026, 11, 20, tzinfo=UTC))
    logs = [tmp_path / name for name in ("a.log", "b.log")]
    for log in logs:
        log.write_text(LINE.format(day=16, who="a") + "\n")
    both, one = tuple(map(str, logs)), (str(logs[0]),)
    patterns = [LogPatterns("eu", one, ""), LogPatterns("eu-old", both, "")]
    assert not ingest_files(store, spark, patterns).notes
    plan = Plan(PlanBasis("", "", 0, "id-eu"), (delete("orders"),), ())
    told = compare_plan(spark, store, plan, {"": ReplayBasis("id-eu", (acl("orders"),))})
    assert told.replay is not None
    assert (told.replay.denied, told.replay.requests) == (2, 2)
    assert [each.code for each in told.diagnostics] == ["KP370"]


def test_a_cluster_that_the_latest_run_could_not_read_is_the_one_that_it_was(
    spark: "SparkSession", objects: Make, tmp_path: Path
) -> None:
    """Its names of now apply, and the super users of now."""
    store = Store(spark, str(tmp_path), PARQUET)
    read = {KINDS_READ: '["kafka_acl"]', "super_users": "[]"}
    eu = Row("eu", "cluster", "id-eu", attributes=read)
    gone = eu._replace(cluster="gone")
    store.add_run(objects([eu, gone]), "mon", datetime(2026, 11, 16, tzinfo=UTC))
    other = eu._replace(identity="id-before")
    store.add_run(objects([other]), "sun", datetime(2026, 11, 15, tzinfo=UTC))
    lines = [LINE.format(day=16, who=who) for who in ("a", "root")]
    log = tmp_path / "a.log"
    log.write_text("".join(f"{each}\n" for each in lines))
    assert not ingest_files(store, spark, [LogPatterns("eu", (str(log),), "")]).notes
    about_now = {"super_users": '["User:root"]'}
    down = [row for name in ("eu", "new") for row in unread_cluster_rows(name, "down", about_now)]
    store.add_run(objects(down), "tue", datetime(2026, 11, 17, tzinfo=UTC))
    plan = Plan(PlanBasis("", "", 0, "id-eu"), (delete("orders"),), ())

    told = compare_plan(spark, store, plan, {"": ReplayBasis("id-eu", (acl("orders"),))})
    assert told.replay is not None
    assert (told.replay.denied, told.replay.requests) == (1, 2)
    with pytest.raises(UsageError, match=r"has no cluster id-before\. No run has read new yet"):
        compare_plan(spark, store, plan, {"": ReplayBasis("id-before", ())})
