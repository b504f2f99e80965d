"""What a sandbox is asked to be."""

import re
from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum
from pathlib import Path

from kplan.model.dataclass import dataclass
from kplan.model.errors import SandboxError

DEFAULT_KAFKA_VERSION = "4.3.0"
SUPPORTED_VERSIONS = re.compile(r"(3\.9|4\.\d+)\.\d+")


class Security(StrEnum):
    """How clients prove who they are: not at all, by SASL passwords, or by TLS certificates."""

    NONE = "none"
    SASL = "sasl"
    TLS = "tls"


@dataclass(frozen=True, slots=True)
class SandboxSpec:
    """What to start.

    `controllers=None` stands for the usual number: none of their own beside one broker (one node
    is both), three beside several. `authorizer=False` leaves StandardAuthorizer out, so that the
    cluster refuses every ACL request. `metadata_version` (`3.9-IV0`) formats an older cluster than
    the jars would. With `dynamic_quorum` voters can be added and removed (KIP-853); all controllers
    begin as voters. `server_properties` win over what the sandbox writes, on every node.
    `class_path` is put behind Kafka's jars. `heap_mb` bounds the heap of each node: 300 MiB filled
    up at 20,000 ACLs and the broker hung. With `logs_allowed` the authorizer's log holds what was
    allowed too, not only what was denied.
    """

    brokers: int = 1
    controllers: int | None = None
    kafka_version: str = DEFAULT_KAFKA_VERSION
    security: Security = Security.NONE
    authorizer: bool = True
    metadata_version: str | None = None
    server_properties: Mapping[str, str] = field(default_factory=dict)
    class_path: tuple[Path, ...] = ()
    heap_mb: int = 1024
    logs_allowed: bool = False
    dynamic_quorum: bool = False

    @property
    def own_controllers(self) -> int:
        """How many nodes are controllers only; 0 means that the brokers are controllers too."""
        if self.controllers is not None:
            return self.controllers
        return 0 if self.brokers == 1 else 3


def check_spec(spec: SandboxSpec) -> None:
    """Refuse what cannot be started. Raises SandboxError."""
    if not 1 <= spec.brokers <= 9:  # noqa: PLR2004 - node ids 1 to 9 are brokers
        raise SandboxError(f"A sandbox has 1 to 9 brokers, not {spec.brokers}.")
    if not 0 <= spec.own_controllers <= 9:  # noqa: PLR2004
        raise SandboxError(f"A sandbox has 0 to 9 controllers, not {spec.own_controllers}.")
    if not SUPPORTED_VERSIONS.fullmatch(spec.kafka_version):
        raise SandboxError(
            f"Kafka {spec.kafka_version} cannot be started here.",
            hint="Give 3.9.x or 4.x.",
        )
    if relative := [str(entry) for entry in spec.class_path if not entry.is_absolute()]:
        raise SandboxError(f"Class path entries are absolute paths; {relative[0]} is not.")
    if spec.heap_mb < 256:  # noqa: PLR2004
        raise SandboxError(
            f"A heap of {spec.heap_mb} MiB is too small for Kafka; give 256 or more."
        )
