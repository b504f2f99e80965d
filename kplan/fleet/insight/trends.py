"""How partitions and bytes of clusters, teams and owners grow, and when they meet a limit."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from datetime import date
from typing import TYPE_CHECKING, Any

from kplan.fleet.dataframe import arrow_table
from kplan.fleet.insight.trend_line import LATER, NEAR, OVER, STEADY, UNKNOWN, forecast
from kplan.model.fleet import Limits, TrendRow, TrendRules

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

FIGURES = ("partitions", "bytes")
OTHERS = "others"
_TEXTS = ("scope", "name", "figure", "standing", "first_day", "last_day", "limit_day", "because")
TREND_COLUMNS = tuple(each.name for each in fields(TrendRow))
_DECIMALS = ("per_day", "fit")
TREND_SCHEMA = (
    "scope string, name string, figure string, standing string, first_day string, "
    "last_day string, days long, first long, latest long, per_day double, fit double, limit long, "
    "limit_day string, because string"
)
"""The columns of TrendRow, as Spark writes them."""
_FOUND_SCHEMA = ", ".join(
    f"{name} {'string' if name in _TEXTS or name in _DECIMALS else 'long'}"
    for name in TREND_COLUMNS
)
_ORDER = (OVER, NEAR, LATER, STEADY, UNKNOWN, "")


def daily_figures(sizes: "DataFrame", spans: "DataFrame", days: Sequence[date]) -> "DataFrame":
    """Return the figures of each scope on the days with a run, from when all of it is known.

    A cluster that a run did not read is as it was before. In: what `owner_sizes` and `run_spans`
    give, the days. Out: scope, name, start, series (day, partitions, bytes, unsized).
    """
    from pyspark.sql import functions as F  # noqa: N812 - heavy; its customary name

    found = F.array(*(F.lit(each) for each in days))
    is_last, day = F.col("is_last"), F.col("day")
    meant = F.filter(found, lambda one: (one >= day) & (is_last | (one < F.col("next_day"))))
    first = spans.groupBy("cluster").agg(F.min("day").alias("start"))
    of_runs = F.broadcast(
        spans.withColumn("days", meant).where(F.size("days") > 0).select("cluster", "run", "days")
    )
    by_owner = sizes.join(of_runs, ["cluster", "run"]).join(F.broadcast(first), "cluster")
    scopes = F.array(
        *(
            F.struct(F.lit(scope).alias("scope"), F.col(scope).alias("name"))
            for scope in ("cluster", "team", "owner")
        )
    )
    sums = (F.sum(each).alias(each) for each in (*FIGURES, "unsized"))
    point = F.struct("day", *FIGURES, "unsized")
    return (
        by_owner.withColumn("of", F.explode(scopes))
        .where("of.name <> ''")
        .withColumn("day", F.explode("days"))
        .groupBy("of.scope", "of.name", "day")
        .agg(*sums, F.max("start").alias("start"))
        .groupBy("scope", "name")
        .agg(F.max("start").alias("start"), F.sort_array(F.collect_list(point)).alias("series"))
    )


def sizes_by_day(figures: "DataFrame", most: int) -> "DataFrame":
    """Return the partitions and bytes of owners on each day, those of all but the largest together.

    In: what `daily_figures` gives, and how many owners are told apart. Out: day (2026-11-16),
    owner, partitions, bytes (0 where no size is known).
    """
    from pyspark.sql import functions as F  # noqa: N812

    sizes = (
        figures.where("scope = 'owner'")
        .select(F.col("name").alias("owner"), F.explode("series").alias("of"))
        .select("owner", "of.day", *(f"of.{each}" for each in FIGURES))
    )
    return (
        merge_smaller(sizes, "owner", F.max("partitions"), most)
        .groupBy(F.date_format("day", "yyyy-MM-dd").alias("day"), "owner")
        .agg(*(F.coalesce(F.sum(each), F.lit(0)).alias(each) for each in FIGURES))
        .orderBy("day", "owner")
    )


def merge_smaller(rows: "DataFrame", name: str, size: "Column", most: int) -> "DataFrame":
    """Call all OTHERS in the column `name` but those that are the largest by the sum `size`."""
    from pyspark.sql import functions as F  # noqa: N812

    largest = (
        rows.groupBy(name)
        .agg(size.alias("size"))
        .orderBy(F.desc("size"), name)
        .limit(most)
        .select(name, F.expr("true").alias("is_large"))
    )
    merged = F.when(F.col("is_large"), F.col(name)).otherwise(F.lit(OTHERS))
    found = rows.join(F.broadcast(largest), name, "left").withColumn(name, merged)
    return found.drop("is_large")


def trend_table(figures: "DataFrame", rules: TrendRules, days: Sequence[date]) -> "DataFrame":
    """Say how each scope grows, and when it meets its limit: the columns of TrendRow.

    In: what `daily_figures` gives, and the days that it is of. What meets its limit is first.
    """
    from pyspark.sql import functions as F  # noqa: N812

    ordered = tuple(sorted(days))

    def evaluate_batches(batches: Iterable[Any]) -> Iterator[Any]:  # on the executor
        for batch in batches:
            rows = [row for given in batch.to_pylist() for row in trend_rows(given, rules, ordered)]
            yield from arrow_table(rows, _FOUND_SCHEMA).to_batches()

    rank = F.call_function("array_position", F.array(*map(F.lit, _ORDER)), F.col("standing"))
    result = figures.mapInArrow(evaluate_batches, _FOUND_SCHEMA)
    scopes = F.array(*map(F.lit, ("cluster", "team", "owner")))
    scope = F.call_function("array_position", scopes, F.col("scope"))
    return result.withColumns({each: F.col(each).cast("double") for each in _DECIMALS}).orderBy(
        rank, "limit_day", scope, "name", F.desc("figure")
    )


def trend_rows(
    given: Mapping[str, Any], rules: TrendRules, days: Sequence[date]
) -> Iterator[dict[str, Any]]:
    """Return the rows of one scope. A day without a topic of it counts 0, from the start on."""
    points = {each["day"]: each for each in given["series"]}
    limits = rules.limits.get((given["scope"], given["name"]), Limits())
    known = [day for day in days if day >= given["start"]]
    unsized = {day: points[day]["unsized"] for day in known if day in points}
    unsized = {day: count for day, count in unsized.items() if count}
    for figure in FIGURES:
        values = [
            (day, points[day][figure] if day in points else 0)
            for day in known
            if figure != "bytes" or day not in unsized
        ]
        limit = getattr(limits, figure)
        line, meets = forecast(values, limit, (rules.min_days, rules.warn_days))
        yield {
            "scope": given["scope"],
            "name": given["name"],
            "figure": figure,
            "standing": meets.standing,
            "first_day": values[0][0].isoformat() if values else "",
            "last_day": values[-1][0].isoformat() if values else "",
            "days": len(values),
            "first": values[0][1] if values else None,
            "latest": values[-1][1] if values else None,
            "per_day": None if line is None else f"{float(line.per_day):.3f}",
            "fit": None if line is None else f"{line.fit:.3f}",
            "limit": limit,
            "limit_day": "" if meets.limit_day is None else meets.limit_day.isoformat(),
            "because": (
                _unsized_reason([*unsized.values()], len(known))
                if unsized and figure == "bytes" and meets.standing == UNKNOWN
                else meets.because
            ),
        }


def _unsized_reason(counts: Sequence[int], days: int) -> str:
    """Say of how many topics the size is unknown; in: by day with such topics; days with a run."""
    most = max(counts)
    topics = f"{most:,} topic{'' if most == 1 else 's'}"
    up_to = "" if min(counts) == most else "up to "
    return f"the size of {up_to}{topics} is unknown on {len(counts)} of {days} days with a run"
