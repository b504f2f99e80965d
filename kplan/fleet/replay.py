"""Which real requests a plan would have denied: the audit history against the ACLs as planned."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from kplan.fleet.access import REQUEST, acls_of, rules_of, standing_on, verdicts
from kplan.fleet.local import local
from kplan.fleet.rows import OBJECTS, value_row
from kplan.kinds.acl import Acl, AclKind
from kplan.model.plan import Change

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_ACLS = AclKind()


def replayed(
    used: "DataFrame", objects: "DataFrame", gone: "DataFrame", coming: "DataFrame"
) -> "DataFrame":
    """Weigh every request of the history with the ACLs of now and with those of the plan.

    In: usage as `audit.usage` gives it, the rows of a run, the ACLs that go (cluster, identity) and
    come (rows). Out: REQUEST, effect (`denied` or `allowed`: newly so), count, last_at.
    """
    from pyspark.sql import functions as F  # noqa: N812 - heavy; its customary name

    goes = F.broadcast(gone.withColumn("goes", F.expr("true")))
    now = acls_of(objects).join(goes, ["cluster", "identity"], "left")
    acls = now.select(
        "*", F.expr("true").alias("was"), F.col("goes").isNull().alias("will_be")
    ).unionByName(
        acls_of(coming).select("*", F.expr("false").alias("was"), F.expr("true").alias("will_be")),
        allowMissingColumns=True,
    )
    touched = gone.select("cluster").unionByName(coming.select("cluster")).distinct()
    asked = (
        used.join(F.broadcast(touched), "cluster", "left_semi")
        .groupBy(*REQUEST)
        .agg(F.sum("count").alias("count"), F.max("last_at").alias("last_at"))
    )
    concerned = standing_on(asked, acls.where("was <> will_be"))
    weighed = verdicts(concerned, acls, rules_of(objects), ("was", "will_be"))
    effect = F.when(F.col("was"), F.lit("denied")).otherwise(F.lit("allowed"))
    at = F.date_format("last_at", "yyyy-MM-dd'T'HH:mm:ss'Z'")
    return (
        weighed.where("was <> will_be")
        .select(effect.alias("effect"), *REQUEST, "count", at.alias("last_at"))
        .orderBy(F.desc("effect"), F.desc("count"), *REQUEST)
    )


def planned_acls(
    spark: "SparkSession", plans: Mapping[str, Sequence[Change]]
) -> "tuple[DataFrame, DataFrame]":
    """Give what plans, by cluster, take away (cluster, identity) and bring (rows).

    A replaced ACL is in both.
    """
    acls = [
        (cluster, each)
        for cluster, changes in sorted(plans.items())
        for each in changes
        if each.kind == _ACLS.name and each.touches_cluster
    ]
    replaced = [(c, each.before) for c, each in acls if isinstance(each.before, Acl)]
    added = [(c, each.after) for c, each in acls if isinstance(each.after, Acl)]
    gone = [(cluster, str(_ACLS.identify(value))) for cluster, value in replaced]
    coming = [tuple(value_row(cluster, _ACLS, value)) for cluster, value in added]
    return (
        local(spark, gone, "cluster string, identity string"),
        local(spark, coming, OBJECTS),
    )
