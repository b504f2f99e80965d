"""Drift that is known and accepted is left out, and nothing else."""

import pytest

from kplan.model.errors import UsageError
from kplan.model.plan import Change
from kplan.model.resource import Identity
from kplan.plan.drift import FilteredDrift, filter_drift, parse_patterns
from tests.values import make_plan, owned, snapshot, state, topic

NOTHING: dict[str, tuple[Identity, ...]] = {}


def drifted() -> tuple[Change, ...]:
    held = state(
        owned("kafka_topic.audit", topic("audit", config={"retention.ms": "1", "a": "1"}), "1"),
        owned('kafka_topic.t["a b"]', topic("tmp.x"), "2"),
        owned("kafka_topic.again", topic("again"), "3"),
    )
    live = [
        (topic("audit", config={"retention.ms": "2", "a": "2"}), "1"),
        (topic("again", config={"a": "9"}), "other"),
    ]
    return make_plan([], held, snapshot(live)).drift


def left(text: str) -> FilteredDrift:
    return filter_drift(drifted(), NOTHING, parse_patterns(text, "f"))


def names(found: FilteredDrift) -> list[str]:
    return [each.address.name for each in found.changes]


def test_without_patterns_all_drift_is_left() -> None:
    found = left("\n# nothing\n   \n")
    assert found.changes == drifted()
    assert found.ignored_count == 0


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("kafka_topic.audit", ["again", "t"]),
        ("kafka_topic.a*", ["t"]),
        ('kafka_topic.t["a b"]', ["again", "audit"]),
        ("kafka_topic.t", ["again", "audit"]),
        ("kafka_topic/tmp.?  # by name", ["again", "audit"]),
        ("*", []),
        ("*\n!kafka_topic/audit", ["audit"]),
        ("!kafka_topic/audit\n*", []),
        ("kafka_topic.au", ["again", "audit", "t"]),
    ],
)
def test_a_pattern_fits_an_address_its_block_or_the_object(text: str, kept: list[str]) -> None:
    found = left(text)
    assert names(found) == kept
    assert found.ignored_count == 3 - len(kept)


def test_an_attribute_is_ignored_and_the_others_are_not() -> None:
    found = left("kafka_topic.audit config.retention.ms")
    (audit,) = [each for each in found.changes if each.address.name == "audit"]
    assert [each.path for each in audit.attributes] == [("config", "a")]
    assert found.ignored_count == 1
    assert "audit" not in names(left("kafka_topic.audit config.*"))


def test_a_topic_that_was_created_again_is_drift_whatever_its_attributes() -> None:
    assert "again" in names(left("* config.*"))


def test_a_deleted_object_has_no_attributes_to_ignore() -> None:
    assert "t" in names(left("* *"))


def test_what_is_not_managed_is_ignored_by_name() -> None:
    foreign = {"kafka_topic": (Identity("tmp.a"), Identity("b")), "kafka_acl": (Identity("c"),)}
    found = filter_drift((), foreign, parse_patterns("kafka_topic/tmp.*", "f"))
    assert found.unmanaged == {"kafka_topic": ("b",), "kafka_acl": ("c",)}
    assert found.ignored_count == 1


def test_lines_that_are_no_patterns_are_all_named() -> None:
    with pytest.raises(UsageError) as caught:
        parse_patterns('ok\na b c\n!\n"open\n', "drift.ignore")
    assert "drift.ignore:2, drift.ignore:3, drift.ignore:4" in str(caught.value)
