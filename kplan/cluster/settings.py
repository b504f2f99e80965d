"""Quotas, credentials, delegation tokens, features, and configs of brokers and groups."""

from collections.abc import Mapping
from dataclasses import field
from enum import IntEnum, StrEnum

from kplan.cluster.releases import first_release
from kplan.cluster.request import ConfigEntry
from kplan.cluster.topic import ConfigType
from kplan.model.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class QuotaEntity:
    """Whom a quota is for (KIP-546, KIP-612): a user, a client id, both at once, or an address.

    None leaves a part out; "" is its default, which means all without a quota of their own.
    """

    user: str | None = None
    client_id: str | None = None
    ip: str | None = None

    def __str__(self) -> str:
        """Write the parts that exist, in one order."""
        parts = (("user", self.user), ("client-id", self.client_id), ("ip", self.ip))
        return ", ".join(
            f"{name} {part or '<default>'}" for name, part in parts if part is not None
        )


@dataclass(frozen=True, slots=True)
class QuotaAlteration:
    """Quotas of an entity to set, in the unit of each key, and quotas to remove."""

    entity: QuotaEntity
    set: Mapping[str, float] = field(default_factory=dict)
    remove: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, order=True)
class ScramUser:
    """A user's credential for one mechanism, `SCRAM-SHA-256` or `SCRAM-SHA-512` (KIP-554)."""

    user: str
    mechanism: str

    def __str__(self) -> str:
        """Write both."""
        return f"{self.user} {self.mechanism}"


@dataclass(frozen=True, slots=True)
class ScramAlteration:
    """A credential to set, or with a password of None to delete."""

    name: ScramUser
    iterations: int = 0
    password: str | None = field(default=None, repr=False)


class ConfigScope(IntEnum):
    """What configs may belong to beside topics (Kafka: ConfigResource.Type)."""

    BROKER = 4
    LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


@dataclass(frozen=True, slots=True, order=True)
class ConfigResource:
    """A broker by its id, a group or a metrics subscription by its name.

    The loggers of a node have its id. The broker "" means all brokers: what it is set to is the
    default of the cluster.
    """

    scope: ConfigScope
    name: str

    def __str__(self) -> str:
        """Write scope and name."""
        return f"{self.scope.name} {self.name or '<default>'}"


DURATION_KEYS: Mapping[str, Mapping[str, int]] = {
    "retention.ms": {
        "log.retention.ms": 1,
        "log.retention.minutes": 60_000,
        "log.retention.hours": 3_600_000,
    },
    "segment.ms": {"log.roll.ms": 1, "log.roll.hours": 3_600_000},
    "segment.jitter.ms": {"log.roll.jitter.ms": 1, "log.roll.jitter.hours": 3_600_000},
}
"""Configs of brokers that a key of topics falls back to, the first that is set, in milliseconds.

Kafka lists none of them among the synonyms of the key while it is set at the topic (4.3).
"""


@dataclass(frozen=True, slots=True)
class ConfigDetail:
    """One effective config value with Kafka's facts about its key (KIP-226, KIP-569).

    A read-only key can be set in the file of the broker only. `type` is None for one that this
    version of kplan does not know.
    """

    entry: ConfigEntry
    is_read_only: bool = False
    type: ConfigType | None = None


@dataclass(frozen=True, slots=True)
class ConfigResourceAlteration:
    """Keys to set and keys to reset (IncrementalAlterConfigs, KIP-339); values may be secret."""

    resource: ConfigResource
    set: Mapping[str, str] = field(default_factory=dict, repr=False)
    delete: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NodeVersions:
    """What one node offers (ApiVersions, KIP-97, KIP-584): inclusive ranges by name.

    `supported` are levels of features that the node could run, `finalized` those that the whole
    cluster runs. `release` is the newest release whose metadata the node knows, "" if unknown.
    """

    apis: Mapping[str, tuple[int, int]]
    supported: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    finalized: Mapping[str, int] = field(default_factory=dict)
    release: str = ""


class Downgrade(StrEnum):
    """Whether and how a feature may be downgraded (KIP-584, KIP-778)."""

    NONE = "none"
    SAFE = "safe"
    UNSAFE = "unsafe"


@dataclass(frozen=True, slots=True)
class FeatureUpdate:
    """A feature to bring to a level; 0 turns it off."""

    name: str
    level: int
    downgrade: Downgrade = Downgrade.NONE


@dataclass(frozen=True, slots=True)
class MissingApi:
    """An API that a method of the port takes and the cluster does not offer so.

    Ranges of versions are inclusive; `offered` is None where there is none at all. `reason` says
    why where it is not for the versions.
    """

    api: str
    needed: tuple[int, int]
    offered: tuple[int, int] | None
    reason: str = ""

    def __str__(self) -> str:
        """Return the required and the supported versions."""
        if self.reason:
            return self.reason
        offers = (
            "offers none" if self.offered is None else f"offers {_version_range(*self.offered)}"
        )
        needs = f"kplan needs {self.api} in {_version_range(*self.needed)}; the cluster {offers}"
        since = first_release(self.api).rstrip(".")
        is_older = self.offered is None or self.offered[1] < self.needed[0]
        return f"{needs}. {since}" if since and is_older else needs


def _version_range(oldest: int, newest: int) -> str:
    return f"version {oldest}" if oldest == newest else f"versions {oldest} to {newest}"


QUOTA_KEYS: Mapping[str, Mapping[str, bool]] = {
    "user": {
        "producer_byte_rate": True,
        "consumer_byte_rate": True,
        "request_percentage": False,
        "controller_mutation_rate": False,
    },
    "ip": {"connection_creation_rate": True},
}
"""Quota keys of users and client ids, and of addresses; True takes whole numbers only."""

SUPPORTED_FEATURES: Mapping[str, tuple[int, int]] = {
    "eligible.leader.replicas.version": (0, 1),
    "group.version": (0, 1),
    "kraft.version": (0, 1),
    "metadata.version": (7, 30),
    "transaction.version": (0, 2),
}
"""Levels of features that a broker of Kafka 4.3 can run."""

DEFAULT_FEATURE_LEVELS: Mapping[str, int] = {
    "group.version": 1,
    "metadata.version": 29,
    "transaction.version": 2,
}
"""Levels that the cluster in memory begins with."""


BROKER_DEFAULT_MS = -1
"""Stands for what the brokers have as default."""


@dataclass(frozen=True, slots=True)
class TokenRequest:
    """A token to be made. `owner` and `renewers` are principals, as `User:app`.

    "" as owner is whoever asks. `lifetime_ms` bounds how far the token can ever be renewed.
    """

    owner: str = ""
    renewers: tuple[str, ...] = ()
    lifetime_ms: int = BROKER_DEFAULT_MS


@dataclass(frozen=True, slots=True)
class DelegationToken:
    """A token. Times are milliseconds since 1970; it cannot be renewed past `max_ms`.

    `requester` made it, "" where brokers do not return it (before Kafka 3.3). `hmac` is the secret:
    with the id as the name, base 64 of it is the password of a login by SCRAM.
    """

    id: str
    owner: str
    requester: str
    renewers: tuple[str, ...]
    issued_ms: int
    expires_ms: int
    max_ms: int
    hmac: bytes = field(repr=False)
