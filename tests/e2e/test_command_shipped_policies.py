"""Every policy of `modules/policies` on real brokers: what it refuses, and what it lets through."""

import math
import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from confluent_kafka import Producer

from kplan.cluster.request import NewTopic, TopicRef
from kplan.sandbox.sandbox import Sandbox
from tests.e2e.commands import kplan
from tests.e2e.places import Place, until

pytestmark = pytest.mark.broker

MODULE = Path(__file__).parents[2] / "modules" / "policies"
HEADER = """
provider "kafka" {}
module "policies" {
  source = "./policies"
ARGUMENTS
}
"""
PREVIEW = ("plan", "-no-broker-validate", "-no-input")


def topic(
    name: str = "a",
    partitions: int = 1,
    factor: int = 3,
    config: str = '"min.insync.replicas" = "2"',
) -> str:
    return f"""
resource "kafka_topic" "t" {{
  name               = "PREFIX.{name}"
  partitions         = {partitions}
  replication_factor = {factor}
  config             = {{ {config} }}
}}
"""


def acl(user: str) -> str:
    return f"""
resource "kafka_acl" "a" {{
  resource_type       = "Topic"
  resource_name       = "PREFIX.a"
  acl_principal       = "User:{user}"
  acl_host            = "*"
  acl_operation       = "Read"
  acl_permission_type = "Allow"
}}
"""


OWNERS = '  owners = { "User:ANONYMOUS" = ["PREFIX."] }'
OTHERS = '  owners = { "User:ANONYMOUS" = ["theirs."] }'
CASES = [
    ("topic_name", "", topic("Bad_Name"), topic()),
    ("replication_factor", "", topic(factor=2, config=""), topic()),
    ("min_insync_replicas", "", topic(config='"min.insync.replicas" = "3"'), topic()),
    ("partitions", "  max_partitions = 3", topic(partitions=4), topic(partitions=3)),
    ("cluster_partitions", "  max_cluster_partitions = ROOM", topic(partitions=9), topic()),
    ("broker_partitions", "  max_partitions_per_broker = SHARE", topic(partitions=9), topic()),
    ("retention", "", topic(config='"retention.ms" = "-1"'), topic()),
    (
        "compaction",
        "",
        topic(config='"cleanup.policy" = "compact"'),
        topic(config='"cleanup.policy" = "compact", "min.insync.replicas" = "2"'),
    ),
    ("wildcard_principal", "", acl("*"), acl("alice")),
]


@pytest.fixture
def place(tmp_path: Path, cluster3: Sandbox) -> Iterator[Place]:
    shutil.copytree(MODULE, tmp_path / "policies")
    found = Place(
        tmp_path,
        {"KPLAN_BOOTSTRAP_SERVERS": cluster3.bootstrap_servers, "KPLAN_TLS_ENABLED": "false"},
        text=None,
    )
    yield found
    found.tidy_up()


def write(place: Place, arguments: str, body: str) -> None:
    """Write a configuration; ROOM and SHARE leave room for five partitions."""
    with closing(place.cluster()) as cluster:
        live = [getattr(each, "assignment", ()) for each in cluster.topics().values()]
    partitions, replicas = sum(map(len, live)), sum(len(ids) for each in live for ids in each)
    text = HEADER.replace("ARGUMENTS", arguments) + body
    for word, value in (("ROOM", partitions + 5), ("SHARE", math.ceil(replicas / 3) + 5)):
        text = text.replace(word, str(value))
    place.write(text.replace("PREFIX", place.prefix))


@pytest.mark.parametrize(("policy", "arguments", "bad", "good"), CASES, ids=[c[0] for c in CASES])
def test_a_shipped_policy_refuses_what_it_is_for_and_nothing_else(
    place: Place, policy: str, arguments: str, bad: str, good: str
) -> None:
    write(place, arguments, bad)
    assert f"Policy {policy} at" in refusals(place)
    if good:
        write(place, arguments, good)
        assert refusals(place) == ""


@pytest.mark.parametrize(("arguments", "refused"), [(OTHERS, True), (OWNERS, False)])
def test_ownership_is_judged_by_the_principal_that_is_connected(
    place: Place, arguments: str, refused: bool
) -> None:
    write(place, arguments, topic())
    assert ("Policy ownership at" in refusals(place)) is refused


def test_more_partitions_are_refused_of_a_compacted_topic_alone(place: Place) -> None:
    compacted = '"cleanup.policy" = "compact", "min.insync.replicas" = "2"'
    write(place, "", topic(config=compacted))
    place.run("apply", "-auto-approve")
    write(place, "", topic(partitions=2, config=compacted))
    assert "Policy partitions_of_keys at" in refusals(place)
    write(place, "", topic())
    place.run("apply", "-auto-approve")
    write(place, "", topic(partitions=2))
    assert refusals(place) == ""


@pytest.mark.parametrize("cleanup", ["compact", "compact,delete", "delete"])
def test_records_of_a_compacted_topic_that_nobody_declares_stay(place: Place, cleanup: str) -> None:
    """KIP-201, deletion of records: policies see the configs of the topic as it is."""
    name = f"{place.prefix}.theirs"
    write(place, "", "")
    with closing(place.cluster()) as cluster:
        cluster.create_topics([NewTopic(name, 1, 3, config={"cleanup.policy": cleanup})])
        until(lambda: name in cluster.topics())
    producer = Producer({"bootstrap.servers": place.env["KPLAN_BOOTSTRAP_SERVERS"]})
    for each in range(5):
        producer.produce(name, f"{each}", key=f"{each}")
    assert producer.flush(20) == 0
    try:
        is_compacted = cleanup != "delete"
        told = place.run(
            "records", "delete", name, "-before=end", "-auto-approve", code=int(is_compacted)
        )
        assert ("is compacted" in told) is is_compacted
        with closing(place.cluster()) as cluster:
            start = cluster.topic_use([name])[name].partitions[0].start
        assert start == (0 if is_compacted else 5)
    finally:
        with closing(place.cluster()) as cluster:
            cluster.delete_topics([TopicRef(name)])


@pytest.mark.parametrize("cleanup", ["compact", "delete"])
def test_a_policy_reads_the_configs_of_topics_that_nobody_declares(
    place: Place, cleanup: str
) -> None:
    name = f"{place.prefix}.theirs"
    with closing(place.cluster()) as cluster:
        cluster.create_topics([NewTopic(name, 1, 3, config={"cleanup.policy": cleanup})])
        until(lambda: name in cluster.topics())
    policy = f"""
    provider "kafka" {{}}
    policy "no_compacted_neighbour" {{
      on   = ["create"]
      kind = "kafka_topic"
      deny {{
        condition = cluster.topics["{name}"].config["cleanup.policy"] == "compact"
        message   = "there is a compacted topic"
      }}
    }}
    """
    try:
        place.write(policy + topic().replace("PREFIX", place.prefix))
        assert ("no_compacted_neighbour" in refusals(place)) is (cleanup == "compact")
    finally:
        with closing(place.cluster()) as cluster:
            cluster.delete_topics([TopicRef(name)])


def refusals(place: Place) -> str:
    """Return the findings of a plan that refuse something."""
    ran = kplan(place.folder, *PREVIEW, "-json", env=place.env)
    lines = [line for line in ran.out.splitlines() if "KP320" in line]
    assert ran.code == bool(lines), ran
    return "\n".join(lines)
