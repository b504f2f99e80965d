"""Levels of loggers of brokers and controllers, by the installed command."""

import json
from pathlib import Path

import pytest

from kplan.sandbox.layout import SandboxSpec
from kplan.sandbox.sandbox import Sandbox
from tests.brokers import StartSandbox
from tests.e2e.places import Place

pytestmark = pytest.mark.broker

REQUESTS = "kafka.request.logger"
LOGGER = """
provider "kafka" {{}}
resource "kafka_logger" "requests" {{
  node_id = {node}
  logger  = "kafka.request.logger"
  level   = "{level}"
}}
"""


@pytest.fixture(scope="module")
def cluster(sandbox_of: StartSandbox) -> Sandbox:
    return sandbox_of(SandboxSpec(brokers=1, controllers=1))


def _level(place: Place, node: int, *args: str) -> str:
    told = json.loads(place.run("loggers", "list", str(node), "-match=*request*", "-json", *args))
    (row,) = [each for each in told["tables"]["loggers"]["rows"] if each["logger"] == REQUESTS]
    return str(row["level"])


def test_a_level_is_declared_drifts_and_is_reset(tmp_path: Path, cluster: Sandbox) -> None:
    """KIP-412: it is not kept over a restart, which the next plan tells."""
    place = Place(
        tmp_path,
        {"KPLAN_BOOTSTRAP_SERVERS": cluster.bootstrap_servers, "KPLAN_TLS_ENABLED": "false"},
        text=None,
    )
    node = next(each.id for each in cluster.nodes if each.is_broker)
    before = _level(place_with_provider(place), node)
    place.write(LOGGER.format(node=node, level="debug"))
    place.run("apply", "-auto-approve")
    assert _level(place, node) == "DEBUG"
    assert "No changes." in place.run("plan", "-detailed-exitcode")
    changed = place.run("loggers", "set", str(node), f"{REQUESTS}=ERROR", "-auto-approve")
    assert f"Set on node {node}: {REQUESTS} = ERROR." in changed
    assert '"DEBUG"' in place.run("drift", code=2)
    place.run("apply", "-auto-approve")
    assert _level(place, node) == "DEBUG"
    place.run("destroy", "-auto-approve")
    assert _level(place, node) == before


def place_with_provider(place: Place) -> Place:
    place.write('provider "kafka" {}\n')
    return place


def test_an_unknown_logger_is_refused_before_anything_is_sent(
    tmp_path: Path, cluster: Sandbox
) -> None:
    place = Place(
        tmp_path,
        {"KPLAN_BOOTSTRAP_SERVERS": cluster.bootstrap_servers, "KPLAN_TLS_ENABLED": "false"},
        text=None,
    )
    node = next(each.id for each in cluster.nodes if each.is_broker)
    known = LOGGER.format(node=node, level="INFO")
    place.write(
        known
        + known.replace('provider "kafka" {}\n', "")
        .replace('"requests"', '"none"')
        .replace(REQUESTS, "no.such.logger")
    )
    refused = place.fails("plan")
    assert "Logger no.such.logger does not exist" in refused
    assert refused.count("KP241") == 1
    place_with_provider(place)
    assert "is not a log level" in place.fails("loggers", "set", str(node), f"{REQUESTS}=LOUD")


def test_the_levels_of_a_controller_are_set_directly(tmp_path: Path, cluster: Sandbox) -> None:
    """K919-24: a controller is asked, with the brokers left out."""
    controllers = cluster.bootstrap_controllers
    place = Place(tmp_path, {"KPLAN_ALLOW_DIRECT": "true", "KPLAN_TLS_ENABLED": "false"}, text=None)
    place_with_provider(place)
    node = next(each.id for each in cluster.nodes if not each.is_broker)
    asked = f"-bootstrap-controller={controllers}"
    told = json.loads(place.run("loggers", "list", str(node), "-json", asked))
    name = next(
        each["logger"]
        for each in told["tables"]["loggers"]["rows"]
        if each["logger"].startswith("org.apache.kafka.controller")
    )
    place.run("loggers", "set", str(node), f"{name}=TRACE", "-auto-approve", asked)
    told = json.loads(place.run("loggers", "list", str(node), f"-match={name}", "-json", asked))
    assert [each["level"] for each in told["tables"]["loggers"]["rows"]] == ["TRACE"]
    place.run("loggers", "set", str(node), f"{name}=default", "-auto-approve", asked)
