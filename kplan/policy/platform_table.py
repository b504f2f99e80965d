"""What platforms refuse, ignore or take back, by kind: facts of their public pages."""

from kplan.cluster.platform import Platform
from kplan.policy.platform_rule import (
    Effect,
    PlatformRule,
    attribute_declared,
    attribute_unlike,
    config_above,
    config_after_creation,
    configs_among,
    configs_beside,
    every_object,
)

NOT_BY_KAFKA, CONFIG, LIMIT, FORM, SHARED = "KP600", "KP601", "KP602", "KP603", "KP604"
"""Codes: not managed over Kafka's protocol, a config, a limit, a form, another manager."""

_ACL, _BROKER, _QUOTA, _TOPIC = "kafka_acl", "kafka_broker_config", "kafka_quota", "kafka_topic"
_SCRAM = "kafka_user_scram_credential"

_CONFLUENT = "https://docs.confluent.io/cloud/current"
_CONFLUENT_TOPICS = f"{_CONFLUENT}/topics/manage.html"
_CONFLUENT_PROVIDER = "https://registry.terraform.io/providers/confluentinc/confluent"
_MSK = "https://docs.aws.amazon.com/msk/latest/developerguide"
_REDPANDA_DOCS = "https://docs.redpanda.com/current"
_REDPANDA_CODE = (
    "https://github.com/redpanda-data/redpanda/blob/dev/src/v/kafka/server/handlers/topics/types.h"
)
_AIVEN = "https://aiven.io/docs/products/kafka"
_STRIMZI = "https://strimzi.io/docs/operators/latest/deploying"

_CONFLUENT_CONFIGS = (
    "cleanup.policy", "delete.retention.ms", "max.compaction.lag.ms", "max.message.bytes",
    "message.timestamp.after.max.ms", "message.timestamp.before.max.ms",
    "message.timestamp.difference.max.ms", "message.timestamp.type", "min.compaction.lag.ms",
    "min.insync.replicas", "retention.bytes", "retention.ms", "segment.bytes", "segment.ms",
)  # fmt: skip
_SERVERLESS_CONFIGS = (
    "cleanup.policy", "compression.type", "max.message.bytes",
    "message.timestamp.difference.max.ms", "message.timestamp.type", "retention.bytes",
    "retention.ms",
)  # fmt: skip
_REDPANDA_IGNORED = (
    "file.delete.delay.ms", "flush.messages", "follower.replication.throttled.replicas",
    "index.interval.bytes", "leader.replication.throttled.replicas",
    "message.downconversion.enable", "message.format.version",
    "message.timestamp.difference.max.ms", "min.insync.replicas", "preallocate",
    "segment.index.bytes", "segment.jitter.ms", "unclean.leader.election.enable",
)  # fmt: skip

PLATFORM_RULES: tuple[PlatformRule, ...] = (
    PlatformRule(
        Platform.AIVEN, _QUOTA, Effect.ELSEWHERE,
        "quotas, made with Aiven's console, CLI or API",
        f"{_AIVEN}/concepts/kafka-quotas",
        "Remove the resource, and use `avn service quota`.",
        every_object("Quotas are made with Aiven's console, CLI or API."),
        NOT_BY_KAFKA,
    ),
    PlatformRule(
        Platform.AIVEN, _SCRAM, Effect.ELSEWHERE,
        "users, which are service users of Aiven",
        f"{_AIVEN}/howto/add-manage-service-users",
        "Remove the resource, and use `avn service user-create`.",
        every_object("Users are service users, made with Aiven's console, CLI or API."),
        NOT_BY_KAFKA,
    ),
    PlatformRule(
        Platform.AIVEN, _ACL, Effect.ELSEWHERE,
        "ACLs, beside those that Aiven's console, CLI and API manage",
        f"{_AIVEN}/howto/manage-acls",
        "Manage them in one place: here, or with `avn service`.",
        every_object("Aiven documents ACLs that its console, CLI, API and Terraform provider "
                     "manage."),
        SHARED, is_warning=True,
    ),
    PlatformRule(
        Platform.CONFLUENT_CLOUD, _TOPIC, Effect.REFUSED,
        f"configs other than {', '.join(_CONFLUENT_CONFIGS)}",
        _CONFLUENT_TOPICS,
        "Remove the config.",
        configs_beside(_CONFLUENT_CONFIGS, "{key} cannot be edited."),
        CONFIG,
    ),
    PlatformRule(
        Platform.CONFLUENT_CLOUD, _TOPIC, Effect.REFUSED,
        "delete.retention.ms above 60566400000",
        _CONFLUENT_TOPICS,
        "Declare a smaller value.",
        config_above("delete.retention.ms", 60_566_400_000),
        LIMIT,
    ),
    PlatformRule(
        Platform.CONFLUENT_CLOUD, _TOPIC, Effect.REFUSED,
        "replication_factor other than 3",
        "https://github.com/confluentinc/ksql/issues/3942",
        "Declare replication_factor = 3, or leave it out.",
        attribute_unlike("replication_factor", "3", "The replication factor is {value}, and every "
                         "topic has 3 replicas."),
        LIMIT,
    ),
    *(
        PlatformRule(
            Platform.CONFLUENT_CLOUD, _TOPIC, Effect.REFUSED,
            f"{name}: replicas are placed by the service",
            f"{_CONFLUENT}/clusters/cluster-types.html",
            f"Remove {name}.",
            attribute_declared(name, "The service places all replicas itself."),
            NOT_BY_KAFKA,
        )
        for name in ("placement", "replica_assignment")
    ),
    PlatformRule(
        Platform.CONFLUENT_CLOUD, _ACL, Effect.REFUSED,
        'acl_host other than "*"',
        f"{_CONFLUENT_PROVIDER}/latest/docs/resources/confluent_kafka_acl",
        'Declare acl_host = "*".',
        attribute_unlike("acl_host", r"\*", 'The host is "{value}"; ACLs are for all hosts.'),
        FORM,
    ),
    PlatformRule(
        Platform.CONFLUENT_CLOUD, _ACL, Effect.REFUSED,
        "resource_type other than Topic, Group, Cluster and TransactionalID",
        f"{_CONFLUENT}/security/access-control/acl.html",
        "Remove the resource.",
        attribute_unlike("resource_type", "Topic|Group|Cluster|TransactionalID",
                         "There are no ACLs on {value}."),
        FORM,
    ),
    PlatformRule(
        Platform.CONFLUENT_CLOUD, _ACL, Effect.IGNORED,
        "acl_principal that is no service account, user, group, identity pool or User:*",
        f"{_CONFLUENT}/security/access-control/acls/examples.html",
        "Use the id of the principal, such as User:sa-1234.",
        attribute_unlike("acl_principal", r"User:(?:\*|\d+|(?:sa|u|pool|group)-\w+)",
                         "{value} is no id of a service account, such as User:sa-1234."),
        FORM, is_warning=True,
    ),
    PlatformRule(
        Platform.CONFLUENT_CLOUD, _QUOTA, Effect.ELSEWHERE,
        "quotas, made with the Confluent CLI, console or Terraform provider",
        f"{_CONFLUENT}/clusters/client-quotas-quickstart.html",
        "Remove the resource, and use `confluent kafka quota create`.",
        every_object("Client quotas are made with the Confluent CLI, console or Terraform "
                     "provider."),
        NOT_BY_KAFKA,
    ),
    PlatformRule(
        Platform.CONFLUENT_CLOUD, _SCRAM, Effect.ELSEWHERE,
        "users, which log in with API keys or tokens",
        f"{_CONFLUENT}/access-management/authenticate/api-keys/index.html",
        "Remove the resource, and use `confluent api-key create`.",
        every_object("Principals log in with API keys or tokens, not with SCRAM."),
        NOT_BY_KAFKA,
    ),
    PlatformRule(
        Platform.CONFLUENT_CLOUD, _BROKER, Effect.REFUSED,
        "broker configs, but for some of a Dedicated cluster",
        f"{_CONFLUENT}/clusters/broker-config.html",
        "Compare the configs with the page.",
        every_object("Only Dedicated clusters have broker configs that can be changed, and only "
                     "some."),
        CONFIG, is_warning=True,
    ),
    PlatformRule(
        Platform.MSK, _SCRAM, Effect.IGNORED,
        "SCRAM-SHA-256; logins are by SCRAM-SHA-512",
        f"{_MSK}/msk-password-limitations.html",
        "Use SCRAM-SHA-512.",
        attribute_unlike("scram_mechanism", "SCRAM-SHA-512",
                         "Logins with {value} fail; the service has SCRAM-SHA-512 only."),
        LIMIT,
    ),
    PlatformRule(
        Platform.MSK, _SCRAM, Effect.ELSEWHERE,
        "users, beside the secrets of AWS Secrets Manager",
        f"{_MSK}/msk-password-tutorial.html",
        "Keep users in secrets whose names begin with AmazonMSK_.",
        every_object("The service takes its users from secrets in AWS Secrets Manager."),
        SHARED, is_warning=True,
    ),
    PlatformRule(
        Platform.MSK, _ACL, Effect.IGNORED,
        "acl_principal of IAM, whose rights are IAM policies",
        f"{_MSK}/iam-access-control.html",
        "Grant the right in an IAM policy.",
        attribute_unlike("acl_principal", r"(?!.*\barn:aws).*",
                         "ACLs have no effect on {value}, an identity of IAM."),
        FORM, is_warning=True,
    ),
    PlatformRule(
        Platform.MSK_SERVERLESS, _ACL, Effect.REFUSED,
        "ACLs; access is by IAM",
        f"{_MSK}/serverless.html",
        "Remove the resource, and grant the right in an IAM policy.",
        every_object("The service has no ACLs; IAM policies control access."),
        NOT_BY_KAFKA,
    ),
    PlatformRule(
        Platform.MSK_SERVERLESS, _SCRAM, Effect.REFUSED,
        "users; logins are by IAM",
        f"{_MSK}/serverless.html",
        "Remove the resource, and use a role or user of IAM.",
        every_object("All logins are by IAM."),
        NOT_BY_KAFKA,
    ),
    PlatformRule(
        Platform.MSK_SERVERLESS, _BROKER, Effect.REFUSED,
        "broker configs",
        f"{_MSK}/serverless-config.html",
        "Remove the resource.",
        every_object("The service sets the configs of brokers itself."),
        CONFIG,
    ),
    PlatformRule(
        Platform.MSK_SERVERLESS, _TOPIC, Effect.REFUSED,
        f"configs other than {', '.join(_SERVERLESS_CONFIGS)}",
        f"{_MSK}/serverless-config.html",
        "Remove the config.",
        configs_beside(_SERVERLESS_CONFIGS, "{key} is not configurable."),
        CONFIG,
    ),
    PlatformRule(
        Platform.MSK_SERVERLESS, _TOPIC, Effect.REFUSED,
        "cleanup.policy of a topic that exists",
        f"{_MSK}/serverless-config.html",
        "Keep the value, or create a topic with another name.",
        config_after_creation("cleanup.policy"),
        CONFIG,
    ),
    PlatformRule(
        Platform.MSK_SERVERLESS, _TOPIC, Effect.REFUSED,
        "max.message.bytes above 8388608",
        f"{_MSK}/serverless-config.html",
        "Declare a smaller value.",
        config_above("max.message.bytes", 8_388_608),
        LIMIT,
    ),
    PlatformRule(
        Platform.REDPANDA, _TOPIC, Effect.IGNORED,
        f"configs {', '.join(_REDPANDA_IGNORED)}",
        _REDPANDA_CODE,
        "Remove the config: every plan would show it again.",
        configs_among(_REDPANDA_IGNORED, "{key} is accepted and not stored."),
        CONFIG,
    ),
    PlatformRule(
        Platform.REDPANDA, _QUOTA, Effect.REFUSED,
        "quotas other than producer_byte_rate, consumer_byte_rate and controller_mutation_rate",
        f"{_REDPANDA_DOCS}/manage/cluster-maintenance/about-throughput-quotas",
        "Remove the quota.",
        configs_among(("request_percentage", "connection_creation_rate"),
                      "There is no quota {key}."),
        CONFIG,
    ),
    PlatformRule(
        Platform.STRIMZI, _ACL, Effect.REVERTED,
        "ACLs of users that the User Operator manages or does not ignore",
        f"{_STRIMZI}#con-ignoring-some-users-in-user-operator-str",
        "Manage them by KafkaUser, or set STRIMZI_IGNORED_USERS_PATTERN of the User Operator.",
        every_object("The User Operator removes ACLs of users that it is not told to ignore."),
        SHARED, is_warning=True,
    ),
    PlatformRule(
        Platform.STRIMZI, _QUOTA, Effect.REVERTED,
        "quotas of users that the User Operator manages or does not ignore",
        f"{_STRIMZI}#con-ignoring-some-users-in-user-operator-str",
        "Manage them by KafkaUser, or set STRIMZI_IGNORED_USERS_PATTERN of the User Operator.",
        every_object("The User Operator removes quotas of users that it is not told to ignore."),
        SHARED, is_warning=True,
    ),
    PlatformRule(
        Platform.STRIMZI, _SCRAM, Effect.REVERTED,
        "credentials of users that the User Operator manages or does not ignore",
        f"{_STRIMZI}#con-ignoring-some-users-in-user-operator-str",
        "Manage them by KafkaUser, or set STRIMZI_IGNORED_USERS_PATTERN of the User Operator.",
        every_object("The User Operator removes credentials of users that it is not told to "
                     "ignore."),
        SHARED, is_warning=True,
    ),
    PlatformRule(
        Platform.STRIMZI, _TOPIC, Effect.REVERTED,
        "changes of topics that have a KafkaTopic",
        f"{_STRIMZI}#con-application-topic-handling-str",
        "Manage each topic in one place: here, or by KafkaTopic.",
        every_object("The Topic Operator takes back changes of topics that have a KafkaTopic."),
        SHARED, is_warning=True,
    ),
)  # fmt: skip
"""All rules, by platform and kind."""
