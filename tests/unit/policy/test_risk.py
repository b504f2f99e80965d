"""How much a reviewer should worry."""

import pytest

from kplan.kinds.acl import Acl
from kplan.kinds.topic import Topic
from kplan.model.plan import Change, Risk
from kplan.policy.risk import with_risks
from tests.values import acl, owned, plan_of, resource, snapshot, state, topic

ORDERS = "kafka_topic.orders"


def judged(before: Topic | Acl, after: Topic | Acl | None) -> Change:
    at = ORDERS if isinstance(before, Topic) else "kafka_acl.a"
    live = snapshot([(before, "id")]) if isinstance(before, Topic) else snapshot(acls=[before])
    declared = [resource("kafka_topic.z", topic("z"))]
    if after is not None:
        declared.append(resource(at, after))
    plan = with_risks(plan_of(declared, state(owned(at, before, "")), live))
    assert all(each in plan.changes for batch in plan.batches for each in batch.changes)
    return next(each for each in plan.changes if str(each.address) == at)


@pytest.mark.parametrize(
    ("before", "after", "risk", "code"),
    [
        (topic(), None, Risk.DANGEROUS, "KP2101"),
        (topic(), topic(partitions=6), Risk.REVIEW, "KP2203"),
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
        (acl(), acl(acl_operation="Write"), Risk.REVIEW, "KP2303"),
    ],
)  # fmt: skip
def test_a_change_is_as_risky_as_the_worst_of_what_it_does(
    before: Topic | Acl, after: Topic | Acl | None, risk: Risk, code: str
) -> None:
    change = judged(before, after)
    assert change.risk is risk
    assert [note[:6] for note in change.notes] == ([code] if code else [])


def test_creating_is_safe() -> None:
    plan = with_risks(plan_of([resource(ORDERS, topic())], state(), snapshot()))
    assert [each.risk for each in plan.changes] == [Risk.SAFE]
