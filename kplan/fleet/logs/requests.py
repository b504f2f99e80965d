"""What authorizer logs say: the requests in them, and what these use."""

from datetime import date, datetime
from typing import TYPE_CHECKING

from kplan.fleet.access import (
    REQUEST_COLUMNS,
    acl_rows,
    authorizer_rules,
    bit_names,
    matching_acls,
    name_bits,
    request_sums,
)
from kplan.fleet.dataframe import Keep, ask_once, utc_text
from kplan.fleet.inventory import topic_use
from kplan.fleet.kafka_names import kafka_enum_name
from kplan.fleet.logs.layout import utc_time
from kplan.fleet.logs.lines import MARK, PART_COUNT
from kplan.fleet.replay import is_any_topic
from kplan.kinds.acl import OPERATIONS

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_USAGE_SCHEMA = (
    "cluster string, source string, principal string, host string, operation string, "
    "resource_type string, resource_name string, is_allowed boolean, request string, count long, "
    "first_at timestamp, last_at timestamp"
)
AUDIT_SCHEMA = f"{_USAGE_SCHEMA}, line string, file string, stamp string"
"""Rows of logs. `line` counts lines that are not the authorizer's."""
_SUM_SCHEMA = _USAGE_SCHEMA.removeprefix("cluster string, source string, ")
MALFORMED_COLUMNS = ("cluster", "source", "line", "count")
REQUEST_SCHEMA = f"part int, cluster string, {_SUM_SCHEMA}, line string"
"""Rows of logs as they are stored."""
REMOVAL_ORDER = ("cluster", "kind", "identity")
"""The order of `removal_candidates`."""
_PARSED = {"text", "is_whole", "is_utc", "is_other_logger", "count", "first_at", "last_at"}


def line_sums(data_frame: "DataFrame", time_zone: "str | Column | None" = None) -> "DataFrame":
    """Say of whole lines who did what to what from where, how often, first and last when.

    Resources of a kind that one request asked for are one line. Of malformed lines `line` is the
    text; those of other loggers are left out.
    Lines have the time of their broker, in `time_zone` where they name no zone, else UTC. In: what
    `parse_lines` gives. Out: its keys, and the columns of the table up to `line`.
    """
    from pyspark.sql import functions as F  # noqa: N812

    is_whole, text = F.col("is_whole"), F.col("text")
    who, verdict, operation, host, kind, name, request = (
        F.get("parts", F.lit(n)) for n in range(PART_COUNT)
    )
    zone = F.lit(time_zone) if isinstance(time_zone, str) and time_zone else time_zone
    first, last = (
        F.col(each) if zone is None or isinstance(zone, str) else utc_time(each, zone)
        for each in ("first_at", "last_at")
    )
    read = data_frame.where(~F.col("is_other_logger"))
    return read.withColumn("parts", F.when(is_whole, F.split(text, MARK))).select(
        *(each for each in data_frame.columns if each not in _PARSED),
        who.alias("principal"),
        host.alias("host"),
        kafka_enum_name(operation).alias("operation"),
        kafka_enum_name(kind).alias("resource_type"),
        name.alias("resource_name"),
        (verdict == "Allowed").alias("is_allowed"),
        request.alias("request"),
        "count",
        F.when(is_whole, first).alias("first_at"),
        F.when(is_whole, last).alias("last_at"),
        F.when(~is_whole, text).alias("line"),
    )


def usage(data_frame: "DataFrame") -> "DataFrame":
    """Return the requests to clusters from the rows of `sums`."""
    return data_frame.where("line is null").select(
        *(each.split()[0] for each in _USAGE_SCHEMA.split(", "))
    )


def usage_since(used: "DataFrame", since: datetime) -> "DataFrame":
    """Keep requests since that time, in whole days of a log."""
    from pyspark.sql import functions as F  # noqa: N812

    return used.where(F.col("last_at") >= F.lit(since))


def malformed_lines(data_frame: "DataFrame") -> "DataFrame":
    """Return the lines that are none of the authorizer's: MALFORMED_COLUMNS."""
    return data_frame.where("line is not null").select(*MALFORMED_COLUMNS)


def last_usage(used: "DataFrame") -> "DataFrame":
    """Return the last use: cluster, principal, resource, operations, count, last_at.

    A question whether a client may write to any topic is listed as "idempotent produce". Operations
    are added up as bits (decision 0088); one that this version does not know has a row of its own.
    """
    from pyspark.sql import functions as F  # noqa: N812

    name = F.when(is_any_topic(), F.lit("idempotent produce")).otherwise(F.col("resource_name"))
    bits = name_bits(OPERATIONS)
    bit = F.expr("map({})".format(", ".join(f"'{each}', {n}" for each, n in bits)))
    place = ("cluster", "principal", "resource_type", "resource_name")
    return (
        used.where("is_allowed")
        .withColumn("resource_name", name)
        .withColumn("bit", F.try_element_at(bit, F.col("operation")))
        .groupBy(*place, F.when(F.col("bit").isNull(), F.col("operation")).alias("other"))
        .agg(
            F.bit_or("bit").alias("bits"),
            F.sum("count").alias("count"),
            F.max("last_at").alias("last_at"),
        )
        .select(
            *place,
            F.concat_ws(", ", *bit_names(F.col("bits"), bits), "other").alias("operations"),
            "count",
            utc_text(F.col("last_at")).alias("last_at"),
        )
        .orderBy(*place, "operations")
    )


def need_acls(requests: "DataFrame", objects: "DataFrame") -> "DataFrame":
    """Leave out the requests of super users, which no ACL allows or denies."""
    from pyspark.sql import functions as F  # noqa: N812

    users = F.explode("super_users").alias("principal")
    found = authorizer_rules(objects).select("cluster", users)
    return requests.join(F.broadcast(found), ["cluster", "principal"], "left_anti")


def unused_acls(
    objects: "DataFrame", used: "DataFrame", sums: "DataFrame", keep: Keep = ask_once
) -> "DataFrame":
    """List the ACLs that no request of the log ever met: cluster, identity, principal, ...

    A Deny counts as used when a request met it, too; super users meet none. Of clusters whose log
    tells nothing that was allowed nothing is known: brokers leave that out as they come. `sums` are
    those of `log_sums`. `keep` gets the rows before they are in order.
    """
    from pyspark.sql import functions as F  # noqa: N812

    acls = acl_rows(objects).join(F.broadcast(_log_coverage(sums)), "cluster", "left_semi")
    asked = used.select(*REQUEST_COLUMNS).distinct()  # clients ask the same every day
    met = matching_acls(need_acls(asked, objects), acls).select("cluster", "identity").distinct()
    found = acls.join(met, ["cluster", "identity"], "left_anti")
    return keep(found).orderBy("cluster", "identity")


def unused_topics(
    objects: "DataFrame", used: "DataFrame", sums: "DataFrame", keep: Keep = ask_once
) -> "DataFrame":
    """List the topics unused.

    Who asks a topic for its producers, as a snapshot of kplan's does, needs a right to read it but
    reads nothing. In: as for `unused_acls`. Out: cluster, topic, evidence, records, bytes, groups
    (with offsets, without members).
    `evidence` is `log`: no one read or wrote it in the time of the log, nothing in it is younger,
    and no group with members has offsets in it; `unknown`, where no one read or wrote it but its
    groups or newest record were not read; or `offsets`, of clusters whose log tells nothing that
    was allowed: there is no record in it, and no group has offsets in it.
    """
    from pyspark.sql import functions as F  # noqa: N812

    asks_who_writes = F.upper(F.regexp_replace("request", "_", "")) == "DESCRIBEPRODUCERS"
    is_data = F.col("operation").isin("READ", "WRITE") & F.col("is_allowed") & ~asks_who_writes
    touched = used.where(is_data & (F.col("resource_type") == "TOPIC")).select(
        "cluster", F.col("resource_name").alias("topic")
    )
    is_own = F.col("identity").startswith("__")  # of Kafka or its tools
    topics = objects.where((F.col("kind") == "kafka_topic") & ~is_own).select(
        "cluster", F.col("identity").alias("topic")
    )
    known = (
        topics.join(touched.distinct(), ["cluster", "topic"], "left_anti")
        .join(topic_use(objects), ["cluster", "topic"], "left")
        .join(F.broadcast(_log_coverage(sums)), "cluster", "left")
    )
    newest = F.when(F.col("records") == 0, F.lit(0)).otherwise(F.col("newest_ms"))
    is_idle = (F.col("live_groups") == "") & (newest < F.unix_millis("since"))  # null is unknown
    by_offsets = F.col("since").isNull() & (F.col("records") == 0) & (F.col("groups") == "")
    evidence = (
        F.when(is_idle, F.lit("log"))
        .when(F.col("since").isNotNull() & is_idle.isNull(), F.lit("unknown"))
        .when(by_offsets, F.lit("offsets"))
    )
    found = known.withColumn("evidence", evidence).where("evidence is not null")
    columns = ("cluster", "topic", "evidence", "records", "bytes", "groups")
    return keep(found.select(*columns)).orderBy("cluster", "topic")


def removal_candidates(objects: "DataFrame", acls: "DataFrame", topics: "DataFrame") -> "DataFrame":
    """Return the rows of unused ACLs and topics, in order of cluster, kind and identity.

    Topics whose use is unknown are none of them.
    """
    from pyspark.sql import functions as F  # noqa: N812

    unused = acls.select("cluster", F.lit("kafka_acl").alias("kind"), "identity").unionByName(
        topics.where("evidence <> 'unknown'").select(
            "cluster", F.lit("kafka_topic").alias("kind"), F.col("topic").alias("identity")
        )
    )
    return objects.join(unused, [*REMOVAL_ORDER], "left_semi").orderBy(*REMOVAL_ORDER)


def log_sums(used: "DataFrame") -> "DataFrame":
    """Add up the requests of each log: cluster, source, count, first_at, last_at, since, until.

    `since` and `until` are the times of the first and the last request that was allowed; null where
    there is none.
    """
    from pyspark.sql import functions as F  # noqa: N812

    first, last = (F.when(F.col("is_allowed"), F.col(each)) for each in ("first_at", "last_at"))
    return used.groupBy("cluster", "source").agg(
        *request_sums(), F.min(first).alias("since"), F.max(last).alias("until")
    )


def log_lineage(sums: "DataFrame") -> dict[str, str]:
    """Say, for the lineage of figures, of which logs they were made; in: rows of `log_sums`."""
    from pyspark.sql import functions as F  # noqa: N812

    row = sums.agg(
        F.countDistinct("cluster", "source").alias("logs"),
        F.coalesce(F.sum("count"), F.lit(0)).alias("requests"),
        utc_text(F.min("first_at")).alias("first_at"),
        utc_text(F.max("last_at")).alias("last_at"),
    ).first()
    found = row.asDict() if row else {}
    return {
        "logs": str(found.get("logs", 0)),
        "logged_requests": str(found.get("requests", 0)),  # tables have a column `requests`
        "requests_from": str(found.get("first_at") or ""),
        "requests_to": str(found.get("last_at") or ""),
    }


def clusters_with_log(sums: "DataFrame") -> frozenset[str]:
    """Name the clusters whose log includes allowed requests; in: what `log_sums` gives."""
    return frozenset(row["cluster"] for row in _log_coverage(sums).select("cluster").collect())


def log_ends(sums: "DataFrame") -> dict[str, date]:
    """Return the day of the last allowed request of each cluster; in: what `log_sums` gives."""
    from pyspark.sql import functions as F  # noqa: N812

    end = F.to_date(F.max("until")).alias("end")
    rows = sums.where("until is not null").groupBy("cluster").agg(end).collect()
    return {row["cluster"]: row["end"] for row in rows}


def _log_coverage(sums: "DataFrame") -> "DataFrame":
    """List the clusters whose log includes allowed requests: cluster, since."""
    from pyspark.sql import functions as F  # noqa: N812

    return sums.where("since is not null").groupBy("cluster").agg(F.min("since").alias("since"))
