"""Requests of logs by day, and which of them were denied."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

OTHERS = "others"
MAX_LINES, MAX_DAYS = 6, 366


def requests_by_day(used: "DataFrame") -> "DataFrame":
    """Count requests by day, for the busiest clusters and for all others together.

    Out: day (2026-11-16), cluster, requests, denied; at most MAX_DAYS days, the latest ones.
    """
    from pyspark.sql import functions as F  # noqa: N812 - heavy; its customary name

    counts = used.groupBy(F.to_date("first_at").alias("day"), "cluster").agg(
        F.sum("count").alias("requests"), _denied().alias("denied")
    )
    busiest = (
        counts.groupBy("cluster")
        .agg(F.sum("requests").alias("all"))
        .orderBy(F.desc("all"), "cluster")
        .limit(MAX_LINES)
        .select("cluster", F.expr("true").alias("is_busy"))
    )
    days = counts.select("day").distinct().orderBy(F.desc("day")).limit(MAX_DAYS)
    line = F.when(F.col("is_busy"), F.col("cluster")).otherwise(F.lit(OTHERS))
    return (
        counts.join(F.broadcast(days), "day", "left_semi")
        .join(F.broadcast(busiest), "cluster", "left")
        .groupBy(F.date_format("day", "yyyy-MM-dd").alias("day"), line.alias("cluster"))
        .agg(F.sum("requests").alias("requests"), F.sum("denied").alias("denied"))
        .orderBy("day", "cluster")
    )


def denied_requests(used: "DataFrame") -> "DataFrame":
    """List denied requests, the most frequent first.

    Out: cluster, principal, operation, resource_type, resource_name, count, last_at.
    """
    from pyspark.sql import functions as F  # noqa: N812

    last = F.date_format(F.max("last_at"), "yyyy-MM-dd'T'HH:mm:ss'Z'")
    keys = ("cluster", "principal", "operation", "resource_type", "resource_name")
    return (
        used.where("not is_allowed")
        .groupBy(*keys)
        .agg(F.sum("count").alias("count"), last.alias("last_at"))
        .orderBy(F.desc("count"), *keys)
    )


def _denied() -> "Column":
    from pyspark.sql import functions as F  # noqa: N812

    return F.coalesce(F.sum(F.when(~F.col("is_allowed"), F.col("count"))), F.lit(0))
