"""Schemas and connectors that exist already are taken over."""

from pathlib import Path

from kplan.cluster.connect import NewConnector
from kplan.cluster.memory.cluster import MemoryCluster
from kplan.cluster.registry import NewSchema
from kplan.model.plan import Action
from kplan.workflow.adopt.import_ import import_object
from tests.project_harness import ProjectHarness

PLUGIN = "org.apache.kafka.connect.file.FileStreamSourceConnector"
FOLDER = f"""
provider "kafka" {{ bootstrap_servers = ["127.0.0.1:1"] }}
resource "kafka_schema" "orders" {{
  subject = "orders-value"
  schema  = "{{ \\"type\\": \\"string\\" }}"
}}
resource "kafka_connector" "lines" {{
  name             = "lines"
  config           = {{ "connector.class" = "{PLUGIN}", "topic" = "lines" }}
  config_sensitive = {{ "db.password" = "hunter2" }}
}}
"""


def test_a_schema_and_a_connector_are_imported_and_nothing_is_to_do(tmp_path: Path) -> None:
    site = ProjectHarness(tmp_path, MemoryCluster(1))
    registry, connect = site.cluster.schema_registry(), site.cluster.kafka_connect()
    assert registry is not None
    assert connect is not None
    registry.register_schemas([NewSchema("orders-value", "AVRO", '"string"')])
    config = {"connector.class": PLUGIN, "topic": "lines", "db.password": "hunter2"}
    connect.create_connectors([NewConnector("lines", config)])
    site.write(FOLDER)
    import_object(site.project, "kafka_schema.orders", "orders-value", site.ports)
    import_object(site.project, "kafka_connector.lines", "lines", site.ports)
    planned = site.plan().plan
    assert {each.action for each in planned.changes} == {Action.NO_OP}
    assert "hunter2" not in site.project.state_path.read_text()
