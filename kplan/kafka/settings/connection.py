"""What it takes to connect to a cluster, and the SASL login: values that both drivers read."""

import math
from collections.abc import Mapping
from dataclasses import field
from ipaddress import ip_address
from typing import ClassVar, NewType, TypeAlias

from kplan.kafka.settings.certificate import certificate_subject
from kplan.model.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Plain:
    """SASL/PLAIN (RFC 4616): name and password as they are, so only safe inside TLS."""

    name: ClassVar[str] = "PLAIN"
    username: str
    password: str = field(repr=False)

    @property
    def principal(self) -> str:
        """The user of that name."""
        return f"User:{self.username}"


@dataclass(frozen=True, slots=True)
class ScramSha256:
    """SASL/SCRAM with SHA-256 (RFC 5802, KIP-84)."""

    name: ClassVar[str] = "SCRAM-SHA-256"
    username: str
    password: str = field(repr=False)

    @property
    def principal(self) -> str:
        """The user of that name."""
        return f"User:{self.username}"


@dataclass(frozen=True, slots=True)
class ScramSha512:
    """SASL/SCRAM with SHA-512 (RFC 5802, KIP-84)."""

    name: ClassVar[str] = "SCRAM-SHA-512"
    username: str
    password: str = field(repr=False)

    @property
    def principal(self) -> str:
        """The user of that name."""
        return f"User:{self.username}"


@dataclass(frozen=True, slots=True)
class ClientCredentials:
    """SASL/OAUTHBEARER (KIP-255) with a token that an OAuth endpoint gives for a client (KIP-768).

    `scope` is separated by blanks, `ca` is PEM text ("": the system's), `extensions` go to the
    brokers along with the token (KIP-342). `subject_claim` holds our name in a token.
    """

    name: ClassVar[str] = "OAUTHBEARER"
    token_url: str
    client_id: str
    client_secret: str = field(repr=False)
    scope: str = ""
    ca: str = field(default="", repr=False)
    extensions: tuple[tuple[str, str], ...] = ()
    subject_claim: str = "sub"
    is_url_encoded: bool = False

    @property
    def principal(self) -> str:
        """Not known before there is a token."""
        return ""


@dataclass(frozen=True, slots=True)
class AwsMskIam:
    """SASL/OAUTHBEARER with a token that AWS credentials sign, as Amazon MSK takes it for IAM.

    Where nothing else is given, the credentials are those that AWS's own settings tell.
    """

    name: ClassVar[str] = "OAUTHBEARER"
    region: str
    profile: str = ""
    role_arn: str = ""
    access_key: str = ""
    secret_key: str = field(default="", repr=False)
    session_token: str = field(default="", repr=False)

    @property
    def principal(self) -> str:
        """Brokers know an identity of AWS by a name that it does not know itself."""
        return ""


@dataclass(frozen=True, slots=True)
class Kerberos:
    """SASL/GSSAPI (RFC 4752) with a ticket for `service_name` at the broker's host.

    `client` is our own principal, "" for that of the credential cache; `keytab` is a file with its
    key, "" where the cache has the ticket (kinit).
    """

    name: ClassVar[str] = "GSSAPI"
    service_name: str
    client: str = ""
    keytab: str = ""

    @property
    def principal(self) -> str:
        """Brokers shorten the names of Kerberos by rules of their own."""
        return ""


PasswordMechanism: TypeAlias = Plain | ScramSha256 | ScramSha512
TokenMechanism: TypeAlias = ClientCredentials | AwsMskIam
Mechanism: TypeAlias = PasswordMechanism | TokenMechanism | Kerberos

PASSWORD_MECHANISMS: tuple[type[Plain] | type[ScramSha256] | type[ScramSha512], ...] = (
    Plain,
    ScramSha256,
    ScramSha512,
)
"""Every mechanism that takes a name and a password."""

Seconds = NewType("Seconds", float)
"""A span of time above zero; made by `seconds`."""


def seconds(value: float) -> Seconds:
    """Make a time limit. On Kafka 4 a timeout of zero or less loses the request (KIP-4, measured).

    Raises:
        ValueError: the value is not above zero.

    """
    if not 0 < value <= MAX_TIMEOUT_S:
        raise ValueError(f"a timeout is above 0 and at most {MAX_TIMEOUT_S} seconds, not {value}")
    return Seconds(value)


MAX_TIMEOUT_S = 3600
"""The longest request timeout that librdkafka takes."""


@dataclass(frozen=True, slots=True, order=True)
class Endpoint:
    """Where a node listens."""

    host: str
    port: int

    def __str__(self) -> str:
        """Write it as `host:port`, an IPv6 address in brackets."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def is_loopback(self) -> bool:
        """Whether it is this machine, as far as its name says."""
        if self.host.rstrip(".").lower() == "localhost":
            return True
        try:
            return ip_address(self.host.partition("%")[0]).is_loopback
        except ValueError:
            return False


@dataclass(frozen=True, slots=True)
class Timeouts:
    """How long to wait: `connect_s` for one node to accept us, `request_s` for one request.

    `read_s` is that for a request that only reads, and the budget for finding any node that
    answers it. A write gets `grace_s` on top of `request_s`, so that the word of a broker that gave
    up after that comes before we give up.
    """

    connect_s: Seconds = Seconds(10.0)
    request_s: Seconds = Seconds(120.0)
    grace_s: Seconds = Seconds(10.0)
    max_read_s: Seconds = Seconds(30.0)

    @property
    def read_s(self) -> Seconds:
        """How long to wait for the answer to a request that only reads."""
        return min(self.max_read_s, self.request_s)

    def within(self, seconds: float) -> "Timeouts":
        """Wait for no node and no request longer than that."""
        connect_s, request_s = (
            Seconds(min(each, seconds)) for each in (self.connect_s, self.request_s)
        )
        return Timeouts(connect_s, request_s, self.grace_s, self.max_read_s)


@dataclass(frozen=True, slots=True)
class SocketOptions:
    """Connection buffers in bytes (0 is the system's default) and idle time.

    A connection that was not used for `idle_s` seconds is not used again.
    """

    send_bytes: int = 0
    receive_bytes: int = 0
    idle_s: float = math.inf


@dataclass(frozen=True, slots=True)
class Tls:
    """How to speak TLS. Certificates and key are PEM text; "" as authority means the system's.

    `is_default` says that nobody asked for it: connections use TLS unless told otherwise.
    """

    ca: str = ""
    certificate: str = ""
    key: str = field(default="", repr=False)
    key_password: str = field(default="", repr=False)
    is_verified: bool = True
    is_host_checked: bool = True
    is_default: bool = False


@dataclass(frozen=True, slots=True)
class RestService:
    """Where a service beside the brokers is, and the basic login to it, "" for none.

    `url` begins with http:// or https://; `ca` is PEM text ("": the system's).
    """

    url: str
    username: str = ""
    password: str = field(default="", repr=False)
    ca: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class ConnectionSettings:
    """All that is needed to connect.

    With `bootstrap_controllers` controllers are asked, and no broker at all (KIP-919); changes are
    executed there only where `allows_direct`. A login without TLS goes over a network only where
    `allows_plaintext_login`. `librdkafka` holds settings that concern only
    librdkafka, under its own names. `schema_registry` and `connect` are services beside brokers.
    """

    bootstrap_servers: tuple[Endpoint, ...]
    tls: Tls | None = None
    sasl: Mechanism | None = None
    timeouts: Timeouts = Timeouts()
    sockets: SocketOptions = SocketOptions()
    client_id: str = "kplan"
    librdkafka: Mapping[str, str] = field(default_factory=dict, repr=False)
    bootstrap_controllers: tuple[Endpoint, ...] = ()
    allows_direct: bool = False
    allows_plaintext_login: bool = False
    schema_registry: RestService | None = None
    connect: RestService | None = None

    @property
    def is_direct(self) -> bool:
        """Whether controllers are asked instead of brokers."""
        return bool(self.bootstrap_controllers)

    @property
    def security_protocol(self) -> str:
        """Kafka's name for the combination of TLS and SASL."""
        if self.sasl is not None:
            return "SASL_SSL" if self.tls is not None else "SASL_PLAINTEXT"
        return "SSL" if self.tls is not None else "PLAINTEXT"

    @property
    def principal(self) -> str:
        """How an authorizer sees us, "" where that cannot be known from here."""
        if self.sasl is not None:
            return self.sasl.principal
        if self.tls is not None and self.tls.certificate:
            name = certificate_subject(self.tls.certificate)
            return f"User:{name}" if name else ""
        return "User:ANONYMOUS"
