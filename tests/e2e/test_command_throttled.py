"""The installed command under a controller mutation quota (KIP-599)."""

import json
from contextlib import closing

import pytest

from kplan.cluster.request import NewPartitions, NewTopic, TopicRef
from kplan.sandbox.sandbox import Sandbox
from tests.e2e.places import Place
from tests.soak.large import mutation_quota

pytestmark = pytest.mark.broker

RATE = 10.0
"""A full bucket lets 11 s of it through at once."""

MANY = """
provider "kafka" {{}}
resource "kafka_topic" "t" {{
  count              = 30
  name               = "{prefix}.${{count.index}}"
  partitions         = 4
  replication_factor = 1
}}
"""


def test_an_apply_and_a_destroy_finish_although_they_are_throttled(
    place: Place, broker: Sandbox
) -> None:
    """Trap 8: only what was refused is sent again, after the time that the broker names."""
    place.write(MANY.format(prefix=place.prefix))
    with mutation_quota(broker.bootstrap_servers, RATE):
        for words in (("apply", "-broker-validate=false"), ("destroy",)):
            told = place.run(*words, "-auto-approve", "-json").splitlines()
            items = [each["item"] for each in map(json.loads, told) if each["type"] == "apply_item"]
            assert [each["status"] for each in items] == ["ok"] * 30
            attempts = sorted(each["attempts"] for each in items)
            # The bucket may be empty when the first request comes, which then refuses all of it.
            assert attempts[0] < attempts[-1], "only what was refused is sent again"
    assert place.run("state", "list") == ""


def test_a_quota_that_comes_while_kplan_is_at_work_refuses_and_does_not_delay(
    place: Place, broker: Sandbox
) -> None:
    """What is above it is told at once, topic by topic, also where the first create met none."""
    names = [f"{place.prefix}.{number}" for number in range(60)]
    with closing(place.cluster()) as cluster:
        assert cluster.create_topics([NewTopic(names[0], 1, 1)]) == {names[0]: None}
        with mutation_quota(broker.bootstrap_servers, RATE):
            created = cluster.create_topics([NewTopic(each, 4, 1) for each in names[1:]])
            grown = cluster.create_partitions([NewPartitions(names[0], 9)])
        refused = [each for each in created.values() if each is not None]
        assert 0 < len(refused) < len(created), "a full bucket lets a part of them through"
        assert {each.error for each in (*refused, grown[names[0]]) if each} == {
            "THROTTLING_QUOTA_EXCEEDED"
        }
        there = [name for name, why in created.items() if why is None]
        cluster.delete_topics([TopicRef(name) for name in (names[0], *there)])
