"""Patterns of ACLs in Spark: which resources they are on, and how a resource finds its own.

A reach tells names apart without a name: rows that are joined by reach and name find prefixes, too.
"""

from typing import TYPE_CHECKING

from kplan.policy.authorizer import WILDCARD_RESOURCE

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

OWN_NAME, EVERY_NAME = -1, -2
"""Reaches of patterns that are no prefixes: of one name, and of all names."""


def pattern_reach() -> "Column":
    """Return which names an ACL is about: the length of its prefix, or one of the constants."""
    from pyspark.sql import functions as F  # noqa: N812

    name = F.col("resource_name")
    return (
        F.when(F.col("pattern_type") == "PREFIXED", F.length(name))
        .when(name == WILDCARD_RESOURCE, F.lit(EVERY_NAME))
        .otherwise(F.lit(OWN_NAME))
    )


def name_within(reach: "Column") -> "Column":
    """Return what an ACL of this reach has as its name, if it is about this `resource_name`."""
    from pyspark.sql import functions as F  # noqa: N812

    name = F.col("resource_name")
    whole = F.when(reach == EVERY_NAME, F.lit(WILDCARD_RESOURCE)).otherwise(name)
    return F.when(reach >= 0, F.substr(name, F.lit(1), reach)).otherwise(whole)


def expand_prefix_keys(resources: "DataFrame", acls: "DataFrame", more: "Column") -> "DataFrame":
    """Repeat every resource under each `key` that an ACL on it may be under.

    In: cluster, resource_type, resource_name and what else there is; `more` are keys beside those
    of its prefixes, of which only the lengths that the ACLs of its cluster have are inspected.
    """
    from pyspark.sql import functions as F  # noqa: N812

    place = ["cluster", "resource_type"]
    prefixed = acls.where(F.col("pattern_type") == "PREFIXED")
    lengths = prefixed.groupBy(*place).agg(
        F.collect_set(F.length("resource_name")).alias("lengths")
    )
    name = F.col("resource_name")
    fitting = F.filter(
        F.coalesce("lengths", F.array().cast("array<int>")), lambda n: n <= F.length(name)
    )
    prefixes = F.transform(fitting, lambda n: pattern_key("PREFIXED", F.substr(name, F.lit(1), n)))
    keys = F.array_distinct(F.concat(more, prefixes))
    found = resources.join(F.broadcast(lengths), place, "left")
    return found.withColumn("key", F.explode(keys)).drop("lengths")


def pattern_key(pattern: str, name: "Column") -> "Column":
    """Write a pattern as `PREFIXED:orders.`."""
    from pyspark.sql import functions as F  # noqa: N812

    return F.concat(F.lit(f"{pattern}:"), name)


def acl_key() -> "Column":
    """Return the column `key` of an ACL: the pattern that it has itself."""
    from pyspark.sql import functions as F  # noqa: N812

    return F.concat_ws(":", "pattern_type", "resource_name").alias("key")
