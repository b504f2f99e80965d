"""What owners use in each month, and what it costs, in exact decimals."""

from calendar import monthrange
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from datetime import date
from decimal import Decimal
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from kplan.fleet.dataframe import arrow_table
from kplan.fleet.insight.ownership import Ownership, add_owner
from kplan.fleet.inventory import clusters_without_log
from kplan.fleet.replay import is_any_topic
from kplan.fleet.snapshot import CLUSTER, SIZES
from kplan.model.fleet import CostRow, CostRules, Prices

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_GIB, _MILLION = 1 << 30, 1_000_000
_DECIMALS = 4
_MAX_MONTHS = 1_200
_UNKNOWN = ": requests of the months {} are unknown"
_AMOUNTS = ("gib_months", "partition_months", "storage_cost", "partition_cost", "request_cost")
_COUNTS = ("topics", *SIZES, "requests", "unsized")
_TOPIC_MONTH = ("month", "cluster", "topic")
_OWNER_MONTH = ("month", "cluster", "team", "owner")
_PRICED_SCHEMA = (
    "month string, cluster string, team string, owner string, topics long, partitions long, "
    "replicas long, bytes long, requests long, unsized long, gib_months string, "
    "partition_months string, storage_cost string, partition_cost string, request_cost string"
)
_AMOUNT_TYPE = f"decimal(28,{_DECIMALS})"
COST_SCHEMA = (
    "month string, team string, owner string, topics long, partitions long, replicas long, "
    "bytes long, requests long, unsized long, gib_months decimal(38,4), "
    "partition_months decimal(38,4), storage_cost decimal(38,4), partition_cost decimal(38,4), "
    "request_cost decimal(38,4), cost decimal(38,4)"
)
"""The columns of CostRow, as Spark writes them."""
COST_COLUMNS = tuple(each.name for each in fields(CostRow))


def monthly_usage(
    sizes: "DataFrame",
    spans: "DataFrame",
    unsized: "DataFrame | None",
    requests: "DataFrame | None",
    sums: "DataFrame | None",
) -> "DataFrame":
    """Add up what owners used on each cluster in each month.

    In: what `owner_sizes`, `month_spans`, `unsized_topics` (None where there are none),
    `owner_requests` and `log_sums` give (None where no log is). Out: month (`2026-11`), cluster,
    team, owner, topics to bytes (on the last known day of the month), requests, unsized, byte_days,
    partition_days.
    """
    from pyspark.sql import functions as F  # noqa: N812 - heavy; its customary name

    is_end, days = F.col("is_end"), F.col("days")
    # A long holds the bytes of an owner, but not those of an exbibyte on all days of a month.
    figures = {
        "topics": F.when(is_end, F.col("topics")).otherwise(F.lit(0)),
        **{name: F.when(is_end, F.col(name)) for name in SIZES},
        "requests": F.lit(None).cast("long"),
        "unsized": F.lit(0),
        "byte_days": F.col("bytes").cast("decimal(20,0)") * days,
        "partition_days": F.col("partitions") * days,
    }
    rows = sizes.join(F.broadcast(spans), ["cluster", "run"]).select(
        *_OWNER_MONTH, *(each.alias(name) for name, each in figures.items())
    )
    for each in (requests, unsized):
        if each is not None:
            rows = rows.unionByName(each, allowMissingColumns=True)
    found = rows.groupBy(*_OWNER_MONTH).agg(*(F.sum(name).alias(name) for name in figures))
    is_gone = F.col("topics") == 0  # it was there in the month; of requests alone it is null
    found = found.withColumns(
        {name: F.when(is_gone, F.lit(0)).otherwise(F.col(name)) for name in SIZES}
    )
    return found if sums is None else _without_unknown_requests(found, sums)


def unsized_topics(sizes: "DataFrame", spans: "DataFrame", ownership: Ownership) -> "DataFrame":
    """Count the topics whose bytes were not known in a month: month, cluster, team, owner, unsized.

    In: what `topic_sizes` and `month_spans` give.
    """
    from pyspark.sql import functions as F  # noqa: N812

    found = sizes.where("bytes is null").join(F.broadcast(spans), ["cluster", "run"])
    topics = add_owner(found.select(*_TOPIC_MONTH).distinct(), ownership)
    return topics.groupBy(*_OWNER_MONTH).agg(F.count(F.lit(1)).alias("unsized"))


def owner_requests(used: "DataFrame", ownership: Ownership) -> "DataFrame":
    """Add up the requests for topics in logs: month, cluster, team, owner, requests."""
    from pyspark.sql import functions as F  # noqa: N812

    asked = used.where((F.col("resource_type") == "TOPIC") & ~is_any_topic())
    month = F.date_format("first_at", "yyyy-MM").alias("month")
    topics = asked.groupBy(month, "cluster", F.col("resource_name").alias("topic")).agg(
        F.sum("count").alias("requests")
    )
    return (
        add_owner(topics, ownership).groupBy(*_OWNER_MONTH).agg(F.sum("requests").alias("requests"))
    )


def month_spans(spans: "DataFrame") -> "DataFrame":
    """Cut spans at the ends of months.

    Out: cluster, run, month, days, first_day, last_day, is_end (the last one of its month).
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as F  # noqa: N812

    first, last = F.trunc("day", "month"), F.trunc(F.date_sub("next_day", 1), "month")
    starts = F.sequence(first, last, F.expr("interval 1 month"))
    cut = spans.where(F.col("next_day") > F.col("day")).withColumn("start", F.explode(starts))
    begin = F.greatest("day", "start")
    end = F.least(F.col("next_day"), F.add_months("start", 1))
    latest = Window.partitionBy("cluster", "start").orderBy(F.desc("day"))
    return cut.select(
        "cluster",
        "run",
        F.date_format("start", "yyyy-MM").alias("month"),
        F.date_diff(end, begin).cast("long").alias("days"),
        begin.alias("first_day"),
        F.date_sub(end, 1).alias("last_day"),
        (F.row_number().over(latest) == 1).alias("is_end"),
    )


def month_coverage(spans: "DataFrame", months: tuple[str, str]) -> "DataFrame":
    """Say which days of each month are known of a cluster, from the first to the last month.

    After the last month of which a day is known there is a row for each month, too: with 0 days,
    and null for the first and last one. In: what `month_spans` gives. Out: month, cluster, days,
    month_days, first_day, last_day.
    """
    from pyspark.sql import functions as F  # noqa: N812

    latest = F.lit(f"{months[1]}-01").cast("date")
    later = F.expr("dateadd(MONTH, 1, start)")
    unknown = (
        spans.groupBy("cluster")
        .agg(F.max(F.to_date(F.concat("month", F.lit("-01")))).alias("start"))
        .where(F.col("start") < latest)
        .select("cluster", F.explode(F.sequence(later, latest, F.expr("interval 1 month"))))
        .select("cluster", F.date_format("col", "yyyy-MM").alias("month"), F.lit(0).alias("days"))
    )
    start = F.to_date(F.concat("month", F.lit("-01")))
    return (
        spans.select("cluster", "month", "days", "first_day", "last_day")
        .unionByName(unknown, allowMissingColumns=True)
        .where(F.col("month").between(*months))
        .groupBy("month", "cluster")
        .agg(
            F.sum("days").alias("days"),
            F.dayofmonth(F.last_day(F.first(start))).cast("long").alias("month_days"),
            F.date_format(F.min("first_day"), "yyyy-MM-dd").alias("first_day"),
            F.date_format(F.max("last_day"), "yyyy-MM-dd").alias("last_day"),
        )
        .orderBy(F.desc("month"), "cluster")
    )


def first_of_month(day: date, before: int) -> date:
    """Return the first day of the month so many months before that of a day."""
    count = day.year * 12 + day.month - 1 - before
    return date(count // 12, count % 12 + 1, 1)


class PartialMonth(NamedTuple):
    """A month that is not known in full: the fewest and the most days known of a cluster.

    The first and the last day of any cluster are None where no day is known.
    """

    month: str
    month_days: int
    least: int
    most: int
    first_day: str | None
    last_day: str | None


def partial_months(coverage: "DataFrame") -> list[PartialMonth]:
    """List the months that are not known in full, in order; in: what `month_coverage` gives."""
    from pyspark.sql import functions as F  # noqa: N812

    rows = (
        coverage.groupBy("month", "month_days")
        .agg(
            F.min("days").alias("least"),
            F.max("days").alias("most"),
            F.min("first_day").alias("first_day"),
            F.max("last_day").alias("last_day"),
        )
        .where("least < month_days")
        .orderBy("month")
        .limit(_MAX_MONTHS)
        .collect()
    )
    return [PartialMonth(*row) for row in rows]


def unknown_requests(
    objects: "DataFrame", sums: "DataFrame | None", coverage: "DataFrame"
) -> "DataFrame":
    """List the clusters whose requests are not known, or not in all months: cluster, reason.

    In: rows of a run, `log_sums`, and what `month_coverage` gives.
    """
    from pyspark.sql import functions as F  # noqa: N812

    if sums is None:
        there = objects.where(F.col("kind") == CLUSTER).select("cluster")
        return there.withColumn("reason", F.lit("no authorizer log was ingested")).orderBy(
            "cluster"
        )
    months = (
        coverage.where("days > 0")
        .groupBy("cluster")
        .agg(F.min("month").alias("first"), F.max("month").alias("last"))
    )
    since, until = (F.date_format(each, "yyyy-MM-dd") for each in ("since", "until"))
    reasons = F.array(
        F.when(
            F.date_format("since", "yyyy-MM") > F.col("first"),
            F.concat(F.lit("its log begins on "), since, F.lit(_UNKNOWN.format("before"))),
        ),
        F.when(
            F.date_format("until", "yyyy-MM") < F.col("last"),
            F.concat(F.lit("its log ends on "), until, F.lit(_UNKNOWN.format("after"))),
        ),
    )
    partly = (
        _log_times(sums)
        .join(months, "cluster")
        .select("cluster", F.explode(reasons).alias("reason"))
        .where("reason is not null")
    )
    return clusters_without_log(objects, sums).unionByName(partly).orderBy("cluster", "reason")


def price_usage(usage: "DataFrame", rules: CostRules, months: tuple[str, str]) -> "DataFrame":
    """Price what owners used on each cluster, from the first to the last month.

    In: what `monthly_usage` gives. Out: the columns of CostRow, and cluster.
    """
    from pyspark.sql import functions as F  # noqa: N812

    result = usage.where(F.col("month").between(*months)).withColumn(
        "byte_days", F.col("byte_days").cast("string")
    )
    result = result.withColumn("partition_days", F.col("partition_days").cast("string"))

    def price_batches(batches: Iterable[Any]) -> Iterator[Any]:  # on the executor
        prices_of = cache(rules.prices_of)
        for batch in batches:
            rows = [price_row(row, prices_of(row["cluster"])) for row in batch.to_pylist()]
            yield from arrow_table(rows, _PRICED_SCHEMA).to_batches()

    found = result.mapInArrow(price_batches, _PRICED_SCHEMA)
    amounts = {name: F.col(name).cast(_AMOUNT_TYPE) for name in _AMOUNTS}
    return found.withColumns(amounts).withColumn("cost", _total(_AMOUNTS[2:]))


def cost_table(
    priced: "DataFrame", by: tuple[str, ...] = ("month", "team", "owner")
) -> "DataFrame":
    """Add up costs; the latest month is first, and in it what costs most. Out: `by`, and the rest.

    In: what `price_usage` gives.
    """
    from pyspark.sql import functions as F  # noqa: N812

    sums = [name for name in COST_COLUMNS if name not in {"month", "team", "owner"}]
    columns = (F.sum(name).alias(name) for name in sums)
    first = (F.desc("month"), F.desc_nulls_last("cost"), F.desc_nulls_last("bytes"))
    return priced.groupBy(*by).agg(*columns).orderBy(*first, *map(F.col, by[1:]))


def _without_unknown_requests(usage: "DataFrame", sums: "DataFrame") -> "DataFrame":
    """Count 0 requests of owners that no log names; null in months before and after allowed ones.

    These are all months on clusters that log denials at most.
    """
    from pyspark.sql import functions as F  # noqa: N812

    logs = F.broadcast(_log_times(sums))
    months = (F.date_format(each, "yyyy-MM") for each in ("since", "until"))
    known = F.when(F.col("month").between(*months), F.coalesce("requests", F.lit(0)))
    joined = usage.join(logs, "cluster", "left").withColumn("requests", known)
    return joined.drop("since", "until")


def _log_times(sums: "DataFrame") -> "DataFrame":
    """Return the times of the first and the last allowed request: cluster, since, until."""
    from pyspark.sql import functions as F  # noqa: N812

    told = sums.where("since is not null")
    return told.groupBy("cluster").agg(F.min("since").alias("since"), F.max("until").alias("until"))


def _total(names: Iterable[str]) -> "Column":
    """Add up columns; null where all are."""
    from pyspark.sql import functions as F  # noqa: N812

    names = tuple(names)
    known = F.coalesce(*names).isNotNull()
    parts = (F.coalesce(F.col(each), F.lit(0).cast(_AMOUNT_TYPE)) for each in names)
    total = next(parts)
    for each in parts:
        total += each
    return F.when(known, total.cast(_AMOUNT_TYPE))


def price_row(row: Mapping[str, Any], prices: Prices) -> dict[str, Any]:
    """Price the usage of one owner on one cluster in one month; amounts are text."""
    days, one = _month_days(row["month"]), Decimal(1)
    byte_days, partition_days = (
        None if row[name] is None else int(row[name]) for name in ("byte_days", "partition_days")
    )
    amounts = (
        price_text(byte_days, days * _GIB, one),
        price_text(partition_days, days, one),
        price_text(byte_days, days * _GIB, prices.per_gib_month),
        price_text(partition_days, days, prices.per_partition_month),
        price_text(row["requests"], _MILLION, prices.per_million_requests),
    )
    kept = {name: row[name] for name in ("month", "cluster", "team", "owner", *_COUNTS)}
    return {**kept, **dict(zip(_AMOUNTS, amounts, strict=True))}


@cache
def _month_days(month: str) -> int:
    first = date.fromisoformat(f"{month}-01")
    return monthrange(first.year, first.month)[1]


def price_text(count: int | None, unit: int, price: Decimal | None) -> str | None:
    """Price a count, of which `unit` have the price, with four decimals; None where one is None.

    It is exact, and rounded once, half to even. Whole numbers are: a fleet has a hundred thousand
    owners, and fractions take ten times as long.
    """
    if count is None or price is None:
        return None
    over, under = price.as_integer_ratio()
    under *= unit
    whole, rest = divmod(count * over * 10**_DECIMALS, under)
    is_up = 2 * rest > under or (2 * rest == under and whole % 2 == 1)
    return str(Decimal(whole + is_up).scaleb(-_DECIMALS))
