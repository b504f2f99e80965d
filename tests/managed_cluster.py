"""Clusters in memory that refuse what a service refuses, written from the service's pages."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from kplan.cluster.errors import refusal
from kplan.cluster.memory.cluster import MemoryCluster
from kplan.cluster.request import (
    AclBinding,
    ConfigAlteration,
    ItemResult,
    NewTopic,
    TopicPreview,
)
from kplan.cluster.settings import (
    ConfigResource,
    ConfigResourceAlteration,
    QuotaAlteration,
    QuotaEntity,
    ScramAlteration,
    ScramUser,
)
from kplan.model.errors import Refusal
from kplan.model.state import Broker

Key = TypeVar("Key")
POLICY_VIOLATION, INVALID_CONFIG, INVALID_REQUEST, UNSUPPORTED = 44, 40, 42, 35
DENIED = 31
_SERVERLESS = frozenset(
    (
        "cleanup.policy", "compression.type", "max.message.bytes", "message.timestamp.type",
        "message.timestamp.difference.max.ms", "retention.bytes", "retention.ms",
    )
)  # fmt: skip
_NOT_STORED = frozenset(
    (
        "file.delete.delay.ms", "flush.messages", "min.insync.replicas", "preallocate",
        "segment.jitter.ms", "segment.index.bytes", "unclean.leader.election.enable",
    )
)  # fmt: skip
_KAFKA_ONLY = {"compression.type", "segment.jitter.ms", "preallocate"}


class ManagedCluster(MemoryCluster):
    """A cluster of a service, named as the service names its brokers.

    What a subclass answers a change with is a refusal, or None for what it takes.
    """

    host = "127.0.0.1"
    id = "bWVtb3J5LWNsdXN0ZXItMQ"

    def __init__(self) -> None:
        brokers = [Broker(each, self.host.format(each), 9096, "") for each in (1, 2, 3)]
        super().__init__(brokers, cluster_id=self.id)

    def refuse_topic(self, spec: NewTopic) -> Refusal | None:
        return self.refuse_configs(spec.config)

    def refuse_configs(self, config: Mapping[str, str]) -> Refusal | None:
        del config
        return None

    def refuse_alteration(self, config: Mapping[str, str]) -> Refusal | None:
        return self.refuse_configs(config)

    def refuse_acl(self, acl: AclBinding) -> Refusal | None:
        del acl
        return None

    def refuse_quota(self, spec: QuotaAlteration) -> Refusal | None:
        del spec
        return None

    def refuse_user(self) -> Refusal | None:
        return None

    def refuse_broker_config(self) -> Refusal | None:
        return None

    def stored(self, config: Mapping[str, str]) -> Mapping[str, str]:
        """Return the configs that are kept of those that are sent."""
        return config

    def _sort(
        self,
        specs: Sequence[Any],
        key: Callable[[Any], Key],
        refuse: Callable[[Any], Refusal | None],
    ) -> tuple[dict[Key, ItemResult], list[Any]]:
        answers = {key(each): refuse(each) for each in specs}
        return {name: each for name, each in answers.items() if each}, [
            each for each in specs if answers[key(each)] is None
        ]

    def preview_topics(self, specs: Sequence[NewTopic]) -> Mapping[str, TopicPreview | Refusal]:
        refused, fine = self._sort(specs, lambda each: each.name, self.refuse_topic)
        return {**super().preview_topics(fine), **refused}  # type: ignore[dict-item] # no None

    def create_topics(self, specs: Sequence[NewTopic]) -> Mapping[str, ItemResult]:
        refused, fine = self._sort(specs, lambda each: each.name, self.refuse_topic)
        kept = [replace(each, config=self.stored(each.config)) for each in fine]
        return {**super().create_topics(kept), **refused}

    def alter_topic_configs(
        self, specs: Sequence[ConfigAlteration], *, validate_only: bool = False
    ) -> Mapping[str, ItemResult]:
        refused, fine = self._sort(
            specs, lambda each: each.name, lambda each: self.refuse_alteration(each.set)
        )
        kept = [replace(each, set=self.stored(each.set)) for each in fine]
        return {**super().alter_topic_configs(kept, validate_only=validate_only), **refused}

    def create_acls(self, bindings: Sequence[AclBinding]) -> Mapping[AclBinding, ItemResult]:
        refused, fine = self._sort(bindings, lambda each: each, self.refuse_acl)
        return {**super().create_acls(fine), **refused}

    def alter_quotas(
        self, specs: Sequence[QuotaAlteration], *, validate_only: bool = False
    ) -> Mapping[QuotaEntity, ItemResult]:
        refused, fine = self._sort(specs, lambda each: each.entity, self.refuse_quota)
        return {**super().alter_quotas(fine, validate_only=validate_only), **refused}

    def alter_scram_users(self, specs: Sequence[ScramAlteration]) -> Mapping[ScramUser, ItemResult]:
        refused, fine = self._sort(specs, lambda each: each.name, lambda _: self.refuse_user())
        return {**super().alter_scram_users(fine), **refused}

    def alter_configs(
        self, specs: Sequence[ConfigResourceAlteration], *, validate_only: bool = False
    ) -> Mapping[ConfigResource, ItemResult]:
        refused, fine = self._sort(
            specs, lambda each: each.resource, lambda _: self.refuse_broker_config()
        )
        return {**super().alter_configs(fine, validate_only=validate_only), **refused}


class ConfluentCloud(ManagedCluster):
    host = "b{}-pkc-00000.us-central1.gcp.confluent.cloud"
    id = "lkc-abc123"

    def refuse_topic(self, spec: NewTopic) -> Refusal | None:
        if spec.assignment is not None:
            return refusal(POLICY_VIOLATION, "Replica assignments are not supported.")
        if spec.replication_factor not in {None, 3}:
            return refusal(POLICY_VIOLATION, "Topic replication factor must be 3")
        return self.refuse_configs(spec.config)

    def refuse_configs(self, config: Mapping[str, str]) -> Refusal | None:
        for key in sorted(_KAFKA_ONLY & config.keys()):
            return refusal(POLICY_VIOLATION, f"Config property '{key}' is not allowed.")
        if int(config.get("delete.retention.ms", 0)) > 60_566_400_000:
            return refusal(POLICY_VIOLATION, "delete.retention.ms is too large.")
        return None

    def refuse_acl(self, acl: AclBinding) -> Refusal | None:
        if acl.host != "*":
            return refusal(INVALID_REQUEST, "ACLs are for all hosts.")
        if acl.resource_type in {"USER", "DELEGATION_TOKEN"}:
            return refusal(INVALID_REQUEST, "No such resource type.")
        return None

    def refuse_quota(self, spec: QuotaAlteration) -> Refusal | None:
        del spec
        return refusal(DENIED)

    def refuse_user(self) -> Refusal | None:
        return refusal(UNSUPPORTED)


class MskServerless(ManagedCluster):
    host = "boot-{}.c1.kafka-serverless.us-east-2.amazonaws.com"

    def refuse_configs(self, config: Mapping[str, str]) -> Refusal | None:
        for key in sorted(config.keys() - {*_SERVERLESS}):
            return refusal(INVALID_CONFIG, f"{key} is not configurable.")
        if int(config.get("max.message.bytes", 0)) > 8 * 1024 * 1024:
            return refusal(INVALID_CONFIG, "max.message.bytes is too large.")
        return None

    def refuse_alteration(self, config: Mapping[str, str]) -> Refusal | None:
        if "cleanup.policy" in config:
            return refusal(INVALID_CONFIG, "cleanup.policy cannot be altered.")
        return self.refuse_configs(config)

    def refuse_acl(self, acl: AclBinding) -> Refusal | None:
        del acl
        return refusal(UNSUPPORTED)

    def refuse_user(self) -> Refusal | None:
        return refusal(UNSUPPORTED)

    def refuse_broker_config(self) -> Refusal | None:
        return refusal(DENIED)


class Redpanda(ManagedCluster):
    id = "redpanda.7b1ae4d4"

    def stored(self, config: Mapping[str, str]) -> Mapping[str, str]:
        return {key: each for key, each in config.items() if key not in _NOT_STORED}

    def refuse_quota(self, spec: QuotaAlteration) -> Refusal | None:
        known = {"producer_byte_rate", "consumer_byte_rate", "controller_mutation_rate"}
        return refusal(INVALID_REQUEST, "Unknown quota.") if spec.set.keys() - known else None


class Msk(ManagedCluster):
    host = "b-{}.orders.x1.c2.kafka.eu-west-1.amazonaws.com"


class Aiven(ManagedCluster):
    host = "kafka-{}-shop.aivencloud.com"

    def refuse_quota(self, spec: QuotaAlteration) -> Refusal | None:
        del spec
        return refusal(DENIED)

    def refuse_user(self) -> Refusal | None:
        return refusal(DENIED)


class Strimzi(ManagedCluster):
    host = "shop-pool-{}.shop-kafka-brokers.kafka.svc.cluster.local"
