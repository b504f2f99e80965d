"""Requests that a replay does not call denied, since they are not, or were so before."""

from functools import reduce
from typing import TYPE_CHECKING

import pytest

from kplan.fleet.replay import acl_changes, replay_requests
from kplan.model.plan import Action
from tests.fleet.acl_rows import KIND, about, acl, row
from tests.fleet.test_fleet_access import change
from tests.fleet.test_fleet_recommend import Make, recommend_acls, seen, told, usage

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark


def of_cluster(used: "DataFrame") -> "DataFrame":
    """Make requests for topics those for the cluster itself."""
    from pyspark.sql import functions as F  # noqa: N812

    return used.withColumns(
        {"resource_type": F.lit("CLUSTER"), "resource_name": F.lit("kafka-cluster")}
    )


SECOND_QUESTIONS = {
    "idempotent": ("IdempotentWrite", "InitProducerId", acl("orders", operation="Write")),
    "create": ("Create", "CreateTopics", acl("new.", operation="Create", pattern="Prefixed")),
    "metadata": ("Create", "Metadata", acl("new", "User:*", operation="All")),
    "delete": ("Delete", "DeleteTopics", acl("old.", operation="Delete", pattern="Prefixed")),
    "groups": ("Describe", "ListGroups", acl("g", sort="Group")),
    "not another operation": ("IdempotentWrite", "InitProducerId", acl("orders")),
    "not another principal": ("Create", "CreateTopics", acl("new", "User:b", "All")),
    "not with a Deny": ("Describe", "ListGroups", acl("g", sort="Group")),
    "not another request": ("Create", "AlterConfigs", acl("new", operation="Create")),
}


def test_what_kafka_asks_of_other_resources_too_is_not_denied(
    spark: "SparkSession", objects: Make
) -> None:
    """Kafka asks the cluster first, and only then topics or groups."""
    names = {"IdempotentWrite": "IDEMPOTENT_WRITE"}
    deny = acl("*", permission="Deny", operation="Describe", sort="Group")
    rows = [row(deny, "not with a Deny")]
    asked: list[DataFrame] = []
    plans = {}
    for cluster, (operation, request, second) in SECOND_QUESTIONS.items():
        first = acl("kafka-cluster", operation=operation, sort="Cluster")
        rows += [about(cluster), row(first, cluster), row(second, cluster)]
        name = names.get(operation, operation.upper())
        asked.append(usage(spark, [(cluster, "User:a", "h", name, "")], request=request))
        plans[cluster] = [change(Action.DELETE, first, None)]
    used = of_cluster(reduce(lambda a, b: a.unionByName(b), asked))
    found = replay_requests(used, objects(rows), *acl_changes(spark, plans)).collect()
    assert {each.effect for each in found} == {"denied"}
    assert {each.cluster for each in found} == {
        each for each in SECOND_QUESTIONS if each.startswith("not ")
    }


def test_what_the_log_has_only_as_denied_is_not_denied_by_a_plan(
    spark: "SparkSession", objects: Make
) -> None:
    """An ACL may be younger than the requests that it allows now."""
    young, other = acl("orders"), acl("stock")
    found = objects([about("eu"), row(young), row(other)])
    used = usage(spark, [("eu", "User:a", "h", "READ", name) for name in ("orders", "stock")])
    used = used.withColumn("is_allowed", used["resource_name"] == "stock")
    plan = [change(Action.DELETE, each, None) for each in (young, other)]
    replayed = replay_requests(used, found, *acl_changes(spark, {"eu": plan}))
    assert [(each.effect, each.resource_name) for each in replayed.collect()] == [
        ("denied", "stock")
    ]


@pytest.mark.parametrize(
    ("operation", "other", "request_name"),
    [("Create", "Delete", "CreateTopics"), ("Delete", "Create", "DeleteTopics")],
)
def test_the_creation_and_deletion_of_topics_are_kept_for_who_uses_that_of_the_cluster(
    spark: "SparkSession", objects: Make, operation: str, other: str, request_name: str
) -> None:
    """The Create or Delete of the cluster answers first: the log does not name the topics."""
    wide = acl("kafka-cluster", operation=operation, sort="Cluster")
    kept = [acl("new.", who, operation, pattern="Prefixed") for who in ("User:a", "User:*")]
    goes = [
        acl("new.", "User:b", operation, pattern="Prefixed"),
        acl("new.", operation=other, pattern="Prefixed"),
    ]
    held = [wide, *kept, *goes]
    found = objects([about("eu"), *map(row, held)])
    asked = [("eu", "User:a", "h", operation.upper(), "")]
    used = of_cluster(usage(spark, asked, request=request_name))
    made = recommend_acls(found, used, seen(spark, {"eu": held}))
    assert {*told(made, found)} == {str(KIND.identify(each)) for each in goes}
