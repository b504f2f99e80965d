"""Which runs read what of which cluster, and since when ACLs are known from them."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from kplan.fleet.dataframe import create_dataframe
from kplan.fleet.snapshot import CLUSTER, kinds_read
from kplan.fleet.store import Run

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ACLS, TOPICS = "kafka_acl", "kafka_topic"
_PLACE = ("cluster", "identity")
_READ_SCHEMA = "cluster string, run string, at string"


def known_reads(runs: Iterable[Run], kinds: Collection[str]) -> dict[tuple[str, str], set[str]]:
    """Return what `read_runs` does, of the runs whose lines say it: their rows are not opened."""
    found: dict[tuple[str, str], set[str]] = {}
    for run in runs:
        for group in run.kinds_read or ():
            for kind in {*kinds}.intersection(group.kinds):
                for cluster in group.clusters:
                    found.setdefault((cluster, kind), set()).add(run.run)
    return found


def read_runs(objects: "DataFrame", kinds: Collection[str]) -> dict[tuple[str, str], set[str]]:
    """Return the names of the runs that read a kind in full, by cluster and kind.

    In: rows of runs with `run`.
    """
    from pyspark.sql import functions as F  # noqa: N812 - heavy; its customary name

    rows = (
        objects.where(F.col("kind") == CLUSTER)
        .select("cluster", "run", F.explode(kinds_read()).alias("name"))
        .where(F.col("name").isin(*kinds))
        .groupBy("cluster", "name")
        .agg(F.collect_set("run").alias("runs"))
        .collect()
    )
    return {(row["cluster"], row["name"]): {*row["runs"]} for row in rows}


def read_rows(spark: "SparkSession", reads: Mapping[str, Sequence[Run]]) -> "DataFrame":
    """Return which runs read the ACLs of a cluster: cluster, run, at."""
    rows = [(name, each.run, each.at) for name, runs in reads.items() for each in runs]
    return create_dataframe(spark, rows, _READ_SCHEMA)


def first_seen(objects: "DataFrame", reads: "DataFrame") -> "DataFrame":
    """Return the day since which each ACL is in all of the runs: cluster, identity, day.

    That is null where the last run lacks it. In: rows of runs with `run`, and what `read_rows`
    gives. An ACL has a bit for each run that has it: these Spark adds up without sorting the ACLs
    of all runs. What is before the last run that lacks it was another ACL, and does not count.
    """
    from pyspark.sql import functions as F  # noqa: N812

    ordered = F.sort_array(F.collect_set(F.struct("at", "run"))).alias("reads")
    of_cluster = reads.groupBy("cluster").agg(ordered)
    numbers = of_cluster.select("cluster", F.posexplode("reads").alias("number", "read")).select(
        "cluster", "number", F.col("read.run").alias("run")
    )
    held = (
        objects.where(F.col("kind") == ACLS)
        .select(*_PLACE, "run")
        .join(F.broadcast(numbers), ["cluster", "run"])
        .groupBy(*_PLACE)
        .agg(F.bit_or(F.expr("shiftleft(1L, number)")).alias("held"))
    )
    every = F.expr("shiftleft(1L, size(reads)) - 1")
    lacking = every.bitwiseAND(F.bitwise_not("held"))
    after = F.when(lacking == 0, F.lit(0)).otherwise(F.length(F.bin(lacking)))
    day = F.to_date(F.to_timestamp(F.get("reads", after)["at"]))
    return held.join(F.broadcast(of_cluster), "cluster").select(*_PLACE, day.alias("day"))


def mark_young(
    objects: "DataFrame", earlier: "DataFrame", runs: Mapping[tuple[str, str], str]
) -> "DataFrame":
    """Say of each object whether the run of before lacks it, or has another one (`is_young`).

    In: rows of a run, those of earlier ones with `run`, and the name of one of these by cluster and
    kind; empty where none is known. What has no such name is not young.
    """
    from pyspark.sql import functions as F  # noqa: N812

    found = ("cluster", "kind", "identity", "uid", "before")
    held = earlier.withColumnRenamed("run", "before").select(*found)
    asked = create_dataframe(
        objects.sparkSession,
        [(*place, name) for place, name in sorted(runs.items())],
        "cluster string, kind string, before string",
    )
    return (
        objects.join(F.broadcast(asked), ["cluster", "kind"], "left")
        .join(held.withColumn("is_there", F.expr("true")), [*found], "left")
        .withColumn("is_young", F.col("before").isNotNull() & F.col("is_there").isNull())
    )
