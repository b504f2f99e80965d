"""What the wire driver asks, and what it makes of the answers."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import replace
from types import SimpleNamespace
from uuid import UUID

import pytest

from kplan.cluster.request import (
    AclBinding,
    ConfigAlteration,
    ConfigEntry,
    ConfigSource,
    NewPartitions,
    NewTopic,
    TopicDescription,
    TopicPreview,
    TopicRef,
)
from kplan.cluster.usage import EARLIEST, TopicPartition
from kplan.kafka.settings.connection import Endpoint, Timeouts, seconds
from kplan.kafka.wire import messages, topic_config
from kplan.kafka.wire.driver import WireCluster
from kplan.kafka.wire.messages import Message
from kplan.kafka.wire.usage import read_offsets
from kplan.model.errors import ClusterError, Refusal, UnreadableError
from kplan.model.state import Broker
from tests.unit.kafka.wire.fake_broker import FakeBroker, fake_broker, settings_for

READ = AclBinding("TOPIC", "a", "LITERAL", "User:x", "*", "READ", "ALLOW")
TOKENS = AclBinding("USER", "User:x", "LITERAL", "User:y", "*", "CREATE_TOKENS", "DENY")
GROUP = AclBinding("GROUP", "g", "PREFIXED", "User:x", "10.0.0.1", "READ", "ALLOW")
ID = UUID("00112233-4455-6677-8899-aabbccddeeff")
WRITTEN_ID = "ABEiM0RVZneImaq7zN3u_w"


@contextmanager
def connected(
    lacking: frozenset[int] = frozenset(), newest: Mapping[int, int] | None = None
) -> Iterator[tuple[FakeBroker, WireCluster]]:
    patient = Timeouts(seconds(30), seconds(30))
    with (
        fake_broker(lacking, newest=newest) as broker,
        closing(WireCluster(settings_for(broker.endpoint, timeouts=patient))) as cluster,
    ):
        yield broker, cluster


def refusal_of(verdict: object) -> tuple[str, str]:
    assert isinstance(verdict, Refusal)
    return verdict.error, verdict.message


def test_a_cluster_tells_its_brokers_in_order_and_its_release() -> None:
    with connected() as (broker, cluster):
        answer = messages.DESCRIBE_CLUSTER.response
        brokers = [
            answer.DescribeClusterBroker(broker_id=number, host=f"b{number}", port=9, rack=rack)
            for number, rack in ((2, None), (1, "east"))
        ]
        broker.on(messages.DESCRIBE_CLUSTER, answer(cluster_id="abc", brokers=brokers))
        found = cluster.describe()
    assert (found.cluster_id, found.principal, found.version) == ("abc", "User:ANONYMOUS", "")
    assert found.brokers == (Broker(1, "b1", 9, "east"), Broker(2, "b2", 9))


@pytest.mark.parametrize(("level", "release"), [(30, "4.3"), (27, "4.1"), (21, "3.9"), (1, "")])
def test_the_release_follows_from_the_metadata_version(level: int, release: str) -> None:
    with connected() as (broker, cluster):
        versions: Message = broker.script[messages.API_VERSIONS.key](None)
        feature = messages.API_VERSIONS.response.FinalizedFeatureKey
        versions.finalized_features = [
            feature(name="metadata.version", max_version_level=level, min_version_level=level)
        ]
        versions.tags = {"finalized_features"}
        broker.on(messages.API_VERSIONS, versions)
        assert cluster.describe().version == release


def test_a_cluster_without_describe_cluster_is_asked_for_metadata() -> None:
    """KIP-700 came with Kafka 2.8."""
    with connected(frozenset({messages.DESCRIBE_CLUSTER.key})) as (broker, cluster):
        answer = messages.METADATA.response
        one = answer.MetadataResponseBroker(node_id=1, host="b", port=9, rack=None)
        broker.on(messages.METADATA, answer(cluster_id="abc", brokers=[one], topics=[]))
        found = cluster.describe()
        assert (found.cluster_id, found.brokers) == ("abc", (Broker(1, "b", 9),))
        assert broker.requests[-1].topics == []


def test_a_cluster_that_refuses_to_describe_itself_is_an_error() -> None:
    with connected() as (broker, cluster):
        broker.on(messages.DESCRIBE_CLUSTER, messages.DESCRIBE_CLUSTER.response(error_code=114))
        with pytest.raises(ClusterError, match="MISMATCHED_ENDPOINT_TYPE"):
            cluster.describe()


def topic(name: str, code: int = 0, partitions: tuple[tuple[int, int], ...] = ()) -> Message:
    answer = messages.METADATA.response.MetadataResponseTopic
    return answer(
        name=name,
        error_code=code,
        topic_id=ID,
        is_internal=name.startswith("__"),
        partitions=[
            answer.MetadataResponsePartition(
                partition_index=index, leader_id=leader, replica_nodes=[1, index + 2], isr_nodes=[1]
            )
            for index, leader in partitions
        ],
    )


def test_topics_are_listed_in_order_with_leaders_counted_and_never_created() -> None:
    """K4-06, K4-11, K4-12, K4-38."""
    with connected() as (broker, cluster):
        listed = [topic("b", 0, ((1, -1), (0, 1))), topic("a", 29), topic("__c")]
        broker.on(messages.METADATA, messages.METADATA.response(topics=listed))
        found = cluster.topics()
        request = broker.requests[-1]
    assert (request.topics, request.allow_auto_topic_creation) == (None, False)
    assert list(found) == ["__c", "a", "b"]
    assert refusal_of(found["a"])[0] == "TOPIC_AUTHORIZATION_FAILED"
    assert found["b"] == TopicDescription(
        "b",
        WRITTEN_ID,
        ((1, 2), (1, 3)),
        leaderless=1,
        leaders=(1, -1),
        in_sync=((1,), (1,)),
        offline=((), ()),
    )
    internal = found["__c"]
    assert isinstance(internal, TopicDescription)
    assert internal.is_internal


def test_asking_for_no_topics_asks_nobody() -> None:
    """K4-06: an empty list is not all."""
    with connected() as (broker, cluster):
        assert cluster.topics([]) == {}
        assert cluster.topic_configs([]) == {}
        assert cluster.create_topics([]) == {}
        assert cluster.preview_topics([]) == {}
        assert cluster.create_partitions([]) == {}
        assert cluster.alter_topic_configs([]) == {}
        assert cluster.delete_topics([]) == {}
        assert cluster.create_acls([]) == {}
        assert cluster.delete_acls([]) == {}
        assert broker.connections == 0


def test_topic_ids_are_written_as_kafka_prints_them() -> None:
    assert messages.format_uuid(ID) == WRITTEN_ID
    assert messages.parse_uuid(WRITTEN_ID) == ID
    assert messages.format_uuid(None) == messages.format_uuid(UUID(int=0)) == ""


def described(request: Message) -> Message:
    answer = messages.DESCRIBE_CONFIGS.response
    result = answer.DescribeConfigsResult
    entry = result.DescribeConfigsResourceResult
    return answer(
        results=[
            result(
                error_code=3 if each.resource_name.startswith("gone") else 0,
                resource_type=2,
                resource_name=each.resource_name,
                configs=[
                    entry(
                        name="a",
                        value="1",
                        config_source=1,
                        is_sensitive=False,
                        synonyms=[],
                        config_type=0,
                        documentation=None,
                    )
                ],
            )
            for each in reversed(request.resources)
        ]
    )


@pytest.mark.parametrize("newest", [4, 3, 1])
def test_configs_are_asked_for_in_requests_of_a_bearable_size(newest: int) -> None:
    with connected(newest={messages.DESCRIBE_CONFIGS.key: newest}) as (broker, cluster):
        broker.on(messages.DESCRIBE_CONFIGS, described)
        names = [f"t{number:05}" for number in range(2 * topic_config.TOPICS_PER_REQUEST + 1)]
        found = cluster.topic_configs([*names, "gone"])
        sizes = [len(each.resources) for each in broker.requests if hasattr(each, "resources")]
        assert sorted(sizes) == [
            2,
            topic_config.TOPICS_PER_REQUEST,
            topic_config.TOPICS_PER_REQUEST,
        ]
        assert broker.connections <= 4
    assert list(found) == sorted([*names, "gone"])
    assert refusal_of(found["gone"])[0] == "UNKNOWN_TOPIC_OR_PARTITION"
    assert found["t00000"] == {"a": ConfigEntry("1", ConfigSource.TOPIC)}


def test_acls_are_all_asked_for_and_keep_numbers_that_are_not_known() -> None:
    """P4: librdkafka makes UNKNOWN of USER and CREATE_TOKENS."""
    with connected() as (broker, cluster):
        answer = messages.DESCRIBE_ACLS.response
        resource = answer.DescribeAclsResource
        acl = resource.AclDescription
        resources = [
            resource(
                resource_type=7,
                resource_name="User:x",
                pattern_type=3,
                acls=[acl(principal="User:y", host="*", operation=13, permission_type=2)],
            ),
            resource(
                resource_type=99,
                resource_name="new",
                pattern_type=4,
                acls=[acl(principal="User:y", host="*", operation=3, permission_type=3)],
            ),
        ]
        broker.on(messages.DESCRIBE_ACLS, answer(resources=resources))
        found = cluster.acls()
        request = broker.requests[-1]
    assert found == {
        TOKENS,
        AclBinding("UNKNOWN_99", "new", "PREFIXED", "User:y", "*", "READ", "ALLOW"),
    }
    assert [
        request.resource_type_filter,
        request.pattern_type_filter,
        request.operation,
        request.permission_type,
        request.resource_name_filter,
        request.principal_filter,
        request.host_filter,
    ] == [1, 1, 1, 1, None, None, None]


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (31, "needs DESCRIBE on CLUSTER"),
        (54, "the cluster has no authorizer"),
        (-1, "UNKNOWN_SERVER_ERROR"),
    ],
)
def test_acls_that_cannot_be_listed_are_unread_and_never_an_empty_list(
    code: int, words: str
) -> None:
    """P3, K4-41, K4-51."""
    with connected() as (broker, cluster):
        broker.on(messages.DESCRIBE_ACLS, messages.DESCRIBE_ACLS.response(error_code=code))
        with pytest.raises(UnreadableError, match=words):
            cluster.acls()


def test_created_acls_are_answered_in_the_order_of_the_request() -> None:
    with connected() as (broker, cluster):
        answer = messages.CREATE_ACLS.response
        result = answer.AclCreationResult
        dump = "Request Request(processor=3, connectionId=...) needs ALTER permission."
        broker.on(
            messages.CREATE_ACLS,
            answer(
                results=[
                    result(error_code=0, error_message=None),
                    result(error_code=31, error_message=dump),
                ]
            ),
        )
        found = cluster.create_acls([GROUP, TOKENS, READ])
        sent = broker.requests[-1].creations
    assert found[GROUP] is None
    assert refusal_of(found[TOKENS]) == (
        "CLUSTER_AUTHORIZATION_FAILED",
        "Principal User:ANONYMOUS needs ALTER on CLUSTER.",
    )
    assert READ not in found
    assert [
        (each.resource_type, each.resource_pattern_type, each.operation, each.permission_type)
        for each in sent
    ] == [(3, 4, 3, 3), (7, 3, 13, 2), (2, 3, 3, 3)]


@pytest.mark.parametrize(
    "bad",
    [
        AclBinding("ANY", "a", "LITERAL", "User:x", "*", "READ", "ALLOW"),
        AclBinding("TOPIC", "a", "MATCH", "User:x", "*", "READ", "ALLOW"),
        AclBinding("TOPIC", "a", "LITERAL", "User:x", "*", "ANY", "ALLOW"),
        AclBinding("TOPIC", "a", "LITERAL", "User:x", "*", "READ", "UNKNOWN"),
    ],
    ids=["type", "pattern", "operation", "permission"],
)
def test_an_acl_that_would_spoil_its_batch_is_not_sent(bad: AclBinding) -> None:
    """P9: one filter word in a batch makes every item fail with UNKNOWN_SERVER_ERROR."""
    with connected() as (broker, cluster):
        answer = messages.CREATE_ACLS.response
        broker.on(messages.CREATE_ACLS, answer(results=[answer.AclCreationResult(error_code=0)]))
        for change in (cluster.create_acls, cluster.delete_acls):
            assert refusal_of(change([bad])[bad])[0] == "CLIENT_INVALID"
        assert broker.connections == 0
        found = cluster.create_acls([bad, READ])
        assert found[READ] is None
        assert refusal_of(found[bad])[0] == "CLIENT_INVALID"


def test_acls_are_deleted_by_exact_filters_and_absent_ones_are_gone() -> None:
    """K4-46, design law 4."""
    with connected() as (broker, cluster):
        answer = messages.DELETE_ACLS.response
        result = answer.DeleteAclsFilterResult
        match = result.DeleteAclsMatchingAcl
        broker.on(
            messages.DELETE_ACLS,
            answer(
                filter_results=[
                    result(error_code=0, matching_acls=[match(error_code=0)]),
                    result(error_code=0, matching_acls=[]),
                    result(error_code=0, matching_acls=[match(error_code=44, error_message="no")]),
                ]
            ),
        )
        found = cluster.delete_acls([READ, GROUP, TOKENS])
        first = broker.requests[-1].filters[0]
    assert (found[READ], found[GROUP]) == (None, None)
    assert refusal_of(found[TOKENS]) == ("POLICY_VIOLATION", "no")
    assert [
        first.resource_type_filter,
        first.resource_name_filter,
        first.pattern_type_filter,
        first.principal_filter,
        first.host_filter,
        first.operation,
        first.permission_type,
    ] == [2, "a", 3, "User:x", "*", 3, 3]


SPECS = [
    NewTopic("counted", 3, 2, config={"b": "2", "a": "1"}),
    NewTopic("default"),
    NewTopic("placed", assignment=((1, 2), (2, 1))),
]


def test_topics_to_create_are_sent_with_counts_or_an_assignment() -> None:
    """K4-15, K4-17, K4-19, design law 9."""
    with connected() as (broker, cluster):
        broker.on(messages.CREATE_TOPICS, messages.CREATE_TOPICS.response(topics=[]))
        assert cluster.create_topics(SPECS) == {}
        request = broker.requests[-1]
    assert (request.timeout_ms, request.validate_only) == (30_000, False)
    assert [(each.num_partitions, each.replication_factor) for each in request.topics] == [
        (3, 2),
        (-1, -1),
        (-1, -1),
    ]
    assert [(each.name, each.value) for each in request.topics[0].configs] == [
        ("a", "1"),
        ("b", "2"),
    ]
    placed = request.topics[2].assignments
    assert [(each.partition_index, each.broker_ids) for each in placed] == [
        (0, [1, 2]),
        (1, [2, 1]),
    ]


def previewed(_: Message) -> Message:
    answer = messages.PREVIEW_TOPICS.response
    result = answer.CreatableTopicResult
    entry = result.CreatableTopicConfigs(
        name="a", value=None, read_only=False, config_source=9, is_sensitive=True
    )
    return answer(
        throttle_time_ms=5,
        topics=[
            result(
                name="counted",
                topic_id=ID,
                error_code=0,
                num_partitions=3,
                replication_factor=2,
                configs=[entry],
            ),
            result(name="default", error_code=89, error_message="wait", configs=[]),
        ],
    )


@pytest.mark.parametrize("newest", [7, 5])
def test_a_preview_tells_counts_and_configs_and_creates_nothing(newest: int) -> None:
    """K4-27, K117-11."""
    with connected(newest={messages.PREVIEW_TOPICS.key: newest}) as (broker, cluster):
        broker.on(messages.PREVIEW_TOPICS, previewed)
        found = cluster.preview_topics(SPECS)
        assert broker.requests[-1].validate_only
    sensitive = ConfigEntry(None, ConfigSource.OTHER, is_sensitive=True)
    assert found == {
        "counted": TopicPreview(3, 2, {"a": sensitive}),
        "default": Refusal("THROTTLING_QUOTA_EXCEEDED", 89, "wait", 5),
    }


def test_partitions_are_added_with_or_without_an_assignment() -> None:
    with connected() as (broker, cluster):
        answer = messages.CREATE_PARTITIONS.response
        result = answer.CreatePartitionsTopicResult
        broker.on(
            messages.CREATE_PARTITIONS,
            answer(
                results=[
                    result(name="a", error_code=0),
                    result(name="b", error_code=37, error_message="no"),
                ]
            ),
        )
        found = cluster.create_partitions(
            [NewPartitions("a", 3), NewPartitions("b", 3, ((1,),)), NewPartitions("c", 2**31)],
            validate_only=True,
        )
        request = broker.requests[-1]
        assert refusal_of(cluster.create_partitions([NewPartitions("c", 2**31)])["c"])
    assert found["a"] is None
    assert refusal_of(found["b"]) == ("INVALID_PARTITIONS", "no")
    assert refusal_of(found["c"])[0] == "CLIENT_INVALID"
    assert (request.timeout_ms, request.validate_only) == (30_000, True)
    assert [each.count for each in request.topics] == [3, 3]
    assert request.topics[0].assignments is None
    assert request.topics[1].assignments[0].broker_ids == [1]


def test_configs_are_set_and_reset_key_by_key() -> None:
    """K4-56, design law 5."""
    with connected() as (broker, cluster):
        answer = messages.ALTER_CONFIGS.response
        result = answer.AlterConfigsResourceResponse
        broker.on(
            messages.ALTER_CONFIGS,
            answer(
                responses=[
                    result(error_code=40, error_message="bad", resource_type=2, resource_name="a")
                ]
            ),
        )
        alteration = ConfigAlteration("a", {"y": "2", "x": "1"}, ("w", "v"))
        found = cluster.alter_topic_configs([alteration], validate_only=True)
        request = broker.requests[-1]
    assert refusal_of(found["a"]) == ("INVALID_CONFIG", "bad")
    assert request.validate_only
    (resource,) = request.resources
    assert (resource.resource_type, resource.resource_name) == (2, "a")
    assert [(each.name, each.config_operation, each.value) for each in resource.configs] == [
        ("x", 0, "1"),
        ("y", 0, "2"),
        ("v", 1, None),
        ("w", 1, None),
    ]


def test_topics_are_deleted_by_id_where_one_is_known_and_answered_by_name() -> None:
    """K4-36: a stale plan cannot delete a topic that was created anew."""
    with connected() as (broker, cluster):
        answer = messages.DELETE_TOPICS.response
        result = answer.DeletableTopicResult
        broker.on(
            messages.DELETE_TOPICS,
            answer(
                responses=[
                    result(name="named", topic_id=UUID(int=5), error_code=0),
                    result(name=None, topic_id=ID, error_code=100, error_message="gone"),
                ]
            ),
        )
        found = cluster.delete_topics([TopicRef("known", WRITTEN_ID), TopicRef("named")])
        request = broker.requests[-1]
    assert found["named"] is None
    assert refusal_of(found["known"]) == ("UNKNOWN_TOPIC_ID", "gone")
    assert [(each.name, each.topic_id) for each in request.topics] == [(None, ID), ("named", None)]


Change = Callable[[WireCluster], Mapping[object, object]]


@pytest.mark.parametrize(
    "change",
    [
        lambda cluster: cluster.create_acls([READ]),
        lambda cluster: cluster.delete_acls([READ]),
        lambda cluster: cluster.create_topics([NewTopic("a")]),
        lambda cluster: cluster.preview_topics([NewTopic("a")]),
        lambda cluster: cluster.create_partitions([NewPartitions("a", 2)]),
        lambda cluster: cluster.alter_topic_configs([ConfigAlteration("a", {"x": "1"})]),
        lambda cluster: cluster.delete_topics([TopicRef("a")]),
    ],
    ids=["create_acls", "delete_acls", "create", "preview", "grow", "alter", "delete"],
)
def test_every_write_whose_answer_is_lost_answers_each_item_in_doubt(change: Change) -> None:
    """Design law 2."""
    with connected() as (_, cluster):
        (verdict,) = change(cluster).values()
        assert refusal_of(verdict)[0] == "CLIENT_DISCONNECTED"


def test_a_topic_that_is_named_twice_is_not_sent() -> None:
    """Brokers with ZooKeeper would take both of its alterations."""
    with connected() as (broker, cluster):
        refused = cluster.alter_topic_configs(
            [ConfigAlteration("a", {"segment.ms": "7"}), ConfigAlteration("a", {"flush.ms": "7"})]
        )
        gone = cluster.delete_topics([TopicRef("a"), TopicRef("a")])
        asked = {key for key, _ in broker.asked}
    assert refusal_of(refused["a"])[0] == refusal_of(gone["a"])[0] == "INVALID_REQUEST"
    assert not asked & {messages.ALTER_CONFIGS.key, messages.DELETE_TOPICS.key}


def test_a_principal_without_a_type_is_not_sent() -> None:
    """With ZooKeeper it would fail all ACLs of the request."""
    untyped = replace(READ, principal="x")
    with connected() as (broker, cluster):
        answer = messages.CREATE_ACLS.response
        broker.on(messages.CREATE_ACLS, answer(results=[answer.AclCreationResult()]))
        found = cluster.create_acls([READ, untyped])
    assert found[READ] is None
    assert refusal_of(found[untyped])[0] == "INVALID_REQUEST"


def test_offsets_that_a_broker_refuses_are_told_with_the_missing_right() -> None:
    """A lack of "the right" alone leads nobody to the ACL that is needed."""
    partition = SimpleNamespace(partition_index=0, error_code=29)
    answer = SimpleNamespace(topics=[SimpleNamespace(name="t", partitions=[partition])])
    gateway = SimpleNamespace(ask=lambda *_, **__: answer)
    problems: dict[str, set[str]] = defaultdict(set)
    found: dict[TopicPartition, int] = {}
    asked = (EARLIEST, found, "first offsets")
    read_offsets(gateway, Endpoint("b", 1), {"t": [0]}, asked, problems)  # type: ignore[arg-type]
    told = "first offsets: TOPIC_AUTHORIZATION_FAILED without DESCRIBE on the topic"
    assert problems == {"t": {told}}
