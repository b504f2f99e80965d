"""Configs of all kinds, written otherwise than Kafka returns them, on a real broker."""

from contextlib import closing

import pytest

from kplan.cluster.request import ConfigAlteration
from tests.e2e.places import Place, config_of, until

pytestmark = pytest.mark.broker

CONFIGURATION = """
provider "kafka" {{}}
resource "kafka_topic" "t" {{
  name               = "{prefix}.t"
  partitions         = 1
  replication_factor = 1
  config = {{
    "cleanup.policy"            = "delete, compact"
    "compression.type"          = " zstd "
    "min.cleanable.dirty.ratio" = "0.0001"
    "preallocate"               = "TRUE"
    "retention.ms"              = "+01000"
  }}
}}
resource "kafka_broker_config" "one" {{
  broker_id = 1
  config = {{
    "log.cleaner.io.max.bytes.per.second" = 20000000
    "log.cleaner.min.cleanable.ratio"     = "1"
    "log.cleanup.policy"                  = "delete, compact"
    "log.cleaner.threads"                 = "02"
  }}
}}
resource "kafka_group_config" "g" {{
  group_id = "{prefix}.g"
  config   = {{ "consumer.session.timeout.ms" = "046000" }}
}}
resource "kafka_client_metrics" "m" {{
  name = "{prefix}.m"
  config = {{
    "interval.ms" = "+10000"
    "metrics"     = "a.b, c.d"
    "match"       = "client_id=x, client_software_name=y"
  }}
}}
"""
LISTENER = """
provider "kafka" {{}}
resource "kafka_broker_config" "one" {{
  broker_id = 1
  config    = {{ "listener.name.client.max.connections" = "{count}" }}
}}
"""
THROTTLES = "leader.replication.throttled.replicas"


def test_values_in_other_spellings_are_settled_by_one_apply(place: Place) -> None:
    place.write(CONFIGURATION.format(prefix=place.prefix))
    place.run("apply", "-auto-approve")
    place.run("plan", "-detailed-exitcode")
    place.run("drift")
    (place.folder / "state" / "kplan.json").unlink()
    place.run("apply", "-auto-approve")
    place.run("plan", "-detailed-exitcode")
    place.run("drift")


def test_a_config_of_a_listener_is_changed_after_it_was_set(place: Place) -> None:
    """KIP-226; brokers tell such a key as read-only once it is set."""
    for count in (500, 600):
        place.write(LISTENER.format(count=count))
        place.run("apply", "-auto-approve")
        place.run("plan", "-detailed-exitcode")
    (place.folder / "state" / "kplan.json").unlink()
    place.run("apply", "-auto-approve")
    place.run("plan", "-detailed-exitcode")


def test_a_throttle_that_a_reassignment_left_is_no_change_where_configs_are_ignored(
    place: Place,
) -> None:
    place.edit(
        "replication_factor = 1\n",
        "replication_factor = 1\n  lifecycle { ignore_changes = [config] }\n",
    )
    place.run("apply", "-auto-approve")
    with closing(place.cluster()) as cluster:
        topic = f"{place.prefix}.a"
        cluster.alter_topic_configs([ConfigAlteration(topic, {THROTTLES: "*", "flush.ms": "7"})])
        until(lambda: config_of(cluster, topic, THROTTLES) == "*")
    place.run("plan", "-detailed-exitcode")
    place.run("apply", "-auto-approve")
    place.run("drift")
