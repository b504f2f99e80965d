"""The installed command replaces a topic, records and all, when it is told to."""

import json
from contextlib import closing

import pytest

from kplan.cluster.request import TopicDescription
from tests.e2e.places import Place

pytestmark = pytest.mark.broker


def described(place: Place, name: str) -> TopicDescription:
    with closing(place.cluster()) as cluster:
        found = cluster.topics([name])[name]
    assert isinstance(found, TopicDescription)
    return found


def test_a_topic_is_replaced_with_fewer_partitions_when_its_loss_is_acknowledged(
    place: Place,
) -> None:
    """Design law 6."""
    name, at = f"{place.prefix}.a", 'kafka_topic.t["a"]'
    place.edit("= var.partitions", '= each.key == "a" ? var.partitions : 2')
    place.run("apply", "-auto-approve")
    old = described(place, name)
    asked = ("-var=partitions=1", f"-replace={at}")
    assert "KP247" in place.fails("apply", "-auto-approve", *asked)
    assert described(place, name) == old
    given = (*asked, f"-acknowledge-data-loss={at}")
    shown = place.run("plan", "-out=p.kplan", *given)
    assert f"# {at} must be replaced" in shown
    assert "KP2101 every record of the topic is lost" in shown
    told = json.loads(place.run("show", "-json", "p.kplan"))["resource_changes"]
    assert [each.get("action_reason") for each in told if each["address"] == at] == [
        "replace_by_request"
    ]
    assert "1 added, 0 changed, 1 destroyed" in place.run("apply", "p.kplan")
    new = described(place, name)
    assert new.topic_id != old.topic_id
    assert len(new.assignment) == 1
    place.run("plan", "-detailed-exitcode", "-var=partitions=1")
    place.run("destroy", "-auto-approve")
