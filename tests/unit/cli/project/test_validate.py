"""`kplan validate`: values of configs are checked without a cluster, where they are written."""

from contextlib import chdir
from pathlib import Path

import pytest

from kplan.cli.run import run

Capture = pytest.CaptureFixture[str]

TOPIC = """
resource "kafka_topic" "orders" {
  name       = "orders"
  partitions = 3
  config = {
    CONFIG
  }
}
"""


def validate(folder: Path, config: str, *options: str) -> int:
    (folder / "main.tf").write_text(TOPIC.replace("CONFIG", config))
    with chdir(folder):
        return run(["validate", *options], {})


def test_a_value_of_the_wrong_type_is_pointed_at(tmp_path: Path, capsys: Capture) -> None:
    assert validate(tmp_path, '"retention.ms" = "7 days"') == 1
    told = capsys.readouterr().err
    assert "main.tf line 6, column 22" in told
    assert "^^^^^^^^" in told
    assert 'retention.ms is "7 days": Not a number of type LONG.' in told


@pytest.mark.parametrize(
    ("config", "version", "told"),
    [
        ('"segment.bytes" = 1000', "4.0", "Value must be at least 1048576"),
        ('"segment.bytes" = 1000', "3.9", ""),
        ('"message.format.version" = "2.8"', "4.1", "it ended with Kafka 4.0"),
        ('"message.format.version" = "2.8"', "2.8.1", ""),
        ('"local.retention.ms" = 5', "3.5", "it came with Kafka 3.6"),
        ('"local.retention.ms" = 5', "3.6", ""),
        ('"compression.zstd.level" = 5', "3.7", "it came with Kafka 3.8"),
        ('"confluent.placement.constraints" = "x"', "3.7", ""),
    ],
)
def test_a_config_is_held_against_the_version_that_was_chosen(
    tmp_path: Path, capsys: Capture, config: str, version: str, told: str
) -> None:
    assert validate(tmp_path, config) == 0, "some version takes it"
    assert validate(tmp_path, config, f"-kafka-version={version}") == bool(told)
    shown = capsys.readouterr().err
    assert told in shown
    assert ("main.tf line 6" in shown) == bool(told) or "confluent" in config


def test_what_is_no_version_is_refused(tmp_path: Path, capsys: Capture) -> None:
    assert validate(tmp_path, "", "-kafka-version=new") == 1
    assert "is not of the form X.Y" in capsys.readouterr().err


def test_a_sensitive_value_is_not_told(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "secret.tf").write_text(
        'variable "s" {\n  sensitive = true\n  default   = "hunter2"\n}\n'
        'resource "kafka_broker_config" "all" {\n'
        '  config = { "log.retention.ms" = var.s }\n}\n'
    )
    assert validate(tmp_path, '"retention.ms" = var.s') == 1
    told = capsys.readouterr().err
    assert "hunter2" not in told
    assert told.count("(sensitive value)") == 2


POLICY = """
policy "sizes" {
  on    = ["create", "upgrade"]
  level = "harsh"
  order = "x"
  kind  = 7
  waivers = [
    { owner = "", reason = "r", expires = "2027-01-31", applies_to = ["a"] },
    { owner = "o", reason = "r", expires = "soon", applies_to = ["a"] },
  ]
  deny {
    condition = requested.partitions > 1
    message   = "Too many."
  }
}
"""


def test_every_mistake_of_a_policy_is_told_at_once(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "main.tf").write_text(POLICY)
    with chdir(tmp_path):
        assert run(["validate"], {}) == 1
    told = " ".join(capsys.readouterr().err.replace("│", " ").split())
    for each in (
        '"upgrade" is not an operation.',
        '"harsh" is not a level.',
        '"order" must be a number.',
        '"kind" must be a kind, or a list of them.',
        "A waiver names its owner.",
        '"soon" is not a date.',
    ):
        assert each in told


def test_an_attribute_that_is_missing_is_not_called_an_object(
    tmp_path: Path, capsys: Capture
) -> None:
    (tmp_path / "main.tf").write_text(
        'variable "v" {\n  type = map(object({ size = number }))\n  default = { a = {} }\n}\n'
    )
    with chdir(tmp_path):
        assert run(["validate"], {}) == 1
    told = " ".join(capsys.readouterr().err.replace("│", " ").split())
    assert 'attribute "size" is required.' in told
    assert "got object" not in told


@pytest.mark.parametrize("block", ['provisioner "local-exec"', "connection"])
def test_a_block_that_runs_a_program_is_answered_with_where_to_run_it(
    tmp_path: Path, capsys: Capture, block: str
) -> None:
    (tmp_path / "main.tf").write_text(
        f'resource "kafka_topic" "t" {{\n  name = "a"\n  partitions = 1\n'
        f'  {block} {{\n    command = "x"\n  }}\n}}\n'
    )
    with chdir(tmp_path):
        assert run(["validate"], {}) == 1
    told = " ".join(capsys.readouterr().err.replace("│", " ").split())
    assert f'Blocks of type "{block.partition(" ")[0]}" are not expected here.' in told
    assert "hint: kplan runs no programs; run the script in the pipeline" in told


@pytest.mark.parametrize("count", ["count = -1", "for_each = [1]", 'count = "many"'])
def test_a_wrong_count_hides_no_mistake_of_the_body(
    tmp_path: Path, capsys: Capture, count: str
) -> None:
    (tmp_path / "main.tf").write_text(
        f'resource "kafka_topic" "t" {{\n  {count}\n  name = "a b"\n'
        '  partitions = "three"\n  replication_factor = each.value\n}\n'
    )
    with chdir(tmp_path):
        assert run(["validate"], {}) == 1
    told = capsys.readouterr().err
    assert "[KP175]" in told or "[KP176]" in told
    assert "main.tf line 3" in told
    assert "main.tf line 4" in told
    assert told.count('Inappropriate value for argument "partitions"') == 1
