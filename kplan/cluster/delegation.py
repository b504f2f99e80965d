"""Delegation tokens: a secret that stands for its owner for a while (KIP-48)."""

from dataclasses import dataclass, field

DEFAULT_MS = -1
"""Stands for what the brokers have as default."""


@dataclass(frozen=True, slots=True)
class TokenOrder:
    """A token to be made. `owner` and `renewers` are principals, as `User:app`.

    "" as owner is whoever asks. `lifetime_ms` bounds how far the token can ever be renewed.
    """

    owner: str = ""
    renewers: tuple[str, ...] = ()
    lifetime_ms: int = DEFAULT_MS


@dataclass(frozen=True, slots=True)
class DelegationToken:
    """A token. Times are milliseconds since 1970; it cannot be renewed past `last_ms`.

    `requester` made it, "" where brokers do not tell (before Kafka 3.3). `hmac` is the secret: with
    the id as the name, base 64 of it is the password of a login by SCRAM.
    """

    id: str
    owner: str
    requester: str
    renewers: tuple[str, ...]
    issued_ms: int
    expires_ms: int
    last_ms: int
    hmac: bytes = field(repr=False)
