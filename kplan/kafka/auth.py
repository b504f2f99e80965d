"""How kplan proves who it is by SASL: one value per mechanism.

`principal` is how an authorizer sees us, unless the brokers map names (KIP-12); "" where it cannot
be told from here.
"""

from dataclasses import field
from typing import ClassVar, TypeAlias

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


PasswordMechanism: TypeAlias = Plain | ScramSha256 | ScramSha512
TokenMechanism: TypeAlias = ClientCredentials | AwsMskIam
Mechanism: TypeAlias = PasswordMechanism | TokenMechanism

PASSWORD_MECHANISMS: tuple[type[Plain] | type[ScramSha256] | type[ScramSha512], ...] = (
    Plain,
    ScramSha256,
    ScramSha512,
)
"""Every mechanism that takes a name and a password."""

UNSUPPORTED_MECHANISMS = ("GSSAPI",)
"""Mechanisms of Kafka that are recognised, and refused with a plain word."""
