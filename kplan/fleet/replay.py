"""Which real requests a plan would have denied: the audit history against the ACLs as planned."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from kplan.fleet.access import (
    REQUEST_COLUMNS,
    acl_rows,
    authorizer_rules,
    requests_on_acls,
    verdicts,
)
from kplan.fleet.dataframe import create_dataframe
from kplan.fleet.snapshot import OBJECT_SCHEMA, object_row
from kplan.kinds.acl import Acl, AclKind
from kplan.model.plan import Change

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_ACL_KIND = AclKind()


def replay_requests(
    used: "DataFrame", objects: "DataFrame", data_frame: "DataFrame", coming: "DataFrame"
) -> "DataFrame":
    """Weigh every request of the history with the ACLs of now and with those of the plan.

    In: usage as `audit.usage` gives it, the rows of a run, the ACLs that go (cluster, identity) and
    come (rows). Out: REQUEST, effect (`denied` or `allowed`: newly so), count, last_at.
    """
    from pyspark.sql import functions as F  # noqa: N812 - heavy; its customary name

    goes = F.broadcast(data_frame.withColumn("goes", F.expr("true")))
    now = acl_rows(objects).join(goes, ["cluster", "identity"], "left")
    acls = now.select(
        "*", F.expr("true").alias("was"), F.col("goes").isNull().alias("will_be")
    ).unionByName(
        acl_rows(coming).select("*", F.expr("false").alias("was"), F.expr("true").alias("will_be")),
        allowMissingColumns=True,
    )
    touched = data_frame.select("cluster").unionByName(coming.select("cluster")).distinct()
    asked = (
        used.join(F.broadcast(touched), "cluster", "left_semi")
        .groupBy(*REQUEST_COLUMNS)
        .agg(F.sum("count").alias("count"), F.max("last_at").alias("last_at"))
    )
    concerned = requests_on_acls(asked, acls.where("was <> will_be"))
    weighed = verdicts(concerned, acls, authorizer_rules(objects), ("was", "will_be"))
    effect = F.when(F.col("was"), F.lit("denied")).otherwise(F.lit("allowed"))
    at = F.date_format("last_at", "yyyy-MM-dd'T'HH:mm:ss'Z'")
    return (
        weighed.where("was <> will_be")
        .select(effect.alias("effect"), *REQUEST_COLUMNS, "count", at.alias("last_at"))
        .orderBy(F.desc("effect"), F.desc("count"), *REQUEST_COLUMNS)
    )


def acl_changes(
    spark: "SparkSession", plans: Mapping[str, Sequence[Change]]
) -> "tuple[DataFrame, DataFrame]":
    """Return the ACLs that plans remove (cluster, identity) and add (rows), by cluster.

    A replaced ACL is in both.
    """
    acls = [
        (cluster, each)
        for cluster, changes in sorted(plans.items())
        for each in changes
        if each.kind == _ACL_KIND.name and each.touches_cluster
    ]
    replaced = [(c, each.before) for c, each in acls if isinstance(each.before, Acl)]
    added = [(c, each.after) for c, each in acls if isinstance(each.after, Acl)]
    gone = [(cluster, str(_ACL_KIND.identify(value))) for cluster, value in replaced]
    coming = [tuple(object_row(cluster, _ACL_KIND, value)) for cluster, value in added]
    return (
        create_dataframe(spark, gone, "cluster string, identity string"),
        create_dataframe(spark, coming, OBJECT_SCHEMA),
    )
