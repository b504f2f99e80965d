"""Connections: `provider "kafka"` blocks with and without alias."""

from pathlib import Path

from tests.unit.config.folders import loaded


def test_several_connections_are_told_apart_by_alias(tmp_path: Path) -> None:
    text = """
    provider "kafka" { bootstrap_servers = ["a:9092"] }
    provider "kafka" {
      alias             = "eu"
      bootstrap_servers = ["b:9092"]
    }
    resource "kafka_topic" "x" {
      provider = kafka.eu
      name     = "x"
    }
    """
    found = loaded(tmp_path, {"main.tf": text})
    assert found.diagnostics == ()
    assert [(each.alias, each.arguments) for each in found.providers] == [
        (None, {"bootstrap_servers": ["a:9092"]}),
        ("eu", {"bootstrap_servers": ["b:9092"]}),
    ]


def test_two_of_the_same_alias_and_one_that_is_not_there_are_told(tmp_path: Path) -> None:
    text = """provider "kafka" {}
provider "kafka" {}
provider "kafka" {
  alias = "eu"
}
resource "kafka_topic" "x" {
  provider = kafka.ue
  name     = "x"
}
"""
    found = loaded(tmp_path, {"main.tf": text})
    assert [(each.code, str(each.subject), each.hint) for each in found.diagnostics] == [
        ("KP128", "main.tf:2:1", "Tell the connections apart with alias = ...; one may have none."),
        ("KP192", "main.tf:7:14", 'Did you mean "kafka.eu"?'),
    ]


def test_an_argument_that_fails_is_told_and_the_others_are_there(tmp_path: Path) -> None:
    text = 'provider "kafka" {\n  timeout = 1 + "x"\n  tls_enabled = true\n}\n'
    found = loaded(tmp_path, {"main.tf": text})
    assert [each.code for each in found.diagnostics] == ["KP150"]
    assert found.providers[0].arguments == {"tls_enabled": True}
