"""`kplan.admin`: KIP-117's list of methods, row by row, and what else an admin client needs."""

import inspect
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import TypeVar

import pytest

import kplan.admin
from kplan.admin import (
    EARLIEST,
    AclBinding,
    AdminClient,
    Cluster,
    ConfigAlteration,
    ConfigError,
    ConfigResource,
    ConfigResourceAlteration,
    ConfigScope,
    FeatureUpdate,
    NewPartitions,
    NewTopic,
    QuotaAlteration,
    QuotaEntity,
    RefusedError,
    Result,
    ScramAlteration,
    ScramUser,
    TopicRef,
    UnreachableError,
    UnreadableError,
    UnsupportedError,
)
from kplan.model.errors import UsageError
from kplan.testing import GroupDescription, MemoryCluster

T = TypeVar("T")
ACL = AclBinding("TOPIC", "orders", "LITERAL", "User:app", "*", "READ", "ALLOW")


@pytest.fixture
def cluster() -> MemoryCluster:
    found = MemoryCluster(3)
    found.seed([NewTopic("orders", 3, 2), NewTopic("__consumer_offsets", 1, 1)], [ACL])
    return found


@pytest.fixture
def admin(cluster: MemoryCluster) -> AdminClient:
    return AdminClient(cluster)


def errors(results: Mapping[str, Result[T]]) -> dict[str, str]:
    return {name: each.error.error if each.error else "" for name, each in results.items()}


# ---- KIP-117, "New or Changed Public Interfaces", in its order

KIP_117: Mapping[str, str] = {
    "AdminClient(Map config)": "AdminClient",
    "close()": "close",
    "createTopics(Collection, EnumSet)": "create_topics",
    "createTopic(NewTopic, EnumSet)": "create_topic",
    "CreateTopicsFlags.VALIDATE_ONLY": "validate_topics",
    "deleteTopics(Set, EnumSet)": "delete_topics",
    "deleteTopic(String, EnumSet)": "delete_topic",
    "listTopics(EnumSet)": "list_topics",
    "getAllBrokerVersions()": "api_versions",
    "getAllGroups()": "list_groups",
    "getGroupInformation(String)": "describe_group",
    # "Future Work": altering topics, ACLs, GetOffsetShell
    "alter topics": "alter_topic_configs",
    "alter partitions": "create_partitions",
    "management APIs for ACLs": "create_acls",
    "GetOffsetShell": "list_offsets",
}


@pytest.mark.parametrize(("row", "name"), KIP_117.items(), ids=[*KIP_117])
def test_a_method_of_kip_117_is_there_with_a_timeout(row: str, name: str) -> None:
    """NONBLOCKING has no counterpart: Kafka 4 answers once a create is committed (trap 1)."""
    method = AdminClient if name == "AdminClient" else getattr(AdminClient, name)
    assert inspect.getdoc(method), row
    if name not in {"AdminClient", "close"}:
        timeout = inspect.signature(method).parameters["timeout"]
        assert timeout.kind is inspect.Parameter.KEYWORD_ONLY


def test_a_batch_has_a_result_for_each_topic(admin: AdminClient, cluster: MemoryCluster) -> None:
    """K117-09: some elements of a batch fail, others succeed."""
    found = admin.create_topics(
        [NewTopic("a", 2, 1), NewTopic("orders", 1, 1), NewTopic("b", assignment=((1, 2), (2, 3)))]
    )
    assert errors(found) == {"a": "", "orders": "TOPIC_ALREADY_EXISTS", "b": ""}
    assert found["a"].get() is None
    with pytest.raises(RefusedError) as raised:
        found["orders"].get()
    assert raised.value.refusal.code == 36
    assert {"a", "b"} <= cluster.topics().keys()
    assert cluster.count("create_topics") == 1


def test_a_single_topic_raises_its_error(admin: AdminClient) -> None:
    admin.create_topic(NewTopic("a", 1, 1))
    with pytest.raises(RefusedError, match="TOPIC_ALREADY_EXISTS"):
        admin.create_topic(NewTopic("a", 1, 1))
    admin.delete_topic("a")
    with pytest.raises(RefusedError, match="UNKNOWN_TOPIC_OR_PARTITION"):
        admin.delete_topic("a")


def test_validating_creates_nothing_and_says_what_would_come(
    admin: AdminClient, cluster: MemoryCluster
) -> None:
    """K117-11."""
    found = admin.validate_topics([NewTopic("a", 2, 3), NewTopic("b", 1, 9)])
    assert (found["a"].get().partitions, found["a"].get().replication_factor) == (2, 3)
    assert errors(found)["b"] == "INVALID_REPLICATION_FACTOR"
    assert "a" not in cluster.topics()


def test_deletes_are_a_set_and_may_name_the_very_topic(
    admin: AdminClient, cluster: MemoryCluster
) -> None:
    """K117-13."""
    old = admin.describe_topics(["orders"])["orders"].get().topic_id
    admin.delete_topic("orders")
    admin.create_topic(NewTopic("orders", 1, 1))
    assert errors(admin.delete_topics([TopicRef("orders", old)])) == {"orders": "UNKNOWN_TOPIC_ID"}
    assert errors(admin.delete_topics(["orders", "orders"])) == {"orders": ""}
    assert "orders" not in cluster.topics()


def test_an_item_twice_is_refused_before_anything_is_sent(
    admin: AdminClient, cluster: MemoryCluster
) -> None:
    """Duplicate names in one call can end the process in librdkafka (design law 8)."""
    with pytest.raises(UsageError, match="more than one item for a"):
        admin.create_topics([NewTopic("a", 1, 1), NewTopic("a", 2, 1)])
    assert not cluster.count("create_topics")


def test_internal_topics_are_listed_when_asked(admin: AdminClient) -> None:
    """K117-15, K117-16."""
    assert set(admin.list_topics()) == {"orders"}
    found = admin.list_topics(include_internal=True)
    assert set(found) == {"orders", "__consumer_offsets"}
    topic = found["orders"].get()
    assert len(topic.leaders) == len(topic.assignment) == len(topic.in_sync) == 3


def test_a_topic_that_is_hidden_has_an_error(admin: AdminClient, cluster: MemoryCluster) -> None:
    cluster.hide_topic("orders")
    found = admin.describe_topics(["orders", "none"])
    assert errors(found) == {
        "orders": "TOPIC_AUTHORIZATION_FAILED",
        "none": "UNKNOWN_TOPIC_OR_PARTITION",
    }


def test_versions_and_groups_are_of_each_node(admin: AdminClient, cluster: MemoryCluster) -> None:
    """K117-08, K117-17, K117-18: some brokers may answer and others not."""
    cluster.add_described_group(GroupDescription("g", "classic", "consumer", "Empty", 2))
    assert {number: each.is_success for number, each in admin.api_versions().items()} == {
        1: True, 2: True, 3: True,
    }  # fmt: skip
    assert admin.api_versions()[1].get().apis
    assert [each.name for each in admin.list_groups()[2].get()] == ["g"]
    cluster.stop_brokers(3)
    found = admin.list_groups()
    assert found[2].is_success
    assert found[3].error is not None


def test_one_group_is_described_or_raises(admin: AdminClient, cluster: MemoryCluster) -> None:
    """K117-19."""
    cluster.add_described_group(GroupDescription("g", "classic", "consumer", "Empty", 2))
    assert admin.describe_group("g").coordinator == 2
    with pytest.raises(RefusedError, match="GROUP_ID_NOT_FOUND"):
        admin.describe_group("none")


# ---- what came after KIP-117


def test_topics_are_altered_by_increments(admin: AdminClient) -> None:
    assert errors(
        admin.alter_topic_configs([ConfigAlteration("orders", {"retention.ms": "1000"})])
    ) == {"orders": ""}
    held = admin.describe_topic_configs(["orders"])["orders"].get()["retention.ms"]
    assert (held.value, held.source) == ("1000", "topic")
    admin.create_partitions([NewPartitions("orders", 5)], validate_only=True)
    assert len(admin.describe_topics(["orders"])["orders"].get().assignment) == 3
    admin.create_partitions([NewPartitions("orders", 5)])
    assert len(admin.describe_topics(["orders"])["orders"].get().assignment) == 5


def test_acls_are_added_and_deleted_exactly(admin: AdminClient) -> None:
    more = AclBinding("TOPIC", "orders", "LITERAL", "User:b", "*", "WRITE", "ALLOW")
    assert all(each.is_success for each in admin.create_acls([more, more]).values())
    assert admin.describe_acls() == {ACL, more}
    assert admin.delete_acls([ACL])[ACL].is_success
    assert admin.describe_acls() == {more}


def test_quotas_scram_and_configs_have_results_by_their_entity(admin: AdminClient) -> None:
    user, name = QuotaEntity(user="app"), ScramUser("app", "SCRAM-SHA-512")
    broker = ConfigResource(ConfigScope.BROKER, "")
    assert admin.alter_quotas([QuotaAlteration(user, {"producer_byte_rate": 1000.0})])[
        user
    ].is_success
    assert admin.describe_quotas() == {user: {"producer_byte_rate": 1000.0}}
    assert admin.alter_scram_users([ScramAlteration(name, 4096, "secret")])[name].is_success
    assert admin.describe_scram_users() == {name: 4096}
    alteration = ConfigResourceAlteration(broker, {"log.cleaner.threads": "2"})
    assert admin.alter_configs([alteration])[broker].is_success
    assert admin.describe_configs([broker])[broker].get()["log.cleaner.threads"].entry.value == "2"
    assert admin.update_features([FeatureUpdate("group.version", 1)])["group.version"].is_success


def test_offsets_replicas_and_leaders_have_results_by_partition(admin: AdminClient) -> None:
    at = ("orders", 0)
    assert admin.list_offsets({at: EARLIEST})[at].get() == 0
    assert admin.alter_group_offsets("g", {at: 0})[at].is_success
    replicas = admin.describe_topics(["orders"])["orders"].get().assignment[0]
    other = next(each for each in (1, 2, 3) if each not in replicas)
    assert admin.alter_partition_reassignments({at: (replicas[0], other)})[at].is_success
    assert admin.list_partition_reassignments().keys() == {at}
    needless = admin.elect_leaders([("orders", 1)])[("orders", 1)]
    assert needless.error is not None
    assert needless.error.error == "ELECTION_NOT_NEEDED"
    assert admin.describe_quorum().leader


def test_what_stops_a_whole_request_is_raised(admin: AdminClient, cluster: MemoryCluster) -> None:
    """K117-14: request-level errors and those of items are apart."""
    cluster.deny_operation("DESCRIBE", "CLUSTER")
    with pytest.raises(UnreadableError):
        admin.describe_acls()
    cluster.time_out(call="topics", times=1)
    with pytest.raises(UnreachableError):
        admin.list_topics()


def test_an_item_without_an_answer_is_uncertain(admin: AdminClient, cluster: MemoryCluster) -> None:
    """Design law 2: silence is not success."""
    cluster.omit_items(on="a", call="create_topics")
    found = admin.create_topics([NewTopic("a", 1, 1), NewTopic("b", 1, 1)])
    assert found["a"].is_uncertain
    assert found["b"].is_success
    cluster.time_out(call="delete_topics", times=1)
    assert admin.delete_topics(["b"])["b"].is_uncertain


def test_a_timeout_has_a_connection_of_its_own_and_is_positive() -> None:
    opened: list[float | None] = []
    admin = AdminClient(MemoryCluster())

    def connect(seconds: float | None) -> Cluster:
        opened.append(seconds)
        return MemoryCluster()

    admin._connections._connector = connect
    admin.list_topics(timeout=timedelta(seconds=5))
    admin.describe_topics(["a"], timeout=timedelta(seconds=5))
    admin.list_topics()
    assert opened == [5.0, None]
    with pytest.raises(UsageError, match="greater than 0"):
        admin.list_topics(timeout=timedelta(0))


def test_threads_share_a_client(admin: AdminClient) -> None:
    """K117-05."""
    names = [f"t{number}" for number in range(16)]
    with ThreadPoolExecutor(16) as pool:
        made = pool.map(lambda name: admin.create_topics([NewTopic(name, 1, 1)])[name], names)
    assert all(each.is_success for each in made)
    assert set(names) <= set(admin.list_topics())


def test_a_closed_client_answers_nothing(cluster: MemoryCluster) -> None:
    """K117-06."""
    with AdminClient(cluster) as admin:
        admin.list_topics()
    assert cluster.is_closed
    with pytest.raises(UsageError, match="closed"):
        admin.list_topics()


def test_settings_have_the_names_of_the_java_client() -> None:
    """K117-02, K117-03: an unknown one is named with the closest match."""
    with pytest.raises(ConfigError) as raised:
        AdminClient({"bootstrap.server": "h:1", "security.protocol": "PLAINTEXT"})
    told = " ".join(f"{each.detail} {each.hint}" for each in raised.value.diagnostics)
    assert "bootstrap.server" in told
    assert "bootstrap.servers" in told
    with pytest.raises(ConfigError, match="connection setting"):
        AdminClient({})


def test_the_environment_is_read_only_where_it_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KPLAN_BOOTSTRAP_SERVERS", "127.0.0.1:1")
    with pytest.raises(ConfigError):
        AdminClient({})
    AdminClient({}, environment={"KPLAN_BOOTSTRAP_SERVERS": "127.0.0.1:1"}).close()


@pytest.mark.parametrize("key", ["bootstrap.servers", "bootstrap.controllers"])
def test_no_node_that_answers_is_an_error_of_the_request(key: str) -> None:
    """K919-03: controllers are asked in place of brokers."""
    config = {key: "127.0.0.1:1", "security.protocol": "PLAINTEXT"}
    with AdminClient(config) as admin, pytest.raises(UnreachableError):
        admin.check_reachable(timeout=timedelta(seconds=2))


def test_no_method_shows_types_of_the_wire() -> None:
    """K117-07: what the annotations name is exported by `kplan.admin` or the standard library."""
    public = {name: getattr(kplan.admin, name) for name in kplan.admin.__all__}
    for name, method in inspect.getmembers(AdminClient, inspect.isfunction):
        if not name.startswith("_"):
            hints: dict[str, object] = inspect.get_annotations(method, eval_str=True)
            text = " ".join(map(str, hints.values()))
            assert "kplan.kafka" not in text, name
    assert {"UnsupportedError", "UnreachableError"} <= public.keys()
    assert issubclass(UnsupportedError, kplan.admin.ClusterError)


def test_every_method_of_the_port_has_its_method() -> None:
    """What kplan asks of a cluster, a user of the client can ask too, but for kplan's own."""
    folder = Path(inspect.getfile(AdminClient)).parent
    source = " ".join(each.read_text(encoding="utf-8") for each in folder.glob("*.py"))
    port = {name for name, each in vars(Cluster).items() if inspect.isfunction(each)}
    own = {
        "topic_config_fallbacks", "topic_use", "prepare_writes", "missing_apis", "config_names",
        "group_names", "close", "kafka_connect", "schema_registry",  # services beside Kafka
    }  # fmt: skip
    missing = {each for each in port - own if f").{each}(" not in source}
    missing -= {each for each in missing if f"cluster.{each}(" in source}
    assert {each for each in missing if not each.startswith("_")} == set()
