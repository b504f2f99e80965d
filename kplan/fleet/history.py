"""What changed since when: the runs of a fleet as spans of time in which something held.

Bitemporal: `valid_from` and `valid_to` say from which look at the cluster to which a value stood
there; `first_run` and `last_run` which looks saw it.
"""

from typing import TYPE_CHECKING

from kplan.fleet.snapshot import CLUSTER, KINDS_READ, NON_OBJECT_KINDS

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_OBJECT_COLUMNS = ("cluster", "kind", "identity")
_ATTRIBUTE_COLUMNS = (*_OBJECT_COLUMNS, "uid", "attribute")


def history(objects: "DataFrame") -> "DataFrame":
    """List the spans of every attribute of every object.

    In: rows of several runs with `run` and `at`. Out: cluster, kind, identity, uid, attribute,
    value, valid_from, valid_to (null: still so), first_run, last_run. An attribute named "" stands
    for the object itself. A run that could not read a kind of a cluster says nothing about it, so
    a broker that is down ends no span.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as F  # noqa: N812 - its customary name

    looks = _numbered_runs(objects)
    facts = _attribute_rows(objects).join(looks, ["cluster", "kind", "run"])
    alike = Window.partitionBy(*_ATTRIBUTE_COLUMNS, "value").orderBy("look")
    spans = (
        facts.withColumn("island", F.col("look") - F.row_number().over(alike))
        .groupBy(*_ATTRIBUTE_COLUMNS, "value", "island")
        .agg(
            F.min("at").alias("valid_from"),
            F.min_by("run", "look").alias("first_run"),
            F.max_by("run", "look").alias("last_run"),
            F.max("look").alias("last_look"),
        )
    )
    ends = looks.select(
        "cluster", "kind", (F.col("look") - 1).alias("last_look"), F.col("at").alias("valid_to")
    )
    return spans.join(ends, ["cluster", "kind", "last_look"], "left").select(
        *_ATTRIBUTE_COLUMNS, "value", "valid_from", "valid_to", "first_run", "last_run"
    )


def changes(before: "DataFrame", after: "DataFrame") -> "DataFrame":
    """Compare two runs attribute by attribute.

    Out: cluster, kind, identity, attribute ("" for the object itself), before, after. Kinds that
    one of the two did not read in full are left out.
    """
    from pyspark.sql import functions as F  # noqa: N812

    sides = ("before", "after")
    both = F.broadcast(_kinds_read(before).intersect(_kinds_read(after)))
    old, new = (
        _object_rows(each)
        .join(both, ["cluster", "kind"], "left_semi")
        .select(*_OBJECT_COLUMNS, F.col("attributes").alias(name))
        for each, name in zip((before, after), sides, strict=True)
    )
    was, will_be = (F.map_entries(name) for name in sides)
    none = F.create_map().cast("map<string,string>")
    held = {name: F.coalesce(_with_presence(F.col(name)), none) for name in sides}
    names = F.array_distinct(F.concat(*map(F.map_keys, sides)))
    found = {name: F.col(name)[F.col("attribute")] for name in sides}
    return (
        old.join(new, [*_OBJECT_COLUMNS], "full_outer")
        .where(~was.eqNullSafe(will_be))  # most are as they were, and need no further look
        .withColumns(held)
        .withColumn("attribute", F.explode(names))
        .select(*_OBJECT_COLUMNS, "attribute", *(each.alias(name) for name, each in found.items()))
        .where(~F.col("before").eqNullSafe(F.col("after")))
    )


def _attribute_rows(objects: "DataFrame") -> "DataFrame":
    """Turn objects into one row per attribute, and one for the object itself."""
    from pyspark.sql import functions as F  # noqa: N812

    kept = [name for name in ("run", *_OBJECT_COLUMNS, "uid") if name in objects.columns]
    facts = F.explode(_with_presence(F.col("attributes"))).alias("attribute", "value")
    return _object_rows(objects).select(*kept, facts)


def _object_rows(objects: "DataFrame") -> "DataFrame":
    """Leave out rows that tell of a cluster and are none of its objects."""
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
