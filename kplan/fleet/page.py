"""What only the page about a fleet asks: health, access, and requests by day."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kplan.cluster.request import AclBinding
from kplan.fleet.access import acl_rows, authorizer_rules
from kplan.fleet.compat import map_groups
from kplan.fleet.dataframe import arrow_table, utc_text
from kplan.fleet.insight.trends import merge_smaller
from kplan.fleet.snapshot import CLUSTER, HIDDEN, LEADERLESS, UNDER_REPLICATED, USE, kinds_read
from kplan.model.table import NO_OWNER
from kplan.policy.access_query import who_can
from kplan.policy.authorizer import (
    WILDCARD_HOST,
    WILDCARD_PRINCIPAL,
    WILDCARD_RESOURCE,
    AuthorizerRules,
)

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

MAX_LINES, MAX_DAYS = 6, 366
_MOST_NAMES = 10
_SCHEMA = "cluster string, topic string, readers string, writers string"
_OPERATIONS = {"readers": "READ", "writers": "WRITE"}
_BINDING = (
    *("resource_type", "resource_name", "pattern_type"),
    *("principal", "host", "operation", "permission"),
)


# ---- charts

MAX_COUNTS = 10_000
"""Rows that charts of one table are drawn of: a fleet has hundreds of clusters."""
COUNTED: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "unhealthy": (("cluster",), ()),
    "violations": (("cluster", "standing"), ()),
    "drift": (("cluster", "finding"), ()),
    "to_do": (("cluster", "finding", "risk"), ("count",)),
    "undeclared": (("cluster",), ()),
    "inventory": (
        ("group",),
        ("clusters", "unread_clusters", "topics", "partitions", "acls", "bytes"),
    ),
    "owners": (("group", "owner"), ("topics", "acls", "others")),
    "idle_acls": (("cluster", "finding"), ()),
    "unused_acls": (("cluster",), ()),
    "unused_topics": (("cluster", "evidence"), ("bytes",)),
    "recommended": (("cluster", "action"), ("acls",)),
    "costs": (("month", "team"), ("cost",)),
    "trends": (("scope", "name", "figure", "standing"), ("latest", "limit")),
    "anomalies": (("cluster", "finding"), ()),
}
"""What charts and the headline tell apart of a table, and what they add up."""


def chart_counts(name: str, rows: "DataFrame") -> "DataFrame":
    """Add up all rows of a table of COUNTED, of which the page shows the first alone.

    Out: its keys, count (of rows, where the table has no such column), and its sums; what has a
    great many values (owners, limits) is told apart no further than charts draw it.
    """
    from pyspark.sql import functions as F  # noqa: N812 - heavy; its customary name

    keys, sums = COUNTED[name]
    if name == "owners":
        is_none = F.col("owner") == NO_OWNER
        rows = rows.withColumn("owner", F.when(is_none, F.col("owner")).otherwise(F.lit("")))
    elif name == "costs":
        latest = rows.agg(F.max("month").alias("month"))
        team = F.expr("coalesce(nullif(team, ''), owner)")
        rows = rows.withColumn("team", team).join(F.broadcast(latest), "month", "left_semi")
    elif name == "trends":
        rows = rows.where("limit > 0")
    columns = {"count": F.count(F.lit(1)), **{each: F.sum(each) for each in sums}}
    found = rows.groupBy(*keys).agg(*(each.alias(key) for key, each in columns.items()))
    return found.orderBy(F.desc_nulls_last(sums[-1] if sums else "count"), *keys)


# ---- health


def cluster_health(objects: "DataFrame") -> "DataFrame":
    """Say how each cluster is.

    Out: cluster, version, brokers, topics, leaderless and under_replicated (partitions; null where
    the run does not know), one_replica (topics with one copy), hidden (objects that it may not
    read).
    """
    from pyspark.sql import functions as F  # noqa: N812 - heavy; its customary name

    topic, found = F.col("kind") == "kafka_topic", F.col("attributes")
    brokers = F.size(F.from_json(found["brokers"], "array<array<string>>"))
    copies = found["replication_factor"].cast("long")
    counts = objects.groupBy("cluster").agg(
        F.count_if(topic).alias("topics"),
        *(F.sum(_figure(name)).alias(name) for name in (LEADERLESS, UNDER_REPLICATED)),
        F.count_if(topic & (copies == 1)).alias("one_replica"),
        F.count_if(F.col("kind") == HIDDEN).alias("hidden"),
    )
    # With a text among the sums Spark would sort all objects.
    known = objects.where(F.col("kind") == CLUSTER).select(
        "cluster", found["version"].alias("version"), brokers.alias("brokers")
    )
    names = [name for name in counts.columns if name != "cluster"]
    return (
        counts.join(F.broadcast(known), "cluster", "left")
        .select("cluster", "version", "brokers", *names)
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


# ---- access


def topic_holders(objects: "DataFrame", topics: "DataFrame") -> "DataFrame":
    """Say who can read and write some topics, as `kplan fleet access who-can` does.

    In: `topics` are few and have cluster and topic; those of clusters whose ACLs were not read are
    left out. Out: cluster, topic, readers, writers (names,
    in order; super users are not among them).
    """
    from pyspark.sql import functions as F  # noqa: N812

    is_known = (F.col("kind") == CLUSTER) & F.array_contains(kinds_read(), "kafka_acl")
    known = objects.where(is_known).select("cluster")
    few = topics.select("cluster", "topic").join(F.broadcast(known), "cluster", "left_semi")
    acls = acl_rows(objects).where("resource_type = 'TOPIC'")
    name, own = F.col("topic"), F.col("resource_name")
    fits = F.when(F.col("pattern_type") == "PREFIXED", name.startswith(own)).otherwise(
        (own == name) | (own == WILDCARD_RESOURCE)
    )
    on_topics = acls.drop("identity").join(F.broadcast(few), "cluster").where(fits)
    rules = few.join(authorizer_rules(objects), "cluster", "left")
    rows = rules.unionByName(on_topics, allowMissingColumns=True)

    def answer_groups(given: Any) -> Any:  # noqa: ANN401 - Arrow tables, on the executor
        return arrow_table(list(_holders(given.to_pylist())), _SCHEMA)

    found = map_groups(rows, ("cluster", "topic"), answer_groups, _SCHEMA)
    return found.orderBy("cluster", "topic")


def _holders(rows: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, str]]:
    """Answer for one topic. In: the ACLs on it, and a row of rules."""
    cluster, topic, rules, bindings = rows[0]["cluster"], rows[0]["topic"], AuthorizerRules(), []
    for row in rows:
        if row["principal"] is None:
            rules = AuthorizerRules(
                frozenset(row["super_users"] or ()), bool(row["allow_everyone"])
            )
        else:
            bindings.append(tuple(row[name] for name in _BINDING))
    nobody = "(super users only)" if rules.super_users else "(nobody)"
    acls = [AclBinding(*each) for each in sorted(bindings)]  # tasks bring them as they come
    values = {
        name: _names(
            sorted(
                {
                    each.principal
                    for each in who_can(operation, ("TOPIC", topic), acls, rules)
                    if not rules.is_super(each.principal)
                }
            )
        )
        or nobody
        for name, operation in _OPERATIONS.items()
    }
    yield {"cluster": cluster, "topic": topic, **values}


def _names(principals: Sequence[str]) -> str:
    shown = ", ".join(principals[:_MOST_NAMES])
    more = len(principals) - _MOST_NAMES
    return f"{shown} and {more:,} more" if more > 0 else shown


def broad_acls(objects: "DataFrame") -> "DataFrame":
    """List what is allowed to everyone, on every resource of a type, or for all operations.

    Two of the three are needed for a row, or a right on the cluster for everyone. Out: cluster,
    principal, operation, resource_type, resource_name, host, why.
    """
    from pyspark.sql import functions as F  # noqa: N812

    is_everyone = F.col("principal") == WILDCARD_PRINCIPAL
    is_everything = F.col("resource_name") == WILDCARD_RESOURCE
    is_all = F.col("operation") == "ALL"
    reasons = (
        F.when(is_everyone, F.lit("everyone")),
        F.when(is_everything, F.lit("all resources")),
        F.when(is_all, F.lit("all operations")),
        F.when(F.col("host") == WILDCARD_HOST, F.lit("any host")),
    )
    count = sum((each.cast("int") for each in (is_everything, is_all)), is_everyone.cast("int"))
    on_cluster = is_everyone & (F.col("resource_type") == "CLUSTER")
    return (
        acl_rows(objects)
        .where((F.col("permission") == "ALLOW") & ((count > 1) | on_cluster))
        .select(
            *("cluster", "principal", "operation", "resource_type", "resource_name", "host"),
            F.concat_ws(", ", *reasons).alias("why"),
        )
        .orderBy("cluster", "principal", "resource_type", "resource_name", "operation", "host")
    )


# ---- usage


def requests_by_day(used: "DataFrame") -> "DataFrame":
    """Count requests by day, for the busiest clusters and for all others together.

    Out: day (2026-11-16), cluster, requests, denied; at most MAX_DAYS days, the latest ones.
    """
    from pyspark.sql import functions as F  # noqa: N812

    counts = used.groupBy(F.to_date("first_at").alias("day"), "cluster").agg(
        F.sum("count").alias("requests"), _denied_count().alias("denied")
    )
    days = counts.select("day").distinct().orderBy(F.desc("day")).limit(MAX_DAYS)
    return (
        merge_smaller(counts, "cluster", F.sum("requests"), MAX_LINES)
        .join(F.broadcast(days), "day", "left_semi")
        .groupBy(F.date_format("day", "yyyy-MM-dd").alias("day"), "cluster")
        .agg(F.sum("requests").alias("requests"), F.sum("denied").alias("denied"))
        .orderBy("day", "cluster")
    )


def denied_requests(used: "DataFrame") -> "DataFrame":
    """List denied requests, the most frequent first.

    Out: cluster, principal, operation, resource_type, resource_name, count, last_at.
    """
    from pyspark.sql import functions as F  # noqa: N812

    keys = ("cluster", "principal", "operation", "resource_type", "resource_name")
    return (
        used.where("not is_allowed")
        .groupBy(*keys)
        .agg(F.sum("count").alias("count"), utc_text(F.max("last_at")).alias("last_at"))
        .orderBy(F.desc("count"), *keys)
    )


def _denied_count() -> "Column":
    from pyspark.sql import functions as F  # noqa: N812

    return F.coalesce(F.sum(F.when(~F.col("is_allowed"), F.col("count"))), F.lit(0))
