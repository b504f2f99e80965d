"""How much a reviewer should worry."""

import inspect
import re
from dataclasses import replace
from pathlib import Path

import pytest

from kplan.kinds.acl import Acl
from kplan.kinds.broker_config import BrokerConfig
from kplan.kinds.connector import KafkaConnector
from kplan.kinds.feature import Feature
from kplan.kinds.quota import Quota
from kplan.kinds.schema_subject import SchemaSubject
from kplan.kinds.scram import ScramCredential
from kplan.kinds.topic_rules import Topic
from kplan.model.plan import Action, AttributeChange, Change, Risk
from kplan.model.resource import Identity
from kplan.policy import risk, service_risk
from kplan.policy.risk import add_risks
from tests.values import acl, address, make_plan, owned, resource, snapshot, state, topic

ORDERS = "kafka_topic.orders"


def judged(before: Topic | Acl, after: Topic | Acl | None) -> Change:
    at = ORDERS if isinstance(before, Topic) else "kafka_acl.a"
    live = snapshot([(before, "id")]) if isinstance(before, Topic) else snapshot(acls=[before])
    declared = [resource("kafka_topic.z", topic("z"))]
    if after is not None:
        declared.append(resource(at, after))
    plan = add_risks(make_plan(declared, state(owned(at, before, "")), live))
    assert all(each in plan.changes for batch in plan.batches for each in batch.changes)
    return next(each for each in plan.changes if str(each.address) == at)


@pytest.mark.parametrize(
    ("before", "after", "worst", "code"),
    [
        (topic(), None, Risk.DANGEROUS, "KP2101"),
        (topic(), topic(partitions=6), Risk.REVIEW, "KP2203"),
        (topic(config={"cleanup.policy": "compact,delete"}),
         topic(config={"cleanup.policy": "compact,delete"}, partitions=6),
         Risk.DANGEROUS, "KP2207"),
        (topic(config={"retention.ms": "-1"}), topic(), Risk.UNKNOWN, "KP2102"),
        (topic(config={"retention.bytes": "9"}), topic(config={"retention.bytes": "8"}),
         Risk.DANGEROUS, "KP2102"),
        (topic(config={"retention.ms": "9"}), topic(config={"retention.ms": "8"}),
         Risk.DANGEROUS, "KP2102"),
        (topic(config={"retention.ms": "-1"}), topic(config={"retention.ms": "8"}),
         Risk.DANGEROUS, "KP2102"),
        (topic(config={"retention.ms": "8"}), topic(config={"retention.ms": "-1"}),
         Risk.SAFE, ""),
        (topic(config={"retention.ms": "8"}), topic(config={"retention.ms": "9"}), Risk.SAFE, ""),
        (topic(), topic(config={"cleanup.policy": "compact"}), Risk.REVIEW, "KP2204"),
        (topic(replication_factor=3),
         topic(replication_factor=3, config={"min.insync.replicas": "3"}), Risk.REVIEW, "KP2205"),
        (topic(replication_factor=3),
         topic(replication_factor=3, config={"min.insync.replicas": "2"}), Risk.SAFE, ""),
        (acl(), None, Risk.REVIEW, "KP2301"),
        (acl(acl_permission_type="Deny"), None, Risk.REVIEW, "KP2302"),
        (acl(acl_host="10.0.0.1"), acl(), Risk.REVIEW, "KP2303"),
        (acl(), acl(acl_operation="Write"), Risk.REVIEW, "KP2301"),
        (acl(), acl(acl_principal="User:b"), Risk.REVIEW, "KP2301"),
        (acl(), acl(resource_name="bills"), Risk.REVIEW, "KP2301"),
        (acl(acl_permission_type="Deny"),
         acl(acl_permission_type="Deny", acl_operation="All"), Risk.REVIEW, "KP2302"),
    ],
)  # fmt: skip
def test_a_change_is_as_risky_as_the_worst_of_what_it_does(
    before: Topic | Acl, after: Topic | Acl | None, worst: Risk, code: str
) -> None:
    found = judged(before, after)
    assert found.risk is worst
    assert [note[:6] for note in found.notes] == ([code] if code else [])


def test_creating_is_safe() -> None:
    plan = add_risks(make_plan([resource(ORDERS, topic())], state(), snapshot()))
    assert [each.risk for each in plan.changes] == [Risk.SAFE]


@pytest.mark.parametrize(
    ("before", "after", "default", "worst", "codes"),
    [
        ({}, {"retention.ms": "9"}, "9", Risk.SAFE, ["KP2208"]),
        ({}, {"retention.ms": "8"}, "9", Risk.DANGEROUS, ["KP2208", "KP2102"]),
        ({}, {"retention.ms": "9"}, "8", Risk.SAFE, ["KP2208"]),
        ({"retention.ms": "9"}, {}, "9", Risk.SAFE, ["KP2208"]),
        ({"retention.ms": "9"}, {}, "8", Risk.DANGEROUS, ["KP2208", "KP2102"]),
        ({"retention.ms": "9"}, {}, "-1", Risk.SAFE, ["KP2208"]),
        ({"retention.ms": "-1"}, {}, "9", Risk.DANGEROUS, ["KP2208", "KP2102"]),
        ({}, {"cleanup.policy": "delete"}, "delete", Risk.SAFE, ["KP2208"]),
        ({"cleanup.policy": "compact"}, {}, "delete", Risk.REVIEW, ["KP2208", "KP2204"]),
    ],
)  # fmt: skip
def test_configs_are_judged_by_the_values_in_force(
    before: dict[str, str], after: dict[str, str], default: str, worst: Risk, codes: list[str]
) -> None:
    """A default that is pinned changes nothing; what an override falls back to is told."""
    (key,) = {*before, *after}
    values = (before.get(key), after.get(key))
    given = change(topic(config=before), topic(config=after), **{key: values})
    plan = replace(make_plan([], state(), snapshot()), changes=(given,))
    (found,) = add_risks(plan, {given.key: {key: default}}).changes
    assert found.risk is worst
    assert [note[:6] for note in found.notes] == codes
    assert default in found.notes[0]


def change(before: object, after: object, **config: tuple[str | None, str | None]) -> Change:
    """Change an object, with its attributes below `config` from one value to another."""
    at = address("kafka_quota.q")
    action = Action.CREATE if before is None else Action.DELETE if after is None else Action.UPDATE
    attributes = tuple(AttributeChange(("config", key), *values) for key, values in config.items())
    return Change(at, at.kind, Identity("q"), action, before, after, attributes)


LIMITED = Quota("user", "app", config={"rate": "9"})
USER = ScramCredential("app", "SCRAM-SHA-256")


@pytest.mark.parametrize(
    ("given", "worst", "codes"),
    [
        (replace(change(acl(), acl(acl_operation="All")), action=Action.REPLACE, adds_first=True),
         Risk.SAFE, ["KP2304"]),
        (replace(change(acl(), acl(acl_operation="Write")), action=Action.REPLACE, adds_first=True),
         Risk.REVIEW, ["KP2301"]),
        (replace(change(acl(acl_permission_type="Deny"),
                        acl(acl_permission_type="Deny", acl_operation="All")),
                 action=Action.REPLACE, adds_first=True), Risk.SAFE, ["KP2304"]),
        (replace(change(Feature("kraft.version", 1), Feature("kraft.version", 1)),
                 action=Action.NO_OP), Risk.SAFE, []),
        (change(LIMITED, None), Risk.REVIEW, ["KP2401"]),
        (change(None, LIMITED), Risk.SAFE, []),
        (change(None, Quota("user", config={"rate": "9"})), Risk.REVIEW, ["KP2402"]),
        (change(LIMITED, LIMITED, rate=("9", "8")), Risk.REVIEW, ["KP2403"]),
        (change(LIMITED, LIMITED, rate=(None, "8")), Risk.REVIEW, ["KP2403"]),
        (change(LIMITED, LIMITED, rate=("8", "9")), Risk.SAFE, []),
        (change(LIMITED, LIMITED, rate=("8", None)), Risk.SAFE, []),
        (change(USER, None), Risk.REVIEW, ["KP2411"]),
        (change(USER, USER), Risk.REVIEW, ["KP2412"]),
        (change(None, USER), Risk.SAFE, []),
        (change(BrokerConfig(), BrokerConfig(config={"log.cleaner.threads": "2"})),
         Risk.REVIEW, ["KP2421"]),
        (change(BrokerConfig(), BrokerConfig(config={"unclean.leader.election.enable": "TRUE"})),
         Risk.DANGEROUS, ["KP2421", "KP2422"]),
        (change(BrokerConfig(), BrokerConfig(config={"unclean.leader.election.enable": "false"})),
         Risk.REVIEW, ["KP2421"]),
        (change(BrokerConfig(config={"log.retention.ms": "9"}),
                BrokerConfig(config={"log.retention.ms": "8"})),
         Risk.DANGEROUS, ["KP2421", "KP2423"]),
        (change(BrokerConfig(config={"log.retention.ms": "9"}),
                BrokerConfig(config={"log.retention.ms": "9", "log.cleaner.threads": "2"})),
         Risk.REVIEW, ["KP2421"]),
        (change(Feature("group.version", 0), Feature("group.version", 1)),
         Risk.REVIEW, ["KP2431"]),
    ],
)  # fmt: skip
def test_settings_and_swaps_have_their_risks(given: Change, worst: Risk, codes: list[str]) -> None:
    plan = add_risks(replace(make_plan([], state(), snapshot()), changes=(given,)))
    (found,) = plan.changes
    assert found.risk is worst
    assert [note[:6] for note in found.notes] == codes


@pytest.mark.parametrize(
    ("key", "held", "before", "after", "codes"),
    [
        ("log.retention.ms", "10", None, "10", []),
        ("log.retention.ms", "10", None, "11", []),
        ("log.retention.ms", "10", None, "-1", []),
        ("log.retention.ms", "10", None, "9", ["KP2423"]),
        ("log.retention.bytes", "-1", None, "9", ["KP2423"]),
        ("log.retention.bytes", "9", "9", None, ["KP2423"]),
        ("unclean.leader.election.enable", "true", None, "true", []),
        ("unclean.leader.election.enable", "false", None, "true", ["KP2422"]),
    ],
)
def test_broker_configs_are_judged_by_the_values_in_force(
    key: str, held: str, before: str | None, after: str | None, codes: list[str]
) -> None:
    sides = (BrokerConfig(config={} if each is None else {key: each}) for each in (before, after))
    given = change(*sides)
    plan = replace(make_plan([], state(), snapshot()), changes=(given,))
    (found,) = add_risks(plan, {given.key: {key: held}}).changes
    assert [note[:6] for note in found.notes] == ["KP2421", *codes]
    is_worse = codes != [] and after is not None
    assert found.risk is (Risk.DANGEROUS if is_worse else Risk.REVIEW)


@pytest.mark.parametrize(
    ("is_sensitive", "said"), [(False, "shrinks from 987:"), (True, "shrinks:")]
)
def test_a_sensitive_value_is_not_in_the_text_of_a_risk(is_sensitive: bool, said: str) -> None:
    path = ("config", "log.retention.ms")
    attribute = AttributeChange(path, "987", "9", sensitive=is_sensitive)
    sides = (BrokerConfig(config={path[1]: each}) for each in ("987", "9"))
    given = replace(change(*sides), attributes=(attribute,))
    (found,) = add_risks(replace(make_plan([], state(), snapshot()), changes=(given,))).changes
    assert f"KP2423 log.retention.ms {said} older" in found.notes[1]


@pytest.mark.parametrize(
    ("attribute", "after", "worst", "codes"),
    [
        (AttributeChange(("replica_assignment",), ((1,),), ((2,),)),
         Topic("a", 1, 1, replica_assignment=((2,),)), Risk.REVIEW, ["KP2211"]),
        (AttributeChange(("replica_assignment",), ((1,),), ((2,),)),
         Topic("a", 1, 1, replica_assignment=((2,),),
               config={"leader.replication.throttled.replicas": "*"}),
         Risk.REVIEW, ["KP2211", "KP2216"]),
        (AttributeChange(("replication_factor",), 3, 2), Topic("a", 1, 2),
         Risk.REVIEW, ["KP2212"]),
        (AttributeChange(("replication_factor",), 3, 1),
         Topic("a", 1, 1, config={"min.insync.replicas": "2"}),
         Risk.DANGEROUS, ["KP2212", "KP2213"]),
    ],
)  # fmt: skip
def test_moved_and_fewer_replicas_have_their_risks(
    attribute: AttributeChange, after: Topic, worst: Risk, codes: list[str]
) -> None:
    before = Topic("a", 1, 3, replica_assignment=((1,),))
    given = replace(change(before, after), attributes=(attribute,))
    plan = add_risks(replace(make_plan([], state(), snapshot()), changes=(given,)))
    (found,) = plan.changes
    assert found.risk is worst
    assert [note[:6] for note in found.notes] == codes


@pytest.mark.parametrize(
    ("action", "attributes", "worst", "codes"),
    [
        (Action.DELETE, (), Risk.REVIEW, ["KP2441"]),
        (Action.REPLACE, (), Risk.REVIEW, ["KP2441"]),
        (Action.UPDATE, (AttributeChange(("compatibility_level",), "FULL", "NONE"),),
         Risk.REVIEW, ["KP2442"]),
        (Action.UPDATE, (AttributeChange(("compatibility_level",), None, "FULL"),
                         AttributeChange(("schema", "a"), "int", "long")),
         Risk.REVIEW, ["KP2443"]),
        (Action.UPDATE, (AttributeChange(("schema", "a"), "int", "long"),), Risk.SAFE, []),
    ],
)  # fmt: skip
def test_schemas_have_their_risks(
    action: Action, attributes: tuple[AttributeChange, ...], worst: Risk, codes: list[str]
) -> None:
    at = address("kafka_schema.s")
    value = SchemaSubject("orders-value", "{}")
    given = Change(at, at.kind, Identity("s"), action, value, value, attributes)
    (found,) = add_risks(replace(make_plan([], state(), snapshot()), changes=(given,))).changes
    assert found.risk is worst
    assert [note[:6] for note in found.notes] == codes


@pytest.mark.parametrize(
    ("action", "path", "after", "worst", "codes"),
    [
        (Action.DELETE, (), None, Risk.REVIEW, ["KP2451"]),
        (Action.REPLACE, (), None, Risk.REVIEW, ["KP2454"]),
        (Action.UPDATE, ("config", "file"), "b", Risk.SAFE, ["KP2452"]),
        (Action.UPDATE, ("state",), "paused", Risk.REVIEW, ["KP2453"]),
        (Action.UPDATE, ("state",), "running", Risk.SAFE, []),
    ],
)
def test_connectors_have_their_risks(
    action: Action, path: tuple[str, ...], after: str | None, worst: Risk, codes: list[str]
) -> None:
    at = address("kafka_connector.c")
    value = KafkaConnector("c")
    attributes = (AttributeChange(path, "a", after),) if path else ()
    given = Change(at, at.kind, Identity("c"), action, value, value, attributes)
    (found,) = add_risks(replace(make_plan([], state(), snapshot()), changes=(given,))).changes
    assert found.risk is worst
    assert [note[:6] for note in found.notes] == codes


def test_every_code_of_a_risk_is_shown_by_a_test_here_or_of_what_is_destroyed() -> None:
    """Issue 7, item 7: a class and a code on every change."""
    folder = Path(__file__).parent
    shown = "".join((folder / name).read_text() for name in ("test_risk.py", "test_impact.py"))
    sources = "".join(inspect.getsource(each) for each in (risk, service_risk))
    codes = set(re.findall(r"KP2\d{3}", sources))
    assert len(codes) > 20
    assert sorted(each for each in codes if each not in shown) == []
