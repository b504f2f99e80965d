"""Counts and sizes of a fleet, by cluster or by label."""

from collections.abc import Collection
from datetime import date
from typing import TYPE_CHECKING

from kplan.fleet.access import authorizer_rules
from kplan.fleet.snapshot import (
    CLUSTER,
    GROUP,
    HIDDEN,
    NON_OBJECT_KINDS,
    UNREAD,
    USE,
    kinds_read,
)
from kplan.model.table import NO_OWNER

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

LABEL_PREFIX = "label."
_BUILT_IN_KINDS = ("kafka_broker_config", "kafka_feature")
OWNER_SCHEMA = "cluster string, kind string, identity string, owner string"
"""What owns which object: a configuration, with the module in it."""
_MAX_CLUSTERS = 10_000
"""Names of clusters that are brought over: a fleet has hundreds."""
_OPEN = "allow_everyone is true: fewer ACLs would open resources to everyone"
_MAY_BE_OPEN = (
    "whether the brokers allow everyone what has no ACL is not known: set allow_everyone in "
    "fleet.hcl, and take a run"
)


def inventory(objects: "DataFrame", by: str = "") -> "DataFrame":
    """Count objects by cluster, or by the value of the label `by`.

    Out: group, clusters, unread_clusters, topics, partitions, replicas, acls, principals, others,
    groups (consumer groups), records, bytes (of one replica each), unsized (topics whose size is
    not known). A cluster without the label is in the group "".
    """
    from pyspark.sql import functions as F  # noqa: N812 - heavy; its customary name

    topic, acl = F.col("kind") == "kafka_topic", F.col("kind") == "kafka_acl"
    partitions = F.when(topic, F.col("attributes")["partitions"].cast("long"))
    copies = F.col("attributes")["replication_factor"].cast("long")
    other = ~F.col("kind").isin("kafka_topic", "kafka_acl", *NON_OBJECT_KINDS)
    kept = {
        "unread": F.when(F.col("kind") == UNREAD, F.col("cluster")),
        "principal": F.when(acl, F.col("attributes")["acl_principal"]),
    }
    sums = {
        "clusters": F.count_if(F.col("kind") == CLUSTER),
        "topics": F.count_if(topic),
        "partitions": F.coalesce(F.sum(partitions), F.lit(0)),
        "replicas": F.coalesce(F.sum(partitions * copies), F.lit(0)),
        "acls": F.count_if(acl),
        "others": F.count_if(other),
        "groups": F.count_if(F.col("kind") == GROUP),
        **{each: F.sum(_use_figure(each)) for each in ("records", "bytes")},
        "sized": F.count(_use_figure("bytes")),
    }
    # First by what is counted once: Spark's own way to count different values of two columns goes
    # through three times as many rows. No row has both.
    parts = add_group(objects, by).withColumns(kept).groupBy("group", *kept)
    found = parts.agg(*(each.alias(name) for name, each in sums.items())).groupBy("group")
    added = (F.sum(name).alias(name) for name in sums)
    counted = (F.count(name).alias(name) for name in kept)
    is_empty = F.col("topics") == 0
    return (
        found.agg(*added, *counted)
        .select(
            *("group", "clusters", F.col("unread").alias("unread_clusters")),
            *("topics", "partitions", "replicas", "acls"),
            *(F.col("principal").alias("principals"), "others", "groups"),
            *(
                F.when(is_empty, F.lit(0)).otherwise(F.col(n)).alias(n)
                for n in ("records", "bytes")
            ),
            (F.col("topics") - F.col("sized")).alias("unsized"),
        )
        .orderBy("group")
    )


def is_manageable() -> "Column":
    """Whether a row is an object that somebody could declare, and not what every cluster has."""
    from pyspark.sql import functions as F  # noqa: N812

    is_own = (F.col("kind") == "kafka_topic") & F.col("identity").startswith("__")
    return ~F.col("kind").isin(*NON_OBJECT_KINDS, *_BUILT_IN_KINDS) & ~is_own


def owner_counts(objects: "DataFrame", owned: "DataFrame", by: str = "") -> "DataFrame":
    """Count objects by owner, largest first; NOBODY owns objects that are in no state.

    What every cluster has of itself is left out: topics of Kafka's own, features, brokers' configs.
    In: `owned` has cluster, kind, identity, owner. Out: group, owner, topics, acls, others, share
    (of the objects of the group, in percent).
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as F  # noqa: N812

    topic, acl = F.col("kind") == "kafka_topic", F.col("kind") == "kafka_acl"
    live = add_group(objects, by).where(is_manageable())
    detail = live.join(owned, ["cluster", "kind", "identity"], "left")
    counts = detail.groupBy("group", F.coalesce("owner", F.lit(NO_OWNER)).alias("owner")).agg(
        F.count_if(topic).alias("topics"),
        F.count_if(acl).alias("acls"),
        F.count_if(~topic & ~acl).alias("others"),
    )
    all_of_it = F.col("topics") + F.col("acls") + F.col("others")
    share = 100 * all_of_it / F.sum(all_of_it).over(Window.partitionBy("group"))
    return counts.withColumn("share", F.round(share, 1)).orderBy("group", F.desc("share"), "owner")


def label_names(objects: "DataFrame") -> tuple[str, ...]:
    """Name the labels that clusters carry."""
    from pyspark.sql import functions as F  # noqa: N812

    names = objects.where(F.col("kind") == CLUSTER).select(
        F.explode(F.map_keys("attributes")).alias("name")
    )
    found = names.where(F.col("name").startswith(LABEL_PREFIX)).distinct().collect()
    return tuple(sorted(each.name.removeprefix(LABEL_PREFIX) for each in found))


def cluster_names(objects: "DataFrame") -> set[str]:
    """Name the clusters that runs have, read or not; in: rows of runs."""
    from pyspark.sql import functions as F  # noqa: N812

    names = objects.where(F.col("kind") == CLUSTER).select("cluster").distinct()
    return {row["cluster"] for row in names.limit(_MAX_CLUSTERS).collect()}


def cluster_aliases(objects: "DataFrame") -> list[tuple[str, ...]]:
    """Return the names of each cluster that has several, in order; in: rows of a run."""
    from pyspark.sql import functions as F  # noqa: N812

    names = F.sort_array(F.collect_set("cluster")).alias("names")
    rows = (
        objects.where((F.col("kind") == CLUSTER) & (F.col("identity") != ""))
        .groupBy("identity")
        .agg(names)
        .where(F.size("names") > 1)
        .collect()
    )
    return sorted(tuple(row["names"]) for row in rows)


def add_group(objects: "DataFrame", by: str) -> "DataFrame":
    """Add the column `group`: the cluster, or the value of its label."""
    from pyspark.sql import functions as F  # noqa: N812

    if not by:
        return objects.withColumn("group", F.col("cluster"))
    labels = objects.where(F.col("kind") == CLUSTER).select(
        "cluster", F.coalesce(F.col("attributes")[f"{LABEL_PREFIX}{by}"], F.lit("")).alias("group")
    )
    return objects.join(F.broadcast(labels), "cluster")


def largest_topics(objects: "DataFrame", top: int) -> "DataFrame":
    """List the topics with the most bytes, or else replicas.

    Out: cluster, topic, partitions, replicas, bytes (of one replica each), records, groups.
    """
    from pyspark.sql import functions as F  # noqa: N812

    partitions = F.col("attributes")["partitions"].cast("long")
    copies = F.col("attributes")["replication_factor"].cast("long")
    topics = objects.where(F.col("kind") == "kafka_topic").select(
        "cluster",
        F.col("identity").alias("topic"),
        partitions.alias("partitions"),
        (partitions * copies).alias("replicas"),
    )
    return (
        topics.join(
            topic_use(objects).drop("newest_ms", "live_groups"), ["cluster", "topic"], "left"
        )
        .orderBy(F.desc_nulls_last("bytes"), F.desc("replicas"), "cluster", "topic")
        .limit(top)
    )


def topic_use(objects: "DataFrame") -> "DataFrame":
    """List the known usage of topics; null is unknown.

    Out: cluster, topic, bytes, records, newest_ms, groups, live_groups (names, in order).
    """
    from pyspark.sql import functions as F  # noqa: N812

    found = F.from_json(F.col("attributes")["groups"], "array<array<string>>")
    live = F.filter(found, lambda each: each[1] == "true")
    names = (
        F.concat_ws(", ", F.array_sort(F.transform(each, lambda one: one[0])))
        for each in (found, live)
    )
    groups, live_groups = (F.when(found.isNotNull(), each) for each in names)
    return objects.where(F.col("kind") == USE).select(
        "cluster",
        F.col("identity").alias("topic"),
        *(_use_figure(name).alias(name) for name in ("bytes", "records", "newest_ms")),
        groups.alias("groups"),
        live_groups.alias("live_groups"),
    )


def _use_figure(name: str) -> "Column":
    """Return a figure of a row that says how a topic is used."""
    from pyspark.sql import functions as F  # noqa: N812

    return F.when(F.col("kind") == USE, F.col("attributes")[name].cast("long"))


def unread_kinds(objects: "DataFrame") -> "DataFrame":
    """List the unread parts: cluster, kind ("*" for everything), reason.

    Objects that the principal may not see are a part of their kind.
    """
    from pyspark.sql import functions as F  # noqa: N812

    facts, is_hidden = F.col("attributes"), F.col("kind") == HIDDEN
    found = objects.where(F.col("kind").isin(UNREAD, HIDDEN)).select(
        "cluster",
        F.when(is_hidden, facts["kind"]).otherwise(F.col("identity")).alias("kind"),
        F.when(is_hidden, facts["error"]).otherwise(facts["reason"]).alias("reason"),
        F.when(is_hidden, F.col("identity")).alias("name"),
    )
    hidden = F.format_string(
        "%s hidden, as %s: %s", F.count("name"), F.min("name"), F.min("reason")
    )
    reason = F.when(F.count("name") > 0, hidden).otherwise(F.min("reason"))
    return (
        found.groupBy("cluster", "kind", F.col("name").isNull().alias("is_whole"))
        .agg(reason.alias("reason"))
        .select("cluster", "kind", "reason")
        .orderBy("cluster", "kind", "reason")
    )


def clusters_without_log(
    objects: "DataFrame", sums: "DataFrame", logged: Collection[str] = ()
) -> "DataFrame":
    """List the clusters without a log of allowed requests: cluster, reason.

    Nothing can be said there of unused ACLs. In: rows of a run, and what `log_sums` gives; where
    these are sums since a time, the clusters of `logged` have a log with none.
    """
    from pyspark.sql import functions as F  # noqa: N812

    logs = sums.groupBy("cluster").agg((F.count("since") > 0).alias("tells"))
    there = objects.where(F.col("kind") == CLUSTER).select("cluster")
    silent = F.when(
        F.col("cluster").isin(*logged), F.lit("no request is logged in this time")
    ).otherwise(F.lit("no authorizer log was ingested"))
    reason = F.when(F.col("tells").isNull(), silent).otherwise(F.lit("its log has denials only"))
    return (
        there.join(logs, "cluster", "left")
        .where(~F.coalesce("tells", F.expr("false")))
        .select("cluster", reason.alias("reason"))
        .orderBy("cluster")
    )


def clusters_with_ended_log(sums: "DataFrame", last_end: date) -> "DataFrame":
    """List the clusters whose log has no allowed request since that day: cluster, reason.

    In: what `log_sums` gives.
    """
    from pyspark.sql import functions as F  # noqa: N812

    end = F.to_date("until")
    reason = F.format_string(
        "its log ends on %s: what was used since is unknown", F.date_format(end, "yyyy-MM-dd")
    )
    return (
        sums.groupBy("cluster")
        .agg(F.max("until").alias("until"))
        .where(end < F.lit(last_end))
        .select("cluster", reason.alias("reason"))
        .orderBy("cluster")
    )


def open_clusters(objects: "DataFrame") -> "DataFrame":
    """List clusters that allow everyone what has no ACL, and those that may: cluster, reason."""
    from pyspark.sql import functions as F  # noqa: N812

    reason = F.when(F.col("allow_everyone"), F.lit(_OPEN)).otherwise(F.lit(_MAY_BE_OPEN))
    read = objects.where(F.array_contains(kinds_read(), "kafka_acl"))
    rules = authorizer_rules(read).where("allow_everyone is null or allow_everyone")
    return rules.select("cluster", reason.alias("reason"))
