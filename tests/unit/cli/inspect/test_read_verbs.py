"""The verbs that tell what is on a cluster, in this process."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kplan.cluster.request import AclBinding, AuthorizedOperations, NewTopic
from kplan.cluster.usage import GroupDescription, GroupMember, PartitionUse, TopicUse
from tests.unit.cli.memory_command import MemoryCommand, memory_command

TWO = 'provider "kafka" {\n  alias = "west"\n}\nprovider "kafka" {\n  alias = "east"\n}\n'


def acl(kind: str, name: str, pattern: str = "LITERAL", who: str = "User:app") -> AclBinding:
    return AclBinding(kind, name, pattern, who, "*", "READ", "ALLOW")


ACLS = (
    acl("TOPIC", "orders"),
    acl("TOPIC", "orders-eu", who="User:other"),
    acl("TOPIC", "ord", "PREFIXED"),
    acl("TOPIC", "*", who="User:audit"),
    acl("GROUP", "orders"),
)


@pytest.fixture
def desk(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> MemoryCommand:
    found = memory_command(tmp_path, capsys, monkeypatch)
    topics = (
        NewTopic("orders", assignment=((1, 2), (2, 3)), config={"retention.ms": "5000"}),
        NewTopic("payments", 1, 1),
        NewTopic("secret", 1, 1),
        NewTopic("__consumer_offsets", 1, 1),
    )
    found.cluster.seed(topics, ACLS)
    found.cluster.hide_topic("secret")
    return found


def tables(desk: MemoryCommand, *args: str) -> dict[str, list[dict[str, Any]]]:
    found = json.loads(desk.run(*args, "-json"))["tables"]
    return {name: table["rows"] for name, table in found.items()}


def test_topics_are_listed_without_those_that_are_internal(desk: MemoryCommand) -> None:
    """K4o-07."""
    first, second = tables(desk, "topics", "list")["topics"]
    assert first == {
        "topic": "orders",
        "partitions": 2,
        "replication_factor": 2,
        "own_configs": 1,
        "internal": False,
    }
    assert (second["topic"], second["own_configs"]) == ("payments", 0)
    assert "-internal shows them" in desk.run("topics", "list")


def test_topics_are_listed_by_pattern_and_with_those_that_are_internal(desk: MemoryCommand) -> None:
    rows = tables(desk, "topics", "list", "-internal")["topics"]
    assert (rows[0]["topic"], rows[0]["internal"]) == ("__consumer_offsets", True)
    rows = tables(desk, "topics", "list", "-match=*ord*")["topics"]
    assert [each["topic"] for each in rows] == ["orders"]
    assert "Nothing was found." in desk.run("topics", "list", "-match=nothing")


def test_topics_whose_configs_are_hidden_are_listed_and_noted(desk: MemoryCommand) -> None:
    desk.cluster.deny_operation("DESCRIBE_CONFIGS", "TOPIC", "orders")
    told = json.loads(desk.run("topics", "list", "-json"))
    assert told["tables"]["topics"]["rows"][0]["own_configs"] is None
    assert "Configs of topic orders cannot be read: TOPIC_AUTH" in told["notes"][0]


def test_topics_are_described_with_replicas_and_configs(desk: MemoryCommand) -> None:
    """K4o-06, K117-16."""
    found = tables(desk, "topics", "describe", "orders", "orders")
    (topic,) = found["topics"]
    assert topic["topic_id"]
    assert (topic["partitions"], topic["replication_factor"], topic["leaderless"]) == (2, 2, 0)
    columns = ("leader", "preferred_leader", "replicas", "in_sync", "offline")
    assert [tuple(each[name] for name in columns) for each in found["partitions"]] == [
        (1, 1, [1, 2], [1, 2], []),
        (2, 2, [2, 3], [2, 3], []),
    ]
    own = {"topic": "orders", "config": "retention.ms", "value": "5000", "source": "topic"}
    assert own in found["configs"]
    assert "default" not in {each["source"] for each in found["configs"]}
    assert "retention.ms" in desk.run("topics", "describe", "orders")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("nope", "Topic nope cannot be read: UNKNOWN_TOPIC_OR_PARTITION"),
        ("secret", "Topic secret cannot be read: TOPIC_AUTHORIZATION_FAILED"),
        ("a b", '"a b" is not a topic name: it contains'),
        ("", '"" is not a topic name: it is empty'),
    ],
)
def test_topics_that_are_not_there_or_hidden_are_told(
    desk: MemoryCommand, name: str, said: str
) -> None:
    if "cannot be read" not in said:
        assert said in desk.run_failing("topics", "describe", "orders", name)
        return
    assert said in desk.run_failing("topics", "describe", name)
    shown = desk.run("topics", "describe", "orders", name, code=4)
    assert f"Note: {said}" in shown
    assert "orders  " in shown


def test_all_topics_that_cannot_be_described_are_named_at_once(desk: MemoryCommand) -> None:
    told = desk.run_failing("topics", "describe", "nope", "secret")
    assert "Topic nope" in told
    assert "Topic secret" in told


def test_acls_are_listed_with_all_seven_fields(desk: MemoryCommand) -> None:
    rows = tables(desk, "acl", "list")["acls"]
    assert len(rows) == len(ACLS)
    assert rows[0] == {
        "resource_type": "GROUP",
        "resource_name": "orders",
        "pattern_type": "LITERAL",
        "principal": "User:app",
        "host": "*",
        "operation": "READ",
        "permission": "ALLOW",
    }
    assert "PREFIXED" in desk.run("acl", "list")


@pytest.mark.parametrize(
    ("options", "names"),
    [
        (("-match=topic:orders",), ["*", "ord", "orders"]),
        (("-match=topic:ordinary",), ["*", "ord"]),
        (("-match=group:orders",), ["orders"]),
        (("-match=cluster",), []),
        (("-resource=topic:orders",), ["orders"]),
        (("-resource=topic:*",), ["*"]),
        (("-principal=User:app", "-match=topic:orders"), ["ord", "orders"]),
        (("-principal=User:nobody",), []),
    ],
)
def test_acls_are_listed_by_what_they_say_and_what_they_apply_to(
    desk: MemoryCommand, options: tuple[str, ...], names: list[str]
) -> None:
    rows = tables(desk, "acl", "list", *options)["acls"]
    assert [each["resource_name"] for each in rows] == names


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("-match=orders", '"orders" is not a resource'),
        ("-resource=topic:", "Which topic?"),
        ("-principal=app", "Write it as User:app"),
        ("-provider=west", "There is no connection kafka.west"),
    ],
)
def test_a_filter_that_makes_no_sense_is_refused(
    desk: MemoryCommand, option: str, said: str
) -> None:
    assert said in desk.run_failing("acl", "list", option)


def test_acls_that_cannot_be_read_are_an_error_and_never_an_empty_list(desk: MemoryCommand) -> None:
    desk.cluster.disable_authorizer()
    assert "SECURITY_DISABLED" in desk.run_failing("acl", "list")


def test_the_cluster_tells_who_it_is(desk: MemoryCommand) -> None:
    found = tables(desk, "cluster", "describe")
    described = desk.cluster.describe()
    (whole,) = found["cluster"]
    assert (whole["principal"], whole["brokers"]) == (described.principal, 3)
    assert [each["broker"] for each in found["brokers"]] == [1, 2, 3]
    assert "127.0.0.1:9092" in desk.run("cluster", "describe")
    assert desk.run("cluster", "id") == f"{described.cluster_id}\n"
    told = json.loads(desk.run("cluster", "id", "-json"))
    assert told == {"cluster_id": described.cluster_id}


def test_brokers_that_are_down_and_the_active_controller_are_listed(desk: MemoryCommand) -> None:
    """A dead broker is the first thing to look for in an incident (KIP-1073)."""
    desk.cluster.stop_brokers(2)
    found = tables(desk, "cluster", "describe")
    assert [(each["broker"], each["state"]) for each in found["brokers"]] == [
        (1, "alive"), (2, "fenced"), (3, "alive"),
    ]  # fmt: skip
    (whole,) = found["cluster"]
    assert (whole["brokers"], whole["active_controller"]) == (2, desk.cluster.quorum().leader)


def test_one_of_several_clusters_is_asked_by_the_name_of_its_block(desk: MemoryCommand) -> None:
    for each in desk.folder.glob("*.tf"):
        each.unlink()
    desk.write(TWO)
    told = desk.run_failing("cluster", "id")
    assert "There are kafka.east, kafka.west" in told
    desk.run("cluster", "id", "-provider=west")
    desk.write(TWO.partition("}")[0] + "}\n")
    desk.run("cluster", "id")


def test_reading_leaves_neither_state_nor_lock_nor_connection_behind(desk: MemoryCommand) -> None:
    before = {*desk.folder.rglob("*")}
    desk.run("topics", "list")
    assert {*desk.folder.rglob("*")} == before
    assert desk.cluster.is_closed


def test_errors_are_explained_by_name_and_number(desk: MemoryCommand) -> None:
    text = desk.run("errors", "explain", "not_controller", "36")
    assert text.startswith("NOT_CONTROLLER (41)\n")
    assert "What kplan does: send again after a pause.\nRetriable: yes.\n" in text
    assert "\n\nTOPIC_ALREADY_EXISTS (36)\n" in text
    (row,) = json.loads(desk.run("errors", "explain", "-json", "--", "-1"))["errors"]
    assert (row["name"], row["retriable"]) == ("UNKNOWN_SERVER_ERROR", True)
    assert "smaller requests" in desk.run("errors", "explain", "44")


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("9999", 'kplan knows no error "9999" of Kafka'),
        ("NOT_CONTROLER", "Did you mean NOT_CONTROLLER?"),
    ],
)
def test_an_error_that_nobody_knows_is_told(desk: MemoryCommand, code: str, said: str) -> None:
    assert said in desk.run_failing("errors", "explain", code)


BILLING = GroupDescription(
    "billing",
    "consumer",
    "consumer",
    "Stable",
    coordinator=2,
    assignor="uniform",
    members=(GroupMember("m-1", "app", "/10.0.0.1", assignment=(("orders", 0), ("orders", 1))),),
    committed_offsets={("orders", 0): 40},
    end_offsets={("orders", 0): 42},
)
CONNECT = GroupDescription("connect", "classic", "connect", "Empty", coordinator=1)


def test_groups_are_listed_with_type_state_and_coordinator(desk: MemoryCommand) -> None:
    """K117-18."""
    desk.cluster.add_described_group(BILLING)
    desk.cluster.add_described_group(CONNECT)
    first, second = tables(desk, "groups", "list")["groups"]
    assert first == {
        "group": "billing",
        "type": "consumer",
        "protocol": "consumer",
        "state": "Stable",
        "coordinator": 2,
    }
    assert second["group"] == "connect"
    (only,) = tables(desk, "groups", "list", "-match=con*")["groups"]
    assert only["protocol"] == "connect"


def test_groups_that_may_be_hidden_are_noted(
    desk: MemoryCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Brokers leave out what the principal may not describe, without a word."""
    assert "DESCRIBE" not in desk.run("groups", "list")
    held = AuthorizedOperations(frozenset({"CREATE"}))
    monkeypatch.setattr(desk.cluster, "rights", lambda _: held)
    told = " ".join(desk.run("groups", "list").split())
    assert "without it, the groups that it may not describe are left out" in told


def test_a_broker_that_does_not_list_its_groups_is_named_and_the_others_are_told(
    desk: MemoryCommand,
) -> None:
    """K117-25, K117-08 and K117-09: a partial result is told, and never taken for the whole."""
    desk.cluster.add_described_group(BILLING)
    desk.cluster.add_described_group(CONNECT)
    desk.cluster.stop_brokers(2)
    told = desk.run("groups", "list", code=4)
    assert "Broker 2: BROKER_NOT_AVAILABLE" in told
    assert "connect" in told
    assert "billing" not in told
    assert "Group billing cannot be read: GROUP_ID_NOT_FOUND" in desk.run_failing(
        "groups", "describe", "billing"
    )


def test_groups_are_described_with_members_and_lag_per_partition(desk: MemoryCommand) -> None:
    """K117-19."""
    desk.cluster.add_described_group(BILLING)
    found = tables(desk, "groups", "describe", "billing")
    (group,) = found["groups"]
    assert (group["members"], group["lag"], group["assignor"]) == (1, 2, "uniform")
    (member,) = found["members"]
    assert (member["client"], member["partitions"]) == ("app", "orders-0, orders-1")
    assert [
        (each["partition"], each["committed"], each["end"], each["lag"], each["member"])
        for each in found["offsets"]
    ] == [(0, 40, 42, 2, "m-1"), (1, None, None, None, "m-1")]


def test_what_could_not_be_read_of_a_group_is_noted(desk: MemoryCommand) -> None:
    desk.cluster.add_described_group(replace(CONNECT, unread=("offsets: no answer",), members=None))
    told = desk.run("groups", "describe", "connect", code=4)
    assert "Group connect: offsets: no answer." in told


def test_groups_that_are_there_are_described_beside_one_that_is_not(desk: MemoryCommand) -> None:
    """K117-08: an answer for each."""
    desk.cluster.add_described_group(CONNECT)
    shown = desk.run("groups", "describe", "connect", "nosuch", code=4)
    assert "Group nosuch cannot be read" in shown
    told = json.loads(desk.run("groups", "describe", "connect", "nosuch", "-json", code=4))
    assert [each["group"] for each in told["tables"]["groups"]["rows"]] == ["connect"]
    assert "Group nosuch cannot be read" in desk.run_failing("groups", "describe", "nosuch")


def test_offsets_of_topics_are_told_partition_by_partition(desk: MemoryCommand) -> None:
    """K117-26."""
    desk.cluster.set_topic_use(
        "orders", TopicUse({0: PartitionUse(3, 8, 1_700_000_000_000, 500, 1)}, ())
    )
    first, second = tables(desk, "topics", "offsets", "orders")["offsets"]
    assert first == {
        "topic": "orders",
        "partition": 0,
        "start": 3,
        "end": 8,
        "offsets": 5,
        "newest_record": "2023-11-14T22:13:20+00:00",
    }
    assert (second["end"], second["newest_record"]) == (0, None)
    assert "Topic nope cannot be read" in desk.run("topics", "offsets", "orders", "nope", code=4)


def test_offsets_that_could_not_be_read_are_noted(desk: MemoryCommand) -> None:
    unread = ("last offsets: no answer", "producers: denied")
    desk.cluster.set_topic_use("orders", TopicUse({0: PartitionUse()}, (), unread))
    told = desk.run("topics", "offsets", "orders", code=4)
    assert "Topic orders: last offsets: no answer." in told
    assert "producers" not in told


NEEDED = """
variable "needed" {}
variable "port" {
  type    = number
  default = 1
  validation {
    condition     = var.port > 0
    error_message = "A port is positive."
  }
}
locals { at = "127.0.0.1:${var.port}" }
provider "kafka" { bootstrap_servers = [local.at] }
resource "kafka_topic" "t" {
  name       = "t"
  partitions = var.needed
}
"""
READING = [
    ("topics", "list"),
    ("topics", "describe", "orders"),
    ("acl", "list"),
    ("groups", "list"),
    ("cluster", "versions"),
]


@pytest.mark.parametrize("verb", READING)
def test_variables_that_no_connection_needs_are_not_asked_for(
    desk: MemoryCommand, verb: tuple[str, ...]
) -> None:
    desk.write(NEEDED)
    assert desk.run(*verb)
    assert "No value for required variable" in desk.run_failing("plan", "-input=false")
    assert "A port is positive." in desk.run_failing(*verb, "-var=port=0")
    assert "is not declared" in desk.run_failing(*verb, "-var=other=1")


@pytest.mark.parametrize(
    "servers", ["[var.needed]", "[local.of]", "local.of == null ? [] : [var.needed]"]
)
def test_variables_that_the_connection_needs_are_asked_for(
    desk: MemoryCommand, servers: str
) -> None:
    desk.write(NEEDED.replace("[local.at]", servers) + "locals { of = var.needed }\n")
    told = desk.run_failing("topics", "list", "-input=false")
    assert told.count("No value for required variable") == 1
    assert "data source" not in told
    assert desk.run("topics", "list", "-var=needed=h:1")
    desk.write(NEEDED.replace("[local.at]", "[var.nope]"))
    told = desk.run_failing("topics", "list")
    assert told.count("Error: ") == 1
    assert "Reference to undeclared input variable" in told
