"""Health of every cluster as a run found it: leaders, in-sync replicas, copies."""

from typing import TYPE_CHECKING

from kplan.fleet.snapshot import CLUSTER, HIDDEN, LEADERLESS, UNDER_REPLICATED, USE

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


def cluster_health(objects: "DataFrame") -> "DataFrame":
    """Say how each cluster is.

    Out: cluster, version, brokers, topics, leaderless and under_replicated (partitions; null where
    the run does not know), one_replica (topics with one copy), hidden (objects that it may not
    read).
    """
    from pyspark.sql import functions as F  # noqa: N812 - heavy; its customary name

    topic, cluster = F.col("kind") == "kafka_topic", F.col("kind") == CLUSTER
    found = F.col("attributes")
    brokers = F.size(F.from_json(found["brokers"], "array<array<string>>"))
    copies = found["replication_factor"].cast("long")
    return (
        objects.groupBy("cluster")
        .agg(
            F.max(F.when(cluster, found["version"])).alias("version"),
            F.max(F.when(cluster, brokers)).alias("brokers"),
            F.count_if(topic).alias("topics"),
            *(F.sum(_figure(name)).alias(name) for name in (LEADERLESS, UNDER_REPLICATED)),
            F.count_if(topic & (copies == 1)).alias("one_replica"),
            F.count_if(F.col("kind") == HIDDEN).alias("hidden"),
        )
        .orderBy(F.desc_nulls_last(LEADERLESS), F.desc_nulls_last(UNDER_REPLICATED), "cluster")
    )


def unhealthy_topics(objects: "DataFrame") -> "DataFrame":
    """List topics with partitions that lack a leader or an in-sync replica, the worst first.

    Out: cluster, topic, leaderless, under_replicated (partitions).
    """
    from pyspark.sql import functions as F  # noqa: N812

    return (
        objects.select(
            "cluster",
            F.col("identity").alias("topic"),
            *(_figure(name).alias(name) for name in (LEADERLESS, UNDER_REPLICATED)),
        )
        .where(f"{LEADERLESS} > 0 or {UNDER_REPLICATED} > 0")
        .orderBy(F.desc(LEADERLESS), F.desc(UNDER_REPLICATED), "cluster", "topic")
    )


def _figure(name: str) -> "Column":
    from pyspark.sql import functions as F  # noqa: N812

    return F.when(F.col("kind") == USE, F.col("attributes")[name].cast("long"))
