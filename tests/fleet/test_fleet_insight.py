"""Costs, trends and anomalies of a fleet, on Spark, against figures that are worked out by hand."""

import random
import re
from collections.abc import Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

from kplan.fleet.dataframe import create_dataframe
from kplan.fleet.insight.anomalies import (
    ANOMALY_SCHEMA,
    Watch,
    anomaly_table,
    cluster_history,
    subject_history,
    unjudged_clusters,
)
from kplan.fleet.insight.costs import (
    COST_SCHEMA,
    cost_table,
    month_coverage,
    month_spans,
    monthly_usage,
    owner_requests,
    partial_months,
    price_usage,
    unknown_requests,
    unsized_topics,
)
from kplan.fleet.insight.ownership import Ownership, add_owner, owner_sizes
from kplan.fleet.insight.spans import last_runs_of_days, run_spans, topic_sizes
from kplan.fleet.insight.trends import (
    OTHERS,
    TREND_SCHEMA,
    daily_figures,
    sizes_by_day,
    trend_table,
)
from kplan.fleet.inventory import OWNER_SCHEMA
from kplan.fleet.logs.requests import log_sums
from kplan.fleet.reader import topic_size
from kplan.fleet.snapshot import CLUSTER, KINDS_READ, STORED_SCHEMA, USE, Row
from kplan.fleet.store import Run
from kplan.model.fleet import (
    AnomalyRow,
    AnomalyRules,
    CostRow,
    CostRules,
    Limits,
    Prices,
    Team,
    TrendRow,
    TrendRules,
)
from kplan.model.table import NO_OWNER
from tests.fleet.seeded_logs import (
    LAST_DAY,
    Injected,
    Logs,
    UsageRow,
    scores_by_finding,
    seeded_logs,
    usage_of,
)
from tests.fleet.spark_target import CONNECT, SparkTarget

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

EVERY_STORE = pytest.mark.parametrize("has_sizes", [True, False], ids=["sizes", "earlier"])
"""Runs of this version, and of earlier ones, which stored no sizes with topics."""
GIB = 1 << 30
TOPIC_KIND = "kafka_topic"
Moment = tuple[str, Sequence[Row]]
"""When a run was, and its rows."""


def read(
    cluster: str, *topics: tuple[str, int, int, int | None], is_read: bool = True
) -> list[Row]:
    """Make the rows of a cluster: topics by name, partitions, replicas of each, bytes of one."""
    kinds = f'["{TOPIC_KIND}"]' if is_read else "[]"
    rows = [Row(cluster, CLUSTER, cluster, attributes={KINDS_READ: kinds})]
    for name, partitions, copies, size in topics:
        about = {"partitions": str(partitions), "replication_factor": str(copies)}
        rows.append(Row(cluster, TOPIC_KIND, name, value="{}", attributes=about))
        if size is not None:
            rows.append(Row(cluster, USE, name, attributes={"bytes": str(size)}))
    return rows


def ownership_of(
    spark: "SparkSession", owned: Sequence[tuple[str, str, str, str]], teams: Sequence[Team] = ()
) -> Ownership:
    """Say who owns what: cluster, kind, identity and owner."""
    return Ownership(create_dataframe(spark, owned, OWNER_SCHEMA), bool(owned), teams)


def objects_of(spark: "SparkSession", moments: Sequence[Moment]) -> "DataFrame":
    rows = []
    for at, found in moments:
        used = {(e.cluster, e.identity): e.attributes["bytes"] for e in found if e.kind == USE}
        for each in found:
            sizes = topic_size(each, used.get((each.cluster, each.identity)))
            begun = (at, f"{at}T06:00:00+00:00")
            rows.append((*each[:5], list(each.attributes.items()), *sizes, *begun))
    return create_dataframe(spark, rows, f"{STORED_SCHEMA}, run string, at string")


def usage_by_month(
    objects: "DataFrame",
    ownership: Ownership,
    used: "DataFrame | None",
    sums: "DataFrame | None",
    *,
    has_sizes: bool = True,
) -> "DataFrame":
    sizes, spans = topic_sizes(objects, has_sizes=has_sizes), month_spans(run_spans(objects))
    unsized = unsized_topics(sizes, spans, ownership)
    requests = None if used is None else owner_requests(used, ownership)
    return monthly_usage(owner_sizes(sizes, ownership), spans, unsized, requests, sums)


def figures_by_day(
    objects: "DataFrame", ownership: Ownership, days: Sequence[date], *, has_sizes: bool = True
) -> "DataFrame":
    sizes = topic_sizes(objects, has_sizes=has_sizes)
    return daily_figures(owner_sizes(sizes, ownership), run_spans(objects), days)


def columns(table: "DataFrame") -> str:
    types = ((each.name, each.dataType.simpleString()) for each in table.schema.fields)
    return ", ".join(f"{name} {kind.replace('bigint', 'long')}" for name, kind in types)


PRICED = CostRules(
    "EUR",
    Prices(Decimal("0.10"), Decimal("0.03"), Decimal("0.2")),
    {"us": Prices(per_gib_month=Decimal("0.12"))},
)


def denials(cluster: str, day: date) -> list[UsageRow]:
    logs = Logs(cluster, random.Random(1))
    logs.add(day, "User:a", "h", ("READ", "TOPIC"), 20, is_allowed=False)
    return logs.rows


@EVERY_STORE
def test_a_month_costs_what_its_known_days_cost_to_the_last_digit(
    spark: "SparkSession", *, has_sizes: bool
) -> None:
    """Runs of 20 October and 11 November; `us` is read by the first one alone."""
    dice = Logs("eu", random.Random(1))
    objects = objects_of(
        spark,
        [
            (
                "2026-10-20",
                [
                    *read("eu", ("shop.a", 4, 3, GIB), ("__consumer_offsets", 50, 1, 0)),
                    *read("us", ("shop.a", 7, 2, 5 * GIB), ("other", 1, 1, None)),
                ],
            ),
            (
                "2026-11-11",
                [
                    *read("eu", ("shop.a", 6, 3, 2 * GIB), ("new", 1, 1, 3)),
                    *read("us", is_read=False),
                ],
            ),
        ],
    )
    ownership = ownership_of(
        spark, [("eu", TOPIC_KIND, "shop.a", "prod: module.shop")], [Team("shop", ("prod",), ())]
    )
    dice.add(date(2026, 11, 3), "User:a", "h", ("READ", "TOPIC"), 3_000_000)
    used = usage_of(spark, [*dice.rows, *denials("us", date(2026, 10, 20))])
    used = used.replace({"a.data": "shop.a"}, subset=["resource_name"])
    usage = usage_by_month(
        objects,
        ownership,
        used,
        log_sums(used.selectExpr("*", "'eu' AS source")),
        has_sizes=has_sizes,
    )
    priced = price_usage(usage, PRICED, ("2026-10", "2026-11")).cache()
    assert columns(cost_table(priced)) == COST_SCHEMA
    rows = {
        (each.month, each.owner): each
        for each in (CostRow(*row) for row in cost_table(priced).collect())
    }
    october, november = (rows[month, "prod: module.shop"] for month in ("2026-10", "2026-11"))
    # October: 12 of 31 days of 3 GiB. November: 10 days of 3 GiB and the 11th of 6 GiB, of 30.
    assert (october.team, october.gib_months) == ("shop", Decimal("1.1613"))  # 36 / 31
    assert october.storage_cost == Decimal("0.1161")
    assert november.gib_months == Decimal("1.2000")  # 36 / 30
    assert november.partition_months == Decimal("1.5333")  # 46 / 30
    assert november.partition_cost == Decimal("0.0460")
    assert (november.requests, november.request_cost) == (3_000_000, Decimal("0.6000"))
    assert november.cost == Decimal("0.7660")
    assert (november.topics, november.partitions, november.replicas) == (1, 6, 18)
    assert november.bytes == 6 * GIB
    kafka = rows["2026-10", "(kafka)"]
    assert (kafka.team, kafka.storage_cost) == ("", Decimal("0.0000"))
    # `us` has one day, its own price, a log of denials, and one topic of unknown size.
    nobody = rows["2026-10", "(no owner)"]
    assert (nobody.requests, nobody.unsized) == (None, 1)
    assert nobody.storage_cost == Decimal("0.0387")  # 10 GiB x 1 / 31 x 0.12
    by_cluster = cost_table(priced, ("month", "cluster")).collect()
    assert sum(row["cost"] for row in by_cluster) == sum(
        each.cost for each in rows.values() if each.cost is not None
    )
    coverage = month_coverage(month_spans(run_spans(objects)), ("2026-10", "2026-11"))
    assert [tuple(each) for each in partial_months(coverage)] == [
        ("2026-10", 31, 1, 12, "2026-10-20", "2026-10-31"),
        ("2026-11", 30, 0, 11, "2026-11-01", "2026-11-11"),
    ]


def test_requests_of_months_before_and_after_the_log_are_unknown(spark: "SparkSession") -> None:
    """A log of denials says nothing of any month."""
    eu, us = read("eu", ("a.data", 1, 1, 1)), read("us", ("a.data", 1, 1, 1))
    days = ("2026-10-20", "2026-11-11", "2026-12-02")
    objects = objects_of(spark, [(each, [*eu, *us]) for each in days])
    log = Logs("eu", random.Random(1))
    log.add(date(2026, 11, 3), "User:a", "h", ("READ", "TOPIC"), 7)
    denied = [date(2026, 9, 20), date(2026, 10, 20), date(2026, 12, 1)]
    used = usage_of(spark, [*log.rows, *(row for each in denied for row in denials("eu", each))])
    sums = log_sums(used.selectExpr("*", "'log' AS source"))
    usage = usage_by_month(objects, ownership_of(spark, []), used, sums)
    asked = {(row["month"], row["cluster"]): row["requests"] for row in usage.collect()}
    assert asked["2026-10", "eu"] is None
    assert asked["2026-11", "eu"] == 7
    assert asked["2026-12", "eu"] is None
    assert asked["2026-11", "us"] is None
    coverage = month_coverage(month_spans(run_spans(objects)), ("2026-10", "2026-12"))
    there = objects_of(spark, [("x", [*eu, *us])])
    assert [tuple(each) for each in unknown_requests(there, sums, coverage).collect()] == [
        ("eu", "its log begins on 2026-11-03: requests of the months before are unknown"),
        ("eu", "its log ends on 2026-11-03: requests of the months after are unknown"),
        ("us", "no authorizer log was ingested"),
    ]


def test_the_topics_of_nested_modules_are_those_of_the_nearest_team(spark: "SparkSession") -> None:
    """A team owns a module with all of its instances, or one of them."""
    shop = 'prod: module.shop["e.module.u"]'
    expected = {
        "prod": "all",
        "prod: module.other": "all",
        "prod: module.shop[0].module.a": "shop",
        f"{shop}.module.a": "eu",
        f'{shop}.module.deep["x"].module.b[1]': "deep",
        "prod: module.shop[1].module.deep": "shop",
        "prod: module.pay[0].module.card[1].module.a": "card",
        "prod: module.paying.module.card": "all",
        "test: module.shop": "",
    }
    teams = [
        Team("all", ("prod",)),
        Team("shop", ("prod: module.shop",)),
        Team("eu", (shop,)),
        Team("deep", (f"{shop}.module.deep",)),
        Team("card", ("prod: module.pay.module.card",)),
    ]
    names = {owner: f"t{number}" for number, owner in enumerate(expected)}
    owned = [("eu", TOPIC_KIND, topic, owner) for owner, topic in names.items()]
    topics = create_dataframe(
        spark, [("eu", topic) for topic in names.values()], "cluster string, topic string"
    )
    rows = add_owner(topics, ownership_of(spark, owned, teams)).collect()
    assert {row["owner"]: row["team"] for row in rows} == expected


@EVERY_STORE
def test_growth_meets_its_limit_on_the_day_that_the_line_says(
    spark: "SparkSession", *, has_sizes: bool
) -> None:
    """Topics of `eu` grow by 2 partitions a day; `us` comes later, and is not read on one day."""
    first = date(2026, 11, 1)
    days = [first + timedelta(days=n) for n in range(10)]
    moments = []
    for n, day in enumerate(days):
        rows = read("eu", ("shop.a", 10 + 2 * n, 1, 1_000), ("pay.a", 5, 1, 7))
        if n >= 2:
            rows += read("us", ("shop.b", 100, 1, None), is_read=n != 6)
        moments.append((day.isoformat(), rows))
    ownership = ownership_of(
        spark, [("eu", TOPIC_KIND, "pay.a", "pay")], [Team("shop", topics=("shop.*",))]
    )
    rules = TrendRules(
        limits={
            ("cluster", "eu"): Limits(partitions=40, bytes=900),
            ("team", "shop"): Limits(partitions=1_000),
            ("owner", "pay"): Limits(partitions=6),
        }
    )
    objects = objects_of(spark, moments)
    figures = figures_by_day(objects, ownership, days, has_sizes=has_sizes)
    table = trend_table(figures, rules, days)
    assert columns(table) == TREND_SCHEMA
    told = [TrendRow(*row) for row in table.collect()]
    found = {(each.scope, each.name, each.figure): each for each in told}
    eu = found["cluster", "eu", "partitions"]
    assert (eu.standing, eu.first, eu.latest, eu.per_day, eu.fit) == ("near", 15, 33, 2.0, 1.0)
    assert (eu.limit_day, eu.because) == ("2026-11-14", "7 left at 2.0 a day: 4 days")
    size = found["cluster", "eu", "bytes"]
    assert (size.standing, size.limit_day) == ("over", "2026-11-01")
    shop = found["team", "shop", "partitions"]
    assert (shop.first_day, shop.days, shop.first, shop.latest) == ("2026-11-03", 8, 114, 128)
    assert (shop.standing, shop.limit_day) == ("later", "2028-01-20")
    unsized = found["team", "shop", "bytes"]
    assert (unsized.days, unsized.latest, unsized.per_day) == (0, None, None)
    pay = found["owner", "pay", "partitions"]
    assert (pay.standing, pay.limit_day) == ("steady", "")
    assert told[0].standing == "over"


def test_the_topics_of_all_runs_are_shuffled_once(
    at_work: SparkTarget, spark: "SparkSession"
) -> None:
    """Each day has a row of each topic: what is asked after the first shuffle is of one topic."""
    if at_work.name == CONNECT:
        pytest.skip("Connect does not show the plans of Spark")
    days = [date(2026, 11, 1), date(2026, 11, 2)]
    objects = objects_of(spark, [(f"{day}", read("eu", ("a.data", 1, 1, 1))) for day in days])
    ownership = ownership_of(spark, [("eu", TOPIC_KIND, "a.data", "pay")])
    log = Logs("eu", random.Random(1))
    log.add(days[0], "User:a", "h", ("READ", "TOPIC"), 7)
    used = usage_of(spark, log.rows)
    sums = log_sums(used.selectExpr("*", "'log' AS source"))
    for found in (
        figures_by_day(objects, ownership, days),
        usage_by_month(objects, ownership, used, sums),
    ):
        plan = found._jdf.queryExecution().executedPlan().toString()
        keys = [
            re.findall(r"[a-z]+(?=#)", each) for each in re.findall("Exchange hash.*?\\)", plan)
        ]
        assert ["cluster", "topic"] in keys
        assert not [each for each in keys if {"run", "topic"} <= {*each}]
    assert found.select("month", "requests", "partition_days").collect() == [("2026-11", 7, 2)]


def test_sizes_by_day_tell_the_largest_owners_apart(spark: "SparkSession") -> None:
    days = [date(2026, 11, 1), date(2026, 11, 8)]
    moments = [
        (day.isoformat(), read("eu", ("shop.a", 10 + n, 1, 1_000), ("pay.a", 5, 1, 7)))
        for n, day in enumerate(days)
    ]
    ownership = ownership_of(spark, [("eu", TOPIC_KIND, "pay.a", "pay")])
    figures = figures_by_day(objects_of(spark, moments), ownership, days)
    assert [tuple(row) for row in sizes_by_day(figures, 1).collect()] == [
        ("2026-11-01", NO_OWNER, 10, 1_000),
        ("2026-11-01", OTHERS, 5, 7),
        ("2026-11-08", NO_OWNER, 11, 1_000),
        ("2026-11-08", OTHERS, 5, 7),
    ]


def test_seeded_anomalies_are_found_and_explained(spark: "SparkSession") -> None:
    """Issue 19, 4.3: precision and recall on logs whose anomalies are known."""
    seeded = seeded_logs(7, clusters=2)
    rules = AnomalyRules()
    watch = Watch.until(LAST_DAY, rules)
    used = usage_of(spark, seeded.rows)
    history, clusters = (f(used, watch, rules) for f in (subject_history, cluster_history))
    table = anomaly_table(history, clusters, watch, rules)
    assert columns(table) == ANOMALY_SCHEMA
    found = [AnomalyRow(*row) for row in table.collect()]
    told = [Injected(each.cluster, each.finding, each.principal, each.subject) for each in found]
    scores = dict(scores_by_finding(told, seeded))
    assert len(told) == len(set(told)), "each is told once"
    assert scores["all"].precision >= 0.9, scores
    assert scores["all"].recall >= 0.85, scores
    assert all(scores[each].recall == 1.0 for each in ("new_principal", "new_host")), scores
    new = next(each for each in found if each.finding == "new_principal")
    assert new.because == "not in the 58 days of the log before 2026-11-23, from 2026-09-26 on"
    rise = next(each for each in found if each.finding == "requests_rise")
    assert rise.threshold == pytest.approx(1.5 * (rise.baseline or 0), abs=0.01) or (
        rise.threshold == 1_000
    )
    assert "1.5 times the highest, at least 1,000" in rise.because


def test_a_short_or_silent_log_is_not_judged_and_wide_denials_are_of_the_cluster(
    spark: "SparkSession",
) -> None:
    dice = random.Random(3)
    wide, short, silent = (Logs(name, dice) for name in ("wide", "short", "silent"))
    for age in range(20):
        day = LAST_DAY - timedelta(days=age)
        for n in range(30):
            asked = (day, f"User:u{n}", "10.0.0.1", ("READ", "TOPIC"))
            wide.add(*asked, 50)
            wide.add(*asked, 4 if age == 0 else 1, is_allowed=False)
        if age < 5:
            short.add(day, "User:a", "h", ("READ", "TOPIC"), 5)
        if age > 4:
            silent.add(day, "User:a", "h", ("READ", "TOPIC"), 5)
    short.add(LAST_DAY, "User:b", "h", ("READ", "TOPIC"), 5)
    wide.add(LAST_DAY, "User:scanner-7", "h", ("READ", "TOPIC"), 5)
    rules = AnomalyRules(ignored_principals=("User:scanner-*",))
    watch = Watch.until(LAST_DAY, rules)
    used = usage_of(spark, [*wide.rows, *short.rows, *silent.rows])
    history, clusters = (f(used, watch, rules) for f in (subject_history, cluster_history))
    rows = [AnomalyRow(*row) for row in anomaly_table(history, clusters, watch, rules).collect()]
    assert [(r.cluster, r.finding, r.principal, r.denied, r.baseline) for r in rows] == [
        ("wide", "denials_rise", "(all)", 120, 30.0)
    ]
    there = objects_of(spark, [("x", read(name)) for name in ("wide", "short", "silent", "none")])
    left_out = unjudged_clusters(clusters, there, watch, rules)
    assert {row["cluster"]: row["reason"] for row in left_out.collect()} == {
        "none": "its log has 0 days before 2026-11-23; min_days is 7",
        "short": "its log has 3 days before 2026-11-23; min_days is 7",
        "silent": "its log has no requests since 2026-11-23",
    }


def test_after_a_gap_in_the_log_what_is_new_is_told_and_no_rise(spark: "SparkSession") -> None:
    log = Logs("gap", random.Random(5))
    asked = ("h", ("READ", "TOPIC"))
    for age in (*range(50, 60), 1, 0):
        log.add(LAST_DAY - timedelta(days=age), "User:a", *asked, 3_000)
    log.add(LAST_DAY - timedelta(days=1), "User:new", *asked, 5)
    log.add(LAST_DAY, "User:new", *asked, 6, is_allowed=False)
    rules = AnomalyRules()
    watch = Watch.until(LAST_DAY, rules)
    used = usage_of(spark, log.rows)
    history, clusters = (f(used, watch, rules) for f in (subject_history, cluster_history))
    rows = [AnomalyRow(*row) for row in anomaly_table(history, clusters, watch, rules).collect()]
    assert [(r.finding, r.principal, r.day) for r in rows] == [
        ("new_principal", "User:new", str(LAST_DAY))  # the day of the most requests
    ]
    there = objects_of(spark, [("x", read("gap"))])
    assert [
        row["reason"] for row in unjudged_clusters(clusters, there, watch, rules).collect()
    ] == [f"its log has requests on 0 days from {watch.baseline} until {watch.first}; rises need 7"]


def test_a_rise_has_the_requests_and_the_times_of_its_day(spark: "SparkSession") -> None:
    """What is new has those of all days watched."""
    log = Logs("eu", random.Random(5))
    asked = ("h", ("READ", "TOPIC"))
    for age in range(2, 12):
        log.add(LAST_DAY - timedelta(days=age), "User:a", *asked, 100)
    before = LAST_DAY - timedelta(days=1)
    for day, count in ((before, 2_000), (LAST_DAY, 50)):
        log.add(day, "User:a", *asked, count)
        log.add(day, "User:new", *asked, 5)
    rules = AnomalyRules()
    watch = Watch.until(LAST_DAY, rules)
    used = usage_of(spark, log.rows)
    history, clusters = (f(used, watch, rules) for f in (subject_history, cluster_history))
    rows = [AnomalyRow(*row) for row in anomaly_table(history, clusters, watch, rules).collect()]
    new, rise = rows
    assert (rise.finding, rise.requests, rise.day) == ("requests_rise", 2_000, str(before))
    assert (rise.first_at[:10], rise.last_at[:10]) == (str(before), str(before))
    assert (new.finding, new.requests) == ("new_principal", 10)
    assert (new.first_at[:10], new.last_at[:10]) == (str(before), str(LAST_DAY))


def test_without_owners_topics_are_grouped_by_prefix(spark: "SparkSession") -> None:
    names = ("shop.orders", "pay-in", "plain", "__transaction_state")
    objects = objects_of(spark, [("2026-11-01", read("eu", *((n, 1, 1, 1) for n in names)))])
    unknown = ownership_of(spark, [])
    usage = usage_by_month(objects, unknown, None, None)
    assert {row["owner"] for row in usage.collect()} == {"shop.*", "pay-*", "plain", "(kafka)"}


def test_the_last_run_of_a_day_counts_and_the_one_before_the_first_day() -> None:
    runs = [
        Run(at, at, datetime.fromisoformat(at).isoformat())
        for at in ("2026-10-02T01:00:00+00:00", "2026-10-30T01:00:00+00:00",
                   "2026-11-02T01:00:00+00:00", "2026-11-02T23:00:00+00:00",
                   "2026-11-09T01:00:00+00:00")
    ]  # fmt: skip
    chosen = last_runs_of_days(runs, date(2026, 11, 1), date(2026, 11, 5))
    assert [each.at[:13] for each in chosen] == ["2026-10-30T01", "2026-11-02T23"]
