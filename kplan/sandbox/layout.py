"""What a sandbox is asked to be: its nodes, and their server.properties. Pure."""

import re
from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum
from pathlib import Path

from kplan.model.dataclass import dataclass
from kplan.model.errors import SandboxError
from kplan.sandbox.credential import Credentials

DEFAULT_KAFKA_VERSION = "4.3.0"
SUPPORTED_VERSIONS = re.compile(r"(2\.8|3\.\d+|4\.\d+)\.\d+")
FIRST_KRAFT_VERSION, FIRST_VERSION_WITHOUT_ZOOKEEPER = (3, 3), (4, 0)
FIRST_VERSION_WITH_SCRAM_IN_KRAFT, FIRST_VERSION_WITH_TOKENS_IN_KRAFT = (3, 5), (3, 6)
"""KRaft is ready for production since Kafka 3.3 (KIP-833), has SCRAM since 3.5 (KIP-900), and
delegation tokens since 3.6 (KAFKA-15219)."""


class Security(StrEnum):
    """How clients prove who they are: not at all, by SASL passwords, or by TLS certificates.

    With SASL_SSL they have passwords, and the connection is TLS.
    """

    NONE = "none"
    SASL = "sasl"
    TLS = "tls"
    SASL_SSL = "sasl_ssl"


@dataclass(frozen=True, slots=True)
class SandboxSpec:
    """What to start.

    `controllers=None` means the usual number: none of their own beside one broker (one node
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
    zookeeper: bool = False

    @property
    def release(self) -> tuple[int, int]:
        """The release of Kafka, as (3, 9)."""
        major, minor, *_ = self.kafka_version.split(".")
        return int(major), int(minor)

    @property
    def has_zookeeper(self) -> bool:
        """Whether ZooKeeper stores the metadata: asked for, or the release has no KRaft yet."""
        return self.zookeeper or self.release < FIRST_KRAFT_VERSION

    @property
    def has_scram(self) -> bool:
        """Whether users can have SCRAM credentials."""
        return self.has_zookeeper or self.release >= FIRST_VERSION_WITH_SCRAM_IN_KRAFT

    @property
    def has_tokens(self) -> bool:
        """Whether users can have delegation tokens."""
        return self.has_zookeeper or self.release >= FIRST_VERSION_WITH_TOKENS_IN_KRAFT

    @property
    def own_controllers(self) -> int:
        """How many nodes are controllers only; 0 means that the brokers are controllers too."""
        if self.has_zookeeper:
            return 0
        if self.controllers is not None:
            return self.controllers
        return 0 if self.brokers == 1 else 3


def check_spec(spec: SandboxSpec) -> None:
    """Refuse an invalid specification. Raises SandboxError."""
    if not 1 <= spec.brokers <= 9:  # noqa: PLR2004 - node ids 1 to 9 are brokers
        raise SandboxError(f"A sandbox has 1 to 9 brokers, not {spec.brokers}.")
    if not 0 <= spec.own_controllers <= 9:  # noqa: PLR2004
        raise SandboxError(f"A sandbox has 0 to 9 controllers, not {spec.own_controllers}.")
    if not SUPPORTED_VERSIONS.fullmatch(spec.kafka_version):
        raise SandboxError(
            f"Kafka {spec.kafka_version} cannot be started here.",
            hint="Give 2.8.x, 3.x or 4.x.",
        )
    if spec.zookeeper and spec.release >= FIRST_VERSION_WITHOUT_ZOOKEEPER:
        raise SandboxError(
            f"Kafka {spec.kafka_version} has no ZooKeeper mode.", hint="Give 3.9.x or older."
        )
    if spec.has_zookeeper and (spec.controllers or spec.metadata_version or spec.dynamic_quorum):
        raise SandboxError(
            "A cluster with ZooKeeper has no controllers of its own and no metadata.version."
        )
    if relative := [str(entry) for entry in spec.class_path if not entry.is_absolute()]:
        raise SandboxError(f"Class path entries are absolute paths; {relative[0]} is not.")
    if spec.heap_mb < 256:  # noqa: PLR2004
        raise SandboxError(
            f"A heap of {spec.heap_mb} MiB is too small for Kafka; give 256 or more."
        )


HOST = "127.0.0.1"
RACKS = ("rack-a", "rack-b", "rack-c")
CLIENT, CONTROLLER = "CLIENT", "CONTROLLER"


class Role(StrEnum):
    """What a node does; one with KRaft may be broker and controller."""

    BROKER = "broker"
    CONTROLLER = "controller"
    ZOOKEEPER = "zookeeper"


@dataclass(frozen=True, slots=True)
class Node:
    """One Kafka process: brokers are numbered from 1, controllers and ZooKeeper from 101."""

    id: int
    roles: tuple[Role, ...]
    rack: str | None
    broker_port: int | None
    controller_port: int | None
    zookeeper_port: int | None = None

    @property
    def is_broker(self) -> bool:
        """Whether clients can be served here."""
        return Role.BROKER in self.roles


def port_count(spec: SandboxSpec) -> int:
    """Count the ports of a sandbox."""
    if spec.has_zookeeper:
        return spec.brokers + 1
    return spec.brokers + (spec.own_controllers or spec.brokers)


def make_nodes(spec: SandboxSpec, ports: tuple[int, ...]) -> tuple[Node, ...]:
    """Lay out the nodes: brokers first, each in a rack when there are several."""
    free = iter(ports)
    combined = spec.own_controllers == 0 and not spec.has_zookeeper
    both = (Role.BROKER, Role.CONTROLLER) if combined else (Role.BROKER,)
    brokers = [
        Node(
            id=number + 1,
            roles=both,
            rack=RACKS[number % len(RACKS)] if spec.brokers > 1 else None,
            broker_port=next(free),
            controller_port=next(free) if combined else None,
        )
        for number in range(spec.brokers)
    ]
    if spec.has_zookeeper:
        return (*brokers, Node(101, (Role.ZOOKEEPER,), None, None, None, next(free)))
    controllers = [
        Node(101 + number, (Role.CONTROLLER,), None, None, next(free))
        for number in range(spec.own_controllers)
    ]
    return (*brokers, *controllers)


def bootstrap_servers(laid_out: tuple[Node, ...]) -> str:
    """Return `host:port,...` of the brokers."""
    return ",".join(f"{HOST}:{node.broker_port}" for node in laid_out if node.broker_port)


def bootstrap_controllers(laid_out: tuple[Node, ...]) -> str:
    """Return `host:port,...` of the controllers (KIP-919)."""
    return ",".join(f"{HOST}:{node.controller_port}" for node in laid_out if node.controller_port)


def server_properties(
    node: Node,
    laid_out: tuple[Node, ...],
    spec: SandboxSpec,
    credentials: Credentials,
    folder: Path,
) -> Mapping[str, str]:
    """Return the properties of one node; `spec.server_properties` take precedence."""
    if node.zookeeper_port:
        return _zookeeper_properties(node.zookeeper_port, folder)
    protocol = credentials.protocol
    by_zookeeper = spec.has_zookeeper
    own = _zookeeper_mode if by_zookeeper else _kraft_mode
    authorizer = _ZOOKEEPER_AUTHORIZER if by_zookeeper else _AUTHORIZER
    return {
        **own(node, laid_out, spec, protocol),
        "listeners": ",".join(_listeners(node)),
        "log.dirs": str(folder / "data"),
        **(_broker_properties(node, spec) if node.is_broker else {}),
        **(_authorizer_properties(credentials, authorizer) if spec.authorizer else {}),
        **credentials.server,
        **spec.server_properties,
    }


def _kraft_mode(
    node: Node, laid_out: tuple[Node, ...], spec: SandboxSpec, protocol: str
) -> Mapping[str, str]:
    return {
        "node.id": str(node.id),
        "process.roles": ",".join(node.roles),
        **_quorum_properties(laid_out, spec),
        # An idle quorum writes a record each half second unless told otherwise: with five
        # seconds a node takes 40 % less of a processor.
        "metadata.max.idle.interval.ms": "5000",
        "controller.listener.names": CONTROLLER,
        "listener.security.protocol.map": f"{CLIENT}:{protocol},{CONTROLLER}:{protocol}",
    }


def _zookeeper_mode(
    node: Node, laid_out: tuple[Node, ...], _: SandboxSpec, protocol: str
) -> Mapping[str, str]:
    return {
        "broker.id": str(node.id),
        "zookeeper.connect": zookeeper_address(laid_out),
        # ZooKeeper starts at the same moment, and on a busy machine it takes more than 18 s.
        "zookeeper.connection.timeout.ms": "90000",
        "listener.security.protocol.map": f"{CLIENT}:{protocol}",
    }


def zookeeper_address(laid_out: tuple[Node, ...]) -> str:
    """Return `host:port` of ZooKeeper, "" where there is none."""
    return ",".join(f"{HOST}:{each.zookeeper_port}" for each in laid_out if each.zookeeper_port)


def _zookeeper_properties(port: int, folder: Path) -> Mapping[str, str]:
    return {
        "dataDir": str(folder / "data"),
        "clientPort": str(port),
        "clientPortAddress": HOST,
        "tickTime": "2000",
        "maxClientCnxns": "0",
        "admin.enableServer": "false",
    }


_AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
_ZOOKEEPER_AUTHORIZER = "kafka.security.authorizer.AclAuthorizer"


def _quorum_properties(laid_out: tuple[Node, ...], spec: SandboxSpec) -> Mapping[str, str]:
    """Return the voters, or the bootstrap controllers of a dynamic quorum (KIP-853)."""
    if spec.dynamic_quorum:
        return {"controller.quorum.bootstrap.servers": bootstrap_controllers(laid_out)}
    voters = (
        f"{each.id}@{HOST}:{each.controller_port}" for each in laid_out if each.controller_port
    )
    return {"controller.quorum.voters": ",".join(voters)}


def initial_controllers(laid_out: tuple[Node, ...], directories: Mapping[int, str]) -> str:
    """Return `id@host:port:directory,...` of the controllers, as storage is formatted with."""
    return ",".join(
        f"{each.id}@{HOST}:{each.controller_port}:{directories[each.id]}"
        for each in laid_out
        if each.controller_port
    )


def _listeners(node: Node) -> list[str]:
    named = ((CLIENT, node.broker_port), (CONTROLLER, node.controller_port))
    return [f"{name}://{HOST}:{port}" for name, port in named if port]


def _broker_properties(node: Node, spec: SandboxSpec) -> Mapping[str, str]:
    copies = str(min(spec.brokers, 3))
    majority = str(min(spec.brokers, 2))
    return {
        "inter.broker.listener.name": CLIENT,
        **({"broker.rack": node.rack} if node.rack else {}),
        "offsets.topic.replication.factor": copies,
        "offsets.topic.num.partitions": "4",
        "transaction.state.log.replication.factor": copies,
        "transaction.state.log.min.isr": majority,
        "transaction.state.log.num.partitions": "4",
        "share.coordinator.state.topic.replication.factor": copies,
        "share.coordinator.state.topic.min.isr": majority,
        "share.coordinator.state.topic.num.partitions": "4",
        "group.initial.rebalance.delay.ms": "0",
    }


def _authorizer_properties(credentials: Credentials, name: str) -> Mapping[str, str]:
    return {
        "authorizer.class.name": name,
        "super.users": ";".join(credentials.super_users),
    }
