"""What is where: counts and sizes of a fleet, by cluster or by label."""

from typing import TYPE_CHECKING

from kplan.fleet.rows import CLUSTER, NO_OBJECTS, UNREAD

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

LABEL = "label."


def inventory(objects: "DataFrame", by: str = "") -> "DataFrame":
    """Count objects by cluster, or by the value of the label `by`.

    Out: group, clusters, unread_clusters, topics, partitions, replicas, acls, principals, others.
    A cluster without the label is in the group "".
    """
    from pyspark.sql import functions as F  # noqa: N812 - heavy; its customary name

    topic, acl = F.col("kind") == "kafka_topic", F.col("kind") == "kafka_acl"
    partitions = F.when(topic, F.col("attributes")["partitions"].cast("long"))
    copies = F.col("attributes")["replication_factor"].cast("long")
    other = ~F.col("kind").isin("kafka_topic", "kafka_acl", *NO_OBJECTS)
    unread = F.when(F.col("kind") == UNREAD, F.col("cluster"))
    return (
        grouped(objects, by)
        .groupBy("group")
        .agg(
            F.countDistinct("cluster").alias("clusters"),
            F.countDistinct(unread).alias("unread_clusters"),
            F.count_if(topic).alias("topics"),
            F.coalesce(F.sum(partitions), F.lit(0)).alias("partitions"),
            F.coalesce(F.sum(partitions * copies), F.lit(0)).alias("replicas"),
            F.count_if(acl).alias("acls"),
            F.countDistinct(F.when(acl, F.col("attributes")["acl_principal"])).alias("principals"),
            F.count_if(other).alias("others"),
        )
        .orderBy("group")
    )


def grouped(objects: "DataFrame", by: str) -> "DataFrame":
    """Add the column `group`: the cluster, or the value of its label."""
    from pyspark.sql import functions as F  # noqa: N812

    if not by:
        return objects.withColumn("group", F.col("cluster"))
    labels = objects.where(F.col("kind") == CLUSTER).select(
        "cluster", F.coalesce(F.col("attributes")[f"{LABEL}{by}"], F.lit("")).alias("group")
    )
    return objects.join(F.broadcast(labels), "cluster")


def largest(objects: "DataFrame", top: int) -> "DataFrame":
    """List the topics with the most replicas: cluster, topic, partitions, replicas."""
    from pyspark.sql import functions as F  # noqa: N812

    partitions = F.col("attributes")["partitions"].cast("long")
    copies = F.col("attributes")["replication_factor"].cast("long")
    return (
        objects.where(F.col("kind") == "kafka_topic")
        .select(
            "cluster",
            F.col("identity").alias("topic"),
            partitions.alias("partitions"),
            (partitions * copies).alias("replicas"),
        )
        .orderBy(F.desc("replicas"), "cluster", "topic")
        .limit(top)
    )


def unread(objects: "DataFrame") -> "DataFrame":
    """List what could not be read: cluster, kind ("*" for everything), reason."""
    from pyspark.sql import functions as F  # noqa: N812

    return (
        objects.where(F.col("kind") == UNREAD)
        .select(
            "cluster",
            F.col("identity").alias("kind"),
            F.col("attributes")["reason"].alias("reason"),
        )
        .orderBy("cluster", "kind")
    )
