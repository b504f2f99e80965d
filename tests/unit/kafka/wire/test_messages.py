"""What kplan uses of kafka-python is there: its messages follow Kafka's own definitions."""

from collections.abc import Mapping

import pytest

from kplan.kafka.settings.connection import PASSWORD_MECHANISMS, Plain
from kplan.kafka.wire import messages, record
from kplan.kafka.wire.messages import Api, Message
from kplan.kafka.wire.sasl import password_exchange

RESPONSE_FIELDS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "ApiVersions": {
        "": ("error_code", "api_keys", "finalized_features", "supported_features"),
        "SupportedFeatureKey": ("name", "min_version", "max_version"),
        "ApiVersion": ("api_key", "min_version", "max_version"),
        "FinalizedFeatureKey": ("name", "max_version_level"),
    },
    "SaslHandshake": {"": ("error_code", "mechanisms")},
    "SaslAuthenticate": {"": ("error_code", "error_message", "auth_bytes", "session_lifetime_ms")},
    "Metadata": {
        "": ("brokers", "cluster_id", "topics"),
        "MetadataResponseBroker": ("node_id", "host", "port", "rack"),
        "MetadataResponseTopic": ("error_code", "name", "topic_id", "is_internal", "partitions"),
    },
    "DescribeCluster": {
        "": ("error_code", "error_message", "cluster_id", "brokers"),
        "DescribeClusterBroker": ("broker_id", "host", "port", "rack"),
    },
    "DescribeConfigs": {
        "": ("results",),
        "DescribeConfigsResult": ("error_code", "error_message", "resource_name", "configs"),
    },
    "IncrementalAlterConfigs": {
        "": ("throttle_time_ms", "responses"),
        "AlterConfigsResourceResponse": ("error_code", "error_message", "resource_name"),
    },
    "CreateTopics": {
        "": ("throttle_time_ms", "topics"),
        "CreatableTopicResult": (
            "name",
            "error_code",
            "error_message",
            "num_partitions",
            "replication_factor",
            "configs",
        ),
    },
    "DeleteTopics": {
        "": ("throttle_time_ms", "responses"),
        "DeletableTopicResult": ("name", "topic_id", "error_code", "error_message"),
    },
    "CreatePartitions": {
        "": ("throttle_time_ms", "results"),
        "CreatePartitionsTopicResult": ("name", "error_code", "error_message"),
    },
    "DescribeAcls": {
        "": ("error_code", "error_message", "resources"),
        "DescribeAclsResource": ("resource_type", "resource_name", "pattern_type", "acls"),
    },
    "CreateAcls": {
        "": ("throttle_time_ms", "results"),
        "AclCreationResult": ("error_code", "error_message"),
    },
    "Fetch": {
        "": ("responses",),
        "FetchableTopicResponse": ("partitions",),
    },
    "ListOffsets": {
        "": ("topics",),
        "ListOffsetsTopicResponse": ("partitions",),
    },
    "DeleteAcls": {
        "": ("throttle_time_ms", "filter_results"),
        "DeleteAclsFilterResult": ("error_code", "error_message", "matching_acls"),
    },
    "DescribeClientQuotas": {
        "": ("error_code", "error_message", "entries"),
        "EntryData": ("entity", "values"),
    },
    "AlterClientQuotas": {
        "": ("throttle_time_ms", "entries"),
        "EntryData": ("error_code", "error_message", "entity"),
    },
    "DescribeUserScramCredentials": {
        "": ("error_code", "error_message", "results"),
        "DescribeUserScramCredentialsResult": (
            "user",
            "error_code",
            "error_message",
            "credential_infos",
        ),
    },
    "AlterUserScramCredentials": {
        "": ("throttle_time_ms", "results"),
        "AlterUserScramCredentialsResult": ("user", "error_code", "error_message"),
    },
    "ListConfigResources": {
        "": ("error_code", "config_resources"),
        "ConfigResource": ("resource_name", "resource_type"),
    },
    "UpdateFeatures": {
        "": ("throttle_time_ms", "error_code", "error_message", "results"),
        "UpdatableFeatureResult": ("error_code", "error_message"),
    },
}


APIS = (*messages.APIS, *record.RECORD_APIS)


def versions(api: Api) -> str:
    return f"{api.name} {api.oldest} to {api.newest}"


@pytest.mark.parametrize("api", APIS, ids=versions)
def test_kafka_python_speaks_every_version_that_kplan_does(api: Api) -> None:
    for message in (api.request, api.response):
        assert api.key == message.API_KEY
        assert 0 <= api.oldest <= api.newest <= message.max_version
    assert (api.request.name, api.response.name) == (f"{api.name}Request", f"{api.name}Response")


@pytest.mark.parametrize("api", APIS, ids=versions)
def test_answers_have_the_fields_that_are_read(api: Api) -> None:
    for part, names in RESPONSE_FIELDS[api.name].items():
        message: Message = getattr(api.response, part) if part else api.response
        assert set(names) <= set(message.fields)


@pytest.mark.parametrize("version", range(messages.METADATA.oldest, messages.METADATA.newest + 1))
def test_a_message_survives_the_way_to_bytes_and_back(version: int) -> None:
    request = messages.METADATA.request(
        topics=[messages.METADATA.request.MetadataRequestTopic(name="a")],
        allow_auto_topic_creation=False,
    )
    frame = bytes(messages.encode_request(request, version, 7, "kplan"))
    assert int.from_bytes(frame[:4], "big") == len(frame) - 4
    assert frame[4:12] == bytes([0, 3, 0, version, 0, 0, 0, 7])
    again = type(request).decode(frame[4:], version=version, header=True)
    assert (again.topics[0].name, again.allow_auto_topic_creation) == ("a", False)


def test_a_value_that_does_not_fit_is_unwritable() -> None:
    topic = messages.CREATE_TOPICS.request.CreatableTopic
    for bad in (
        topic(name="a", num_partitions=2**31, replication_factor=1),
        topic(name="\ud800", num_partitions=1, replication_factor=1),
    ):
        with pytest.raises(messages.UnencodableRequest):
            messages.encode_request(messages.CREATE_TOPICS.request(topics=[bad]), 4, 1, "kplan")


@pytest.mark.parametrize("body", [b"", b"\x00", b"\xff" * 40, b"\x00" * 8 + b"\x05abc"])
def test_bytes_that_are_no_answer_are_garbled(body: bytes) -> None:
    with pytest.raises(messages.MalformedResponse):
        messages.decode_response(messages.METADATA, 12, memoryview(body))


@pytest.mark.parametrize("mechanism", PASSWORD_MECHANISMS, ids=lambda each: each.name)
def test_every_mechanism_has_an_exchange(mechanism: type[Plain]) -> None:
    exchange = password_exchange(mechanism("alice", "secret"))
    assert b"alice" in exchange.auth_bytes()
    assert not exchange.is_done()


def test_names_with_commas_and_equals_signs_are_escaped_for_scram() -> None:
    """RFC 5802, 5.1: otherwise the broker reads another name."""
    scram = next(each for each in PASSWORD_MECHANISMS if each.name == "SCRAM-SHA-256")
    first = password_exchange(scram("a=b,c", "secret")).auth_bytes()
    assert first.startswith(b"n,,n=a=3Db=2Cc,r=")
    assert password_exchange(Plain("a=b,c", "s")).auth_bytes() == b"a=b,c\0a=b,c\0s"


def test_error_codes_have_kafkas_names() -> None:
    assert messages.error_name(36) == "TOPIC_ALREADY_EXISTS"
    assert messages.error_name(98) == "SNAPSHOT_NOT_FOUND"
    assert messages.error_name(9999) == ""
