"""ACLs that others cover: which they are, and new ones that need not come beside wider ones."""

from typing import TYPE_CHECKING

from kplan.fleet.access import acl_rows
from kplan.fleet.acl_pattern import OWN_NAME, name_within, pattern_reach
from kplan.fleet.dataframe import Keep, ask_once
from kplan.policy.authorizer import IMPLIED_BY, WILDCARD_HOST

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_GROUP = ("cluster", "resource_type", "permission", "by_principal")
_NEW_COLUMNS = ("new_identity", "new_value", "new_attributes")


def wider_acls(acls: "DataFrame", narrow: "DataFrame", who: "Column") -> "DataFrame":
    """Pair ACLs with others on all of their resources and hosts, whatever the operations.

    In: ACLs as `acl_rows` gives them, those that are looked for and those that look; `who` are the
    principals that one looks under, an array. Hash joins only: an ACL looks for wider ones under
    the patterns that these have. Out: cluster, identity, permission, operation, by, by_operation.
    """
    from pyspark.sql import functions as F  # noqa: N812 - heavy; its customary name

    name, reach = F.col("resource_name"), pattern_reach()
    wider = acls.select(
        *_GROUP[:-1],
        F.col("principal").alias("by_principal"),
        reach.alias("reach"),
        name_within(reach).alias("by_name"),
        F.col("identity").alias("by"),
        F.col("host").alias("by_host"),
        F.col("operation").alias("by_operation"),
    )
    # Columns of their own: Spark 3.5 does not tell those of both apart below a union.
    patterns = wider.select(*(F.col(each).alias(each) for each in (*_GROUP, "reach"))).distinct()
    is_prefix = F.col("pattern_type") == "PREFIXED"
    fits = (F.col("reach") <= F.length(name)) & ~(is_prefix & (F.col("reach") == OWN_NAME))
    looking = (
        narrow.withColumn("by_principal", F.explode(who))
        .join(patterns, [*_GROUP])
        .where(fits)
        .withColumn("by_name", name_within(F.col("reach")))
        .select(*_GROUP, "reach", "by_name", "identity", "host", "operation")
    )
    is_on_hosts = F.col("by_host").isin(WILDCARD_HOST, F.col("host"))
    return (
        looking.join(wider, [*_GROUP, "reach", "by_name"])
        .where((F.col("by") != F.col("identity")) & is_on_hosts)
        .select("cluster", "identity", "permission", "operation", "by", "by_operation")
    )


def replace_covered_acls(
    found: "DataFrame", objects: "DataFrame", compute: Keep = ask_once
) -> "DataFrame":
    """Name the widest ACL of the same principal, new or kept, in place of each that it covers.

    ACLs are narrowed one by one: of a principal with Describe and Read both would become ACLs for
    one topic, of which Read implies the other. In: what `narrow_acls` gives, and the rows of the
    run. Out: the same. `compute` gets the ACLs that others cover: few, and asked for twice.
    """
    from pyspark.sql import functions as F  # noqa: N812

    coming = acl_rows(
        found.where("new_identity is not null")
        .dropDuplicates(["cluster", "new_identity"])
        .select(
            "cluster",
            F.lit("kafka_acl").alias("kind"),
            F.col("new_identity").alias("identity"),
            F.from_json("new_attributes", "map<string,string>").alias("attributes"),
        )
    )
    goes = found.select("cluster", "identity").distinct()
    kept = acl_rows(objects).join(goes, ["cluster", "identity"], "left_anti")
    wider = wider_acls(kept.unionByName(coming), coming, F.array("principal")).where(_is_granted())
    pairs = compute(wider.select("cluster", F.col("identity").alias("new_identity"), "by"))
    covered = pairs.select("cluster", F.col("new_identity").alias("by")).distinct()
    widest = (
        pairs.join(covered, ["cluster", "by"], "left_anti")
        .groupBy("cluster", "new_identity")
        .agg(F.min("by").alias("by"))
    )
    values = found.select("cluster", *(F.col(each).alias(f"by_{each}") for each in _NEW_COLUMNS))
    values = values.withColumnRenamed("by_new_identity", "by")
    other = values.join(widest, ["cluster", "by"], "left_semi").dropDuplicates(["cluster", "by"])
    own = F.col("by").isNull()
    joined = found.join(widest, ["cluster", "new_identity"], "left").join(
        other, ["cluster", "by"], "left"
    )
    instead = {
        each: F.when(own, F.col(each)).otherwise(F.col(f"by_{each}")) for each in _NEW_COLUMNS[1:]
    }
    named = joined.withColumns({**instead, "new_identity": F.coalesce("by", "new_identity")})
    return named.select(*found.columns)


def _is_granted() -> "Column":
    """Whether one operation of an Allow grants the other."""
    from pyspark.sql import functions as F  # noqa: N812

    operation, by = F.col("operation"), F.col("by_operation")
    granted = by.isin("ALL", operation)
    for implied, others in IMPLIED_BY.items():
        granted |= (operation == implied) & by.isin(*others)
    return granted
