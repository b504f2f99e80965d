"""An admin client for Apache Kafka (KIP-117): topics, ACLs, quotas, groups, configs and nodes.

    from kplan.admin import AdminClient, NewTopic

    with AdminClient({"bootstrap.servers": "broker:9093"}) as admin:
        results = admin.create_topics([NewTopic("orders", partitions=6, replication_factor=3)])
        for name, result in results.items():
            print(name, result.error or "created")

`Cluster` is the interface behind it; `kplan.testing.MemoryCluster` implements it without a broker.
"""

from kplan.api.admin.client import AdminClient
from kplan.api.admin.result import Result
from kplan.cluster.port import Cluster
from kplan.cluster.request import (
    AclBinding,
    AuthorizedOperations,
    ClusterDescription,
    ConfigAlteration,
    ConfigEntry,
    ConfigSource,
    NewPartitions,
    NewTopic,
    TopicDescription,
    TopicPreview,
    TopicRef,
)
from kplan.cluster.settings import (
    ConfigDetail,
    ConfigResource,
    ConfigResourceAlteration,
    ConfigScope,
    DelegationToken,
    Downgrade,
    FeatureUpdate,
    NodeVersions,
    QuotaAlteration,
    QuotaEntity,
    ScramAlteration,
    ScramUser,
    TokenRequest,
)
from kplan.cluster.topology import ElectionType, Quorum, QuorumReplica, Reassignment, Voter
from kplan.cluster.usage import EARLIEST, LATEST, GroupDescription, GroupListing, GroupMember
from kplan.model.errors import (
    AuthError,
    ClusterError,
    ConfigError,
    Refusal,
    RefusedError,
    UnreachableError,
    UnreadableError,
    UnsupportedError,
)
from kplan.model.state import Broker

__all__ = [
    "EARLIEST",
    "LATEST",
    "AclBinding",
    "AdminClient",
    "AuthError",
    "AuthorizedOperations",
    "Broker",
    "Cluster",
    "ClusterDescription",
    "ClusterError",
    "ConfigAlteration",
    "ConfigDetail",
    "ConfigEntry",
    "ConfigError",
    "ConfigResource",
    "ConfigResourceAlteration",
    "ConfigScope",
    "ConfigSource",
    "DelegationToken",
    "Downgrade",
    "ElectionType",
    "FeatureUpdate",
    "GroupDescription",
    "GroupListing",
    "GroupMember",
    "NewPartitions",
    "NewTopic",
    "NodeVersions",
    "Quorum",
    "QuorumReplica",
    "QuotaAlteration",
    "QuotaEntity",
    "Reassignment",
    "Refusal",
    "RefusedError",
    "Result",
    "ScramAlteration",
    "ScramUser",
    "TokenRequest",
    "TopicDescription",
    "TopicPreview",
    "TopicRef",
    "UnreachableError",
    "UnreadableError",
    "UnsupportedError",
    "Voter",
]
