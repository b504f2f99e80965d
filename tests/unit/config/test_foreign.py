"""Resources that are not Kafka's: an error that names them all, or left out and counted."""

from pathlib import Path

from kplan.config.inputs import Inputs
from tests.unit.config.load_helper import load_files

MIXED = """resource "aws_s3_bucket" "logs" {
  bucket = "logs"
}
resource "random_id" "x" {}
resource "random_id" "y" {}
resource "kafka_topic" "orders" {
  name = "orders"
}
output "name" {
  value = kafka_topic.orders.name
}
"""


def test_one_error_names_all_resources_of_other_providers(tmp_path: Path) -> None:
    found = load_files(tmp_path, {"main.tf": MIXED})
    (problem,) = found.diagnostics
    assert problem.is_error
    assert problem.code == "KP126"
    for name in ("aws_s3_bucket.logs", "random_id.x", "random_id.y"):
        assert name in problem.detail


def test_they_are_left_out_and_counted_where_that_is_asked_for(tmp_path: Path) -> None:
    found = load_files(tmp_path, {"main.tf": MIXED}, Inputs(skips_foreign=True))
    (problem,) = found.diagnostics
    assert not problem.is_error
    assert "3 resources" in problem.detail
    assert [each.identity for each in found.resources] == ["orders"]
    assert found.outputs[0].value == "orders"


def test_nothing_is_lost_in_silence_that_depends_on_one_left_out(tmp_path: Path) -> None:
    text = MIXED + 'output "id" {\n  value = random_id.x.hex\n}\n'
    found = load_files(tmp_path, {"main.tf": text}, Inputs(skips_foreign=True))
    assert [(each.code, str(each.subject)) for each in found.diagnostics if each.is_error] == [
        ("KP142", "main.tf:13:11")
    ]
