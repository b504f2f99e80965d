"""What changed between the runs of a fleet."""

from typing import TYPE_CHECKING

from kplan.fleet.snapshot import CLUSTER, HIDDEN, NON_OBJECT_KINDS, kinds_read

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

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


def cluster_changes(before: "DataFrame", after: "DataFrame") -> "DataFrame":
    """List the clusters that only one of two runs has, as `changes` lists objects.

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

    seen = objects.where(F.col("kind") == CLUSTER).select(
        "cluster", *more, kinds_read().alias("kinds")
    )
    return seen.select("cluster", *more, F.explode("kinds").alias("kind")).distinct()
