"""Messages of Kafka's protocol: APIs and versions, classes loaded on demand, and error codes."""

import struct
import sys
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from importlib import import_module
from importlib.util import find_spec, module_from_spec
from types import ModuleType, new_class
from typing import Any, TypeAlias
from uuid import UUID

from kplan.cluster.authorization import missing_operation_message, required_operation
from kplan.cluster.errors import Handling, client_refusal, handling, refusal
from kplan.cluster.request import ItemResult
from kplan.kafka.wire import schemas
from kplan.model.dataclass import dataclass
from kplan.model.errors import Refusal, UnreadableError
from kplan.model.version import VERSION

Message: TypeAlias = Any
"""A message of kafka-python, which has no types of its own."""

_LAZY_PACKAGES = (
    "kafka",
    "kafka.net",
    "kafka.protocol.admin",
    "kafka.protocol.consumer",
    "kafka.protocol.metadata",
)


@dataclass(frozen=True, slots=True)
class Api:
    """One API of Kafka, with the versions that kplan can speak.

    `module` of `kafka.protocol` has the classes of its messages; "" where `schemas` has their
    definitions, which kafka-python does not ship.
    """

    name: str
    key: int
    oldest: int
    newest: int
    module: str

    @property
    def request(self) -> Message:
        """The class of the request; classes of its parts are attributes under protocol names."""
        return _message_class(self.module, f"{self.name}Request")

    @property
    def response(self) -> Message:
        """The class of the answer."""
        return _message_class(self.module, f"{self.name}Response")


def define_api(name: str, key: int, versions: range, module: str = "") -> Api:
    """Describe an API by its versions and the place of its messages."""
    return Api(name, key, versions.start, versions.stop - 1, module)


@cache
def _message_class(module: str, name: str) -> Message:
    if module:
        return getattr(import_module(f"kafka.protocol.{module}"), name)
    from kafka.protocol.api_message import ApiMessage

    return new_class(name, (ApiMessage,), {"load_json": schemas})


def _defer_packages(packages: Iterable[str]) -> None:
    """Let packages run their own code only when one of their names is used."""
    for name in packages:
        spec = find_spec(name)
        if name not in sys.modules and spec is not None:
            sys.modules[name] = _lazy_package(module_from_spec(spec))


def _lazy_package(package: ModuleType) -> ModuleType:
    def run_first(name: str) -> Any:  # noqa: ANN401 - whatever the package has
        if name.startswith("__"):  # what imports inspect
            raise AttributeError(name)
        del package.__dict__["__getattr__"]
        package.__spec__.loader.exec_module(package)  # type: ignore[union-attr] # as found
        return getattr(package, name)

    package.__dict__["__getattr__"] = run_first
    return package


_defer_packages(_LAZY_PACKAGES)


API_VERSIONS = define_api("ApiVersions", 18, range(5), "metadata.api_versions")
SASL_HANDSHAKE = define_api("SaslHandshake", 17, range(1, 2), "sasl")
SASL_AUTHENTICATE = define_api("SaslAuthenticate", 36, range(3), "sasl")
# Version 4 can keep a broker from creating what is asked for; version 10 brings topic ids.
METADATA = define_api("Metadata", 3, range(4, 14), "metadata.metadata")
DESCRIBE_CLUSTER = define_api("DescribeCluster", 60, range(3), "admin.cluster")
DESCRIBE_CONFIGS = define_api("DescribeConfigs", 32, range(1, 5), "admin.configs")
ALTER_CONFIGS = define_api("IncrementalAlterConfigs", 44, range(2), "admin.configs")
# Version 4 understands -1 as "the broker's default" (KIP-464); from version 5 on the answer holds
# all configs of every topic (KIP-525), of use before and a waste after. From version 6 on topics
# above a quota on changes are refused and not let through (KIP-599).
CREATE_TOPICS = define_api("CreateTopics", 19, range(4, 5), "admin.topics")
PREVIEW_TOPICS = replace(CREATE_TOPICS, newest=7)
DELETE_TOPICS = define_api("DeleteTopics", 20, range(1, 7), "admin.topics")
DELETE_TOPICS_BY_ID = replace(DELETE_TOPICS, oldest=6)
CREATE_PARTITIONS = define_api("CreatePartitions", 37, range(4), "admin.topics")
# Version 1 knows prefixed patterns (KIP-290).
DESCRIBE_ACLS = define_api("DescribeAcls", 29, range(1, 4), "admin.acl")
CREATE_ACLS = define_api("CreateAcls", 30, range(1, 4), "admin.acl")
DELETE_ACLS = define_api("DeleteAcls", 31, range(1, 4), "admin.acl")
DESCRIBE_QUOTAS = define_api("DescribeClientQuotas", 48, range(2), "admin.client_quotas")
ALTER_QUOTAS = define_api("AlterClientQuotas", 49, range(2), "admin.client_quotas")
DESCRIBE_SCRAM = define_api("DescribeUserScramCredentials", 50, range(1), "admin.users")
ALTER_SCRAM = define_api("AlterUserScramCredentials", 51, range(1), "admin.users")
# Version 0, ListClientMetricsResources, knows metrics subscriptions only (KIP-714, KIP-1142).
LIST_CONFIG_RESOURCES = define_api("ListConfigResources", 74, range(2), "admin.configs")
# Version 1 can validate only, and tells a safe downgrade from an unsafe one (KIP-778).
UPDATE_FEATURES = define_api("UpdateFeatures", 57, range(1, 3), "admin.cluster")

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


def versions_request() -> Message:
    """Build the request for a node's API versions, with the client's name (KIP-511)."""
    return API_VERSIONS.request(client_software_name="kplan", client_software_version=VERSION)


class MalformedResponse(Exception):  # noqa: N818 - what came, not what we did
    """The bytes that came are not the answer they should be."""


class UnencodableRequest(Exception):  # noqa: N818 - what was to be written
    """A value has no place in the message: a number too large, text that is none."""


def encode_request(
    request: Message, version: int, correlation_id: int, client_id: str
) -> bytearray:
    """Write a request as a frame.

    Raises:
        UnencodableRequest: one of its values does not fit.

    """
    request.with_header(correlation_id=correlation_id, client_id=client_id)
    try:
        frame: bytearray = request.encode(version=version, header=True, framed=True)
    except (ValueError, OverflowError, struct.error) as failure:
        raise UnencodableRequest(f"the request cannot be written: {failure}") from failure
    return frame


def decode_response(api: Api, version: int, body: memoryview) -> Message:
    """Read the body of an answer.

    Raises:
        MalformedResponse: the bytes are something else.

    """
    try:
        return api.response.decode(body, version=version)
    except (ValueError, IndexError, EOFError, struct.error) as failure:
        raise MalformedResponse(f"an answer to {api.name} that makes no sense") from failure


def has_tagged_header(api: Api, version: int) -> bool:
    """Return whether the header of the answer carries tagged fields (KIP-482).

    That of ApiVersions never does, as it is read before versions are known (KIP-511).
    """
    return api.key != API_VERSIONS.key and bool(api.response.flexible_version_q(version))


def api_name(key: int) -> str:
    """Return Kafka's name of an API."""
    from kafka.protocol.api_key import ApiKey

    known: dict[int, str] = {each.value: each.name for each in ApiKey}
    return known.get(key, f"Api{key}")  # one of a newer Kafka


def error_name(code: int) -> str:
    """Return Kafka's name of an error code, "" where kafka-python knows none."""
    from kafka.errors import for_code

    known = for_code(code)
    name: str | None = known.message if known.errno == code else None
    return name if name and name != "UNKNOWN" else ""


DESCRIBE_LOG_DIRS = define_api("DescribeLogDirs", 35, range(1, 5), "admin.cluster")
DESCRIBE_PRODUCERS = define_api("DescribeProducers", 61, range(1), "admin.transactions")
# Version 4 tells states of groups; version 8 takes many groups at once, 10 asks by topic id.
LIST_GROUPS = define_api("ListGroups", 16, range(4, 6), "admin.groups")
DESCRIBE_GROUPS = define_api("DescribeGroups", 15, range(5, 7), "admin.groups")
OFFSET_FETCH = define_api("OffsetFetch", 9, range(8, 10), "consumer.group")
OFFSET_FETCH_OF_GROUP = replace(OFFSET_FETCH, oldest=2, newest=7)  # one group, before Kafka 3.0
DELETE_RECORDS = define_api("DeleteRecords", 21, range(3), "admin.topics")


ALTER_REASSIGNMENTS = define_api("AlterPartitionReassignments", 45, range(2), "admin.topics")
LIST_REASSIGNMENTS = define_api("ListPartitionReassignments", 46, range(1), "admin.topics")
# Version 1 knows unclean elections (KIP-460).
ELECT_LEADERS = define_api("ElectLeaders", 43, range(1, 3), "admin.topics")


# Version 1 shows when nodes fetched last (KIP-836), version 2 where controllers listen (KIP-853).
DESCRIBE_QUORUM = define_api("DescribeQuorum", 55, range(3), "admin.cluster")
# kafka-python does not ship those of KIP-631 and KIP-853.
UNREGISTER_BROKER = define_api("UnregisterBroker", 64, range(1))
ADD_VOTER = define_api("AddRaftVoter", 80, range(2))
REMOVE_VOTER = define_api("RemoveRaftVoter", 81, range(1))


# Version 3 makes tokens for others, and shows who made one (KIP-373).
CREATE_TOKEN = define_api("CreateDelegationToken", 38, range(1, 4))
RENEW_TOKEN = define_api("RenewDelegationToken", 39, range(1, 3))
EXPIRE_TOKEN = define_api("ExpireDelegationToken", 40, range(1, 3))
DESCRIBE_TOKENS = define_api("DescribeDelegationToken", 41, range(1, 4))


ZERO_UUID = UUID(int=0)


def format_uuid(topic_id: UUID | None) -> str:
    """Write an id as 22 characters, "" for none."""
    if topic_id is None or topic_id == ZERO_UUID:
        return ""
    return urlsafe_b64encode(topic_id.bytes).decode("ascii").rstrip("=")


def parse_uuid(written: str) -> UUID:
    """Read an id.

    Raises:
        ValueError: it is not one.

    """
    return UUID(bytes=urlsafe_b64decode(f"{written}=="))


def broker_refusal(code: int, message: str | None, *, throttle_ms: int = 0) -> Refusal:
    """Make the refusal for an error code other than 0.

    Where a right is missing brokers print the whole request object of theirs, which tells no one
    anything: the meaning of the code stands instead.
    """
    if message and "Request(" in message:
        message = None
    return refusal(code, message, name=error_name(code), throttle_ms=throttle_ms)


def item_result(code: int, message: str | None, *, throttle_ms: int = 0) -> ItemResult:
    """Make the result for an error code; 0 is success."""
    return broker_refusal(code, message, throttle_ms=throttle_ms) if code else None


def unread_error(what: str, code: int, message: str | None, method: str = "") -> UnreadableError:
    """Make the error of a list that was refused as a whole: never an empty one.

    The `method` of the port that asked tells which right is missing where that is the reason.
    """
    refused = broker_refusal(code, message)
    reason, hint = str(refused), ""
    if method and handling(refused) is Handling.DENIED:
        operation, kind, _ = required_operation(method)
        refused = replace(refused, message=missing_operation_message("", method))
        reason, hint = f"{refused.error}: {refused.message}", f"Grant {operation} on {kind}."
    failure = UnreadableError(f"{what} cannot be read: {reason}", hint=hint)
    failure.answer = replace(refused, message=f"{what} cannot be read: {refused.message}")
    return failure


def invalid_refusal(what: str) -> Refusal:
    """Build the refusal of an item that does not fit into a request; it was not sent."""
    return client_refusal("CLIENT_INVALID", what)


TOO_LARGE = "A count or broker id is too large for Kafka."


def item_count(request: Message) -> int:
    """Count the items of a request: the entries of its longest list, 0 without one."""
    values = request.to_dict().values()
    return max((len(each) for each in values if isinstance(each, list)), default=0)


def error_summary(answer: Message) -> str:
    """Name the errors in an answer and its items, with their number; "" where there is none."""
    found: Counter[int] = Counter()
    parts: list[object] = [answer.to_dict()]
    while parts:
        part = parts.pop()
        if isinstance(part, dict):
            found[part.get("error_code") or 0] += 1
            parts += part.values()
        elif isinstance(part, list):
            parts += part
    del found[0]
    names = ((refusal(code).error, count) for code, count in sorted(found.items()))
    return ", ".join(name if count == 1 else f"{count} x {name}" for name, count in names)
