"""Policies of a real broker, Java classes and all: found at plan, and told in their own words."""

import json
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from kplan.sandbox.layout import SandboxSpec
from kplan.sandbox.lifecycle import prepare_runtime
from kplan.sandbox.sandbox import Sandbox
from tests.brokers import StartSandbox
from tests.e2e.places import Place

pytestmark = pytest.mark.broker

SOURCES = sorted((Path(__file__).parent / "broker_policies").glob("*.java"))
TOPICS = """
provider "kafka" {{}}
locals {{
  topics = {{ small = [2, "86400000"], large = [11, "86400000"], brief = [2, "5"] }}
}}
resource "kafka_topic" "t" {{
  for_each           = local.topics
  name               = "{prefix}.${{each.key}}"
  partitions         = each.value[0]
  replication_factor = 1
  config             = {{ "retention.ms" = each.value[1] }}
}}
"""


@pytest.fixture(scope="module")
def policed_broker(sandbox_of: StartSandbox, tmp_path_factory: pytest.TempPathFactory) -> Sandbox:
    """Run one node with a CreateTopicPolicy and an AlterConfigPolicy, compiled here and now."""
    compiler = shutil.which("javac")
    if compiler is None:
        pytest.skip("there is no javac here to compile the policies of the broker")
    classes = tmp_path_factory.mktemp("classes")
    spec = SandboxSpec()
    jars = ":".join(str(each) for each in prepare_runtime(spec.kafka_version).class_path)
    command = [compiler, "--release", "17", "-cp", jars, "-d", str(classes), *map(str, SOURCES)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    settings = {
        "create.topic.policy.class.name": "NoLargeTopics",
        "alter.config.policy.class.name": "NoShortRetention",
    }
    return sandbox_of(SandboxSpec(server_properties=settings, class_path=(classes,)))


@pytest.fixture
def place(tmp_path: Path, policed_broker: Sandbox) -> Iterator[Place]:
    found = Place(
        tmp_path,
        {"KPLAN_BOOTSTRAP_SERVERS": policed_broker.bootstrap_servers, "KPLAN_TLS_ENABLED": "false"},
        TOPICS,
    )
    yield found
    found.tidy_up()


def unwrapped(told: str) -> str:
    return " ".join(told.replace("│", " ").split())


def topics(place: Place) -> list[str]:
    with closing(place.cluster()) as cluster:
        return sorted(name.rpartition(".")[2] for name in cluster.topics() if place.prefix in name)


def test_what_the_brokers_policies_refuse_is_told_at_plan_in_their_own_words(place: Place) -> None:
    """K201-14; KRaft asks the AlterConfigPolicy about the configs of a new topic too (trap 10)."""
    ran = place.ran("plan", "-detailed-exitcode", code=3)
    told = unwrapped(ran.err)
    assert f"{place.prefix}.large: at most 10 partitions" in told
    assert "retention.ms of at least a minute, not 5" in told
    assert told.count("[KP331]") == 2
    assert "Plan: 1 to add" in ran.out
    lines = [json.loads(each) for each in place.run("plan", "-json", code=1).splitlines()]
    (plan,) = [each for each in lines if each["type"] == "plan"]
    said = {each["identity"].rpartition(".")[2]: each for each in plan["kplan"]["policies"]}
    assert {name: each["origin"] for name, each in said.items()} == {
        "large": "broker",
        "brief": "broker",
    }


def test_the_rest_is_applied_and_what_is_refused_is_told_again(place: Place) -> None:
    out = place.run("apply", "-auto-approve", "-detailed-exitcode", code=3)
    assert "POLICY_VIOLATION" in out
    assert topics(place) == ["small"]
    place.edit("[11,", "[3,")
    place.edit('"5"', '"60000"')
    place.run("apply", "-auto-approve")
    assert topics(place) == ["brief", "large", "small"]
    place.edit('[2, "60000"]', '[2, "7"]')
    told = unwrapped(place.ran("plan", "-detailed-exitcode", code=3).err)
    assert "retention.ms of at least a minute, not 7" in told


def test_growth_past_what_the_broker_lets_be_created_is_for_kplans_policies(place: Place) -> None:
    """Trap 9: CreatePartitions bypasses every policy of the broker; kplan's own see it."""
    place.edit("[11,", "[3,")
    place.edit('"5"', '"60000"')
    place.run("apply", "-auto-approve")
    place.edit("[3,", "[20,")
    assert "Plan: 0 to add, 1 to change" in place.run("plan")
    (place.folder / "cap.hcl").write_text(
        'policy "cap" {\n on = ["create", "alter"]\n kind = "kafka_topic"\n deny {\n'
        '  condition = requested.partitions > 10\n  message = "at most 10, also later"\n }\n}\n'
    )
    assert "at most 10, also later" in place.run("plan", "-detailed-exitcode", code=3)


def test_the_brokers_are_not_asked_with_no_broker_validate(place: Place) -> None:
    assert "Plan: 3 to add" in place.run("plan", "-no-broker-validate")


def test_a_policy_of_the_broker_with_a_defect_spoils_no_neighbour(place: Place) -> None:
    """K201-25: -1 from a broker may be a policy with a bug; the batch is split to find the item."""
    place.edit(f'"{place.prefix}.${{each.key}}"', f'"${{each.key}}.{place.prefix}"')
    place.edit("large =", "broken =")
    ran = place.ran("plan", code=1)
    assert f"broken.{place.prefix}" in ran.err
    assert f"small.{place.prefix}: " not in ran.err
