"""Counts and sizes of a fleet, by cluster or by label, and changes between runs."""

from collections.abc import Collection
from typing import TYPE_CHECKING

from kplan.fleet.snapshot import (
    CLUSTER,
    GROUP,
    HIDDEN,
    KINDS_READ,
    NON_OBJECT_KINDS,
    UNREAD,
    USE,
)
from kplan.model.table import NO_OWNER

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

LABEL_PREFIX = "label."
_BUILT_IN_KINDS = ("kafka_broker_config", "kafka_feature")
OWNER_SCHEMA = "cluster string, kind string, identity string, owner string"
"""What owns which object: a configuration, with the module in it."""


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
    unread = F.when(F.col("kind") == UNREAD, F.col("cluster"))
    return (
        add_group(objects, by)
        .groupBy("group")
        .agg(
            F.count_if(F.col("kind") == CLUSTER).alias("clusters"),
            F.countDistinct(unread).alias("unread_clusters"),
            F.count_if(topic).alias("topics"),
            F.coalesce(F.sum(partitions), F.lit(0)).alias("partitions"),
            F.coalesce(F.sum(partitions * copies), F.lit(0)).alias("replicas"),
            F.count_if(acl).alias("acls"),
            F.countDistinct(F.when(acl, F.col("attributes")["acl_principal"])).alias("principals"),
            F.count_if(other).alias("others"),
            F.count_if(F.col("kind") == GROUP).alias("groups"),
            *(
                F.when(F.count_if(topic) == 0, F.lit(0))
                .otherwise(F.sum(_use_figure(each)))
                .alias(each)
                for each in ("records", "bytes")
            ),
            (F.count_if(topic) - F.count(_use_figure("bytes"))).alias("unsized"),
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
    """Return a figure of a row of kind `use`."""
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


_OBJECT_COLUMNS = ("cluster", "kind", "identity")
_ATTRIBUTE_COLUMNS = (*_OBJECT_COLUMNS, "uid", "attribute")


def history(objects: "DataFrame") -> "DataFrame":
    """List the spans of every attribute of every object.

    In: rows of several runs with `run` and `at`. Out: cluster, kind, identity, uid, attribute,
    value, valid_from, valid_to (null: still so), first_run, last_run. An attribute named "" stands
    for the object itself. A run that could not read a kind of a cluster says nothing about it, nor
    of an object that it was not allowed to see: neither ends a span.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as F  # noqa: N812 - its customary name

    looks = _numbered_runs(objects)
    blind = _blind_looks(objects, looks)
    none = F.array().cast("array<int>")
    facts = (
        _attribute_rows(objects)
        .join(looks, ["cluster", "kind", "run"])
        .join(blind, [*_OBJECT_COLUMNS], "left")
        .withColumn("blind", F.coalesce("blind", none))
    )
    is_before = F.filter("blind", lambda each: each < F.col("look"))
    alike = Window.partitionBy(*_ATTRIBUTE_COLUMNS, "value").orderBy("look")
    island = F.col("look") - F.size(is_before) - F.row_number().over(alike)
    spans = (
        facts.withColumn("island", island)
        .groupBy(*_ATTRIBUTE_COLUMNS, "value", "island", "blind")
        .agg(
            F.min("at").alias("valid_from"),
            F.min_by("run", "look").alias("first_run"),
            F.max_by("run", "look").alias("last_run"),
            F.max("look").alias("last_look"),
        )
        .withColumn("end", _next_look(F.col("last_look"), F.col("blind")))
    )
    ends = looks.select(
        "cluster", "kind", F.col("look").alias("end"), F.col("at").alias("valid_to")
    )
    return spans.join(ends, ["cluster", "kind", "end"], "left").select(
        *_ATTRIBUTE_COLUMNS, "value", "valid_from", "valid_to", "first_run", "last_run"
    )


def _blind_looks(objects: "DataFrame", looks: "DataFrame") -> "DataFrame":
    """Name the runs that were not allowed to see an object, as `blind`: numbers of `looks`."""
    from pyspark.sql import functions as F  # noqa: N812

    return (
        _hidden_objects(objects, "run")
        .join(looks, ["cluster", "kind", "run"])
        .groupBy(*_OBJECT_COLUMNS)
        .agg(F.collect_set("look").alias("blind"))
    )


def _next_look(last: "Column", blind: "Column") -> "Column":
    """Return the number of the first run after `last` that is none of `blind`."""
    from pyspark.sql import functions as F  # noqa: N812

    later = F.sequence(last + 1, last + 1 + F.size(blind))
    return F.array_min(F.array_except(later, blind))


def changes(before: "DataFrame", after: "DataFrame") -> "DataFrame":
    """Compare two runs object by object.

    Out: cluster, kind, identity, change (`created`, `deleted`, `recreated`: of the same name and
    another id, or `changed`), attributes (JSON `{name: [before, after]}` of those that differ; the
    ids of what was created again are its `id`). Kinds that one of the two did not read in full are
    left out, and objects that one of them was not allowed to see.
    """
    from pyspark.sql import functions as F  # noqa: N812

    sides = ("before", "after")
    both = F.broadcast(_kinds_read(before).intersect(_kinds_read(after)))
    unknown = _hidden_objects(before).unionByName(_hidden_objects(after))
    old, new = (
        _object_rows(each)
        .join(both, ["cluster", "kind"], "left_semi")
        .join(unknown, [*_OBJECT_COLUMNS], "left_anti")
        .select(
            *_OBJECT_COLUMNS,
            F.col("attributes").alias(name),
            F.nullif("uid", F.lit("")).alias(f"{name}_id"),
        )
        for each, name in zip((before, after), sides, strict=True)
    )
    was, will_be = (F.map_entries(name) for name in sides)
    is_other = F.coalesce(F.col("before_id") != F.col("after_id"), F.expr("false"))
    none = F.create_map().cast("map<string,string>")
    held = {name: F.coalesce(F.col(name), none) for name in sides}
    change = (
        F.when(F.col("before").isNull(), F.lit("created"))
        .when(F.col("after").isNull(), F.lit("deleted"))
        .when(is_other, F.lit("recreated"))
        .otherwise(F.lit("changed"))
    )
    return (
        old.join(new, [*_OBJECT_COLUMNS], "full_outer")
        .where(~was.eqNullSafe(will_be) | is_other)  # most are as they were
        .withColumn("change", change)
        .withColumns(held)
        .select(*_OBJECT_COLUMNS, "change", _differences(*sides, is_other).alias("attributes"))
    )


def _hidden_objects(objects: "DataFrame", *more: str) -> "DataFrame":
    """Name what a run was not allowed to see, with the columns named: it may exist or not."""
    from pyspark.sql import functions as F  # noqa: N812

    kind = F.col("attributes")["kind"].alias("kind")
    return objects.where(F.col("kind") == HIDDEN).select("cluster", *more, kind, "identity")


def _differences(before: str, after: str, is_other: "Column") -> "Column":
    """Write the attributes that differ as JSON, in the order of their names."""
    from pyspark.sql import functions as F  # noqa: N812

    keys = F.array_distinct(F.concat(F.map_keys(before), F.map_keys(after)))
    pairs = F.transform(
        F.array_sort(keys),
        lambda key: F.struct(
            key.alias("key"), F.array(F.col(before)[key], F.col(after)[key]).alias("value")
        ),
    )
    changed = F.filter(pairs, lambda each: ~each["value"][0].eqNullSafe(each["value"][1]))
    ids = F.struct(
        F.lit("id").alias("key"), F.array(F.col("before_id"), F.col("after_id")).alias("value")
    )
    found = F.when(is_other, F.concat(F.array(ids), changed)).otherwise(changed)
    return F.to_json(F.map_from_entries(found))


def _attribute_rows(objects: "DataFrame") -> "DataFrame":
    """Turn objects into one row per attribute, and one for the object itself."""
    from pyspark.sql import functions as F  # noqa: N812

    kept = [name for name in ("run", *_OBJECT_COLUMNS, "uid") if name in objects.columns]
    facts = F.explode(_with_presence(F.col("attributes"))).alias("attribute", "value")
    return _object_rows(objects).select(*kept, facts)


def _object_rows(objects: "DataFrame") -> "DataFrame":
    """Leave out the rows that describe the cluster itself."""
    from pyspark.sql import functions as F  # noqa: N812

    return objects.where(~F.col("kind").isin(*NON_OBJECT_KINDS))


def _with_presence(attributes: "Column") -> "Column":
    """Add to the attributes of an object one named "" for the object itself."""
    from pyspark.sql import functions as F  # noqa: N812

    return F.map_concat(F.create_map(F.lit(""), F.lit("present")), attributes)


def _numbered_runs(objects: "DataFrame") -> "DataFrame":
    """Count the runs in which each kind of each cluster was read in full."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F  # noqa: N812

    order = Window.partitionBy("cluster", "kind").orderBy("at", "run")
    return _kinds_read(objects, "run", "at").withColumn("look", F.row_number().over(order))


def _kinds_read(objects: "DataFrame", *more: str) -> "DataFrame":
    """List the kinds that were read in full: cluster, kind, and the columns named."""
    from pyspark.sql import functions as F  # noqa: N812

    kinds = F.from_json(F.col("attributes")[KINDS_READ], "array<string>")
    seen = objects.where(F.col("kind") == CLUSTER).select("cluster", *more, kinds.alias("kinds"))
    return seen.select("cluster", *more, F.explode("kinds").alias("kind")).distinct()
