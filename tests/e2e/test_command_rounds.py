"""The installed command applies what needs data of the apply in a second round."""

from contextlib import closing

import pytest

from kplan.cluster.request import TopicDescription
from tests.e2e.places import Place

pytestmark = pytest.mark.broker

CHAIN = """
provider "kafka" {{}}
resource "kafka_topic" "first" {{
  name               = "{prefix}.first"
  partitions         = 3
  replication_factor = 1
  config             = {{ "retention.ms" = "86400000" }}
}}
data "kafka_topic" "first" {{
  name       = "{prefix}.first"
  depends_on = [kafka_topic.first]
}}
resource "kafka_topic" "second" {{
  name               = "{prefix}.second"
  partitions         = data.kafka_topic.first.partitions
  replication_factor = 1
  config             = data.kafka_topic.first.config
}}
"""


def test_a_topic_takes_its_layout_from_one_of_the_same_apply(place: Place) -> None:
    place.write(CHAIN.format(prefix=place.prefix))
    shown = place.run("plan")
    assert "Plan: 1 to add" in shown
    assert "1 resource can be planned only after it is" in shown
    place.ran("apply", "-auto-approve")
    with closing(place.cluster()) as cluster:
        name = f"{place.prefix}.second"
        found, configs = cluster.topics([name])[name], cluster.topic_configs([name])[name]
    assert isinstance(found, TopicDescription)
    assert len(found.assignment) == 3
    assert "86400000" in str(configs)
    assert "No changes." in place.run("plan", "-detailed-exitcode")
