"""ACLs that do nothing, over the whole fleet."""

from typing import TYPE_CHECKING

from kplan.fleet.access import acls_of
from kplan.policy.access import ANY_HOST, ANY_NAME, EVERYONE

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def findings(objects: "DataFrame") -> "DataFrame":
    """List ACLs that could go without anybody noticing.

    Out: cluster, finding, identity, by. `shadowed`: another ACL, named in `by`, covers the same and
    more. `matches_nothing`: no topic of the cluster fits it. Hash joins only: an ACL looks for
    wider ones under its own name, `*`, and each prefix of its name that its cluster has.
    """
    acls = acls_of(objects)
    return (
        _shadowed(acls).unionByName(_idle(objects, acls)).orderBy("cluster", "finding", "identity")
    )


def _shadowed(acls: "DataFrame") -> "DataFrame":
    from pyspark.sql import functions as F  # noqa: N812 - heavy; its customary name

    place = ["cluster", "resource_type", "permission"]
    lengths = (
        acls.where(F.col("pattern_type") == "PREFIXED")
        .groupBy("cluster", "resource_type")
        .agg(F.collect_set(F.length("resource_name")).alias("lengths"))
    )
    name = F.col("resource_name")
    fitting = F.filter(
        F.coalesce("lengths", F.array().cast("array<int>")), lambda n: n <= F.length(name)
    )
    keys = F.concat(
        F.array(F.concat(F.col("pattern_type"), F.lit(":"), name), F.lit(f"LITERAL:{ANY_NAME}")),
        F.transform(
            fitting, lambda n: F.concat(F.lit("PREFIXED:"), F.substring(name, F.lit(1), n))
        ),
    )
    looking = acls.join(F.broadcast(lengths), ["cluster", "resource_type"], "left").select(
        "*", F.explode(F.array_distinct(keys)).alias("key")
    )
    wider = acls.select(
        *place,
        F.concat_ws(":", "pattern_type", "resource_name").alias("key"),
        F.col("identity").alias("by"),
        F.col("principal").alias("by_principal"),
        F.col("host").alias("by_host"),
        F.col("operation").alias("by_operation"),
    )
    found = looking.join(wider, [*place, "key"]).where(
        (F.col("by") != F.col("identity"))
        & F.col("by_principal").isin(EVERYONE, F.col("principal"))
        & F.col("by_host").isin(ANY_HOST, F.col("host"))
        & F.col("by_operation").isin("ALL", F.col("operation"))
    )
    return (
        found.groupBy("cluster", "identity")
        .agg(F.min("by").alias("by"))
        .select("cluster", F.lit("shadowed").alias("finding"), "identity", "by")
    )


def _idle(objects: "DataFrame", acls: "DataFrame") -> "DataFrame":
    from pyspark.sql import functions as F  # noqa: N812

    topics = objects.where(F.col("kind") == "kafka_topic").select(
        "cluster", F.col("identity").alias("topic")
    )
    on_topics = acls.where(
        (F.col("resource_type") == "TOPIC") & (F.col("resource_name") != ANY_NAME)
    )
    lengths = (
        on_topics.where(F.col("pattern_type") == "PREFIXED")
        .groupBy("cluster")
        .agg(F.collect_set(F.length("resource_name")).alias("lengths"))
    )
    name = F.col("topic")
    fitting = F.filter(
        F.coalesce("lengths", F.array().cast("array<int>")), lambda n: n <= F.length(name)
    )
    keys = F.concat(
        F.array(F.concat(F.lit("LITERAL:"), name)),
        F.transform(
            fitting, lambda n: F.concat(F.lit("PREFIXED:"), F.substring(name, F.lit(1), n))
        ),
    )
    there = (
        topics.join(F.broadcast(lengths), "cluster", "left")
        .select("cluster", F.explode(keys).alias("key"))
        .distinct()
    )
    keyed = on_topics.withColumn("key", F.concat_ws(":", "pattern_type", "resource_name"))
    return keyed.join(there, ["cluster", "key"], "left_anti").select(
        "cluster",
        F.lit("matches_nothing").alias("finding"),
        "identity",
        F.lit("").alias("by"),
    )
