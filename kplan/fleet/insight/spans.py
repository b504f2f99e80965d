"""Which days each run of a fleet stands for, and the topics that it saw."""

from collections.abc import Iterable, Sequence
from datetime import date, datetime
from typing import TYPE_CHECKING

from kplan.fleet.reads import TOPICS
from kplan.fleet.snapshot import CLUSTER, SIZES, USE, kinds_read
from kplan.fleet.store import Run

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_OF_TOPIC = ("partitions", "replication_factor")


def run_day(run: Run) -> date:
    """Return the day of a run, in UTC."""
    return datetime.fromisoformat(run.at).date()


def last_runs_of_days(runs: Iterable[Run], first: date, last: date) -> list[Run]:
    """Choose the last run of each day of a time, by age, and the last one before it.

    What the one before saw still held on the first days. In: runs by age.
    """
    by_day: dict[date, Run] = {}
    before: list[Run] = []
    for each in runs:
        day = run_day(each)
        if day < first:
            before = [each]
        elif day <= last:
            by_day[day] = each
    return [*before, *(by_day[day] for day in sorted(by_day))]


def run_spans(objects: "DataFrame") -> "DataFrame":
    """Return from which day on to before which day each run stands for a cluster.

    A run that did not read the topics of a cluster stands for nothing of it: the one before does.
    The last one stands for its own day. In: rows of several runs with `run` and `at`. Out: cluster,
    run, day, next_day, is_last.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as F  # noqa: N812 - heavy; its customary name

    is_read = F.array_contains(kinds_read(), TOPICS)
    read = objects.where((F.col("kind") == CLUSTER) & is_read).select(
        "cluster", "run", "at", F.to_date(F.to_timestamp("at")).alias("day")
    )
    later = F.lead("day").over(Window.partitionBy("cluster").orderBy("at", "run"))
    return read.select(
        "cluster",
        "run",
        "day",
        F.coalesce(later, F.date_add("day", 1)).alias("next_day"),
        later.isNull().alias("is_last"),
    )


def topic_sizes(objects: "DataFrame", *, has_sizes: bool) -> "DataFrame":
    """Return what each run saw of each topic: cluster, run, topic, partitions, replicas, bytes.

    Bytes are those of all replicas, null where the size is not known. All rows of a topic are in
    one partition: what is asked next is of one topic, and each run has a row of each. In: rows of
    runs with `run`; where they have SIZES, only rows of topics are read.
    """
    from pyspark.sql import functions as F  # noqa: N812

    if not has_sizes:
        return _put_together(objects)
    topics = objects.where(F.col("kind") == TOPICS)
    found = topics.select("cluster", "run", F.col("identity").alias("topic"), *SIZES)
    return found.repartition("cluster", "topic")


def _put_together(objects: "DataFrame") -> "DataFrame":
    """Put the rows of each topic and of its use together, as earlier versions stored them."""
    from pyspark.sql import functions as F  # noqa: N812

    found = F.col("attributes")
    is_topic = F.col("kind") == TOPICS
    figures = {
        **{name: F.when(is_topic, found[name].cast("long")) for name in _OF_TOPIC},
        "size": F.when(F.col("kind") == USE, found["bytes"].cast("long")),
        "is_topic": is_topic,
    }
    rows = objects.where(F.col("kind").isin(TOPICS, USE)).select(
        "cluster",
        "run",
        F.col("identity").alias("topic"),
        *(each.alias(name) for name, each in figures.items()),
    )
    partitions, copies, size = (F.max(name) for name in (*_OF_TOPIC, "size"))
    return (
        rows.repartition("cluster", "topic")
        .groupBy("cluster", "run", "topic")
        .agg(
            partitions.alias("partitions"),
            (partitions * copies).alias("replicas"),
            (size * copies).alias("bytes"),
            F.bool_or("is_topic").alias("is_topic"),
        )
        .where("is_topic")
        .drop("is_topic")
    )


def days_of_runs(runs: Sequence[Run]) -> tuple[date, ...]:
    """List the days with a run."""
    return tuple(sorted({run_day(each) for each in runs}))
