"""Settings of a cluster beside its topics and ACLs: what is sent and answered, in Kafka's words."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum

from kplan.cluster.specs import ConfigEntry
from kplan.cluster.topic_configs import ConfigType


@dataclass(frozen=True, slots=True)
class QuotaEntity:
    """Whom a quota is for (KIP-546, KIP-612): a user, a client id, both at once, or an address.

    None leaves a part out; "" is its default, which stands for all without a quota of their own.
    """

    user: str | None = None
    client_id: str | None = None
    ip: str | None = None

    def __str__(self) -> str:
        """Write the parts that are there, in one order."""
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
    CLIENT_METRICS = 16
    GROUP = 32


@dataclass(frozen=True, slots=True, order=True)
class ConfigResource:
    """A broker by its id, a group or a metrics subscription by its name.

    The broker "" stands for all brokers: what it is set to is the default of the cluster.
    """

    scope: ConfigScope
    name: str

    def __str__(self) -> str:
        """Write scope and name."""
        return f"{self.scope.name} {self.name or '<default>'}"


@dataclass(frozen=True, slots=True)
class ConfigDetail:
    """One effective config value with what Kafka says of its key (KIP-226, KIP-569).

    A read-only key can be set in the file of the broker only. `type` is None for one that this
    version of kplan does not know.
    """

    entry: ConfigEntry
    is_read_only: bool = False
    type: ConfigType | None = None


@dataclass(frozen=True, slots=True)
class ResourceAlteration:
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
    """Whether a feature may go to a lower level, and at what price (KIP-584, KIP-778)."""

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
class Lack:
    """An API that a method of the port takes and the cluster does not offer so.

    Ranges of versions are inclusive; `offered` is None where there is none at all. `reason` says
    why where it is not for the versions.
    """

    api: str
    needed: tuple[int, int]
    offered: tuple[int, int] | None
    reason: str = ""

    def __str__(self) -> str:
        """Say what is needed and what is offered."""
        if self.reason:
            return self.reason
        offers = "offers none" if self.offered is None else f"offers {_versions(*self.offered)}"
        return f"kplan needs {self.api} in {_versions(*self.needed)}; the cluster {offers}"


def _versions(oldest: int, newest: int) -> str:
    return f"version {oldest}" if oldest == newest else f"versions {oldest} to {newest}"
