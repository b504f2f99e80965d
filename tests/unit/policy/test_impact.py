"""How far a change reaches, and when that is too far."""

import pytest

from kplan.cluster.usage import GroupUse, PartitionUse, TopicUse
from kplan.kinds.topic_rules import Topic
from kplan.model.impact import Impact
from kplan.model.plan import Change, Plan, Risk
from kplan.policy.risk import (
    add_impacts,
    add_risks,
    destructive_changes,
    topic_impact,
)
from kplan.policy.thresholds import check_thresholds
from tests.values import make_plan, owned, resource, snapshot, state, topic

ORDERS = "kafka_topic.orders"
NOW = 1_000_000_000
GROUP = GroupUse("billing", is_live=True, members=2, lag=7)


def planned(before: Topic, after: Topic | None) -> Plan:
    declared = [resource("kafka_topic.z", topic("z"))]
    if after is not None:
        declared.append(resource(ORDERS, after))
    return add_risks(make_plan(declared, state(owned(ORDERS, before)), snapshot([(before, "id")])))


def judged(plan: Plan, found: Impact) -> Change:
    (change,) = destructive_changes(plan)
    made = add_impacts(plan, {change.key: found})
    assert all(each in made.changes for batch in made.batches for each in batch.changes)
    return next(each for each in made.changes if str(each.address) == ORDERS)


DELETE = planned(topic(), None)
FULL = topic_impact(
    TopicUse({0: PartitionUse(2, 10, NOW - 7_200_000, 400, 1), 1: PartitionUse(0, 5, None, 100, 0)},
             (GROUP,)), NOW,
)  # fmt: skip


def test_partitions_are_summed_and_the_newest_record_counts() -> None:
    assert (FULL.records, FULL.size_bytes, FULL.age_ms, FULL.producers) == (13, 500, 7_200_000, 1)


def test_a_part_that_is_not_known_makes_the_sum_unknown_and_never_zero() -> None:
    found = topic_impact(TopicUse({0: PartitionUse(0, 9), 1: PartitionUse()}, None, ("why",)), NOW)
    assert (found.records, found.size_bytes, found.groups, found.producers) == (None,) * 4
    nothing = topic_impact(TopicUse(unread=("hidden",)), NOW)
    assert (nothing.records, nothing.groups) == (None, None)
    notes = " | ".join(judged(DELETE, nothing).notes)
    assert "UNKNOWN records, UNKNOWN bytes" in notes
    assert "KP2107 not read: hidden" in notes


def test_a_delete_says_what_is_lost_and_who_is_hit() -> None:
    change = judged(DELETE, FULL)
    assert change.risk is Risk.DANGEROUS
    assert change.notes[1:] == (
        "KP2104 13 records, 500 bytes, the newest 2 h old",
        "KP2105 groups: billing (2 live, lag 7)",
        "KP2106 producers with an id that have written it lately: 1",
    )


def test_what_is_empty_and_unused_is_told_and_not_counted_as_dangerous() -> None:
    """An apply looks again: what is in use by then is dangerous."""
    empty = topic_impact(TopicUse({0: PartitionUse(5, 5, None, 0, 0)}, ()), NOW)
    change = judged(DELETE, empty)
    assert change.risk is Risk.REVIEW
    assert change.notes[-1] == "KP2103 topic is empty; no consumer groups or recent producers"


def test_a_change_of_cleanup_that_cannot_be_looked_at_is_of_unknown_risk() -> None:
    plan = planned(topic(), topic(config={"cleanup.policy": "compact"}))
    assert judged(plan, Impact(unread=("no right",))).risk is Risk.UNKNOWN
    assert judged(plan, FULL).risk is Risk.REVIEW


@pytest.mark.parametrize(
    ("after", "is_looked_at"),
    [
        (topic(config={"retention.ms": "9"}), True),
        (topic(config={"retention.bytes": "9"}), True),
        (topic(config={"cleanup.policy": "compact"}), True),
        (topic(config={"segment.ms": "9"}), False),
        (topic(partitions=6), False),
        (topic(), False),
    ],
)
def test_only_what_can_destroy_records_is_looked_at(after: Topic, is_looked_at: bool) -> None:
    assert bool(destructive_changes(planned(topic(), after))) is is_looked_at


def test_a_plan_above_a_threshold_is_refused() -> None:
    codes = [each.code for each in check_thresholds(DELETE, 0, 99)]
    assert codes == ["KP451", "KP452"]
    assert list(check_thresholds(DELETE, 1, 100)) == []
    assert list(check_thresholds(DELETE, None, None)) == []
