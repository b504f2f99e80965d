"""The messages that most commands send, and kafka-python's codec for all of them.

Messages follow Kafka's own JSON definitions, so their names and fields are those of the protocol in
snake case. What is used of kafka-python is held by `tests/unit/kafka/test_wire_messages.py`.
"""

import struct
from dataclasses import replace

from kplan.kafka.wire.api import Api, Message, api_of
from kplan.model.version import VERSION

INT32_MAX = 2**31 - 1
"""The largest count or id that Kafka's messages have room for."""

API_VERSIONS = api_of("ApiVersions", 18, range(5), "metadata.api_versions")
SASL_HANDSHAKE = api_of("SaslHandshake", 17, range(1, 2), "sasl")
SASL_AUTHENTICATE = api_of("SaslAuthenticate", 36, range(3), "sasl")
# Version 4 can keep a broker from creating what is asked for; version 10 brings topic ids.
METADATA = api_of("Metadata", 3, range(4, 14), "metadata.metadata")
DESCRIBE_CLUSTER = api_of("DescribeCluster", 60, range(3), "admin.cluster")
DESCRIBE_CONFIGS = api_of("DescribeConfigs", 32, range(1, 5), "admin.configs")
ALTER_CONFIGS = api_of("IncrementalAlterConfigs", 44, range(2), "admin.configs")
# Version 4 understands -1 as "the broker's default" (KIP-464); from version 5 on the answer holds
# all configs of every topic (KIP-525), of use before and a waste after. From version 6 on topics
# above a quota on changes are refused and not let through (KIP-599).
CREATE_TOPICS = api_of("CreateTopics", 19, range(4, 5), "admin.topics")
PREVIEW_TOPICS = replace(CREATE_TOPICS, newest=7)
DELETE_TOPICS = api_of("DeleteTopics", 20, range(1, 7), "admin.topics")
DELETE_TOPICS_BY_ID = replace(DELETE_TOPICS, oldest=6)
CREATE_PARTITIONS = api_of("CreatePartitions", 37, range(4), "admin.topics")
# Version 1 knows prefixed patterns (KIP-290).
DESCRIBE_ACLS = api_of("DescribeAcls", 29, range(1, 4), "admin.acl")
CREATE_ACLS = api_of("CreateAcls", 30, range(1, 4), "admin.acl")
DELETE_ACLS = api_of("DeleteAcls", 31, range(1, 4), "admin.acl")
DESCRIBE_QUOTAS = api_of("DescribeClientQuotas", 48, range(2), "admin.client_quotas")
ALTER_QUOTAS = api_of("AlterClientQuotas", 49, range(2), "admin.client_quotas")
DESCRIBE_SCRAM = api_of("DescribeUserScramCredentials", 50, range(1), "admin.users")
ALTER_SCRAM = api_of("AlterUserScramCredentials", 51, range(1), "admin.users")
# Version 0, ListClientMetricsResources, knows metrics subscriptions only (KIP-714, KIP-1142).
LIST_CONFIG_RESOURCES = api_of("ListConfigResources", 74, range(2), "admin.configs")
# Version 1 can validate only, and tells a safe downgrade from an unsafe one (KIP-778).
UPDATE_FEATURES = api_of("UpdateFeatures", 57, range(1, 3), "admin.cluster")

APIS = (
    API_VERSIONS,
    SASL_HANDSHAKE,
    SASL_AUTHENTICATE,
    METADATA,
    DESCRIBE_CLUSTER,
    DESCRIBE_CONFIGS,
    ALTER_CONFIGS,
    CREATE_TOPICS,
    PREVIEW_TOPICS,
    DELETE_TOPICS,
    DELETE_TOPICS_BY_ID,
    CREATE_PARTITIONS,
    DESCRIBE_ACLS,
    CREATE_ACLS,
    DELETE_ACLS,
    DESCRIBE_QUOTAS,
    ALTER_QUOTAS,
    DESCRIBE_SCRAM,
    ALTER_SCRAM,
    LIST_CONFIG_RESOURCES,
    UPDATE_FEATURES,
)
"""Every API that the wire driver speaks."""


def introduction() -> Message:
    """Make the request for what a node offers, which says who asks (KIP-511)."""
    return API_VERSIONS.request(client_software_name="kplan", client_software_version=VERSION)


class Garbled(Exception):  # noqa: N818 - what came, not what we did
    """The bytes that came are not the answer they should be."""


class Unwritable(Exception):  # noqa: N818 - what was to be written
    """A value has no place in the message: a number too large, text that is none."""


def encode(request: Message, version: int, correlation_id: int, client_id: str) -> bytearray:
    """Write a request as a frame.

    Raises:
        Unwritable: one of its values does not fit.

    """
    request.with_header(correlation_id=correlation_id, client_id=client_id)
    try:
        frame: bytearray = request.encode(version=version, header=True, framed=True)
    except (ValueError, OverflowError, struct.error) as failure:
        raise Unwritable(f"the request cannot be written: {failure}") from failure
    return frame


def decode(api: Api, version: int, body: memoryview) -> Message:
    """Read the body of an answer.

    Raises:
        Garbled: the bytes are something else.

    """
    try:
        return api.response.decode(body, version=version)
    except (ValueError, IndexError, EOFError, struct.error) as failure:
        raise Garbled(f"an answer to {api.name} that makes no sense") from failure


def has_tagged_header(api: Api, version: int) -> bool:
    """Tell whether the header of the answer carries tagged fields (KIP-482).

    That of ApiVersions never does, as it is read before versions are known (KIP-511).
    """
    return api.key != API_VERSIONS.key and bool(api.response.flexible_version_q(version))


def api_name(key: int) -> str:
    """Give Kafka's name of an API."""
    from kafka.protocol.api_key import ApiKey

    known: dict[int, str] = {each.value: each.name for each in ApiKey}
    return known.get(key, f"Api{key}")  # one of a newer Kafka


def error_name(code: int) -> str:
    """Give Kafka's name of an error code, "" where kafka-python knows none."""
    from kafka.errors import for_code

    known = for_code(code)
    name: str | None = known.message if known.errno == code else None
    return name if name and name != "UNKNOWN" else ""
