"""Which of the two drivers carries each request of the port, always the same, and why."""

from collections.abc import Mapping
from enum import StrEnum


class Driver(StrEnum):
    """Who carries a request: kplan's own connections, or confluent-kafka."""

    WIRE = "wire"
    CONFLUENT = "confluent"


ROUTES: Mapping[str, tuple[Driver, str]] = {
    "describe": (Driver.WIRE, "reports a wrong password, authority or port at once"),
    "rights": (Driver.WIRE, "can be sent to one broker, for cluster and topics together"),
    "topics": (Driver.WIRE, "may be pinned to one broker, gives topic ids"),
    "topic_configs": (Driver.WIRE, "half the time and memory, may be pinned to one broker"),
    "topic_config_fallbacks": (Driver.WIRE, "asks for single keys, with synonyms"),
    "acls": (Driver.WIRE, "librdkafka takes a refused list for an empty one (P3)"),
    "preview_topics": (Driver.WIRE, "librdkafka has no answer with effective configs (KIP-525)"),
    "prepare_writes": (Driver.CONFLUENT, "the wire driver has nothing to load"),
    "create_topics": (Driver.CONFLUENT, "works as it is; wire where a quota may hold for us"),
    "create_partitions": (Driver.CONFLUENT, "works as it is; wire where a quota may hold for us"),
    "alter_topic_configs": (Driver.CONFLUENT, "works as it is"),
    "delete_topics": (Driver.WIRE, "librdkafka cannot delete by topic id (KIP-516)"),
    "create_acls": (Driver.WIRE, "librdkafka loses USER and DELEGATION_TOKEN (P4)"),
    "delete_acls": (Driver.WIRE, "librdkafka loses USER and DELEGATION_TOKEN (P4)"),
    "quotas": (Driver.WIRE, "confluent-kafka has no such call"),
    "alter_quotas": (Driver.WIRE, "confluent-kafka has no such call"),
    "scram_users": (Driver.WIRE, "librdkafka aborts the process where the right is missing (P5)"),
    "alter_scram_users": (Driver.WIRE, "kplan salts the password itself, where it is needed"),
    "config_names": (Driver.WIRE, "confluent-kafka has no such call"),
    "configs": (
        Driver.WIRE,
        "librdkafka knows no defaults of the cluster (P11)",
    ),
    "alter_configs": (
        Driver.WIRE,
        "librdkafka knows no defaults of the cluster (P11)",
    ),
    "versions": (Driver.WIRE, "confluent-kafka has no such call"),
    "update_features": (Driver.WIRE, "confluent-kafka has no such call"),
    "topic_use": (Driver.WIRE, "all groups of a broker in three requests, not three each"),
    "group_names": (Driver.WIRE, "reports a broker that does not answer"),
    "groups": (Driver.WIRE, "confluent-kafka leaves out dead brokers without a word"),
    "describe_groups": (Driver.WIRE, "confluent-kafka creates __consumer_offsets by asking (P12)"),
    "partition_offsets": (Driver.WIRE, "asks each leader once, with a result for each partition"),
    "commit_offsets": (Driver.WIRE, "returns a result for each partition"),
    "delete_offsets": (Driver.WIRE, "confluent-kafka has no such call"),
    "delete_groups": (Driver.WIRE, "finds coordinators without creating __consumer_offsets (P12)"),
    "delete_records": (Driver.WIRE, "one request to each leader, with a result for each partition"),
    "reassignments": (Driver.WIRE, "confluent-kafka has no such call"),
    "reassign": (Driver.WIRE, "confluent-kafka has no such call"),
    "replica_sizes": (Driver.WIRE, "confluent-kafka has no such call"),
    "elect_leaders": (Driver.WIRE, "returns a result for each partition, also for all partitions"),
    "quorum": (Driver.WIRE, "confluent-kafka has no such call"),
    "unregister_broker": (Driver.WIRE, "confluent-kafka has no such call"),
    "add_voter": (Driver.WIRE, "confluent-kafka has no such call"),
    "remove_voter": (Driver.WIRE, "confluent-kafka has no such call"),
    "delegation_tokens": (Driver.WIRE, "confluent-kafka has no such call"),
    "create_token": (Driver.WIRE, "confluent-kafka has no such call"),
    "renew_token": (Driver.WIRE, "confluent-kafka has no such call"),
    "expire_token": (Driver.WIRE, "confluent-kafka has no such call"),
    "kafka_connect": (Driver.WIRE, "HTTP, connected when it is first asked"),
    "schema_registry": (Driver.WIRE, "HTTP, connected when it is first asked"),
    "missing_apis": (Driver.WIRE, "the versions are those of the wire driver's own connections"),
}
"""The driver of each method, and why."""
