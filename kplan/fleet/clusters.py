"""The clusters that rows of runs are of."""

from typing import TYPE_CHECKING

from kplan.fleet.snapshot import CLUSTER

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_MAX_CLUSTERS = 10_000
"""Names of clusters that are brought over: a fleet has hundreds."""


def cluster_names(objects: "DataFrame") -> set[str]:
    """Name the clusters that runs have, read or not; in: rows of runs."""
    from pyspark.sql import functions as F  # noqa: N812 - heavy; its customary name

    names = objects.where(F.col("kind") == CLUSTER).select("cluster").distinct()
    return {row["cluster"] for row in names.limit(_MAX_CLUSTERS).collect()}


def cluster_changes(before: "DataFrame", after: "DataFrame") -> "DataFrame":
    """List the clusters that only one of two runs has, as `inventory.changes` lists objects.

    A cluster that a run has and could not read is in both. In: rows of the runs. Out: cluster, kind
    (`cluster`), identity (its id, "" if it was not read), change (`created` or `deleted`),
    attributes.
    """
    from pyspark.sql import functions as F  # noqa: N812

    old, new = (
        each.where(F.col("kind") == CLUSTER).select("cluster", "kind", "identity")
        for each in (before, after)
    )
    created, deleted = (
        own.join(F.broadcast(other), "cluster", "left_anti").select(
            "*", F.lit(change).alias("change"), F.lit("{}").alias("attributes")
        )
        for own, other, change in ((new, old, "created"), (old, new, "deleted"))
    )
    return created.unionByName(deleted)
