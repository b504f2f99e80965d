"""Redundant ACLs of the whole fleet: shadowed ones, and those that match no topic."""

from typing import TYPE_CHECKING

from kplan.cluster.topic import KPLAN_PREFIX
from kplan.fleet.access import acl_rows
from kplan.fleet.dataframe import Keep, ask_once
from kplan.fleet.reads import TOPICS
from kplan.fleet.snapshot import CLUSTER, HIDDEN, kinds_read
from kplan.fleet.wider_acls import wider_acls
from kplan.policy.authorizer import WILDCARD_PRINCIPAL, WILDCARD_RESOURCE

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def acl_findings(objects: "DataFrame", keep: Keep = ask_once) -> "DataFrame":
    """List ACLs that could go without anybody noticing; `keep` gets them before they are in order.

    Out: cluster, finding, identity, by. `shadowed`: another ACL, named in `by`, covers the same and
    more. `matches_nothing`: no topic of the cluster fits it; ACLs to create topics need none, and
    where topics were not read nothing is said. Hash joins only: an ACL looks for wider ones of its
    principal, and of everyone, under the patterns that these have.
    """
    acls = acl_rows(objects)
    found = _shadowed_acls(acls).unionByName(_acls_without_topic(objects, acls))
    return keep(found).orderBy("cluster", "finding", "identity")


def _shadowed_acls(acls: "DataFrame") -> "DataFrame":
    from pyspark.sql import functions as F  # noqa: N812 - heavy; its customary name

    who = F.array_distinct(F.array(F.col("principal"), F.lit(WILDCARD_PRINCIPAL)))
    found = wider_acls(acls, acls, who).where(F.col("by_operation").isin("ALL", F.col("operation")))
    return (
        found.groupBy("cluster", "identity")
        .agg(F.min("by").alias("by"))
        .select("cluster", F.lit("shadowed").alias("finding"), "identity", "by")
    )


def _acls_without_topic(objects: "DataFrame", acls: "DataFrame") -> "DataFrame":
    from pyspark.sql import functions as F  # noqa: N812

    is_hidden = (F.col("kind") == HIDDEN) & (F.col("attributes")["kind"] == TOPICS)
    topics = objects.where((F.col("kind") == TOPICS) | is_hidden).select(
        "cluster", F.col("identity").alias("resource_name")
    )
    # Of other clusters nothing is known, also not that there is no topic.
    read = objects.where(
        (F.col("kind") == CLUSTER) & F.array_contains(kinds_read(), TOPICS)
    ).select("cluster")
    # Topics of kplan itself, such as that of the state, are never in a snapshot.
    is_of_own = F.col("resource_name").startswith(KPLAN_PREFIX) | (
        (F.col("pattern_type") == "PREFIXED")
        & F.lit(KPLAN_PREFIX).startswith(F.col("resource_name"))
    )
    may_be_idle = (
        (F.col("resource_type") == "TOPIC")
        & (F.col("resource_name") != WILDCARD_RESOURCE)
        & (F.col("operation") != "CREATE")  # is for topics that are not there yet
        & ~is_of_own
    )
    on_topics = (
        acls.where(may_be_idle)
        .join(F.broadcast(read), "cluster", "left_semi")
        .select("cluster", "resource_name", "identity", "pattern_type")
    )
    is_prefix = F.col("pattern_type") == "PREFIXED"
    prefixes = on_topics.where(is_prefix)
    sizes = prefixes.select("cluster", F.length("resource_name").alias("size")).distinct()
    name, size = F.col("resource_name"), F.col("size")
    begun = topics.join(F.broadcast(sizes), "cluster").where(size <= F.length(name))
    there = begun.select("cluster", F.substr(name, F.lit(1), size).alias("resource_name"))
    place = ["cluster", "resource_name"]
    names = on_topics.where(~is_prefix).join(topics, place, "left_anti")
    found = prefixes.join(there.distinct(), place, "left_anti").unionByName(names)
    return found.select(
        "cluster", F.lit("matches_nothing").alias("finding"), "identity", F.lit("").alias("by")
    )
