"""The password by which Spark reads a topic with logs stays with Spark (issue 19, section 2.4)."""

import re
from contextlib import closing
from pathlib import Path

import pytest
from confluent_kafka import Producer

from kplan.cluster.request import NewTopic
from kplan.kafka.cluster import open_cluster
from kplan.kafka.transaction import librdkafka_settings
from kplan.sandbox.layout import SandboxSpec, Security
from kplan.sandbox.sandbox import Sandbox, properties_file
from tests.brokers import StartSandbox
from tests.contract.clusters import settings_of
from tests.e2e.commands import kplan
from tests.fleet.connect_server import FAST_SETTINGS, as_options, event_log_settings
from tests.fleet.kafka_connector import connector
from tests.fleet.test_fleet_lines import line

pytestmark = [pytest.mark.spark, pytest.mark.broker]

TOPIC = "audit.log"
FLEET = """
cluster "eu" {{
  audit = ["kafka://{topic}"]
  provider "kafka" {{ properties_file = "{admin}" }}
}}
"""


@pytest.fixture(scope="module")
def secured(sandbox_of: StartSandbox) -> Sandbox:
    """Start a node with SASL, or take that of the commands, which logs more."""
    return sandbox_of(SandboxSpec(security=Security.SASL, logs_allowed=True))


def test_it_is_in_no_event_log_table_or_output(secured: Sandbox, tmp_path: Path) -> None:
    admin = properties_file(secured.folder, "admin")
    (password,) = re.findall('password="([^"]*)"', admin.read_text())
    settings = settings_of(secured, "admin")
    with closing(open_cluster(settings)) as cluster:
        assert cluster.create_topics([NewTopic(TOPIC, 2, 1)]) == {TOPIC: None}
    producer = Producer(librdkafka_settings(settings))
    for host in range(10):
        producer.produce(TOPIC, line(f"User:{host}").encode())
    assert producer.flush(20) == 0
    (tmp_path / "fleet.hcl").write_text(FLEET.format(topic=TOPIC, admin=admin))
    events = tmp_path / "events"
    conf = {**FAST_SETTINGS, **connector(), **event_log_settings(events)}
    ran = kplan(tmp_path, "fleet", "audit", "ingest", *as_options(conf))
    assert ran.code == 0, ran
    assert "requests 10" in ran.out
    written = [each for each in tmp_path.rglob("*") if each.is_file()]
    assert any(TOPIC.encode() in each.read_bytes() for each in events.rglob("*") if each.is_file())
    assert [each for each in written if password.encode() in each.read_bytes()] == []
    assert password not in ran.out + ran.err
