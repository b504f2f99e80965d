"""What releases of Kafka lack, by name: derived from what a broker offers, not from its version."""

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass

from kplan.cluster.settings import NodeVersions
from kplan.kafka.settings.resolver import resolve_settings
from kplan.kafka.wire.driver import WireCluster
from kplan.sandbox.sandbox import Sandbox, properties_file


@dataclass(frozen=True, slots=True)
class Offer:
    """What the brokers under test offer."""

    name: str
    release: tuple[int, int]
    versions: NodeVersions

    def has_api(self, name: str, version: int = 0) -> bool:
        """Whether an API is offered in a version."""
        return self.versions.apis.get(name, (0, -1))[1] >= version


@dataclass(frozen=True, slots=True)
class Capability:
    """Something that Kafka has since a release; `is_in` derives it from what a broker offers."""

    name: str
    since: str
    is_in: Callable[[Offer], bool]

    def lack(self, offer: Offer) -> str:
        """Say that the brokers lack it."""
        return f"{offer.name} has no {self.name} (since {self.since})"


def read_offer(sandbox: Sandbox) -> Offer:
    """Ask the broker of a sandbox what it offers."""
    spec = sandbox.spec
    file = properties_file(sandbox.folder, sandbox.users[0].name)
    settings = resolve_settings(None, {}, folder=sandbox.folder, properties_file=file).settings
    assert settings is not None
    with closing(WireCluster(settings)) as cluster:
        versions = cluster.versions()
    mode = " with ZooKeeper" if spec.has_zookeeper else ""
    return Offer(f"Kafka {spec.kafka_version}{mode}", spec.release, versions)


def _by_api(name: str, since: str, api: str, version: int = 0) -> Capability:
    return Capability(name, since, lambda offer: offer.has_api(api, version))


KRAFT = _by_api("KRaft controllers", "3.3, KIP-833", "DescribeQuorum")
RECORD_LIMIT = Capability(
    "limit of 10,000 records in a request",
    "3.6 with KRaft",
    lambda offer: offer.has_api("DescribeQuorum") and offer.release >= (3, 6),
)
USER_ACLS = _by_api("ACLs on users", "3.3, KIP-373", "CreateAcls", 3)
FEATURES = Capability(
    "levels of features",
    "3.3 with KRaft, KIP-778",
    lambda offer: "metadata.version" in offer.versions.supported,
)
SCRAM = _by_api("SCRAM credentials", "3.5 with KRaft, KIP-900", "AlterUserScramCredentials")
TOKENS = _by_api("delegation tokens", "3.6 with KRaft, KAFKA-15219", "CreateDelegationToken")
ENDPOINT_TYPES = _by_api("endpoint types", "3.7, KIP-919", "DescribeCluster", 1)
CLIENT_METRICS = _by_api("metrics subscriptions", "3.7 with KRaft, KIP-714", "ListConfigResources")
CONFIG_NAMES = _by_api("list of config resources", "4.1, KIP-1142", "ListConfigResources", 1)
SHARE_GROUPS = _by_api("share groups", "4.1, KIP-932", "ShareGroupDescribe", 1)
GROUP_CONFIGS = Capability(
    "configs of groups", "4.0, KIP-848", lambda offer: "group.version" in offer.versions.supported
)
CONSUMER_PROTOCOL = Capability(
    "consumer group protocol",
    "4.0, KIP-848",
    lambda offer: offer.versions.finalized.get("group.version", 0) > 0,
)
TOKEN_VALIDATOR = Capability(
    "validator of OAUTHBEARER tokens", "3.1, KIP-768", lambda offer: offer.release >= (3, 1)
)
"""A class of the broker, which no API shows."""

COMPRESSION_LEVELS = Capability(
    "compression levels", "3.8, KIP-390", lambda offer: offer.release >= (3, 8)
)
ERROR_CODES = _by_api("error codes of newer controllers", "3.9 with KRaft", "DescribeQuorum", 2)
"""Older brokers refuse the same items with other codes."""

TOKEN_OWNERS = _by_api(
    "tokens for other users", "3.3, with KRaft 3.6, KIP-373", "CreateDelegationToken", 3
)
DIRECT_ACCESS = Capability(
    "requests to controllers",
    "3.7 with KRaft, KIP-919",
    lambda offer: offer.has_api("DescribeQuorum") and offer.has_api("DescribeCluster", 1),
)
NEWEST_CONFIGS = Capability(
    "topic configs and defaults of Kafka 4.3", "4.3", lambda offer: offer.release >= (4, 3)
)
"""kplan's table of defaults is that of the newest release."""
NO_DOWN_CONVERSION = Capability(
    "end of message down-conversion", "4.0, KIP-724", lambda offer: offer.release >= (4, 0)
)
GROUP_TYPES = _by_api("types of groups", "3.8, KIP-848", "ListGroups", 5)
QUOTA_ON_PREVIEWS = Capability(
    "quota on changes that are only validated",
    "3.6 with KRaft",
    lambda offer: offer.has_api("DescribeQuorum") and offer.release >= (3, 6),
)
TWO_PHASE_COMMIT = Capability(
    "ACLs on two-phase commit", "4.0, KIP-939", lambda offer: offer.release >= (4, 0)
)
TIERED_STORAGE = Capability(
    "check of tiered storage", "3.6, KIP-405", lambda offer: offer.release >= (3, 6)
)
ELIGIBLE_LEADERS = Capability(
    "eligible leader replicas",
    "4.1 for new clusters, KIP-966",
    lambda offer: offer.versions.finalized.get("eligible.leader.replicas.version", 0) > 0,
)
TOLD = (
    KRAFT, FEATURES, USER_ACLS, SCRAM, TOKENS, TOKEN_OWNERS, DIRECT_ACCESS, CLIENT_METRICS,
    GROUP_CONFIGS, CONSUMER_PROTOCOL, SHARE_GROUPS, TOKEN_VALIDATOR, COMPRESSION_LEVELS,
    RECORD_LIMIT, QUOTA_ON_PREVIEWS,
)  # fmt: skip
"""What users of kplan notice; the others are differences in codes and defaults."""
