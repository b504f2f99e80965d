"""Redundant ACLs of the whole fleet: shadowed ones, and those that match no topic."""

from typing import TYPE_CHECKING

from kplan.fleet.access import acl_key, acl_rows, expand_prefix_keys, pattern_key
from kplan.policy.authorizer import WILDCARD_HOST, WILDCARD_PRINCIPAL, WILDCARD_RESOURCE

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def acl_findings(objects: "DataFrame") -> "DataFrame":
    """List ACLs that could go without anybody noticing.

    Out: cluster, finding, identity, by. `shadowed`: another ACL, named in `by`, covers the same and
    more. `matches_nothing`: no topic of the cluster fits it. Hash joins only: an ACL looks for
    wider ones under its own name, `*`, and each prefix of its name that its cluster has.
    """
    acls = acl_rows(objects)
    return (
        _shadowed_acls(acls)
        .unionByName(_acls_without_topic(objects, acls))
        .orderBy("cluster", "finding", "identity")
    )


def _shadowed_acls(acls: "DataFrame") -> "DataFrame":
    from pyspark.sql import functions as F  # noqa: N812 - heavy; its customary name

    place = ["cluster", "resource_type", "permission"]
    own = F.array(acl_key(), F.lit(f"LITERAL:{WILDCARD_RESOURCE}"))
    who = F.array_distinct(F.array(F.col("principal"), F.lit(WILDCARD_PRINCIPAL)))
    looking = expand_prefix_keys(acls, acls, own).withColumn("by_principal", F.explode(who))
    wider = acls.select(
        *place,
        acl_key(),
        F.col("identity").alias("by"),
        F.col("principal").alias("by_principal"),
        F.col("host").alias("by_host"),
        F.col("operation").alias("by_operation"),
    )
    found = looking.join(wider, [*place, "key", "by_principal"]).where(
        (F.col("by") != F.col("identity"))
        & F.col("by_host").isin(WILDCARD_HOST, F.col("host"))
        & F.col("by_operation").isin("ALL", F.col("operation"))
    )
    return (
        found.groupBy("cluster", "identity")
        .agg(F.min("by").alias("by"))
        .select("cluster", F.lit("shadowed").alias("finding"), "identity", "by")
    )


def _acls_without_topic(objects: "DataFrame", acls: "DataFrame") -> "DataFrame":
    from pyspark.sql import functions as F  # noqa: N812

    topics = objects.where(F.col("kind") == "kafka_topic").select(
        "cluster", F.lit("TOPIC").alias("resource_type"), F.col("identity").alias("resource_name")
    )
    on_topics = acls.where(
        (F.col("resource_type") == "TOPIC") & (F.col("resource_name") != WILDCARD_RESOURCE)
    )
    own = F.array(pattern_key("LITERAL", F.col("resource_name")))
    there = expand_prefix_keys(topics, on_topics, own).select("cluster", "key").distinct()
    keyed = on_topics.withColumn("key", acl_key())
    return keyed.join(there, ["cluster", "key"], "left_anti").select(
        "cluster",
        F.lit("matches_nothing").alias("finding"),
        "identity",
        F.lit("").alias("by"),
    )
