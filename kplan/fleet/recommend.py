"""Least privilege from usage: which ACLs of a fleet can go or be narrower, and the evidence."""

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

from kplan.cluster.request import AclBinding
from kplan.fleet.access import (
    REQUEST_COLUMNS,
    acl_rows,
    authorizer_rules,
    matching_acls,
    request_sums,
)
from kplan.fleet.dataframe import Keep, arrow_table, ask_once, utc_text
from kplan.fleet.logs.requests import need_acls
from kplan.fleet.replay import is_any_topic, is_for_all_topics
from kplan.fleet.snapshot import Row, object_row
from kplan.kinds.acl import AclKind, acl_from_binding
from kplan.model.dataclass import dataclass
from kplan.policy.authorizer import WILDCARD_HOST, WILDCARD_PRINCIPAL, WILDCARD_RESOURCE
from kplan.policy.least_privilege import LITERAL, MAX_NAMES, AclUse, narrow_acl

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_ACL_KIND = AclKind()
_PLACE = ("cluster", "identity")
_BINDING_COLUMNS = (
    *("resource_type", "resource_name", "pattern_type"),
    *("principal", "host", "operation", "permission"),
)
_EVIDENCE = ("requests", "first_at", "last_at", "days_watched")
_NEW_COLUMNS = ("new_identity", "new_value", "new_attributes")
NEW_ACL_SCHEMA = (
    "cluster string, identity string, requests long, first_at string, last_at string, "
    "days_watched long, new_identity string, new_value string, new_attributes string"
)
"""One row for each ACL that takes the place of `identity`, or one without any."""
CONFIDENCE_DAYS = {"high": 90, "medium": 30}
"""Days of logs from which on the confidence in a recommendation is so."""
MAX_SILENCE = timedelta(days=7)
"""How long before a run a log may have ended: ACLs may have been used since."""
REMOVE, NARROW = "remove", "narrow"
ADVICE_ORDER = ("cluster", "is_new", "identity")
"""The order of `advised_acls` in which one cluster comes after another."""


@dataclass(frozen=True, slots=True)
class RecommendRequest:
    """What to recommend: nothing about ACLs that were watched for fewer days than `window_days`.

    `day` is that of the run. With `by_host` ACLs for any host are narrowed to the addresses that
    were used.
    """

    window_days: int
    day: date
    by_host: bool = False

    @property
    def last_end(self) -> date:
        """The day before which a log that has ended says too little of the run."""
        return self.day - MAX_SILENCE

    @property
    def first_day(self) -> date:
        """The first day that counts as watched: clients ask on half of all days at least."""
        return self.day - timedelta(days=2 * max(self.window_days, *CONFIDENCE_DAYS.values()))


def acl_usage(
    objects: "DataFrame",
    used: "DataFrame",
    days: "DataFrame",
    seen: "DataFrame",
    request: RecommendRequest,
) -> "DataFrame":
    """Return what each ACL was used for that may be wider than its use, for `narrow_acls`.

    In: the rows of a run, usage, what `watched_days` gives of them, and what `reads.first_seen`
    gives. A Deny is always kept, and so are all ACLs of other clusters than those of `days`, and
    the Creates and Deletes for topics of who used that of the cluster: the log has no topics then.
    """
    from pyspark.sql import functions as F  # noqa: N812 - heavy; its customary name

    clusters = days.select("cluster")
    acls = acl_rows(objects).where("permission = 'ALLOW'")
    acls = acls.join(F.broadcast(clusters), "cluster", "left_semi")
    allowed = used.where("is_allowed").join(F.broadcast(clusters), "cluster", "left_semi")
    uses = _acl_uses(allowed, objects, acls, request)
    watched = (
        acls.join(uses, [*_PLACE], "left")
        .join(seen, [*_PLACE], "left")
        .join(F.broadcast(days), "cluster")
        .withColumn("days_watched", _days_watched())
        .where((F.col("days_watched") >= request.window_days) & ~_is_narrowest(request))
        .where(~_is_second_of(F.col("managers")))
    )
    return watched.select(
        *_PLACE,
        *_BINDING_COLUMNS,
        F.coalesce("requests", F.lit(0)).cast("long").alias("requests"),
        *(_time_text(F.col(each)).alias(each) for each in ("first_at", "last_at")),
        "days_watched",
        F.to_json("uses").alias("uses"),
    )


def watched_days(objects: "DataFrame", used: "DataFrame", request: RecommendRequest) -> "DataFrame":
    """Return the days on which the log of a cluster has allowed requests.

    Clusters that allow everyone what has no ACL, or may, are left out: less ACLs would open it. So
    are those whose log has ended long before the run, and days of another time. Out:
    cluster, first_day, days (a `1` for each of them, and a `0` for each day between), managers (who
    used the Create or Delete of the cluster for topics: operation and principal). Spark looks
    through text in no time, but through arrays with an object for each of their elements.
    """
    from pyspark.sql import functions as F  # noqa: N812

    closed = authorizer_rules(objects).where("not allow_everyone").select("cluster")
    day = F.to_date("first_at")
    is_near = day >= F.lit(request.first_day)
    found = F.sort_array(F.collect_set(F.when(is_near, day))).alias("found")
    who = F.concat_ws(" ", "operation", "principal")
    managers = F.collect_set(F.when(is_for_all_topics(), who)).alias("managers")
    days = (
        used.where("is_allowed")
        .groupBy("cluster")
        .agg(found, managers, F.to_date(F.max("last_at")).alias("end"))
        .where(F.col("end") >= F.lit(request.last_end))
    )
    first = F.get("found", F.lit(0))
    marks = F.aggregate(
        "found",
        F.lit(""),
        lambda text, day: F.concat(
            F.call_function("rpad", text, F.date_diff(day, first), F.lit("0")), F.lit("1")
        ),
    )
    return days.join(F.broadcast(closed), "cluster", "left_semi").select(
        "cluster", first.alias("first_day"), marks.alias("days"), "managers"
    )


def days_of_window(days: "DataFrame", reads: "DataFrame", window_days: int) -> "DataFrame":
    """Keep the clusters of which an ACL may have been watched for `window_days`.

    Of others `acl_usage` has none, whatever was requested: their logs, or their runs, do not go
    back so far. In: what `watched_days` and `reads.read_rows` give.
    """
    from pyspark.sql import functions as F  # noqa: N812

    first = reads.groupBy("cluster").agg(F.to_date(F.to_timestamp(F.min("at"))).alias("day"))
    known = days.join(F.broadcast(first), "cluster", "left")
    return known.where(_days_watched() >= window_days).select(*days.columns)


def narrow_acls(found: "DataFrame", request: RecommendRequest) -> "DataFrame":
    """Return what should take the place of each ACL that is wider than its use: NEW_ACL_SCHEMA.

    In: what `acl_usage` gives.
    """
    by_host = request.by_host

    def narrower(batches: Iterable[Any]) -> Iterator[Any]:  # on the executor
        for batch in batches:
            yield _removal_rows(batch.filter(batch["uses"].is_null()))
            rows = batch.filter(batch["uses"].is_valid()).to_pylist()
            made = [one for row in rows for one in _new_rows(row, by_host=by_host)]
            yield from arrow_table(made, NEW_ACL_SCHEMA).to_batches()

    return found.mapInArrow(narrower, NEW_ACL_SCHEMA)


def recommendation_table(
    found: "DataFrame", objects: "DataFrame", keep: Keep = ask_once
) -> "DataFrame":
    """List the recommendations, one for each ACL; `keep` gets them before they are in order.

    In: what `narrow_acls` gives. Out: cluster, action (`remove` or `narrow`), identity, instead
    (the new ACLs), requests, first_at, last_at, days_watched, confidence.
    """
    from pyspark.sql import functions as F  # noqa: N812

    confidence = F.lit("low")
    for name, days in sorted(CONFIDENCE_DAYS.items(), key=lambda each: each[1]):
        confidence = F.when(F.col("days_watched") >= days, F.lit(name)).otherwise(confidence)
    new = F.when(F.col("is_there").isNull(), F.col("new_identity"))
    narrowed = (
        _with_existing(found, objects)
        .where("new_identity is not null")
        .groupBy(*_PLACE)
        .agg(
            F.concat_ws(", ", F.sort_array(F.collect_set("new_identity"))).alias("instead"),
            F.count(new).alias("new"),
            *(F.first(each).alias(each) for each in _EVIDENCE),
        )
    )
    # Most are one row without a new ACL, and need not be sorted to find those that are alike.
    gone = found.where("new_identity is null").select(
        *_PLACE, F.lit("").alias("instead"), F.lit(0).alias("new"), *_EVIDENCE
    )
    action = F.when(F.col("new") > 0, F.lit(NARROW)).otherwise(F.lit(REMOVE))
    table = narrowed.unionByName(gone).select(
        *("cluster", action.alias("action"), "identity", "instead"),
        *_EVIDENCE,
        confidence.alias("confidence"),
    )
    return keep(table).orderBy("cluster", F.desc("action"), "identity")


def recommendation_counts(table: "DataFrame") -> "DataFrame":
    """Count what `recommendation_table` lists: cluster, action, confidence, acls, requests."""
    from pyspark.sql import functions as F  # noqa: N812

    place = ("cluster", "action", "confidence")
    return (
        table.groupBy(*place)
        .agg(F.count(F.lit(1)).alias("acls"), F.sum("requests").alias("requests"))
        .orderBy(*place)
    )


def new_acl_rows(found: "DataFrame", objects: "DataFrame") -> "DataFrame":
    """Return the ACLs to create as rows of a run, without those that exist already."""
    from pyspark.sql import functions as F  # noqa: N812

    return (
        _with_existing(found, objects)
        .where("is_there is null and new_identity is not null")
        .select(
            "cluster",
            F.lit(_ACL_KIND.name).alias("kind"),
            F.col("new_identity").alias("identity"),
            F.lit("").alias("uid"),
            F.col("new_value").alias("value"),
            F.from_json("new_attributes", "map<string,string>").alias("attributes"),
        )
        .dropDuplicates(["cluster", "identity"])
    )


def advised_acls(table: "DataFrame", new: "DataFrame", objects: "DataFrame") -> "DataFrame":
    """Return the ACLs that go or are narrower, with their evidence, and those that come.

    In: what `recommendation_table` and `new_acl_rows` give. Out: cluster, is_new, identity, value,
    requests, first_at, last_at, days_watched, confidence.
    """
    held = objects.where(objects["kind"] == _ACL_KIND.name).select(*_PLACE, "value")
    evidence = table.select(*_PLACE, *_EVIDENCE, "confidence")
    return (
        held.join(evidence, [*_PLACE])
        .selectExpr("*", "false AS is_new")
        .unionByName(new.selectExpr(*_PLACE, "value", "true AS is_new"), allowMissingColumns=True)
    )


def _with_existing(found: "DataFrame", objects: "DataFrame") -> "DataFrame":
    """Mark new ACLs that the cluster has already, and keeps: they need not be created."""
    from pyspark.sql import functions as F  # noqa: N812

    goes = found.select(*_PLACE).distinct()
    kept = (
        objects.where(F.col("kind") == _ACL_KIND.name)
        .select(*_PLACE)
        .join(goes, [*_PLACE], "left_anti")
        .select(
            "cluster", F.col("identity").alias("new_identity"), F.expr("true").alias("is_there")
        )
    )
    return found.join(kept, ["cluster", "new_identity"], "left")


def _days_watched() -> "Column":
    """Count the days of the log after the day of the run since which the ACL is known.

    Requests that it fits do not make it older: what allowed them then may have been another ACL.
    """
    from pyspark.sql import functions as F  # noqa: N812

    place = F.greatest(F.date_diff(F.date_add("day", 1), "first_day"), F.lit(0)) + 1
    found = F.replace(F.substr("days", place), F.lit("0"), F.lit(""))
    return F.when(F.col("day").isNull(), F.lit(0)).otherwise(F.length(found)).cast("long")


def _is_second_of(managers: "Column") -> "Column":
    """Whether an ACL is for what the cluster was asked first, for one of these principals."""
    from pyspark.sql import functions as F  # noqa: N812

    operation = F.col("operation")
    own = F.array_contains(managers, F.concat_ws(" ", operation, "principal"))
    is_used = F.exists(managers, lambda each: F.startswith(each, operation))
    is_everyone = (F.col("principal") == WILDCARD_PRINCIPAL) & is_used
    return (F.col("resource_type") == "TOPIC") & (own | is_everyone)


def _is_narrowest(request: RecommendRequest) -> "Column":
    """Whether `narrow_acl` would return the ACL itself: most are such, and need not be looked at.

    It is for one resource, principal and operation, and was used for this, which implies the rest.
    """
    from pyspark.sql import functions as F  # noqa: N812

    is_one = (F.col("pattern_type") == LITERAL) & (F.col("resource_name") != WILDCARD_RESOURCE)
    is_one &= F.col("principal") != WILDCARD_PRINCIPAL
    if request.by_host:
        is_one &= F.col("host") != WILDCARD_HOST
    operation = F.col("operation")
    is_used = F.exists(
        "uses", lambda each: (each["operation"] == operation) & ~each["is_any_topic"]
    )
    return is_one & (operation != "ALL") & F.coalesce(is_used, F.expr("false"))


def _acl_uses(
    allowed: "DataFrame", objects: "DataFrame", acls: "DataFrame", request: RecommendRequest
) -> "DataFrame":
    """Add up what ACLs were used for: cluster, identity, requests, first_at, last_at, uses."""
    from pyspark.sql import functions as F  # noqa: N812

    asked = (
        allowed.withColumn("is_any_topic", is_any_topic())
        .groupBy(*REQUEST_COLUMNS, "is_any_topic")
        .agg(*request_sums())
    )
    more = ("is_any_topic", "count", "first_at", "last_at")
    # What is not narrowed is not told apart.
    is_everyone = F.col("acl_principal") == WILDCARD_PRINCIPAL
    is_by_host = (F.col("acl_host") == WILDCARD_HOST) & F.lit(request.by_host)
    who = F.when(is_everyone, F.col("principal")).otherwise(F.lit(""))
    where = F.when(is_by_host, F.col("host")).otherwise(F.lit(""))
    scope = [*_PLACE, "operation", "principal", "host", "is_any_topic"]
    met = matching_acls(need_acls(asked, objects), acls, more).withColumns(
        {"principal": who, "host": where}
    )
    name = F.when(~F.col("is_any_topic"), F.col("resource_name"))
    names = F.sort_array(F.collect_set(name))
    few = F.when(F.size(names) <= MAX_NAMES, names).otherwise(
        F.concat(F.slice(names, 1, MAX_NAMES), F.slice(names, -1, 1))
    )
    by_operation = met.groupBy(*scope).agg(few.alias("names"), *request_sums())
    use = F.struct("operation", "principal", "host", "names", "is_any_topic")
    return (
        by_operation.groupBy(*_PLACE)
        .agg(F.collect_list(use).alias("uses"), *request_sums())
        .withColumnRenamed("count", "requests")
    )


def _time_text(at: "Column") -> "Column":
    from pyspark.sql import functions as F  # noqa: N812

    return F.coalesce(utc_text(at), F.lit(""))


def _removal_rows(unused: Any) -> Any:  # noqa: ANN401 - batches of Arrow
    """Return the rows of ACLs that were not used: most are such, and are no Python objects."""
    import pyarrow as pa  # noqa: PLC0415 - heavy

    kept = [*_PLACE, *_EVIDENCE]
    nothing = pa.nulls(unused.num_rows, pa.string())
    return pa.RecordBatch.from_arrays(
        [*(unused[name] for name in kept), *(nothing for _ in _NEW_COLUMNS)],
        names=[*kept, *_NEW_COLUMNS],
    )


def _new_rows(row: Mapping[str, Any], *, by_host: bool) -> Iterator[dict[str, Any]]:
    """Return the rows of one ACL that was used; none where it stays as it is."""
    kept = {name: row[name] for name in (*_PLACE, *_EVIDENCE)}
    uses = [_acl_use(each) for each in json.loads(row["uses"])]
    acl = AclBinding(**{name: row[name] for name in _BINDING_COLUMNS})
    narrower = narrow_acl(acl, uses, by_host=by_host)
    for each in () if narrower == (acl,) else narrower:
        made: Row = object_row(row["cluster"], _ACL_KIND, acl_from_binding(each))
        yield {
            **kept,
            "new_identity": made.identity,
            "new_value": made.value,
            "new_attributes": json.dumps(dict(made.attributes)),
        }


def _acl_use(values: Mapping[str, Any]) -> AclUse:
    return AclUse(
        values["operation"],
        values["principal"],
        values["host"],
        tuple(values.get("names") or ()),
        values["is_any_topic"],
    )
