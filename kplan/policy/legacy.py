"""Legacy policies (KIP-108, KIP-133): `create(meta)` and `alter(meta)`."""

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from kplan.model.dataclass import dataclass
from kplan.policy.request import ClusterState, Request, RequestedTopicState, TopicState

LEGACY_METHODS = ("create", "alter")
"""The methods of policies of the old shape."""


@dataclass(frozen=True, slots=True)
class CreateMetadata:
    """What a CreateTopicPolicy sees: counts are None beside assignments, and the other way round.

    Kafka leaves out what the request does: so do we, or old policies would judge anew.
    """

    topic: str
    num_partitions: int | None
    replication_factor: int | None
    replicas_assignments: Mapping[int, list[int]] | None
    configs: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AlterMetadata:
    """What an AlterConfigPolicy sees: the keys that change, with their new values."""

    resource: str
    configs: Mapping[str, str | None] = field(default_factory=dict)


class LegacyPolicyAdapter:
    """An old policy behind the new methods (K201-23)."""

    def __init__(self, old: Any, name: str) -> None:  # noqa: ANN401 - anybody's class or module
        self._old = old
        self.name = str(getattr(old, "name", name))
        self.level = getattr(old, "level", "hard")
        self.order = getattr(old, "order", 0)

    def configure(self, settings: Mapping[str, object]) -> None:
        """Hand the settings on."""
        if callable(inner := getattr(self._old, "configure", None)):
            inner(settings)

    def close(self) -> None:
        """Hand the end on."""
        if callable(inner := getattr(self._old, "close", None)):
            inner()

    def validate_create_topic(self, request: Request, cluster: ClusterState) -> None:
        """Ask both: KRaft asks the AlterConfigPolicy about the configs of a new topic too."""
        del cluster
        wanted = request.requested_state
        assert isinstance(wanted, RequestedTopicState)  # noqa: S101 - so it is for topics
        if wanted.configs:
            self._call("alter", AlterMetadata(request.topic, wanted.configs))
        generated = wanted.generated_replica_assignments
        meta = CreateMetadata(
            request.topic,
            wanted.num_partitions if generated else None,
            wanted.replication_factor if generated else None,
            None if generated else wanted.replicas_assignments,
            wanted.configs,
        )
        self._call("create", meta)

    def validate_alter_topic(self, request: Request, cluster: ClusterState) -> None:
        """Ask about configs only: Kafka asks nobody about partitions."""
        del cluster
        after, before = request.requested_state, request.current_state
        assert isinstance(after, TopicState)  # noqa: S101 - as above
        held = before.configs if isinstance(before, TopicState) else {}
        changed: dict[str, str | None] = {
            key: after.configs.get(key)
            for key in sorted({*after.configs, *held})
            if after.configs.get(key) != held.get(key)
        }
        if changed:
            self._call("alter", AlterMetadata(request.topic, changed))

    def _call(self, name: str, meta: object) -> None:
        if callable(inner := getattr(self._old, name, None)):
            inner(meta)
