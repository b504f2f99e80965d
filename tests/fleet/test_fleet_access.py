"""The joins of the fleet against the authorizer of one cluster, and against loops."""

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
from pyspark.sql.functions import expr

from kplan.cluster.request import AclBinding
from kplan.fleet.access import (
    REQUEST_COLUMNS,
    acl_rows,
    authorizer_rules,
    decisions,
    matching_acls,
    topic_access,
    who_can,
)
from kplan.fleet.inventory import clusters_without_log
from kplan.fleet.logs.audit_topic import authorizer_line
from kplan.fleet.logs.layout import parse_lines
from kplan.fleet.logs.lines import sum_lines
from kplan.fleet.logs.requests import (
    last_usage,
    line_sums,
    log_sums,
    malformed_lines,
    removal_candidates,
    unused_acls,
    unused_topics,
    usage,
)
from kplan.fleet.replay import acl_changes, replay_requests
from kplan.fleet.snapshot import Row
from kplan.kinds.acl import Acl
from kplan.model.address import Address
from kplan.model.errors import UsageError
from kplan.model.plan import Action, Change
from kplan.policy.access_query import who_can as single_who_can
from kplan.policy.authorizer import OPERATIONS, AccessRequest, AclIndex, AuthorizerRules
from kplan.workflow.fleet.access import _changes_by_cluster
from tests.fleet.acl_rows import KIND, about, acl, row, topic
from tests.fleet.log_lines import file_lines

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

Make = Callable[[Sequence[Row]], "DataFrame"]
NAMES = ("a", "ab", "abc", "b", "*", "*x", "orders.eu", "orders.us")
PRINCIPALS = ("User:a", "User:b", "User:*", "Team:*")
HOSTS = ("*", "10.0.0.1", "10.0.0.2")
WORDS = {
    "READ": "Read", "WRITE": "Write", "DESCRIBE": "Describe", "ALL": "All", "ALTER": "Alter",
    "ALTER_CONFIGS": "AlterConfigs", "DESCRIBE_CONFIGS": "DescribeConfigs", "DELETE": "Delete",
}  # fmt: skip


def listed(found: "DataFrame", *names: str) -> list[tuple[object, ...]]:
    return [tuple(each) for each in found.select(*names).collect()]


def binding(found: Acl) -> AclBinding:
    back = {word: kafka for kafka, word in WORDS.items()}
    return AclBinding(
        "TOPIC",
        found.resource_name,
        found.resource_pattern_type_filter.upper(),
        found.acl_principal,
        found.acl_host,
        back[found.acl_operation],
        found.acl_permission_type.upper(),
    )


def random_acls(dice: random.Random, count: int) -> list[Acl]:
    return [
        acl(
            dice.choice(NAMES),
            dice.choice(PRINCIPALS),
            dice.choice(list(WORDS.values())),
            dice.choice(("Allow", "Allow", "Deny")),
            pattern=dice.choice(("Literal", "Prefixed")),
            host=dice.choice(HOSTS),
        )
        for _ in range(count)
    ]


def test_the_join_says_what_the_authorizer_of_each_cluster_says(
    spark: "SparkSession", objects: Make
) -> None:
    """K4-34: deny before allow, prefixes, wildcards, hosts, implied operations, super users."""
    dice = random.Random(7)
    rows: list[Row] = []
    oracles: dict[str, AclIndex] = {}
    for number in range(12):
        cluster, is_open = f"c{number}", number % 3 == 0
        held = random_acls(dice, dice.randint(0, 9))
        rows += [about(cluster, everyone=str(is_open).lower()), *(row(a, cluster) for a in held)]
        rules = AuthorizerRules(frozenset({"User:root"}), allow_everyone=is_open)
        oracles[cluster] = AclIndex((binding(each) for each in held), rules)
    asked = [
        (cluster, who, host, operation, "TOPIC", name)
        for cluster in oracles
        for who in ("User:a", "User:b", "User:root", "Team:x")
        for host in ("10.0.0.1", "10.0.0.3")
        for operation in ("READ", "DESCRIBE", "DESCRIBE_CONFIGS", "ALTER")
        for name in ("a", "abc", "*", "*x", "orders.eu", "zzz")
    ]
    requests = spark.createDataFrame(asked, [*REQUEST_COLUMNS])
    found = objects(rows)
    acls = acl_rows(found).withColumn("is_allowed", expr("true"))
    told = decisions(requests, acls, authorizer_rules(found), ["is_allowed"]).collect()
    assert len(told) == len(asked) == 2304
    for cluster, who, host, operation, kind, name, is_allowed in told:
        verdict = oracles[cluster].authorize(AccessRequest(who, host, operation, kind, name))
        assert is_allowed == verdict.is_allowed, (cluster, who, host, operation, name)


def test_a_request_meets_the_acls_that_would_allow_it_each_alone(
    spark: "SparkSession", objects: Make
) -> None:
    dice = random.Random(11)
    rows: list[Row] = []
    asked: list[tuple[str, ...]] = []
    meant: set[tuple[str, ...]] = set()
    for number in range(12):
        cluster = f"c{number}"
        acls = list(dict.fromkeys(random_acls(dice, dice.choice((5, 12, 30)))))
        rows += [about(cluster), *(row(each, cluster) for each in acls)]
        own = [
            (cluster, who, host, operation, "TOPIC", name)
            for who in ("User:a", "User:b", "Team:x")
            for host in ("10.0.0.1", "10.0.0.3")
            for operation in ("READ", "DESCRIBE", "ALTER_CONFIGS")
            for name in ("a", "abc", "*", "*x", "orders.eu", "zzz")
        ]
        asked += own
        for each in acls:
            alone = AclIndex([replace(binding(each), permission="ALLOW")], AuthorizerRules())
            allows = (one for one in own if alone.authorize(AccessRequest(*one[1:])).is_allowed)
            meant |= {(*one, KIND.identify(each)) for one in allows}
    requests = spark.createDataFrame(asked, [*REQUEST_COLUMNS])
    told = matching_acls(requests, acl_rows(objects(rows))).collect()
    assert len(told) == len(meant) > 200
    assert {tuple(each)[: len(REQUEST_COLUMNS) + 1] for each in told} == meant
    assert all(
        each["identity"].startswith(f"{each['acl_principal']}|{each['acl_host']}|") for each in told
    )


def test_who_can_read_a_topic_in_any_cluster(objects: Make) -> None:
    found = objects(
        [
            *(
                about("eu"),
                row(acl("orders", "User:a")),
                row(acl("ord", "User:b", pattern="Prefixed")),
                row(acl("orders", "User:root", host="10.0.0.1")),
            ),
            *(
                about("us"),
                row(acl("*", "User:*"), "us"),
                row(acl("orders", "User:c", "All", "Deny"), "us"),
            ),
            about("open", everyone="true"),
        ]
    )
    told = who_can(found, "READ", "TOPIC", "orders").collect()
    assert [tuple(each) for each in told] == [
        ("eu", "User:a", "*", True, "ALLOW READ on TOPIC orders for User:a"),
        ("eu", "User:b", "*", True, "ALLOW READ on TOPIC ord* for User:b"),
        ("eu", "User:root", "*", True, "a super user"),
        ("open", "User:*", "*", True, "no ACL is on it, and brokers allow everyone then"),
        ("open", "User:root", "*", True, "a super user"),
        ("us", "User:*", "*", True, "ALLOW READ on TOPIC * for User:*"),
        ("us", "User:c", "*", False, "DENY ALL on TOPIC orders for User:c"),
        ("us", "User:root", "*", True, "a super user"),
    ]


def test_who_can_is_what_the_single_cluster_says(objects: Make) -> None:
    """Also of hosts: from where somebody may not, whom all other hosts allow."""
    dice = random.Random(11)
    held = {f"c{number}": random_acls(dice, 12) for number in range(8)}
    held["c0"] += [acl("ab", "User:z"), acl("ab", "User:z", "Read", "Deny", host="10.0.0.1")]
    rows = [about(name, everyone="true") for name in held]
    rows += [row(each, name) for name, acls in held.items() for each in acls]
    rules = AuthorizerRules(frozenset({"User:root"}), allow_everyone=True)
    told = who_can(objects(rows), "READ", "TOPIC", "ab").collect()
    asked = ("READ", ("TOPIC", "ab"))
    expected = {
        each
        for name, acls in held.items()
        for holder in single_who_can(*asked, [binding(one) for one in acls], rules)
        for each in (
            (name, holder.principal, holder.host, True),
            *((name, one.principal, one.host, False) for one in holder.exceptions),
        )
    }
    assert {tuple(each)[:4] for each in told} == expected
    assert ("c0", "User:z", "10.0.0.1", False) in expected


def test_what_a_principal_may_do_in_any_cluster(objects: Make) -> None:
    found = objects(
        [
            *(about("eu"), topic("orders"), topic("other"), row(acl("orders"))),
            *(
                about("us"),
                topic("orders", "us"),
                row(acl("or", operation="Write", pattern="Prefixed"), "us"),
            ),
        ]
    )
    assert [tuple(each) for each in topic_access(found, "User:a").collect()] == [
        ("eu", "orders", "DESCRIBE, READ"),
        ("us", "orders", "DESCRIBE, WRITE"),
    ]


def test_the_access_of_a_principal_is_what_the_authorizer_of_each_cluster_says(
    objects: Make,
) -> None:
    """Also of super users, and of clusters that allow what has no ACLs."""
    dice = random.Random(11)
    names = ("a", "abc", "*x", "orders.eu", "zzz")
    rows: list[Row] = []
    oracles: dict[str, AclIndex] = {}
    for number in range(12):
        cluster, is_open = f"c{number}", number % 3 == 0
        held = random_acls(dice, dice.randint(0, 9))
        rows += [about(cluster, everyone=str(is_open).lower()), *(row(a, cluster) for a in held)]
        rows += [topic(each, cluster) for each in names]
        rules = AuthorizerRules(frozenset({"User:root"}), allow_everyone=is_open)
        oracles[cluster] = AclIndex((binding(each) for each in held), rules)
    found = objects(rows)
    for who in ("User:a", "User:root", "Team:x"):
        allowed = {
            (cluster, name): [
                operation
                for operation in sorted(OPERATIONS["TOPIC"])
                if oracle.authorize(AccessRequest(who, "*", operation, "TOPIC", name)).is_allowed
            ]
            for cluster, oracle in oracles.items()
            for name in names
        }
        expected = [(*place, ", ".join(each)) for place, each in sorted(allowed.items()) if each]
        assert listed(topic_access(found, who), "cluster", "topic", "operations") == expected


def logged(at: str, who: str, verdict: str, what: str, count: int = 1) -> str:
    """Write a line as Kafka 4 does; `what` is operation, resource and request."""
    operation, resource, request = what.split()
    return (
        f"[2026-11-01 {at}] INFO Principal = {who} is {verdict} operation = {operation} "
        f"from host = 10.0.0.1 on resource = {resource} for request = {request} "
        f"with resourceRefCount = {count} based on rule MatchingAcl(...) (kafka.authorizer.logger)"
    )


LOG = (
    logged("10:00:00,123", "User:a", "Allowed", "READ Topic:LITERAL:orders FETCH"),
    logged("11:00:00,000", "User:a", "Allowed", "READ Topic:LITERAL:orders FETCH", 2),
    logged(
        "12:00:00,000",
        "User:CN=this is it,O=x",
        "Denied",
        "ALTER_CONFIGS Cluster:LITERAL:kafka-cluster INCREMENTAL_ALTER_CONFIGS",
    ),
    logged("12:00:00,000", "User:a", "Allowed", "READ Topic:LITERAL:orders FETCH")[:60],
    "===> Launching kafka ...",
)


def test_the_lines_of_a_log_are_added_up_and_none_is_lost(
    spark: "SparkSession", tmp_path: Path
) -> None:
    (tmp_path / "authorizer.log").write_text("\n".join(LOG) + "\n")
    taken = line_sums(parse_lines(sum_lines(file_lines(spark, tmp_path / "authorizer.log"))))
    used = usage(taken).orderBy("principal").drop("source").collect()
    assert [tuple(each)[:9] for each in used] == [
        (
            *("eu", "User:CN=this is it,O=x", "10.0.0.1", "ALTER_CONFIGS", "CLUSTER"),
            *("kafka-cluster", False, "INCREMENTAL_ALTER_CONFIGS", 1),
        ),
        ("eu", "User:a", "10.0.0.1", "READ", "TOPIC", "orders", True, "FETCH", 2),
    ]
    kept = [each.line for each in malformed_lines(taken).collect()]
    assert sorted(kept) == sorted(LOG[3:])


CLOUD_EVENT = """{"specversion": "1.0", "time": "2026-11-01T10:00:00.123Z", "data": {
"methodName": "kafka.IncrementalAlterConfigs", "authenticationInfo": {"principal": "User:a"},
"authorizationInfo": {"granted": false, "operation": "AlterConfigs", "resourceType": "Topic",
"resourceName": "orders", "patternType": "LITERAL"},
"requestMetadata": {"client_address": "/10.0.0.1"}}}"""
HALF_AN_EVENT = '{"time": "2026-11-01T10:00:00Z", "data": {"methodName": "kafka.Fetch"}}'


def test_events_of_audit_topics_become_lines(spark: "SparkSession") -> None:
    """Those of log4j are in `test_fleet_command.py`, from a real topic."""
    text = spark.createDataFrame([("eu", "x", CLOUD_EVENT), ("eu", "x", HALF_AN_EVENT)])
    found = text.toDF("cluster", "source", "value")
    taken = line_sums(
        parse_lines(
            sum_lines(
                found.withColumn("line", authorizer_line(found["value"], has_zone=False)).drop(
                    "value"
                )
            )
        )
    )
    (used,) = usage(taken).collect()
    assert (used["cluster"], *tuple(used)[2:10]) == (
        *("eu", "User:a", "10.0.0.1", "ALTER_CONFIGS", "TOPIC", "orders", False),
        *("IncrementalAlterConfigs", 1),
    )
    assert [each.line for each in malformed_lines(taken).collect()] == [HALF_AN_EVENT]


def used_by(spark: "SparkSession", *asked: tuple[str, str, str]) -> "DataFrame":
    day = "2026-11-01 10:00:00"
    rows = [
        ("eu", "eu.log", who, "10.0.0.1", operation, "TOPIC", name, True, "FETCH", 5, day)
        for who, operation, name in asked
    ]
    resource = ["principal", "host", "operation", "resource_type", "resource_name"]
    schema = ["cluster", "source", *resource, "is_allowed", "request", "count", "last_at"]
    found = spark.createDataFrame(rows, schema)
    at = found["last_at"].cast("timestamp")
    return found.withColumns({"last_at": at, "first_at": at})


def test_what_nobody_used_is_found(spark: "SparkSession", objects: Make) -> None:
    found = objects(
        [
            *(about("eu"), topic("orders"), topic("old"), use("old", "eu", records="0")),
            *(row(acl("ord", pattern="Prefixed")), row(acl("old")), row(acl("orders", "User:z"))),
        ]
    )
    used = used_by(spark, ("User:a", "READ", "orders"))
    looked = used_by(spark, ("User:kplan", "READ", "old")).drop("request")
    by_kplan = looked.selectExpr("*", "'DESCRIBE_PRODUCERS' AS request")
    used = used.unionByName(by_kplan)
    assert listed(unused_topics(found, used, log_sums(used)), "topic", "evidence") == [
        ("old", "log")
    ]
    left = [
        (each.resource_name, each.principal)
        for each in unused_acls(found, used, log_sums(used)).collect()
    ]
    assert sorted(left) == [("old", "User:a"), ("orders", "User:z")]
    last, _ = last_usage(used).collect()
    assert (last.principal, last.operations, last.last_at) == (
        "User:a",
        "READ",
        "2026-11-01T10:00:00Z",
    )


def test_operations_of_the_last_usage_are_those_of_all_requests(spark: "SparkSession") -> None:
    asked = [("User:a", operation, "orders") for operation in ("WRITE", "READ", "DESCRIBE", "READ")]
    used = used_by(spark, *asked, ("User:a", "OF_TOMORROW", "orders"), ("User:b", "READ", "orders"))
    assert listed(last_usage(used), "principal", "operations", "count") == [
        ("User:a", "DESCRIBE, READ, WRITE", 20),
        ("User:a", "OF_TOMORROW", 5),  # what this version does not know is not lost
        ("User:b", "READ", 5),
    ]


OCTOBER, DECEMBER = "1790000000000", "1796000000000"


def use(name: str, cluster: str, groups: str = "[]", **told: str) -> Row:
    return Row(cluster, "use", name, attributes={"groups": groups, **told})


def without_groups(name: str, **told: str) -> Row:
    """Give the use of a topic whose groups were not read."""
    return Row("eu", "use", name, attributes=told)


def test_a_topic_that_offsets_show_in_use_is_no_candidate(
    spark: "SparkSession", objects: Make
) -> None:
    """The log of `us` tells nothing that was allowed: there only what stands in topics counts.

    Of topics whose groups or newest record were not read nothing is claimed.
    """
    live, idle = '[["g", true, 3]]', '[["g", false, null]]'
    told = {
        "eu": {
            "written": use("written", "eu", newest_ms=DECEMBER),
            "read": use("read", "eu", live, newest_ms=OCTOBER),
            "left": use("left", "eu", idle, newest_ms=OCTOBER, records="5", bytes="70"),
            "empty": use("empty", "eu", records="0"),
            "undated": use("undated", "eu", records="5"),
            "hidden": without_groups("hidden", records="0"),
            "busy": without_groups("busy", newest_ms=DECEMBER),
            "unknown": None,
        },
        "us": {
            "empty": use("empty", "us", records="0"),
            "held": use("held", "us", idle, records="0"),
            "full": use("full", "us", records="1"),
            "unknown": None,
        },
    }
    rows = [about("eu"), about("us"), row(acl("full"), "us"), row(acl("left"))]
    rows += [topic(name, cluster) for cluster, each in told.items() for name in each]
    rows += [row for each in told.values() for row in each.values() if row]
    used = used_by(spark, ("User:a", "READ", "orders"))
    found = unused_topics(objects(rows), used, log_sums(used))
    columns = ("cluster", "topic", "evidence", "records", "bytes", "groups")
    assert listed(found, *columns) == [
        ("eu", "empty", "log", 0, None, ""),
        ("eu", "hidden", "unknown", 0, None, None),
        ("eu", "left", "log", 5, 70, "g"),
        ("eu", "undated", "unknown", 5, None, ""),
        ("eu", "unknown", "unknown", None, None, None),
        ("us", "empty", "offsets", 0, None, ""),
    ]
    acls = unused_acls(objects(rows), used, log_sums(used))
    assert listed(acls, "cluster") == [("eu",)]
    removed = removal_candidates(objects(rows), acls.limit(0), found)
    assert listed(removed, "cluster", "identity") == [
        ("eu", "empty"),
        ("eu", "left"),
        ("us", "empty"),
    ]
    denied = used.drop("cluster", "is_allowed").selectExpr("*", "'us' cluster", "false is_allowed")
    assert listed(
        clusters_without_log(objects([*rows, about("ap")]), log_sums(used.unionByName(denied))), "*"
    ) == [
        ("ap", "no authorizer log was ingested"),
        ("us", "its log has denials only"),
    ]


def change(action: Action, before: Acl | None, after: Acl | None) -> Change:
    identity = KIND.identify(after or before or acl("x"))
    return Change(Address.parse("kafka_acl.x"), "kafka_acl", identity, action, before, after)


def test_a_plan_is_replayed_against_what_was_really_asked(
    spark: "SparkSession", objects: Make
) -> None:
    """The same as a loop over all requests with the authorizer of one cluster."""
    dice = random.Random(3)
    held = list({KIND.identify(each): each for each in random_acls(dice, 14)}.values())
    coming = [each for each in random_acls(dice, 4) if each not in held]
    changes = [change(Action.DELETE, each, None) for each in held[:5]]
    changes += [change(Action.CREATE, None, each) for each in coming]
    changes.append(change(Action.REPLACE, held[5], acl("zzz", "User:b", "All")))
    history = [
        (who, operation, name)
        for who in ("User:a", "User:b", "Team:x")
        for operation in ("READ", "WRITE", "DESCRIBE")
        for name in (*NAMES, "zzz")
    ]
    found = objects([about("eu"), *(row(each) for each in held)])
    gone, brought = acl_changes(spark, {"eu": changes})
    used = used_by(spark, *history, *history[:9])  # rows of two logs
    told = replay_requests(used, found, gone, brought).collect()
    keys = gone.select("cluster", "identity")  # as where they are many
    assert replay_requests(used, found, keys, brought).collect() == told

    before = AclIndex(map(binding, held))
    after = AclIndex(map(binding, [*held[6:], *coming, acl("zzz", "User:b", "All")]))
    expected = set()
    for who, operation, name in history:
        asked = AccessRequest(who, "10.0.0.1", operation, "TOPIC", name)
        was, will_be = before.authorize(asked).is_allowed, after.authorize(asked).is_allowed
        if was != will_be:
            expected.add(("denied" if was else "allowed", who, operation, name))
    assert {(e.effect, e.principal, e.operation, e.resource_name) for e in told} == expected
    assert {each.effect for each in told} == {"denied", "allowed"}
    twice = {("User:a", "READ", name) for _, _, name in history[:9]}
    for each in told:
        asked_twice = (each.principal, each.operation, each.resource_name) in twice
        assert each["count"] == (10 if asked_twice else 5)


def test_a_plan_is_for_its_cluster_under_every_name_that_the_fleet_has_for_it(
    objects: Make,
) -> None:
    rows = [Row(name, "cluster", f"id-{name[:2]}") for name in ("eu", "eu-again", "us")]
    run = SimpleNamespace(objects=objects(rows), run=SimpleNamespace(run="now"))
    made = change(Action.CREATE, None, acl("a", "User:a", "Read"))
    based_on = SimpleNamespace(clusters={}, cluster_id="id-eu")
    plan = SimpleNamespace(changes=[made], based_on=based_on)
    assert _changes_by_cluster([plan], run) == {"eu": [made], "eu-again": [made]}  # type: ignore[list-item, arg-type]
    based_on.cluster_id = "id-ap"
    with pytest.raises(UsageError, match="A plan is for cluster id-ap, which run now does not"):
        _changes_by_cluster([plan], run)  # type: ignore[list-item, arg-type]
