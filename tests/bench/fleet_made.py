"""Fleets, requests and log lines to measure with, made by Spark from one seed."""

from typing import TYPE_CHECKING

from kplan.fleet.dataframe import create_dataframe
from kplan.fleet.plan import FleetPlanRequest, pack_request
from kplan.fleet.snapshot import OBJECT_SCHEMA
from kplan.kinds.topic_rules import Topic
from kplan.model.address import Address
from kplan.model.diagnostic import SourceRange
from kplan.model.resource import Identity, Resource
from kplan.model.state import OwnedObject, State
from kplan.plan.request import PlanRequest

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SEED = 20261121
TEAMS, PRINCIPALS = 500, 2_000


def objects(
    spark: "SparkSession", clusters: int, topics: int, acls: int, age: int = 0
) -> "DataFrame":
    """Make clusters alike: topics of TEAMS teams, a third of the ACLs prefixed, some denying.

    With each day of `age` a thousandth of the topics has had its retention changed.
    """
    held = spark.range(clusters).selectExpr("concat('c', id) as cluster")
    retention = f"if(id % 1000 < {age}, '1000', '86400000') as retention"
    made_topics = (
        spark.range(topics)
        .selectExpr("id", retention)
        .selectExpr(
            "'kafka_topic' as kind",
            f"concat('team', id % {TEAMS}, '.topic.', id) as identity",
            "'' as uid",
            "to_json(named_struct('config', map('retention.ms', retention), 'name', "
            f"concat('team', id % {TEAMS}, '.topic.', id), 'partitions', 3, "
            "'replication_factor', 3)) as value",
            "map('partitions', '3', 'replication_factor', '3', 'config.retention.ms', retention) "
            "as attributes",
        )
    )
    drawn = f"abs(xxhash64(id, {SEED}))"
    pattern = "if(id % 3 = 0, 'Prefixed', 'Literal')"
    name = (
        f"if(id % 3 = 0, concat('team', id % {TEAMS}, '.', if(id % 2 = 0, '', 'topic.')), "
        f"concat('team', {drawn} % {topics} % {TEAMS}, '.topic.', {drawn} % {topics}))"
    )
    made_acls = spark.range(acls).selectExpr(
        "'kafka_acl' as kind",
        "concat('acl-', id) as identity",
        "'' as uid",
        "cast(null as string) as value",
        f"map('resource_type', 'Topic', 'resource_name', {name}, "
        f"'resource_pattern_type_filter', {pattern}, "
        f"'acl_principal', concat('User:', {drawn} % {PRINCIPALS}), 'acl_host', '*', "
        "'acl_operation', if(id % 2 = 0, 'Read', 'Write'), "
        "'acl_permission_type', if(id % 50 = 0, 'Deny', 'Allow')) as attributes",
    )
    about = create_dataframe(
        spark,
        [("cluster", "id", "", None, {"kinds": '["kafka_acl", "kafka_topic"]'})],
        OBJECT_SCHEMA.removeprefix("cluster string, "),
    )
    return held.crossJoin(made_topics.unionByName(made_acls).unionByName(about))


def wanted(clusters: int, topics: int) -> FleetPlanRequest:
    """Declare and own every topic of every cluster as it was made."""
    place = SourceRange("main.tf", 1, 1, 1, 1)
    meant = [
        Topic(f"team{n % TEAMS}.topic.{n}", 3, 3, config={"retention.ms": "86400000"})
        for n in range(topics)
    ]
    resources = tuple(
        Resource(Address("kafka_topic", f"t{n}"), Identity(each.name), each, place)
        for n, each in enumerate(meant)
    )
    owned = {
        each.address: OwnedObject(each.address, each.identity, each.value) for each in resources
    }
    request = pack_request(PlanRequest(resources, {}, State("bench", 1, owned=owned)))
    return FleetPlanRequest({f"c{n}": request for n in range(clusters)})


def requests(spark: "SparkSession", topics: int) -> "DataFrame":
    """Make one request for each topic."""
    return spark.range(topics).selectExpr(
        "'c0' as cluster",
        f"concat('User:', abs(xxhash64(id, {SEED})) % {PRINCIPALS}) as principal",
        "'10.0.0.1' as host",
        "if(id % 2 = 0, 'READ', 'WRITE') as operation",
        "'TOPIC' as resource_type",
        f"concat('team', id % {TEAMS}, '.topic.', id) as resource_name",
    )


def fleet_usage(spark: "SparkSession", clusters: int, topics: int) -> "DataFrame":
    """Make what logs of a fleet add up to: each topic is read and written by a principal."""
    held = spark.range(clusters).selectExpr("concat('c', id) as cluster")
    made = spark.range(2 * topics).selectExpr(
        "'log' as source",
        f"concat('User:', abs(xxhash64(id div 2, {SEED})) % {PRINCIPALS}) as principal",
        "'10.0.0.1' as host",
        "if(id % 2 = 0, 'READ', 'WRITE') as operation",
        "'TOPIC' as resource_type",
        f"concat('team', (id div 2) % {TEAMS}, '.topic.', id div 2) as resource_name",
        "id % 7 > 0 as is_allowed",
        "if(id % 2 = 0, 'FETCH', 'PRODUCE') as request",
        "id + 1 as count",
        "timestamp_seconds(1762000000 + id) as first_at",
        "timestamp_seconds(1762080000 + id) as last_at",
    )
    return held.crossJoin(made)


def log_lines(
    spark: "SparkSession", lines: int, topics: int, *, begin: int = 0, is_busy: bool = False
) -> "DataFrame":
    """Make the lines of an authorizer log: each principal uses 25 topics, one way each.

    Line `begin` is the first. With `is_busy` one of them makes half of the requests.
    """
    who = f"abs(xxhash64(id, {SEED})) % {PRINCIPALS}"
    who = f"if(id % 2 = 0, 7, {who})" if is_busy else who
    topic = f"((who * 37 + abs(xxhash64(id, {SEED + 1})) % 25) % {topics})"
    at = "date_format(timestamp_seconds(1762000000 + id div 20), 'yyyy-MM-dd HH:mm:ss')"
    return (
        spark.range(begin, begin + lines)
        .selectExpr("id", f"{who} as who")
        .selectExpr("id", "who", f"{topic} as topic", f"{at} as at")
        .selectExpr(
            "'c0' as cluster",
            f"concat('log-', id * 4 div {lines}) as source",
            "concat('[', at, ',000] INFO Principal = User:', who, ' is ', "
            "if(topic % 97 = 0, 'Denied', 'Allowed'), ' operation = ', "
            "if(topic % 2 = 0, 'READ', 'WRITE'), ' from host = 10.0.', who % 250, '.7', "
            f"' on resource = Topic:LITERAL:team', topic % {TEAMS}, '.topic.', topic, "
            "' for request = ', "
            "if(topic % 2 = 0, 'FETCH', 'PRODUCE'), ' with resourceRefCount = 1 based on rule "
            "MatchingAcl(acl=StandardAcl(...)) (kafka.authorizer.logger)') as line",
        )
    )
