"""Which real requests a plan would have denied: the audit history against the ACLs as planned."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kplan.fleet.access import (
    REQUEST_COLUMNS,
    acl_rows,
    authorizer_rules,
    decisions,
    requests_on_acls,
)
from kplan.fleet.dataframe import Keep, ask_once, create_dataframe, utc_text
from kplan.fleet.snapshot import OBJECT_SCHEMA, object_row
from kplan.kinds.acl import Acl, AclKind
from kplan.model.plan import Change
from kplan.policy.authorizer import (
    IMPLIED_BY,
    WILDCARD_HOST,
    WILDCARD_PRINCIPAL,
    WILDCARD_RESOURCE,
)

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

_ACL_KIND = AclKind()
_SECOND_QUESTIONS = (
    ("IDEMPOTENT_WRITE", ("INITPRODUCERID",), ("TOPIC", "WRITE")),
    ("CREATE", ("CREATETOPICS", "METADATA", "STREAMSGROUPHEARTBEAT"), ("TOPIC", "CREATE")),
    ("DELETE", ("DELETETOPICS",), ("TOPIC", "DELETE")),
    ("DESCRIBE", ("LISTGROUPS",), ("GROUP", "DESCRIBE")),
)
"""What Kafka asks of the cluster first: operation, requests, and what it asks of resources of a
type where that is denied (KafkaApis, ControllerApis; KIP-679)."""
_SECOND_NUMBERS = {
    each: n for n, each in enumerate(sorted({each for *_, each in _SECOND_QUESTIONS}))
}
"""Of texts Spark finds the largest by sorting all rows, of numbers by hashing."""


def replay_requests(
    used: "DataFrame",
    objects: "DataFrame",
    gone: "DataFrame",
    coming: "DataFrame",
    keep: Keep = ask_once,
) -> "DataFrame":
    """Weigh every request of the history with the ACLs of now and with those of the plan.

    In: usage as `audit.usage` gives it, the rows of a run, the ACLs that go (rows where they are
    those of plans, and few; else cluster and identity) and come (rows). Out: REQUEST, effect
    (`denied` or `allowed`: newly so), count, last_at. What the log has only as denied is not newly
    denied, though an ACL of now allows it. `keep` gets the ACLs, which are looked at several times.
    """
    from pyspark.sql import functions as F  # noqa: N812 - heavy; its customary name

    goes = gone.select("cluster", "identity", F.expr("true").alias("goes"))
    now = acl_rows(objects).join(goes, ["cluster", "identity"], "left")
    acls = keep(
        now.select(
            "*", F.expr("true").alias("was"), F.col("goes").isNull().alias("will_be")
        ).unionByName(
            acl_rows(coming).selectExpr("*", "false as was", "true as will_be"),
            allowMissingColumns=True,
        )
    )
    touched = gone.select("cluster").unionByName(coming.select("cluster")).distinct()
    asked = used.join(F.broadcast(touched), "cluster", "left_semi")
    if "attributes" in gone.columns:
        concerned = _requests_on_few(asked, acl_rows(gone.unionByName(coming)))
    else:
        concerned = _add_up(asked)
    weighed = _allow_second_questions(
        decisions(concerned, acls, authorizer_rules(objects), ("was", "will_be")), acls
    )
    effect = F.when(F.col("was"), F.lit("denied")).otherwise(F.lit("allowed"))
    is_other = F.col("was") != F.col("will_be")
    return (
        weighed.where(is_other & (F.col("is_allowed") | ~F.col("was")))
        .select(
            effect.alias("effect"),
            *REQUEST_COLUMNS,
            "count",
            utc_text(F.col("last_at")).alias("last_at"),
        )
        .orderBy(F.desc("effect"), F.desc("count"), *REQUEST_COLUMNS)
    )


def _requests_on_few(used: "DataFrame", acls: "DataFrame") -> "DataFrame":
    """Add up the requests on the resources of few ACLs: no others are shuffled.

    A request on several of them has all its rows under each key, and so the same sums.
    """
    from pyspark.sql import functions as F  # noqa: N812

    return _add_up(requests_on_acls(used, F.broadcast(acls)), "key").drop("key")


def _add_up(used: "DataFrame", *more: str) -> "DataFrame":
    from pyspark.sql import functions as F  # noqa: N812

    second = _second_question()
    return used.groupBy(*REQUEST_COLUMNS, *more).agg(
        F.sum("count").alias("count"),
        F.max("last_at").alias("last_at"),
        F.when(F.bool_and(second.isNotNull()), F.max(second)).alias("second"),
        F.bool_or("is_allowed").alias("is_allowed"),
    )


class ReplaySummary(NamedTuple):
    """Sums of a replay: requests newly denied and allowed, and those compared since a day."""

    denied: int
    allowed: int
    requests: int
    since: str
    principals: tuple[tuple[str, int], ...]


def replay_summary(replayed: "DataFrame", used: "DataFrame") -> ReplaySummary:
    """Add up a replay; in: what `replay_requests` gives, and the usage that it is of."""
    from pyspark.sql import functions as F  # noqa: N812

    sums = replayed.groupBy("effect", "principal").agg(F.sum("count").alias("count")).collect()
    denied = {each["principal"]: each["count"] for each in sums if each["effect"] == "denied"}
    day = F.date_format(F.min("first_at"), "yyyy-MM-dd")
    (row,) = used.agg(F.sum("count").alias("count"), day.alias("since")).collect()
    return ReplaySummary(
        sum(denied.values()),
        sum(each["count"] for each in sums if each["effect"] == "allowed"),
        row["count"] or 0,
        row["since"] or "",
        tuple(sorted(denied.items(), key=lambda each: (-each[1], each[0]))),
    )


def replay_proof(found: "DataFrame", replayed: "DataFrame", used: "DataFrame") -> "DataFrame":
    """Say what the recommendation would have done to the requests of the logs.

    In: what `narrow_acls` gives, the replay of requests with it, usage. Out: cluster, requests
    (allowed ones that were replayed), denied and allowed (those whose answer would be another).
    """
    from pyspark.sql import functions as F  # noqa: N812

    concerned = found.select("cluster").distinct()
    effects = replayed.groupBy("cluster").agg(
        *(
            F.sum(F.when(F.col("effect") == each, F.col("count"))).alias(each)
            for each in ("denied", "allowed")
        )
    )
    counts = used.where("is_allowed").groupBy("cluster").agg(F.sum("count").alias("requests"))
    none = F.lit(0)
    return (
        concerned.join(counts, "cluster", "left")
        .join(effects, "cluster", "left")
        .select(
            "cluster",
            *(F.coalesce(each, none).alias(each) for each in ("requests", "denied", "allowed")),
        )
        .orderBy("cluster")
    )


def merge_names(logs: "DataFrame", names: Mapping[str, Sequence[str]]) -> "DataFrame":
    """Return the requests of clusters under one name each; in: all their names by this one.

    A log that several names of a cluster have read counts once, as the one that has read most.
    """
    from pyspark.sql import functions as F  # noqa: N812

    used = logs.where(logs["cluster"].isin(*(each for own in names.values() for each in own)))
    if all(len(own) == 1 for own in names.values()):
        return used
    first_name = F.coalesce(
        *(F.when(F.col("cluster").isin(*own), F.lit(first)) for first, own in names.items())
    )
    read_most = (
        used.groupBy("cluster", "source")
        .agg(F.sum("count").alias("count"))
        .groupBy(first_name.alias("name"), "source")
        .agg(F.max(F.struct("count", "cluster"))["cluster"].alias("cluster"))
    )
    counted = used.join(F.broadcast(read_most), ["cluster", "source"])
    return counted.withColumn("cluster", F.col("name")).drop("name")


def is_any_topic() -> "Column":
    """Whether a request asks for Write on any topic: InitProducerId of an idempotent producer.

    Kafka logs it as a topic with the name `hardcode` (KIP-679, Authorizer.authorizeByResourceType).
    """
    from pyspark.sql import functions as F  # noqa: N812

    name = (F.col("resource_type") == "TOPIC") & (F.col("resource_name") == "hardcode")
    asks = _is_request("INITPRODUCERID")
    # Few have the name: of the others Spark does not look at the request, which takes longest.
    return F.coalesce(name & (F.col("operation") == "WRITE") & asks, F.expr("false"))


def is_for_all_topics() -> "Column":
    """Whether a request asks the cluster for Create or Delete, and else each of its topics."""
    creation, deletion = (
        _is_first_question(operation, requests)
        for operation, requests, other in _SECOND_QUESTIONS
        if other == ("TOPIC", operation)
    )
    return creation | deletion


def _is_first_question(operation: str, requests: Sequence[str]) -> "Column":
    from pyspark.sql import functions as F  # noqa: N812

    is_asked = (F.col("resource_type") == "CLUSTER") & (F.col("operation") == operation)
    return F.coalesce(is_asked & _is_request(*requests), F.expr("false"))


def _is_request(*names: str) -> "Column":
    """Whether a request has one of the names, in capitals; logs have words, or underscores."""
    from pyspark.sql import functions as F  # noqa: N812

    return F.upper(F.translate("request", "_", "")).isin(*names)


def _second_question() -> "Column":
    """Return the number of what is enough on any one resource; null where nothing else is."""
    from pyspark.sql import functions as F  # noqa: N812

    found = F.when(is_any_topic(), F.lit(_SECOND_NUMBERS["TOPIC", "WRITE"]))
    for operation, requests, other in _SECOND_QUESTIONS:
        is_asked = _is_first_question(operation, requests)
        found = found.when(is_asked, F.lit(_SECOND_NUMBERS[other]))
    return found


def _allow_second_questions(weighed: "DataFrame", acls: "DataFrame") -> "DataFrame":
    """Allow what Kafka asks of other resources, too, where some of these is allowed in the end.

    The log does not name these resources. A Deny on all of them counts; narrower ones that rule out
    every one that is allowed are not looked for.
    """
    from pyspark.sql import functions as F  # noqa: N812

    name, operation = F.col("resource_name"), F.col("operation")
    is_allow = F.col("permission") == "ALLOW"
    is_all = (name == WILDCARD_RESOURCE) & (F.col("pattern_type") == "LITERAL")
    hosts = {
        "may": F.collect_set(F.when(is_allow, F.col("host"))),
        "may_not": F.collect_set(F.when(~is_allow & is_all, F.col("host"))),
    }
    answers = []
    for (sort, asked), number in _SECOND_NUMBERS.items():
        grants = operation.isin(asked, "ALL", *sorted(IMPLIED_BY.get(asked, ())))
        speaks = (is_allow & grants) | (~is_allow & operation.isin(asked, "ALL"))
        is_answer = (F.col("resource_type") == sort) & speaks
        answers.append(F.when(is_answer, F.lit(number)))
    place = ("cluster", "principal", "second")
    rows = (
        acls.where("will_be")
        .withColumn("second", F.explode(F.array(*answers)))
        .where("second is not null")
        .groupBy(*place)
        .agg(*(each.alias(name) for name, each in hosts.items()))
    )
    everyone = rows.where(F.col("principal") == WILDCARD_PRINCIPAL).select(
        "cluster", "second", *(F.col(name).alias(f"all_{name}") for name in hosts)
    )

    def holds(name: str) -> "Column":
        at = (F.array_contains(name, each) for each in (F.lit(WILDCARD_HOST), F.col("host")))
        return F.coalesce(next(at) | next(at), F.expr("false"))

    may, may_not = (holds(name) | holds(f"all_{name}") for name in hosts)
    spared = F.col("was") & may & ~may_not
    return (
        weighed.join(rows, [*place], "left")
        .join(everyone, ["cluster", "second"], "left")
        .withColumn("will_be", F.col("will_be") | spared)
        .select(*weighed.columns)
    )


def acl_changes(
    spark: "SparkSession", plans: Mapping[str, Sequence[Change]]
) -> "tuple[DataFrame, DataFrame]":
    """Return the ACLs that plans remove and add, as rows, by cluster.

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
    gone, coming = (
        create_dataframe(
            spark,
            [tuple(object_row(cluster, _ACL_KIND, acl)) for cluster, acl in each],
            OBJECT_SCHEMA,
        )
        for each in (replaced, added)
    )
    return gone, coming
