"""The installed command on three brokers in three racks, with three controllers of their own."""

import json
import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from kplan.cluster.request import AclBinding, ConfigAlteration, NewTopic, TopicRef
from kplan.model.errors import Refusal
from kplan.sandbox.sandbox import Sandbox
from tests.capability import GROUP_CONFIGS
from tests.e2e.places import Place, config_of, until

pytestmark = pytest.mark.broker

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted(
    each.parent.name
    for each in ROOT.glob("examples/*/main.tf")
    if each.parent.name not in {"two-clusters", "team-pipeline"}  # have tests of their own
)
NEEDS = {"break-glass": GROUP_CONFIGS, "cluster-settings": GROUP_CONFIGS}
"""What examples declare that older releases lack."""
THREE = "-var=replication_factor=3"


@pytest.fixture
def example(request: pytest.FixtureRequest, tmp_path: Path, cluster3: Sandbox) -> Iterator[Place]:
    """Work on a copy of an example, beside the modules."""
    folder = tmp_path / "examples" / request.param
    shutil.copytree(ROOT / "examples" / request.param, folder)
    (tmp_path / "modules").symlink_to(ROOT / "modules")
    place = Place(
        folder,
        {"KPLAN_BOOTSTRAP_SERVERS": cluster3.bootstrap_servers, "KPLAN_TLS_ENABLED": "false"},
        text=None,
    )
    yield place
    place.tidy_up()


@pytest.mark.parametrize(
    "example",
    [
        pytest.param(name, marks=[pytest.mark.needs(NEEDS[name])] if name in NEEDS else [])
        for name in EXAMPLES
    ],
    indirect=True,
)
def test_every_example_can_be_planned(example: Place) -> None:
    """The brokers have checked what they can check."""
    ran = example.ran("plan", "-allow-python", "-detailed-exitcode", code=2)
    if example.folder.name in {"break-glass", "cluster-settings"}:  # they set what is there already
        assert ", 0 to destroy." in ran.out
    else:
        assert "0 to change, 0 to destroy." in ran.out
    assert "broker dry run: " in ran.out
    assert "Error" not in ran.err


@pytest.mark.parametrize("example", ["quickstart"], indirect=True)
def test_the_quickstart_is_applied_drifts_and_is_destroyed_and_others_keep_what_they_have(
    example: Place,
) -> None:
    """Destroy takes what the state owns; not even what has the same prefix and principal."""
    theirs = "dev.shop.theirs"
    binding = AclBinding("TOPIC", "dev.shop.", "PREFIXED", "User:reporting", "*", "WRITE", "ALLOW")
    with closing(example.cluster()) as cluster:
        cluster.create_topics([NewTopic(theirs, 1, 3)])
        cluster.create_acls([binding])
        assert "Resources: 7 added" in example.run("apply", "-auto-approve", THREE)
        topic = cluster.topics()["dev.shop.orders"]
        assert not isinstance(topic, Refusal)
        assert {len(replicas) for replicas in topic.assignment} == {3}
        example.run("plan", "-detailed-exitcode", THREE)
        cluster.alter_topic_configs([ConfigAlteration(topic.name, {"retention.ms": "1000"})])
        until(lambda: config_of(cluster, topic.name, "retention.ms") == "1000")
        (drifted,) = json.loads(example.run("drift", "-json", code=2))["resource_drift"]
        assert drifted["address"] == 'kafka_topic.events["orders"]'
        assert drifted["change"]["after"]["config"]["retention.ms"] == "1000"
        assert "Resources: 7 destroyed" in example.run("destroy", "-auto-approve")
        assert [name for name in cluster.topics() if name.startswith("dev.shop.")] == [theirs]
        assert [each for each in cluster.acls() if each.principal == "User:reporting"] == [binding]
        cluster.delete_acls([binding])
        cluster.delete_topics([TopicRef(theirs)])


def test_moves_are_listed_whichever_broker_is_named_first(
    tmp_path: Path, cluster3: Sandbox
) -> None:
    """With ZooKeeper only the controller lists them (KIP-455): each of these runs asks anew."""
    servers = cluster3.bootstrap_servers.split(",")
    for number in range(len(servers)):
        named = ",".join((*servers[number:], *servers[:number]))
        env = {"KPLAN_BOOTSTRAP_SERVERS": named, "KPLAN_TLS_ENABLED": "false"}
        place = Place(tmp_path, env, 'provider "kafka" {{}}\n')
        assert "No replicas are being moved." in place.run("reassign", "status")
