"""What the logs of the last days have that those before have not, each with its evidence.

Requests are added up by day once, under everything that is asked about: the cluster, the principal,
its hosts, its operations. What each of these was before and is now is then one row.
"""

from collections.abc import Mapping
from dataclasses import fields
from datetime import date, timedelta
from typing import TYPE_CHECKING

from kplan.fleet.dataframe import Keep, ask_once, utc_text
from kplan.fleet.snapshot import CLUSTER
from kplan.model.dataclass import dataclass
from kplan.model.fleet import AnomalyRow, AnomalyRules

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

NEW_PRINCIPAL, NEW_HOST, NEW_OPERATION = "new_principal", "new_host", "new_operation"
DENIALS_RISE, REQUESTS_RISE = "denials_rise", "requests_rise"
EVERYONE = "(all)"
"""The principal of a rise that is spread over many."""
ANOMALY_SCHEMA = (
    "cluster string, finding string, principal string, subject string, day string, requests long, "
    "denied long, first_at string, last_at string, baseline double, threshold double, "
    "because string"
)
"""The columns of AnomalyRow, as Spark writes them."""
ANOMALY_COLUMNS = tuple(each.name for each in fields(AnomalyRow))
_SUBJECT = ("cluster", "kind", "principal", "subject")
_CLUSTER, _PRINCIPAL, _HOST, _OPERATION = "cluster", "principal", "host", "operation"
_COUNTS, _TIMES = ("requests", "denied"), ("first_at", "last_at")
_RATES = ("allowed", "denied")


@dataclass(frozen=True, slots=True)
class Watch:
    """The days watched, `first` to `last`, and those that counts are compared with."""

    first: date
    last: date
    baseline: date

    @classmethod
    def until(cls, last: date, rules: AnomalyRules) -> "Watch":
        """Watch the days until a day, that one too."""
        first = last - timedelta(days=rules.watch_days - 1)
        return cls(first, last, first - timedelta(days=rules.baseline_days))


def cluster_history(used: "DataFrame", watch: Watch, rules: AnomalyRules) -> "DataFrame":
    """Return what every cluster was before, and is now: the columns of `subject_history`.

    In: the usage of logs.
    """
    from pyspark.sql import functions as F  # noqa: N812 - heavy; its customary name

    none = F.lit("")
    subject = {"kind": F.lit(_CLUSTER), "principal": none, "subject": none}
    return _add_up_days(_daily_sums(_judged_rows(used, watch, rules).withColumns(subject), watch))


def subject_history(used: "DataFrame", watch: Watch, rules: AnomalyRules) -> "DataFrame":
    """Return what every principal, host and operation was before, and is now.

    In: the usage of logs. Out: cluster, kind, principal, subject, first_day, and of allowed and
    denied the highest day watched (`peak`). Requests, denied, first_at, last_at and the day with
    the most of both (`busiest_day`) are of the days watched. Of principals (and clusters)
    known_days (with requests, before the days watched) and baseline_days are there, too, and the
    sum and highest day in the baseline.
    """
    from pyspark.sql import functions as F  # noqa: N812

    operation = F.concat_ws(" on ", "operation", "resource_type")
    subjects = F.array(
        _struct(kind=F.lit(_PRINCIPAL), subject=F.lit("")),
        _struct(kind=F.lit(_HOST), subject=F.col("host")),
        _struct(kind=F.lit(_OPERATION), subject=operation),
    )
    rows = _judged_rows(used, watch, rules).withColumn("of", F.explode(subjects))
    daily = _daily_sums(rows.select("*", "of.*"), watch)
    # All that is asked next is of one principal.
    return _add_up_days(daily.repartition("cluster", "principal"))


def _judged_rows(used: "DataFrame", watch: Watch, rules: AnomalyRules) -> "DataFrame":
    from pyspark.sql import functions as F  # noqa: N812

    rows = used.withColumn("day", F.to_date("first_at"))
    return rows.where((F.col("day") <= F.lit(watch.last)) & ~_is_ignored(rules))


def _daily_sums(rows: "DataFrame", watch: Watch) -> "DataFrame":
    """Add up requests by subject and day; of hosts and operations the days watched are enough.

    Those before are one row for them: they are most rows, and nothing but the first day is asked.
    """
    from pyspark.sql import functions as F  # noqa: N812

    is_now = F.col("day") >= F.lit(watch.first)
    kept = F.when(F.col("kind").isin(_CLUSTER, _PRINCIPAL) | is_now, F.col("day"))
    denied = F.when(F.col("is_allowed"), F.lit(0)).otherwise(F.col("count"))
    return (
        rows.groupBy(*_SUBJECT, kept.alias("kept_day"))
        .agg(
            F.min("day").alias("day"),
            F.sum("count").alias("requests"),
            F.sum(denied).alias("denied"),
            F.min("first_at").alias("first_at"),
            F.max("last_at").alias("last_at"),
        )
        .withColumns(
            {
                "allowed": F.col("requests") - F.col("denied"),
                "is_now": is_now,
                "is_baseline": (F.col("day") >= F.lit(watch.baseline)) & ~is_now,
            }
        )
    )


def _add_up_days(daily: "DataFrame") -> "DataFrame":
    from pyspark.sql import functions as F  # noqa: N812

    is_now, is_baseline = F.col("is_now"), F.col("is_baseline")
    busiest = F.max(F.when(is_now, _struct(count=F.col("requests"), day=F.col("day"))))
    sums: dict[str, Column] = {"busiest_day": busiest["day"]}
    day = {name: F.col(name) for name in ("day", *_COUNTS, *_TIMES)}
    for each in _RATES:
        value = F.col(each)
        sums |= {
            f"{each}_sum": F.sum(F.when(is_baseline, value).otherwise(0)),
            f"{each}_highest": F.max(F.when(is_baseline, value).otherwise(0)),
            f"{each}_peak": F.max(F.when(is_now, _struct(count=value, **day))),
        }
    return daily.groupBy(*_SUBJECT).agg(
        F.min("day").alias("first_day"),
        F.count_if(~is_now).alias("known_days"),
        F.count_if(is_baseline).alias("baseline_days"),
        F.min(F.when(is_now, F.col("first_at"))).alias("first_at"),
        F.max(F.when(is_now, F.col("last_at"))).alias("last_at"),
        *(F.sum(F.when(is_now, F.col(each))).alias(each) for each in _COUNTS),
        *(each.alias(name) for name, each in sums.items()),
    )


def anomaly_table(
    history: "DataFrame",
    clusters: "DataFrame",
    watch: Watch,
    rules: AnomalyRules,
    keep: Keep = ask_once,
) -> "DataFrame":
    """List what is new and what rises: the columns of AnomalyRow.

    In: what `subject_history` and `cluster_history` give. A new principal is told once, not again
    for its hosts; a rise of denials is told of the cluster only where it is of no principal. `keep`
    gets the rows before they are in order.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as F  # noqa: N812

    of_principals, of_clusters = (
        _with_principal(_with_cluster(each, clusters, rules), watch) for each in (history, clusters)
    )
    judged = of_principals.unionByName(of_clusters)  # of both, Spark would shuffle the first again
    found = judged.where(F.col("requests") > 0).withColumn(
        "found", F.explode(F.array_compact(F.array(*_findings(watch, rules))))
    )
    own = Window.partitionBy("cluster")
    explains = (F.col("kind") == _PRINCIPAL) & (F.col("denied") >= rules.min_denials)
    explains &= F.col("found.finding").isin(DENIALS_RISE, NEW_PRINCIPAL)
    rows = found.withColumn("is_explained", F.max(explains).over(own)).where(
        (F.col("kind") != _CLUSTER) | ~F.col("is_explained")
    )
    is_rise = F.col("found.finding").isin(DENIALS_RISE, REQUESTS_RISE)
    own_day = {
        each: F.when(is_rise, F.col(f"found.{each}")).otherwise(F.col(each))
        for each in (*_COUNTS, *_TIMES)
    }
    told = rows.select(
        "cluster",
        "found.finding",
        F.when(F.col("kind") == _CLUSTER, F.lit(EVERYONE))
        .otherwise(F.col("principal"))
        .alias("principal"),
        "subject",
        F.date_format("found.day", "yyyy-MM-dd").alias("day"),
        *(own_day[each].alias(each) for each in _COUNTS),
        *(utc_text(own_day[each]).alias(each) for each in _TIMES),
        F.round("found.baseline", 3).alias("baseline"),
        F.round("found.threshold", 3).alias("threshold"),
        "found.because",
    )
    order = ("cluster", "finding", F.desc("requests"), "principal", "subject")
    return keep(told).orderBy(*order)


def unjudged_clusters(
    clusters: "DataFrame", objects: "DataFrame", watch: Watch, rules: AnomalyRules
) -> "DataFrame":
    """List the clusters of which nothing, or not everything, can be said: cluster, reason.

    In: what `cluster_history` gives.
    """
    from pyspark.sql import functions as F  # noqa: N812

    there = objects.where(F.col("kind") == CLUSTER).select("cluster").distinct()
    known = clusters.select("cluster", "known_days", "baseline_days", "requests")
    days, least = F.coalesce("known_days", F.lit(0)), _least_days(rules)
    gap = F.concat(
        F.lit("its log has requests on "),
        F.col("baseline_days"),
        F.lit(f" days from {watch.baseline} until {watch.first}; rises need {least}"),
    )
    reason = F.when(
        days < rules.min_days,
        F.concat(
            F.lit("its log has "),
            days,
            F.lit(f" days before {watch.first}; min_days is {rules.min_days}"),
        ),
    ).when(F.col("requests").isNull(), F.lit(f"its log has no requests since {watch.first}"))
    reason = reason.when(F.col("baseline_days") < least, gap)
    return (
        there.join(known, "cluster", "left")
        .select("cluster", reason.alias("reason"))
        .where("reason is not null")
        .orderBy("cluster")
    )


def _is_ignored(rules: AnomalyRules) -> "Column":
    from pyspark.sql import functions as F  # noqa: N812

    name = F.col("principal")
    exact = [each for each in rules.ignored_principals if not each.endswith("*")]
    found = name.isin(*exact)
    for each in rules.ignored_principals:
        if each.endswith("*"):
            found |= name.startswith(each[:-1])
    return found


def _with_cluster(history: "DataFrame", clusters: "DataFrame", rules: AnomalyRules) -> "DataFrame":
    """Keep the rows of clusters whose log is long enough, with the days of the baseline in it."""
    from pyspark.sql import functions as F  # noqa: N812

    days = clusters.where(F.col("known_days") >= rules.min_days).select(
        "cluster",
        F.col("known_days").alias("log_days"),
        F.col("baseline_days").alias("log_baseline_days"),
        F.col("first_day").alias("log_start"),
    )
    return history.join(F.broadcast(days), "cluster")


def _with_principal(history: "DataFrame", watch: Watch) -> "DataFrame":
    """Add to every row what is known of its principal."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F  # noqa: N812

    own = Window.partitionBy("cluster", "principal")
    kind, first, begin = F.col("kind"), F.col("first_day"), F.lit(watch.first)
    is_before = first < begin
    found = history.withColumns(
        {
            "principal_first": F.min(F.when(kind == _PRINCIPAL, first)).over(own),
            "principal_days": F.max(F.when(kind == _PRINCIPAL, F.col("known_days"))).over(own),
            "hosts": F.count_if((kind == _HOST) & is_before).over(own),
            "operations": F.count_if((kind == _OPERATION) & is_before).over(own),
        }
    )
    is_later = (kind == _HOST) & is_before & (first > F.col("principal_first"))
    new_days = F.size(F.collect_set(F.when(is_later, first)).over(own))
    return found.withColumns(
        {
            "new_host_days": new_days,
            "age": F.date_diff(begin, F.col("principal_first")),
            # Days before its first request are no days on which it asked for nothing.
            "counted_days": F.least("log_baseline_days", F.date_diff(begin, first)),
        }
    )


def _findings(watch: Watch, rules: AnomalyRules) -> "tuple[Column, ...]":
    """Return what a row may be found to be; null where it is not."""
    from pyspark.sql import functions as F  # noqa: N812

    kind, is_new = F.col("kind"), F.col("first_day") >= F.lit(watch.first)
    is_known = F.col("age") >= rules.min_days
    share = F.col("new_host_days") / F.greatest(F.col("principal_days") - 1, F.lit(1))
    limit = float(rules.max_new_host_share)
    since = F.date_format("log_start", "yyyy-MM-dd")
    return (
        _finding(
            (kind == _PRINCIPAL) & is_new,
            NEW_PRINCIPAL,
            F.format_string(
                f"not in the %d days of the log before {watch.first}, from %s on", "log_days", since
            ),
        ),
        _finding(
            (kind == _HOST) & is_new & is_known & (share <= limit),
            NEW_HOST,
            F.format_string(
                "its %d hosts before are others; it had a new host on %.1f %% of its %d days, "
                f"and up to {100 * limit:g} %% is expected",
                "hosts",
                100 * share,
                "principal_days",
            ),
            baseline=share,
            threshold=F.lit(limit),
        ),
        _finding(
            (kind == _OPERATION) & is_new & is_known,
            NEW_OPERATION,
            F.format_string(
                "its %d operations on its %d days before are others", "operations", "principal_days"
            ),
        ),
        _rise("denied", DENIALS_RISE, kind.isin(_PRINCIPAL, _CLUSTER) & ~is_new, rules),
        _rise("allowed", REQUESTS_RISE, (kind == _PRINCIPAL) & is_known, rules),
    )


def _rise(count: str, finding: str, is_asked: "Column", rules: AnomalyRules) -> "Column":
    """Compare the highest day watched with the highest one before.

    Not with the mean: weekends and weekly jobs make for wide differences between ordinary days.
    After a gap in the log there is nothing to compare with.
    """
    from pyspark.sql import functions as F  # noqa: N812

    days = F.col("counted_days")
    is_asked &= (F.col("log_baseline_days") >= _least_days(rules)) & (days > 0)
    least = rules.min_denials if count == "denied" else rules.min_requests
    highest, peak = F.col(f"{count}_highest"), F.col(f"{count}_peak")
    threshold = F.greatest(highest * float(rules.rise_factor), F.lit(float(least)))
    because = F.format_string(
        f"%,d {count} in a day; in %d days before it was %,d at most and %,.1f on average; the "
        f"threshold is %,.1f ({rules.rise_factor} times the highest, at least {least:,})",
        peak["count"],
        days,
        highest,
        F.col(f"{count}_sum") / F.nullif(days, F.lit(0)),
        threshold,
    )
    return _finding(
        is_asked & (peak["count"] >= threshold),
        finding,
        because,
        day=peak["day"],
        baseline=highest,
        threshold=threshold,
        **{name: peak[name] for name in (*_COUNTS, *_TIMES)},
    )


def _least_days(rules: AnomalyRules) -> int:
    """Return on how many days of the baseline a cluster needs requests for rises to be judged."""
    return min(rules.min_days, rules.baseline_days)


def _finding(is_so: "Column", finding: str, because: "Column", **more: "Column") -> "Column":
    from pyspark.sql import functions as F  # noqa: N812

    unknown: Mapping[str, Column] = {
        "day": F.col("busiest_day"),
        "baseline": F.lit(None),
        "threshold": F.lit(None),
        **dict.fromkeys((*_COUNTS, *_TIMES), F.lit(None)),
    }
    types = {"day": "date"}
    types |= dict.fromkeys(_COUNTS, "bigint") | dict.fromkeys(_TIMES, "timestamp")
    values = {
        name: more.get(name, each).cast(types.get(name, "double")) for name, each in unknown.items()
    }
    return F.when(is_so, _struct(finding=F.lit(finding), because=because, **values))


def _struct(**columns: "Column") -> "Column":
    from pyspark.sql import functions as F  # noqa: N812

    return F.struct(*(each.alias(name) for name, each in columns.items()))
