"""A Kafka cluster in memory, for tests of programs that use kplan.

`MemoryCluster` answers as a cluster of Apache Kafka does, checks included, and can be asked for
faults. Put it behind a project with `kplan.load(folder, connect=lambda _: cluster)`, or behind
an admin client with `kplan.admin.AdminClient(cluster)`:

    cluster = MemoryCluster(brokers=3)
    cluster.seed([NewTopic("orders", partitions=6, replication_factor=3)])
    project = kplan.load("topics", connect=lambda _: cluster)
    assert kplan.plan(project).to_add == 2

The tests of kplan use the same cluster, and one contract suite holds it and a real Apache Kafka to
the same answers.
"""

from kplan.cluster.memory.cluster import MemoryCluster
from kplan.cluster.memory.faults import Call
from kplan.cluster.memory.store import BrokerDefaults
from kplan.cluster.request import AclBinding, ConfigAlteration, NewPartitions, NewTopic, TopicRef
from kplan.cluster.usage import GroupDescription, GroupUse, PartitionUse, TopicUse
from kplan.model.state import Broker

__all__ = [
    "AclBinding",
    "Broker",
    "BrokerDefaults",
    "Call",
    "ConfigAlteration",
    "GroupDescription",
    "GroupUse",
    "MemoryCluster",
    "NewPartitions",
    "NewTopic",
    "PartitionUse",
    "TopicRef",
    "TopicUse",
]
