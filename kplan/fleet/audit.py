"""What was really asked of the clusters: authorizer logs, as brokers write them.

A line is `[TIME] LEVEL Principal = P is Allowed operation = O from host = H on resource = T:L:N for
request = R with resourceRefCount = C based on rule ...` (Kafka: StandardAuthorizerData). Lines are
taken apart by searching for fixed words: of all ways that is by far the fastest.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kplan.fleet.access import REQUEST, acls_of, matching
from kplan.fleet.inventory import use_of

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

USAGE = (*REQUEST, "is_allowed", "request")
"""What one row of usage speaks of; beside it stand `count`, `first_at` and `last_at`."""

TABLE = (
    "cluster string, source string, principal string, host string, operation string, "
    "resource_type string, resource_name string, is_allowed boolean, request string, count long, "
    "first_at timestamp, last_at timestamp"
)
_TIME = "yyyy-MM-dd HH:mm:ss,SSS"


def lines(spark: "SparkSession", cluster: str, paths: Sequence[str]) -> "DataFrame":
    """Read log files, plain or packed: cluster, source (the file), line."""
    from pyspark.sql import functions as F  # noqa: N812 - heavy; its customary name

    read = spark.read.text(list(paths)).withColumnRenamed("value", "line")
    return read.select(F.lit(cluster).alias("cluster"), F.input_file_name().alias("source"), "line")


def parsed(found: "DataFrame") -> "DataFrame":
    """Take lines apart; what is no line of the authorizer keeps `line`, and `is_whole` is false.

    Out: cluster, source, line, is_whole, at, the rest of USAGE, and count (resources of a kind that
    one request asked for are one line).
    """
    from pyspark.sql import functions as F  # noqa: N812

    line = F.col("line")
    resource = F.split(_between(line, " on resource = ", " for request = "), ":", 3)
    who = _between(line, "Principal = ", " operation = ")
    verdict = F.substring_index(who, " is ", -1)
    taken = found.select(
        "cluster",
        "source",
        "line",
        F.try_to_timestamp(F.substring(line, 2, 23), F.lit(_TIME)).alias("at"),
        F.when(verdict == "Allowed", F.expr("true"))
        .when(verdict == "Denied", F.expr("false"))
        .alias("is_allowed"),
        F.substring(who, F.lit(1), F.length(who) - F.length(verdict) - len(" is ")).alias(
            "principal"
        ),
        _between(line, " operation = ", " from host = ").alias("operation"),
        _between(line, " from host = ", " on resource = ").alias("host"),
        F.upper(F.regexp_replace(F.get(resource, F.lit(0)), "([a-z])([A-Z])", "$1_$2")).alias(
            "resource_type"
        ),
        F.get(resource, F.lit(2)).alias("resource_name"),
        _between(line, " for request = ", " with resourceRefCount = ").alias("request"),
        F.expr(
            "try_cast(substring_index(substring_index("
            "line, ' with resourceRefCount = ', -1), ' based on rule ', 1) as bigint)"
        ).alias("count"),
    )
    needed = ["at", *USAGE, "count"]
    is_whole = F.expr("true")
    for name in needed:
        is_whole &= F.col(name).isNotNull()
    return taken.withColumn("is_whole", is_whole)


def usage(found: "DataFrame") -> "DataFrame":
    """Add up whole lines: who did what to what from where, how often, first and last when."""
    from pyspark.sql import functions as F  # noqa: N812

    return (
        found.where("is_whole")
        .groupBy("source", *USAGE)
        .agg(
            F.count(F.lit(1)).alias("count"),
            F.min("at").alias("first_at"),
            F.max("at").alias("last_at"),
        )
    )


def malformed(found: "DataFrame") -> "DataFrame":
    """Keep the lines that are none of the authorizer's: cluster, source, line."""
    return found.where("not is_whole").select("cluster", "source", "line")


def last_used(used: "DataFrame") -> "DataFrame":
    """Tell who used what last: cluster, principal, resource, operations, count, last_at."""
    from pyspark.sql import functions as F  # noqa: N812

    return (
        used.where("is_allowed")
        .groupBy("cluster", "principal", "resource_type", "resource_name")
        .agg(
            F.concat_ws(", ", F.sort_array(F.collect_set("operation"))).alias("operations"),
            F.sum("count").alias("count"),
            F.date_format(F.max("last_at"), "yyyy-MM-dd'T'HH:mm:ss'Z'").alias("last_at"),
        )
        .orderBy("cluster", "principal", "resource_type", "resource_name")
    )


def unused_acls(objects: "DataFrame", used: "DataFrame") -> "DataFrame":
    """List the ACLs that no request of the log ever met: cluster, identity, principal, ...

    A Deny counts as used when a request met it, too. Of clusters whose log tells nothing that was
    allowed nothing is known: brokers leave that out as they come.
    """
    acls = acls_of(objects).join(_heard(used), "cluster", "left_semi")
    met = matching(used, acls).select("cluster", "identity").distinct()
    return acls.join(met, ["cluster", "identity"], "left_anti").orderBy("cluster", "identity")


def unused_topics(objects: "DataFrame", used: "DataFrame") -> "DataFrame":
    """List the topics that nobody uses.

    Out: cluster, topic, evidence, records, bytes, groups (with offsets, without members).
    `evidence` is `log`: nobody read or wrote it in the time of the log, nothing in it is younger,
    and no group with members has offsets in it; or `offsets`, of clusters whose log tells nothing
    that was allowed: there is no record in it, and no group has offsets in it.
    """
    from pyspark.sql import functions as F  # noqa: N812

    is_data = F.col("operation").isin("READ", "WRITE") & F.col("is_allowed")
    touched = used.where(is_data & (F.col("resource_type") == "TOPIC")).select(
        "cluster", F.col("resource_name").alias("topic")
    )
    is_own = F.col("identity").startswith("__")  # of Kafka or its tools
    topics = objects.where((F.col("kind") == "kafka_topic") & ~is_own).select(
        "cluster", F.col("identity").alias("topic")
    )
    known = (
        topics.join(touched.distinct(), ["cluster", "topic"], "left_anti")
        .join(use_of(objects), ["cluster", "topic"], "left")
        .join(F.broadcast(_heard(used)), "cluster", "left")
    )
    by_log = (
        F.col("since").isNotNull()
        & (F.coalesce("live_groups", F.lit("")) == "")
        & (F.coalesce("newest_ms", F.lit(0)) < F.unix_millis("since"))
    )
    by_offsets = F.col("since").isNull() & (F.col("records") == 0) & (F.col("groups") == "")
    evidence = F.when(by_log, F.lit("log")).when(by_offsets, F.lit("offsets"))
    return (
        known.withColumn("evidence", evidence)
        .where("evidence is not null")
        .select("cluster", "topic", "evidence", "records", "bytes", "groups")
        .orderBy("cluster", "topic")
    )


def candidates(objects: "DataFrame", acls: "DataFrame", topics: "DataFrame") -> "DataFrame":
    """Give the rows of unused ACLs and topics, in order of cluster, kind and identity."""
    from pyspark.sql import functions as F  # noqa: N812

    place = ["cluster", "kind", "identity"]
    unused = acls.select("cluster", F.lit("kafka_acl").alias("kind"), "identity").unionByName(
        topics.select(
            "cluster", F.lit("kafka_topic").alias("kind"), F.col("topic").alias("identity")
        )
    )
    return objects.join(unused, place, "left_semi").orderBy(*place)


def by_source(used: "DataFrame") -> "DataFrame":
    """Count the requests of each log: cluster, source, requests, first_at, last_at."""
    from pyspark.sql import functions as F  # noqa: N812

    return (
        used.groupBy("cluster", "source")
        .agg(F.sum("count").alias("requests"), *_from_to())
        .orderBy("cluster", "source")
    )


def counted(lines_: "DataFrame") -> "DataFrame":
    """Count the lines that are none of the authorizer's: cluster, source, lines."""
    from pyspark.sql import functions as F  # noqa: N812

    found = lines_.groupBy("cluster", "source").agg(F.count(F.lit(1)).alias("lines"))
    return found.orderBy("cluster", "source")


def heard(used: "DataFrame") -> dict[str, str]:
    """Say, for the lineage of figures, of which logs they were made."""
    from pyspark.sql import functions as F  # noqa: N812

    logs = F.countDistinct("cluster", "source").alias("logs")
    row = used.agg(
        logs, F.coalesce(F.sum("count"), F.lit(0)).alias("requests"), *_from_to()
    ).first()
    found = row.asDict() if row else {}
    return {
        "logs": str(found.get("logs", 0)),
        "requests": str(found.get("requests", 0)),
        "requests_from": str(found.get("first_at") or ""),
        "requests_to": str(found.get("last_at") or ""),
    }


def heard_of(used: "DataFrame") -> frozenset[str]:
    """Name the clusters whose log tells what was allowed."""
    return frozenset(row["cluster"] for row in _heard(used).select("cluster").collect())


def _from_to() -> "tuple[Column, Column]":
    from pyspark.sql import functions as F  # noqa: N812

    form = "yyyy-MM-dd'T'HH:mm:ss'Z'"
    return (
        F.date_format(F.min("first_at"), form).alias("first_at"),
        F.date_format(F.max("last_at"), form).alias("last_at"),
    )


def _heard(used: "DataFrame") -> "DataFrame":
    """List the clusters whose log tells what was allowed: cluster, since."""
    from pyspark.sql import functions as F  # noqa: N812

    return used.where("is_allowed").groupBy("cluster").agg(F.min("first_at").alias("since"))


def _between(text: "Column", before: str, after: str) -> "Column":
    """Give what stands between two fixed texts; null where one of them is missing."""
    from pyspark.sql import functions as F  # noqa: N812

    start = F.locate(before, text)
    rest = F.substring(text, start + F.lit(len(before)), F.length(text))
    end = F.locate(after, rest)
    return F.when((start > 0) & (end > 0), F.substring(rest, F.lit(1), end - F.lit(1)))
