"""`kplan records delete` against a real broker, with records that a real client wrote."""

import json

import pytest
from confluent_kafka import Producer

from tests.e2e.places import Place

pytestmark = pytest.mark.broker

RECORDS = 10
TOPIC = """
provider "kafka" {{}}
resource "kafka_topic" "t" {{
  name               = "{prefix}.t"
  partitions         = 2
  replication_factor = 1
}}
policy "keep_the_newest" {{
  on    = ["delete_records"]
  kind  = "kafka_topic"
  level = "soft"
  deny {{
    condition = anytrue([for each in values(change.offsets) : each > 8])
    message   = "the newest are kept"
  }}
}}
"""


def starts(place: Place) -> list[int | None]:
    topic = f"{place.prefix}.t"
    cluster = place.cluster()
    try:
        return [
            each.start for _, each in sorted(cluster.topic_use([topic])[topic].partitions.items())
        ]
    finally:
        cluster.close()


def test_records_are_shown_asked_about_deleted_and_told(place: Place) -> None:
    """Issue 7, item 8: plan first, the policy hook, the outcome of each partition; K201-12, -20."""
    place.write(TOPIC.format(prefix=place.prefix))
    place.run("apply", "-auto-approve")
    topic = f"{place.prefix}.t"
    producer = Producer({"bootstrap.servers": place.env["KPLAN_BOOTSTRAP_SERVERS"]})
    for each in range(2 * RECORDS):
        producer.produce(topic, f"value {each}", partition=each % 2)
    assert producer.flush(20) == 0

    shown = json.loads(place.run("records", "delete", topic, "-before=5", "-dry-run", "-json"))
    assert [each["records"] for each in shown["partitions"]] == [5, 5]
    assert starts(place) == [0, 0]

    place.fails("records", "delete", topic, "-before=5")  # nobody can be asked
    assert starts(place) == [0, 0]

    told = place.run("records", "delete", f"{topic}:0=5", f"{topic}:1=7", "-auto-approve")
    assert "Deletion complete!" in told
    assert starts(place) == [5, 7]

    told = place.run("records", "delete", topic, "-before=end", "-auto-approve", code=1)
    assert "the newest are kept" in told
    assert starts(place) == [5, 7]

    override = "-override=keep_the_newest=ticket 7"
    place.run("records", "delete", topic, "-before=end", "-auto-approve", override)
    assert starts(place) == [RECORDS, RECORDS]

    behind = place.fails("records", "delete", topic, "-before=11", "-auto-approve")
    assert "KP461" in behind
    absent = place.fails("records", "delete", f"{place.prefix}.none", "-before=1", "-auto-approve")
    assert "KP462" in absent
    internal = place.fails("records", "delete", "__consumer_offsets", "-before=1", "-auto-approve")
    assert "KP207" in internal
