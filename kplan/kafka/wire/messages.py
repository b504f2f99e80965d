"""The place that knows kafka-python: its message classes, its codec, its SASL exchanges.

`batches.py` knows it too, for reading records. Messages follow Kafka's own JSON definitions, so
their names and fields are those of the protocol in snake case. What is used here is held by
`tests/unit/kafka/test_wire_messages.py`.
"""

import struct
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

# This module is a leaf that only a command that talks to a cluster imports.
from kafka.errors import for_code  # noqa: TID253
from kafka.net.sasl import get_sasl_mechanism  # noqa: TID253
from kafka.net.sasl.oauth import AbstractTokenProvider  # noqa: TID253
from kafka.protocol.admin import (  # noqa: TID253
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    CreateAclsRequest,
    CreateAclsResponse,
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeleteAclsRequest,
    DeleteAclsResponse,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DescribeAclsRequest,
    DescribeAclsResponse,
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
    DescribeClusterRequest,
    DescribeClusterResponse,
    DescribeConfigsRequest,
    DescribeConfigsResponse,
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)
from kafka.protocol.api_key import ApiKey  # noqa: TID253
from kafka.protocol.metadata import (  # noqa: TID253
    ApiVersionsRequest,
    ApiVersionsResponse,
    MetadataRequest,
    MetadataResponse,
)
from kafka.protocol.sasl import (  # noqa: TID253
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
    SaslHandshakeRequest,
    SaslHandshakeResponse,
)

from kplan.kafka.auth import PasswordMechanism
from kplan.kafka.tokens import Token
from kplan.model.version import VERSION

INT32_MAX = 2**31 - 1
"""The largest count or id that Kafka's messages have room for."""

Message: TypeAlias = Any
"""A message of kafka-python, which has no types of its own."""


@dataclass(frozen=True, slots=True)
class Api:
    """One API of Kafka, with the versions that kplan can speak and its two message classes.

    The classes of a request's parts hang on the class of the request, under their protocol names.
    """

    name: str
    key: int
    oldest: int
    newest: int
    request: Message
    response: Message


def api_of(name: str, versions: range, request: Message, response: Message) -> Api:
    """Describe an API by its versions and its two classes."""
    return Api(name, request.API_KEY, versions.start, versions.stop - 1, request, response)


API_VERSIONS = api_of("ApiVersions", range(5), ApiVersionsRequest, ApiVersionsResponse)
SASL_HANDSHAKE = api_of("SaslHandshake", range(1, 2), SaslHandshakeRequest, SaslHandshakeResponse)
SASL_AUTHENTICATE = api_of(
    "SaslAuthenticate", range(3), SaslAuthenticateRequest, SaslAuthenticateResponse
)
# Version 4 can keep a broker from creating what is asked for; version 10 brings topic ids.
METADATA = api_of("Metadata", range(4, 14), MetadataRequest, MetadataResponse)
DESCRIBE_CLUSTER = api_of(
    "DescribeCluster", range(3), DescribeClusterRequest, DescribeClusterResponse
)
DESCRIBE_CONFIGS = api_of(
    "DescribeConfigs", range(1, 5), DescribeConfigsRequest, DescribeConfigsResponse
)
ALTER_CONFIGS = api_of(
    "IncrementalAlterConfigs",
    range(2),
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
# Version 4 understands -1 as "the broker's default" (KIP-464); from version 5 on the answer holds
# all configs of every topic (KIP-525), of use before and a waste after. From version 6 on topics
# above a quota on changes are refused and not let through (KIP-599).
CREATE_TOPICS = api_of("CreateTopics", range(4, 5), CreateTopicsRequest, CreateTopicsResponse)
PREVIEW_TOPICS = replace(CREATE_TOPICS, newest=7)
DELETE_TOPICS = api_of("DeleteTopics", range(1, 7), DeleteTopicsRequest, DeleteTopicsResponse)
DELETE_TOPICS_BY_ID = replace(DELETE_TOPICS, oldest=6)
CREATE_PARTITIONS = api_of(
    "CreatePartitions", range(4), CreatePartitionsRequest, CreatePartitionsResponse
)
# Version 1 knows prefixed patterns (KIP-290).
DESCRIBE_ACLS = api_of("DescribeAcls", range(1, 4), DescribeAclsRequest, DescribeAclsResponse)
CREATE_ACLS = api_of("CreateAcls", range(1, 4), CreateAclsRequest, CreateAclsResponse)
DELETE_ACLS = api_of("DeleteAcls", range(1, 4), DeleteAclsRequest, DeleteAclsResponse)
DESCRIBE_QUOTAS = api_of(
    "DescribeClientQuotas", range(2), DescribeClientQuotasRequest, DescribeClientQuotasResponse
)
ALTER_QUOTAS = api_of(
    "AlterClientQuotas", range(2), AlterClientQuotasRequest, AlterClientQuotasResponse
)
DESCRIBE_SCRAM = api_of(
    "DescribeUserScramCredentials",
    range(1),
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
)
ALTER_SCRAM = api_of(
    "AlterUserScramCredentials",
    range(1),
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
)
# Version 0, ListClientMetricsResources, knows metrics subscriptions only (KIP-714, KIP-1142).
LIST_CONFIG_RESOURCES = api_of(
    "ListConfigResources", range(2), ListConfigResourcesRequest, ListConfigResourcesResponse
)
# Version 1 can validate only, and tells a safe downgrade from an unsafe one (KIP-778).
UPDATE_FEATURES = api_of(
    "UpdateFeatures", range(1, 3), UpdateFeaturesRequest, UpdateFeaturesResponse
)

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


def sasl_exchange(mechanism: PasswordMechanism) -> Message:
    """Make the client's half of a SASL exchange: `auth_bytes()`, `receive(bytes)`, `is_done()`."""
    # SCRAM reserves two characters in names (RFC 5802, 5.1), which kafka-python leaves as they are.
    is_scram = mechanism.name.startswith("SCRAM-")
    escaped = mechanism.username.replace("=", "=3D").replace(",", "=2C")
    return get_sasl_mechanism(mechanism.name)(
        sasl_mechanism=mechanism.name,
        sasl_plain_username=escaped if is_scram else mechanism.username,
        sasl_plain_password=mechanism.password,
    )


class _Bearer(AbstractTokenProvider):  # type: ignore[misc] # kafka-python has no types
    """A token as kafka-python takes it."""

    def __init__(self, token: Token) -> None:
        super().__init__()
        self._token = token

    def token(self) -> str:
        return self._token.text

    def extensions(self) -> dict[str, str]:
        return dict(self._token.extensions)


def bearer_exchange(token: Token) -> Message:
    """Make the client's half of the exchange of OAUTHBEARER (RFC 7628)."""
    return get_sasl_mechanism("OAUTHBEARER")(sasl_oauth_token_provider=_Bearer(token))


def api_name(key: int) -> str:
    """Give Kafka's name of an API."""
    known: dict[int, str] = {each.value: each.name for each in ApiKey}
    return known.get(key, f"Api{key}")  # one of a newer Kafka


def error_name(code: int) -> str:
    """Give Kafka's name of an error code, "" where kafka-python knows none."""
    known = for_code(code)
    name: str | None = known.message if known.errno == code else None
    return name if name and name != "UNKNOWN" else ""
