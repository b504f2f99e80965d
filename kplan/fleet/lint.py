"""ACLs that do nothing, over the whole fleet."""

from typing import TYPE_CHECKING

from kplan.fleet.access import acls_of, key, own_key, with_keys
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
    own = F.array(own_key(), F.lit(f"LITERAL:{ANY_NAME}"))
    who = F.array_distinct(F.array(F.col("principal"), F.lit(EVERYONE)))
    looking = with_keys(acls, acls, own).withColumn("by_principal", F.explode(who))
    wider = acls.select(
        *place,
        own_key(),
        F.col("identity").alias("by"),
        F.col("principal").alias("by_principal"),
        F.col("host").alias("by_host"),
        F.col("operation").alias("by_operation"),
    )
    found = looking.join(wider, [*place, "key", "by_principal"]).where(
        (F.col("by") != F.col("identity"))
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
        "cluster", F.lit("TOPIC").alias("resource_type"), F.col("identity").alias("resource_name")
    )
    on_topics = acls.where(
        (F.col("resource_type") == "TOPIC") & (F.col("resource_name") != ANY_NAME)
    )
    own = F.array(key("LITERAL", F.col("resource_name")))
    there = with_keys(topics, on_topics, own).select("cluster", "key").distinct()
    keyed = on_topics.withColumn("key", own_key())
    return keyed.join(there, ["cluster", "key"], "left_anti").select(
        "cluster",
        F.lit("matches_nothing").alias("finding"),
        "identity",
        F.lit("").alias("by"),
    )
