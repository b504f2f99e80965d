"""The services that run Kafka for others, and other servers that speak its protocol."""

import re
from collections.abc import Iterable, Mapping
from enum import StrEnum


class Platform(StrEnum):
    """Who runs the brokers. KAFKA is Apache Kafka with no service around it."""

    AIVEN = "aiven"
    CONFLUENT_CLOUD = "confluent-cloud"
    KAFKA = "kafka"
    MSK = "msk"
    MSK_SERVERLESS = "msk-serverless"
    REDPANDA = "redpanda"
    STRIMZI = "strimzi"

    @property
    def label(self) -> str:
        """Its name in a sentence."""
        return _LABELS[self]


_LABELS: Mapping[Platform, str] = {
    Platform.AIVEN: "Aiven for Apache Kafka",
    Platform.CONFLUENT_CLOUD: "Confluent Cloud",
    Platform.KAFKA: "Apache Kafka",
    Platform.MSK: "Amazon MSK",
    Platform.MSK_SERVERLESS: "Amazon MSK Serverless",
    Platform.REDPANDA: "Redpanda",
    Platform.STRIMZI: "Strimzi",
}

_CLUSTER_IDS: Mapping[Platform, str] = {
    # https://registry.terraform.io/providers/confluentinc/confluent (confluent_kafka_topic)
    Platform.CONFLUENT_CLOUD: "lkc-",
    # https://github.com/redpanda-data/redpanda (src/v/kafka/server/handlers/metadata.cc)
    Platform.REDPANDA: "redpanda.",
}
"""How the ids of clusters begin that no Apache Kafka makes."""

_HOSTS: Mapping[Platform, str] = {
    # https://aiven.io/docs/products/kafka/howto/connect-with-command-line
    Platform.AIVEN: r"\.aivencloud\.com",
    # https://registry.terraform.io/providers/confluentinc/confluent (confluent_kafka_topic)
    Platform.CONFLUENT_CLOUD: r"\.confluent\.cloud",
    # https://docs.aws.amazon.com/msk/latest/developerguide/msk-get-bootstrap-brokers.html
    Platform.MSK: r"\.kafka\.[a-z0-9-]+\.amazonaws\.com(?:\.cn)?",
    # https://docs.aws.amazon.com/msk/latest/developerguide/serverless-getting-started.html
    Platform.MSK_SERVERLESS: r"\.kafka-serverless\.[a-z0-9-]+\.amazonaws\.com(?:\.cn)?",
    # https://strimzi.io/docs/operators/latest/deploying (services of a cluster)
    Platform.STRIMZI: r"-kafka-(?:brokers|bootstrap)\.[a-z0-9-]+\.svc(?:\.[a-z0-9.-]+)?",
}
"""How the names of brokers end."""


def recognize_platform(cluster_id: str, hosts: Iterable[str]) -> Platform | None:
    """Recognize a platform by the id of a cluster, else by the names of its brokers.

    None where neither says anything, as behind private names.
    """
    for platform, beginning in _CLUSTER_IDS.items():
        if cluster_id.startswith(beginning):
            return platform
    names = [each.rstrip(".").lower() for each in hosts]
    for platform, ending in _HOSTS.items():
        if any(re.search(rf"{ending}\Z", each) for each in names):
            return platform
    return None
