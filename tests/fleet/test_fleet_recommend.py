"""Recommended ACLs against the logs they come from: a replay denies nothing."""

import random
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import date, timedelta
from functools import reduce
from typing import TYPE_CHECKING

import pytest

from kplan.fleet import recommend
from kplan.fleet.dataframe import create_dataframe, inline_few
from kplan.fleet.inventory import clusters_with_ended_log, open_clusters
from kplan.fleet.logs.requests import log_sums, unused_acls
from kplan.fleet.reads import first_seen, read_rows
from kplan.fleet.recommend import (
    RecommendRequest,
    acl_usage,
    days_of_window,
    narrow_acls,
    new_acl_rows,
    recommendation_table,
    watched_days,
)
from kplan.fleet.replay import acl_changes, replay_proof, replay_requests
from kplan.fleet.snapshot import Row
from kplan.fleet.store import Run
from kplan.kinds.acl import Acl
from kplan.model.plan import Action
from kplan.policy.authorizer import AccessRequest, AclIndex
from kplan.workflow.fleet.recommend import writable_advice
from tests.fleet.acl_rows import KIND, about, acl, row
from tests.fleet.test_fleet_access import binding, change, random_acls

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

Make = Callable[[Sequence[Row]], "DataFrame"]
USED_COLUMNS = (
    *("cluster", "principal", "host", "operation", "resource_type", "resource_name"),
    *("is_allowed", "request", "count", "first_at", "last_at"),
)
RUN_DAY = date(2026, 11, 5)
WINDOW = RecommendRequest(3, RUN_DAY)


def usage(
    spark: "SparkSession",
    asked: Sequence[tuple[str, str, str, str, str]],
    days: Sequence[int] = (1, 2, 3, 4),
    *,
    request: str = "FETCH",
) -> "DataFrame":
    """Make allowed requests (cluster, principal, host, operation, topic), five a day."""
    rows = [
        (*four, "TOPIC", name, True, request, 5, *[f"2026-11-{day:02} 10:00:00"] * 2)
        for *four, name in asked
        for day in days
    ]
    found = spark.createDataFrame(rows, [*USED_COLUMNS])
    times = {name: found[name].cast("timestamp") for name in ("first_at", "last_at")}
    return found.withColumns(times)


def seen(
    spark: "SparkSession",
    held: Mapping[str, Sequence[Acl]],
    at: str = "2026-10-01T06:00:00+00:00",
) -> "DataFrame":
    runs = [run_at(each) for each in (at, "2026-12-31T23:00:00+00:00")]
    names = {name: {str(KIND.identify(each)) for each in acls} for name, acls in held.items()}
    # They are in every run from then on.
    return since(spark, runs, {name: [found] * len(runs) for name, found in names.items()})


def run_at(at: str) -> Run:
    return Run(at[:10], at[:10], at)


def since(
    spark: "SparkSession",
    runs: Sequence[Run],
    held: Mapping[str, Sequence[AbstractSet[str] | None]],
) -> "DataFrame":
    """Say since when ACLs are known: what each run has of a cluster, or None if it read none."""
    rows = [
        (name, KIND.name, identity, run.run)
        for name, identities in held.items()
        for run, found in zip(runs, identities, strict=True)
        for identity in found or ()
    ]
    read = {
        name: [run for run, found in zip(runs, identities, strict=True) if found is not None]
        for name, identities in held.items()
    }
    schema = "cluster string, kind string, identity string, run string"
    return first_seen(create_dataframe(spark, rows, schema), read_rows(spark, read))


def replay_of(found: "DataFrame", objects: "DataFrame", used: "DataFrame") -> "DataFrame":
    gone = inline_few(found.select("cluster", "identity").distinct())
    coming = inline_few(new_acl_rows(found, objects))
    return replay_requests(used, objects, gone, coming)


def recommend_acls(
    objects: "DataFrame", used: "DataFrame", first: "DataFrame", request: RecommendRequest = WINDOW
) -> "DataFrame":
    """Compute the recommendation at once, as the command does."""
    made = narrow_acls(usage_of(objects, used, first, request), request)
    few = inline_few(made)
    return made.localCheckpoint() if few is made else few  # Spark 3.5 takes no values


def usage_of(
    objects: "DataFrame", used: "DataFrame", first: "DataFrame", request: RecommendRequest
) -> "DataFrame":
    return acl_usage(objects, used, watched_days(objects, used, request), first, request)


def told(found: "DataFrame", objects: "DataFrame") -> dict[str, tuple[str, str, int, int, str]]:
    rows = recommendation_table(found, objects).collect()
    return {
        r.identity: (r.action, r.instead, r.requests, r.days_watched, r.confidence) for r in rows
    }


def random_fleet(
    spark: "SparkSession", objects: Make
) -> tuple["DataFrame", "DataFrame", "DataFrame"]:
    """Make random ACLs of two clusters, requests that they allow, and when they were first seen."""
    dice = random.Random(5)
    rows: list[Row] = []
    asked: list[tuple[str, str, str, str, str]] = []
    held: dict[str, list[Acl]] = {}
    for cluster in ("eu", "us"):
        plain = acl("plain", "User:c", host="10.0.0.1")
        drawn = {KIND.identify(each): each for each in (plain, *random_acls(dice, 14))}
        held[cluster] = list(drawn.values())
        asked.append((cluster, "User:c", "10.0.0.1", "READ", "plain"))
        rows += [about(cluster), *(row(each, cluster) for each in held[cluster])]
        judge = AclIndex(map(binding, held[cluster]))
        asked += [
            (cluster, who, host, what, name)
            for who in ("User:a", "User:b", "Team:x")
            for host in ("10.0.0.1", "10.0.0.2")
            for what in ("READ", "WRITE", "DESCRIBE", "DESCRIBE_CONFIGS")
            for name in ("a", "ab", "abc", "abcd", "b", "orders.eu", "orders.us", "x")
            if dice.random() < 0.3
            and judge.authorize(AccessRequest(who, host, what, "TOPIC", name)).is_allowed
        ]
    return objects(rows), usage(spark, asked).cache(), seen(spark, held)


def test_a_replay_of_the_recommendation_denies_and_allows_nothing(
    spark: "SparkSession", objects: Make
) -> None:
    """Issue 19, 4.1: random ACLs of several clusters, random requests, the authorizer as judge."""
    found, history, first = random_fleet(spark, objects)
    made = recommend_acls(found, history, first, RecommendRequest(3, RUN_DAY, by_host=True))
    actions = {each[0] for each in told(made, found).values()}
    assert actions == {"remove", "narrow"}
    replayed = replay_of(made, found, history)
    assert replayed.collect() == []
    proof = [tuple(each) for each in replay_proof(made, replayed, history).collect()]
    assert [each[0] for each in proof] == ["eu", "us"]
    assert all(each[1] and each[2:] == (0, 0) for each in proof)
    # The replay sees a recommendation that is too narrow.
    broken = made.where("new_identity is null or new_identity not like '%Read%'")
    effects = {each.effect for each in replay_of(broken, found, history).collect()}
    assert effects == {"denied"}


@pytest.mark.parametrize("asked", [WINDOW, RecommendRequest(3, RUN_DAY, by_host=True)], ids=str)
def test_acls_that_spark_leaves_out_could_not_be_narrower(
    spark: "SparkSession", objects: Make, monkeypatch: pytest.MonkeyPatch, asked: RecommendRequest
) -> None:
    from pyspark.sql import functions as F  # noqa: N812 - its customary name

    found, history, first = random_fleet(spark, objects)
    few = usage_of(found, history, first, asked)
    monkeypatch.setattr(recommend, "_is_narrowest", lambda _: F.expr("false"))
    everything = usage_of(found, history, first, asked)
    assert 0 < few.count() < everything.count()
    made = [sorted(map(str, narrow_acls(each, asked).collect())) for each in (few, everything)]
    assert made[0] == made[1]


def test_no_hcl_is_written_for_names_that_hcl_cannot_have(
    spark: "SparkSession", objects: Make
) -> None:
    """It would declare an ACL for the composed name, whose owner is somebody else."""
    names = ("User:Jo\u0308rg", "User:J\u00f6rg", "User:a")
    held = [acl("*", each, operation="All") for each in names]
    shared = acl("sho", "User:b", pattern="Prefixed")
    rows = [about("eu"), *(row(each) for each in (*held, shared))]
    asked = [("eu", each, "10.0.0.1", "READ", "orders") for each in names]
    asked.append(("eu", "User:b", "10.0.0.1", "READ", "sho\u0308p"))
    history = usage(spark, asked)
    made = recommend_acls(objects(rows), history, seen(spark, {"eu": [*held, shared]}))
    told: list[str] = []
    kept = writable_advice(spark, made, told.append).collect()
    assert {each.identity for each in kept} == {str(KIND.identify(each)) for each in held[1:]}
    assert [each.rpartition(": ")[2] for each in told] == [
        str(KIND.identify(each)).rpartition(": ")[2] for each in (held[0], shared)
    ]
    assert all(each.startswith("eu: left out of the HCL") for each in told)


def test_recommendations_have_evidence_and_leave_young_acls_alone(
    spark: "SparkSession", objects: Make
) -> None:
    wide = acl("*", operation="All")
    narrow, unused, young = acl("orders"), acl("old"), acl("new")
    deny = acl("secret", permission="Deny")
    covered = acl("ord", pattern="Prefixed")
    us = acl("orders", "User:z")
    rows = [
        about("eu"), *(row(each) for each in (wide, narrow, unused, young, deny, covered)),
        about("us", everyone="true"), row(us, "us"),
    ]  # fmt: skip
    found = objects(rows)
    asked = [("eu", "User:a", "h", what, "orders") for what in ("READ", "DESCRIBE")]
    used = usage(spark, [*asked, ("us", "User:z", "h", "READ", "stock")])
    old = seen(spark, {"eu": [wide, narrow, unused, deny, covered], "us": [us]})
    first = old.unionByName(seen(spark, {"eu": [young]}, "2026-11-02T06:00:00+00:00"))
    made = recommend_acls(found, used, first)
    read_orders = str(KIND.identify(narrow))
    assert told(made, found) == {
        str(KIND.identify(wide)): ("remove", read_orders, 40, 4, "low"),
        str(KIND.identify(covered)): ("remove", read_orders, 40, 4, "low"),
        str(KIND.identify(unused)): ("remove", "", 0, 4, "low"),
    }
    assert new_acl_rows(made, found).collect() == []
    assert [each.cluster for each in open_clusters(found).collect()] == ["us"]
    later = usage(spark, asked, days=range(1, 31))
    confident = told(recommend_acls(found, later, first), found)
    assert {each[-1] for each in confident.values()} == {"medium", "low"}
    assert str(KIND.identify(young)) in confident


def test_clusters_that_may_allow_everyone_what_has_no_acl_are_left_out(
    spark: "SparkSession", objects: Make
) -> None:
    """Without its last ACL a resource would be open there."""
    unused, clusters = acl("payroll"), {"eu": "false", "us": "true", "ap": None}
    rows = [about(name, everyone=each) for name, each in clusters.items()]
    rows.append(about("down", everyone=None, kinds="[]"))
    found = objects([*rows, *(row(unused, each) for each in clusters)])
    used = usage(spark, [(each, "User:a", "h", "READ", "orders") for each in clusters])
    made = recommend_acls(found, used, seen(spark, {each: [unused] for each in clusters}))
    assert [each.cluster for each in made.collect()] == ["eu"]
    left_out = {each.cluster: each.reason for each in open_clusters(found).collect()}
    assert {name: text.split(":")[0] for name, text in left_out.items()} == {
        "us": "allow_everyone is true",
        "ap": "whether the brokers allow everyone what has no ACL is not known",
    }


def test_requests_from_before_an_acl_do_not_make_it_older(
    spark: "SparkSession", objects: Make
) -> None:
    """Issue 19, 4.1: another ACL, which there may still be, allowed them then."""
    old, new = acl("orders.eu"), acl("orders.", pattern="Prefixed")
    found = objects([about("eu"), row(old), row(new)])
    used = usage(spark, [("eu", "User:a", "h", "READ", "orders.eu")])
    first = seen(spark, {"eu": [old]}).unionByName(
        seen(spark, {"eu": [new]}, "2026-11-03T06:00:00+00:00")
    )
    assert told(recommend_acls(found, used, first), found) == {}


def test_a_log_that_ended_long_before_the_run_says_too_little_of_it(
    spark: "SparkSession", objects: Make
) -> None:
    """What was used since is not known, and days of another year are no days of this one."""
    from pyspark.sql import functions as F  # noqa: N812

    unused = acl("old")
    found = objects([about(name) for name in ("eu", "us")] + [row(unused, n) for n in ("eu", "us")])
    asked = [(name, "User:a", "h", "READ", "orders") for name in ("eu", "us")]
    used = usage(spark, asked)
    first = seen(spark, {"eu": [unused], "us": [unused]})
    again = usage(spark, asked[1:], days=[30])
    both = used.unionByName(again)
    sums = log_sums(both.selectExpr("*", "'a.log' AS source"))
    ended = RecommendRequest(0, date(2026, 11, 12))
    before = RecommendRequest(0, date(2026, 11, 11))
    for request, days_watched in ((before, {"eu": 4, "us": 5}), (ended, {"us": 5})):
        watched = usage_of(found, both, first, request).collect()
        assert {each.cluster: each.days_watched for each in watched} == days_watched
    assert [tuple(each) for each in clusters_with_ended_log(sums, ended.last_end).collect()] == [
        ("eu", "its log ends on 2026-11-04: what was used since is unknown")
    ]
    next_year = both.withColumn("last_at", F.col("last_at") + F.expr("interval 190 days"))
    next_year = next_year.withColumn("first_at", next_year["last_at"])
    later = RecommendRequest(0, date(2026, 11, 4) + timedelta(days=190))
    watched = usage_of(found, used.unionByName(next_year), first, later).collect()
    assert {each.cluster: each.days_watched for each in watched} == {"eu": 4, "us": 5}


def test_an_acl_that_was_added_again_is_as_old_as_since_then(spark: "SparkSession") -> None:
    """A run that did not read the ACLs of a cluster says nothing of them."""
    runs = [run_at(f"2026-11-{day:02}T06:00:00+00:00") for day in (1, 3, 5, 7)]
    held: dict[str, list[AbstractSet[str] | None]] = {
        "eu": [{"kept", "again"}, {"kept"}, {"kept", "again", "new"}, {"kept", "again", "new"}],
        "us": [{"kept"}, None, {"kept", "gone"}, {"kept"}],
    }
    found = {(row.cluster, row.identity): row.day for row in since(spark, runs, held).collect()}
    assert found == {
        ("eu", "kept"): date(2026, 11, 1),
        ("eu", "again"): date(2026, 11, 5),
        ("eu", "new"): date(2026, 11, 5),
        ("us", "kept"): date(2026, 11, 1),
        ("us", "gone"): None,
    }


def test_only_clusters_that_were_watched_for_the_window_are_compared_with_their_logs(
    spark: "SparkSession", objects: Make
) -> None:
    """A day counts after the first run that read the ACLs; of the others nothing would be left."""
    of = {name: acl("orders", f"User:{name}") for name in ("eu", "us", "ap", "unread")}
    found = objects([each for name, one in of.items() for each in (about(name), row(one, name))])
    asked = [(name, "User:a", "h", "READ", "stock") for name in of if name != "ap"]
    used = usage(spark, asked).unionByName(
        usage(spark, [("ap", "User:a", "h", "READ", "stock")], days=(1, 2))
    )
    old, young = run_at("2026-10-01T06:00:00+00:00"), run_at("2026-11-02T06:00:00+00:00")
    reads = read_rows(spark, {"eu": [old, young], "us": [young], "ap": [old]})
    days = watched_days(found, used, WINDOW)

    def clusters(window_days: int) -> set[str]:
        kept = days_of_window(days, reads, window_days)
        assert kept.columns == days.columns
        return {each.cluster for each in kept.collect()}

    assert clusters(3) == {"eu"}
    assert clusters(2) == {"eu", "us", "ap"}
    assert clusters(0) == {*of}
    first = since(
        spark, [old, young], {"eu": [{"x"}] * 2, "us": [None, {"x"}], "ap": [{"x"}, None]}
    )
    first = first.drop("identity").join(
        found.where("kind = 'kafka_acl'").select("cluster", "identity"), "cluster"
    )
    every = acl_usage(found, used, days, first, WINDOW).collect()
    few = acl_usage(found, used, days_of_window(days, reads, 3), first, WINDOW).collect()
    assert [(each.cluster, each.days_watched) for each in few] == [("eu", 4)]
    assert few == every


def test_a_super_user_uses_no_acl(spark: "SparkSession", objects: Make) -> None:
    """No ACL allows its requests, so the ones that fit them may go."""
    from pyspark.sql import functions as F  # noqa: N812

    everyone = acl("orders", "User:*")
    rows = objects([about("eu"), row(everyone)])
    of_log = F.lit("file:/x.log")
    by_root = usage(spark, [("eu", "User:root", "h", "READ", "orders")])
    by_root = by_root.withColumn("source", of_log)
    made = recommend_acls(rows, by_root, seen(spark, {"eu": [everyone]}))
    assert told(made, rows) == {str(KIND.identify(everyone)): ("remove", "", 0, 4, "low")}
    assert new_acl_rows(made, rows).collect() == []
    assert unused_acls(rows, by_root, log_sums(by_root)).count() == 1
    by_other = usage(spark, [("eu", "User:a", "h", "READ", "orders")]).withColumn("source", of_log)
    assert unused_acls(rows, by_other, log_sums(by_other)).count() == 0


def test_what_was_denied_before_its_acl_was_there_is_no_use_of_that_acl(
    spark: "SparkSession", objects: Make
) -> None:
    """It is denied as before: the proof of a recommendation is about what the log allowed."""
    wide = acl("orders.", pattern="Prefixed")
    found = objects([about("eu"), row(wide)])
    asked = [("eu", "User:a", "h", "READ", f"orders.{name}") for name in ("eu", "us")]
    used = usage(spark, asked)
    used = used.withColumn("is_allowed", used["resource_name"] != "orders.us")
    made = recommend_acls(found, used, seen(spark, {"eu": [wide]}))
    new = "User:a|*|Read|Allow|Topic|orders.eu|Literal"
    assert [each[:2] for each in told(made, found).values()] == [("narrow", new)]
    (proof,) = replay_proof(made, replay_of(made, found, used), used).collect()
    assert (proof.requests, proof.denied, proof.allowed) == (20, 0, 0)


def test_an_idempotent_producer_may_write_to_other_topics(
    spark: "SparkSession", objects: Make
) -> None:
    """Kafka logs `hardcode` for InitProducerId; any topic to write to is enough for it."""
    wide, other = acl("*", operation="Write"), acl("orders", operation="Write")
    found = objects([about("eu"), row(wide)])
    asks = usage(spark, [("eu", "User:a", "h", "WRITE", "hardcode")], request="InitProducerId")
    gone, coming = acl_changes(spark, {"eu": [change(Action.REPLACE, wide, other)]})
    assert replay_requests(asks, found, gone, coming).collect() == []
    gone, coming = acl_changes(spark, {"eu": [change(Action.DELETE, wide, None)]})
    assert [r["count"] for r in replay_requests(asks, found, gone, coming).collect()] == [20]
    barred = acl("*", operation="Write", permission="Deny")
    changes = [change(Action.REPLACE, wide, other), change(Action.CREATE, None, barred)]
    gone, coming = acl_changes(spark, {"eu": changes})
    assert len(replay_requests(asks, found, gone, coming).collect()) == 1
    made = recommend_acls(found, asks, seen(spark, {"eu": [wide]}))
    assert told(made, found) == {}
    writes = usage(spark, [("eu", "User:a", "h", "WRITE", "orders")], request="Produce")
    made = recommend_acls(found, asks.unionByName(writes), seen(spark, {"eu": [wide]}))
    assert told(made, found)[str(KIND.identify(wide))][:2] == ("narrow", str(KIND.identify(other)))


def test_days_watched_are_the_days_of_the_log_after_the_first_run_that_has_the_acl(
    spark: "SparkSession", objects: Make
) -> None:
    """Days of the log have gaps, and a run may be before, between and after them."""
    dice = random.Random(8)
    rows: list[Row] = []
    asked: list[DataFrame] = []
    runs: list[DataFrame] = []
    expected: dict[str, int] = {}
    for number in range(12):
        name, held = f"c{number}", acl("orders", host="10.9.9.9")
        days = sorted(dice.sample(range(5, 28), dice.randint(1, 9)))
        run_day = dice.randint(1, 30)
        rows += [about(name), row(held, name)]
        asked.append(usage(spark, [(name, "User:b", "10.0.0.1", "READ", "orders")], days))
        runs.append(seen(spark, {name: [held]}, f"2026-11-{run_day:02}T06:00:00+00:00"))
        expected[name] = sum(day > run_day for day in days)
    used, first = (reduce(lambda a, b: a.unionByName(b), each) for each in (asked, runs))
    found = usage_of(objects(rows), used, first, RecommendRequest(0, RUN_DAY)).collect()
    assert {each["cluster"]: each["days_watched"] for each in found} == expected
    assert 0 in expected.values()
