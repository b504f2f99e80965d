"""Controllers asked directly: against nodes of our own making."""

import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace

import pytest

from kplan.cluster.port import Cluster
from kplan.cluster.request import AclBinding, ConfigAlteration, TopicDescription
from kplan.cluster.settings import ConfigResource, ConfigScope, FeatureUpdate
from kplan.kafka.cluster import open_cluster
from kplan.kafka.settings.connection import ConnectionSettings, Timeouts, seconds
from kplan.kafka.wire import messages
from kplan.kafka.wire.controller import (
    BROKER_ONLY,
    CHANGEABLE,
    CONTROLLER_CHANGES,
    CONTROLLER_READS,
    ControllerCluster,
)
from kplan.kafka.wire.messages import DESCRIBE_QUORUM, UNREGISTER_BROKER, Message
from kplan.model.errors import (
    ClusterError,
    NotListableError,
    Refusal,
    UnreadableError,
    UnsupportedError,
    WrongEndpointError,
)
from tests.unit.kafka.wire.fake_broker import FakeBroker, fake_broker, settings_for

LACKING = frozenset(
    {messages.METADATA.key, messages.DESCRIBE_QUOTAS.key, messages.LIST_CONFIG_RESOURCES.key}
)
ACL = AclBinding("TOPIC", "orders", "LITERAL", "User:app", "*", "READ", "ALLOW")
NOT_CONTROLLER = 41


def registered(controllers: list[FakeBroker], active: int, code: int = 0) -> Message:
    """Answer DescribeCluster: controllers are numbered from 101."""
    answer = messages.DESCRIBE_CLUSTER.response
    return answer(
        error_code=code,
        endpoint_type=2,
        cluster_id="fake",
        controller_id=active,
        brokers=[
            answer.DescribeClusterBroker(broker_id=number, host="127.0.0.1", port=each.port)
            for number, each in enumerate(controllers, 101)
        ],
    )


def told(code: int) -> Message:
    """Answer CreateAcls for one ACL."""
    answer = messages.CREATE_ACLS.response
    return answer(results=[answer.AclCreationResult(error_code=code)])


@contextmanager
def controllers(count: int, active: int = 101) -> Iterator[tuple[list[FakeBroker], Cluster]]:
    """Run controllers that all name the active one, and ask them directly."""
    with ExitStack() as stack:
        nodes = [stack.enter_context(fake_broker(LACKING)) for _ in range(count)]
        for node in nodes:
            node.on(messages.DESCRIBE_CLUSTER, registered(nodes, active))
        yield nodes, stack.enter_context(closing(open_cluster(direct(*nodes))))


def direct(*nodes: FakeBroker, timeout_s: float = 3.0) -> ConnectionSettings:
    settings = settings_for(nodes[0].endpoint)
    return replace(
        settings,
        bootstrap_servers=(),
        bootstrap_controllers=tuple(each.endpoint for each in nodes),
        timeouts=Timeouts(seconds(timeout_s), seconds(timeout_s)),
    )


def test_controllers_are_told_with_the_active_one_and_the_others() -> None:
    """K919-01, K919-07, K919-08, K919-09: one of them is enough to begin with."""
    with controllers(3, active=102) as (nodes, cluster):
        found = cluster.describe()
        assert found.controller_access is not None
        assert [(each.id, each.port) for each in found.nodes] == [
            (number, each.port) for number, each in enumerate(nodes, 101)
        ]
        assert (found.controller_access.active, found.verifying_node_ids, found.brokers) == (
            102,
            (102,),
            (),
        )
        asked = [each for each in nodes[0].requests if each.name == "DescribeClusterRequest"]
        assert {each.endpoint_type for each in asked} == {2}


def test_an_election_is_waited_for() -> None:
    """K919-08: -1 is no id."""
    with fake_broker(LACKING) as node:
        none = registered([node], -1)
        node.on(messages.DESCRIBE_CLUSTER, none, none, registered([node], 101))
        with closing(ControllerCluster(direct(node))) as cluster:
            assert cluster.describe().verifying_node_ids == (101,)


def test_a_cluster_without_active_controller_is_an_error_that_names_all() -> None:
    """K4o-02, K919-08."""
    with fake_broker(LACKING) as node:
        node.on(messages.DESCRIBE_CLUSTER, registered([node], -1))
        with pytest.raises(ClusterError, match=r"no active controller.*101 at 127"):
            open_cluster(direct(node, timeout_s=0.4))


def test_a_broker_given_as_a_controller_is_told_at_once() -> None:
    """K919-04: no other address is tried, as the configuration is wrong."""
    with fake_broker() as broker, fake_broker(LACKING) as controller:
        begun = time.monotonic()
        with pytest.raises(WrongEndpointError, match=r"is a broker.*MISMATCHED_ENDPOINT_TYPE"):
            open_cluster(direct(broker, controller))
        assert time.monotonic() - begun < 2
        assert controller.connections == 0


@pytest.mark.parametrize("code", [35, 115])
def test_a_metadata_version_that_is_too_old_is_told(code: int) -> None:
    """K919-10: Kafka answers 35, the KIP has 115."""
    with fake_broker(LACKING) as node:
        node.on(messages.DESCRIBE_CLUSTER, registered([], -1, code))
        with pytest.raises(UnsupportedError, match=r"metadata\.version .* is too old"):
            open_cluster(direct(node))


def test_a_change_follows_to_the_active_controller() -> None:
    """K919-25: what is not the active one says so, and has changed nothing."""
    with controllers(2) as (nodes, cluster):
        for node in nodes:
            node.on(messages.DESCRIBE_CLUSTER, registered(nodes, 102))
        nodes[0].on(messages.CREATE_ACLS, told(NOT_CONTROLLER))
        nodes[1].on(messages.CREATE_ACLS, told(0))
        assert cluster.create_acls([ACL]) == {ACL: None}
        assert [each.count(messages.CREATE_ACLS) for each in nodes] == [1, 1]
        assert cluster.create_acls([ACL]) == {ACL: None}
        assert [each.count(messages.CREATE_ACLS) for each in nodes] == [1, 2]


def test_the_authorizer_speaks_at_controllers_too() -> None:
    """K919-26: who lacks a right is told which, as by brokers."""
    with controllers(1) as ((node,), cluster):
        node.on(messages.CREATE_ACLS, told(31))
        refused = cluster.create_acls([ACL])[ACL]
        assert isinstance(refused, Refusal)
        assert refused.error == "CLUSTER_AUTHORIZATION_FAILED"
        assert "needs ALTER on CLUSTER" in refused.message


def test_a_change_is_followed_for_a_bounded_time() -> None:
    """K919-25: the last answer stands."""
    with fake_broker(LACKING) as node:
        node.on(messages.DESCRIBE_CLUSTER, registered([node], 101))
        node.on(messages.CREATE_ACLS, told(NOT_CONTROLLER))
        with closing(open_cluster(direct(node, timeout_s=0.5))) as cluster:
            refused = cluster.create_acls([ACL])[ACL]
    assert isinstance(refused, Refusal)
    assert refused.error == "NOT_CONTROLLER"


def test_a_change_that_was_done_in_part_is_not_sent_again() -> None:
    with controllers(1) as ((node,), cluster):
        answer = messages.ALTER_CONFIGS.response
        result = answer.AlterConfigsResourceResponse
        node.on(
            messages.ALTER_CONFIGS,
            answer(
                responses=[
                    result(error_code=code, resource_type=2, resource_name=name)
                    for name, code in (("a", 0), ("b", NOT_CONTROLLER))
                ]
            ),
        )
        found = cluster.alter_topic_configs([ConfigAlteration("a"), ConfigAlteration("b")])
        assert found["a"] is None
        assert node.count(messages.ALTER_CONFIGS) == 1


def test_a_feature_is_followed_by_the_code_of_the_whole_answer() -> None:
    """K919-20, K919-25."""
    with controllers(2) as (nodes, cluster):
        for node in nodes:
            node.on(messages.DESCRIBE_CLUSTER, registered(nodes, 102))
        nodes[0].on(messages.UPDATE_FEATURES, messages.UPDATE_FEATURES.response(error_code=41))
        nodes[1].on(messages.UPDATE_FEATURES, messages.UPDATE_FEATURES.response(error_code=0))
        assert cluster.update_features([FeatureUpdate("group.version", 1)]) == {
            "group.version": None
        }


def test_an_old_cluster_with_zookeeper_is_followed_too() -> None:
    """Before KIP-590 brokers did not forward; the answer names the controller."""
    with fake_broker() as first, fake_broker() as second:
        answer = messages.DESCRIBE_CLUSTER.response
        brokers = [
            answer.DescribeClusterBroker(broker_id=number, host="127.0.0.1", port=each.port)
            for number, each in enumerate((first, second), 1)
        ]
        first.on(
            messages.DESCRIBE_CLUSTER,
            answer(cluster_id="fake", controller_id=2, brokers=brokers),
        )
        first.on(messages.CREATE_ACLS, told(NOT_CONTROLLER))
        second.on(messages.CREATE_ACLS, told(0))
        with closing(open_cluster(settings_for(first.endpoint))) as cluster:
            assert cluster.create_acls([ACL]) == {ACL: None}


def test_what_a_controller_does_not_tell_is_unread_and_never_empty() -> None:
    """K919-16, K919-18."""
    with controllers(1) as (_, cluster):
        with pytest.raises(NotListableError, match="does not list topics"):
            cluster.topics()
        with pytest.raises(UnreadableError, match="do not return quotas"):
            cluster.quotas()
        with pytest.raises(UnreadableError, match="do not return SCRAM credentials"):
            cluster.scram_users()
        one = ConfigResource(ConfigScope.BROKER, "1")
        refused = cluster.configs([one])[one]
        assert isinstance(refused, Refusal)
        assert "single broker" in refused.message


def test_a_named_topic_is_there_without_a_layout() -> None:
    """K919-13: its configs are told, and that is how it is known to be there."""
    with controllers(1) as ((node,), cluster):
        answer = messages.DESCRIBE_CONFIGS.response
        result = answer.DescribeConfigsResult
        node.on(
            messages.DESCRIBE_CONFIGS,
            answer(
                results=[
                    result(error_code=code, resource_type=2, resource_name=name, configs=[])
                    for name, code in (("gone", 3), ("orders", 0))
                ]
            ),
        )
        found = cluster.topics(["gone", "orders"])
        assert found["orders"] == TopicDescription("orders", "", ())
        assert isinstance(found["gone"], Refusal)
        assert found["gone"].error == "UNKNOWN_TOPIC_OR_PARTITION"


def test_what_is_not_served_is_told_with_what_is() -> None:
    """K919-17, K919-12, K919-23."""
    with controllers(1) as (_, cluster):
        found = cluster.missing_apis(
            {"create_topics", "alter_quotas", "create_acls", "update_features"}
        )
        assert sorted(found) == ["alter_quotas", "create_topics"]
        assert CHANGEABLE in str(found["create_topics"])
        assert found["alter_quotas"].api == "AlterClientQuotas"


def test_a_request_for_brokers_is_refused_with_where_to_connect() -> None:
    """It is no question of the version of Kafka."""
    with controllers(1) as (_, cluster):
        with pytest.raises(UnsupportedError, match="lacks it") as caught:
            cluster.groups()
        told = "The node is a controller: connect to brokers with bootstrap_servers."
        assert caught.value.hint == told


def test_the_tables_name_every_method_of_the_port_with_what_or_why() -> None:
    """K919-12: what controllers serve, and what takes a broker."""
    methods = {name for name in vars(Cluster) if not name.startswith("_")}
    methods -= {"close", "prepare_writes"}  # which ask nothing
    tables = (CONTROLLER_CHANGES, CONTROLLER_READS, BROKER_ONLY)
    assert sorted(name for table in tables for name in table) == sorted(methods)
    assert all(words for table in tables for words in table.values())


def quorum_answer(code: int) -> Message:
    answer = DESCRIBE_QUORUM.response
    part = answer.TopicData.PartitionData
    replica = part.ReplicaState
    partition = part(
        partition_index=0,
        error_code=code,
        leader_id=102,
        leader_epoch=7,
        high_watermark=90,
        current_voters=[
            replica(replica_id=102, log_end_offset=100, last_caught_up_timestamp=50_000),
            replica(replica_id=101, log_end_offset=-1),
        ],
        observers=[
            replica(
                replica_id=1,
                log_end_offset=95,
                last_fetch_timestamp=49_000,
                last_caught_up_timestamp=48_500,
            )
        ],
    )
    nodes = [
        answer.Node(
            node_id=102,
            listeners=[answer.Node.Listener(name="CONTROLLER", host="c2", port=9093)],
        )
    ]
    topic = answer.TopicData(topic_name="__cluster_metadata", partitions=[partition])
    return answer(error_code=0, topics=[topic], nodes=nodes)


def test_the_quorum_is_told_by_its_leader() -> None:
    """K919-21: an inactive controller cannot tell, and is not asked twice."""
    with controllers(2, active=102) as (nodes, cluster):
        cluster.describe()
        nodes[1].on(DESCRIBE_QUORUM, quorum_answer(0))
        found = cluster.quorum()
        assert (found.leader, found.epoch, found.high_watermark) == (102, 7, 90)
        assert [(each.id, each.lag, each.fetched_ms) for each in found.voters] == [
            (101, 101, None),
            (102, 0, None),
        ]
        (broker,) = found.observers
        assert (broker.lag, broker.fetched_ms, broker.caught_up_ms) == (5, 1_000, 1_500)
        assert found.addresses == {102: "c2:9093"}


def test_a_controller_that_does_not_lead_sends_us_on_for_the_quorum() -> None:
    """K919-21, K919-25."""
    with controllers(2) as (nodes, cluster):
        for node in nodes:
            node.on(messages.DESCRIBE_CLUSTER, registered(nodes, 102))
        nodes[0].on(DESCRIBE_QUORUM, quorum_answer(6))
        nodes[1].on(DESCRIBE_QUORUM, quorum_answer(0))
        assert cluster.quorum().leader == 102


def test_a_broker_that_is_not_registered_cannot_be_taken_out() -> None:
    """K919-22."""
    with controllers(1) as ((node,), cluster):
        node.on(UNREGISTER_BROKER, UNREGISTER_BROKER.response(error_code=102, error_message=None))
        refused = cluster.unregister_broker(77)
        assert isinstance(refused, Refusal)
        assert refused.error == "BROKER_ID_NOT_REGISTERED"
        assert node.requests[-1].broker_id == 77
