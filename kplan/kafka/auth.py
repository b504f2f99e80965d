"""How kplan proves who it is by SASL: one value per mechanism, listed in `MECHANISMS`."""

from dataclasses import dataclass, field
from typing import ClassVar, Protocol


class Mechanism(Protocol):
    """A SASL mechanism with what it needs to log in.

    To add one: a frozen dataclass here, its place in `MECHANISMS`, and its exchange in
    `wire/messages.py` where kafka-python's class takes other arguments than name and password.
    """

    name: ClassVar[str]

    @property
    def username(self) -> str:
        """The name to log in with."""
        ...

    @property
    def password(self) -> str:
        """The secret to log in with."""
        ...

    @property
    def principal(self) -> str:
        """How an authorizer sees us, unless the brokers map names (KIP-12)."""
        ...


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


MECHANISMS: tuple[type[Plain] | type[ScramSha256] | type[ScramSha512], ...] = (
    Plain,
    ScramSha256,
    ScramSha512,
)
"""Every mechanism that works."""

NOT_YET = ("OAUTHBEARER", "AWS_MSK_IAM", "GSSAPI")
"""Mechanisms of Kafka that are recognised, and refused with a plain word."""
