"""Tokens for OAUTHBEARER: fetched when there is need, kept for most of their life."""

import binascii
import json
import re
import threading
import time
from base64 import urlsafe_b64decode
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import assert_never

from kplan.kafka.auth import AwsMskIam, ClientCredentials, TokenMechanism
from kplan.model.errors import AuthError

_WORN = 0.8  # the part of its life after which a token is replaced, as Kafka's own clients do
_BEARER = re.compile(r"[A-Za-z0-9._~+/-]+=*")  # RFC 6750, 2.1


@dataclass(frozen=True, slots=True)
class Token:
    """A token; `expires_at_s` in seconds since 1970. `principal` is "" where it does not tell."""

    text: str = field(repr=False)
    expires_at_s: float
    principal: str = ""
    extensions: tuple[tuple[str, str], ...] = ()


class Tokens:
    """The tokens of a mechanism. May be asked from several threads."""

    def __init__(self, mechanism: TokenMechanism, clock: Callable[[], float] = time.time) -> None:
        self._mechanism = mechanism
        self._clock = clock
        self._lock = threading.Lock()
        self._held: Token | None = None
        self._worn_at_s = 0.0

    def current(self, timeout_s: float) -> Token:
        """Give a token with life left in it.

        Raises:
            AuthError: none is given to us.
            Unreachable: nobody who gives any answers.

        """
        with self._lock:
            now = self._clock()
            if self._held is None or now >= self._worn_at_s:
                self._held = _fetched(self._mechanism, timeout_s, now)
                self._worn_at_s = now + (self._held.expires_at_s - now) * _WORN
            return self._held

    @property
    def principal(self) -> str:
        """How an authorizer sees us by the last token, "" where it cannot be told."""
        return self._held.principal if self._held else ""


def _fetched(mechanism: TokenMechanism, timeout_s: float, now_s: float) -> Token:
    match mechanism:
        case ClientCredentials():
            from kplan.kafka.oidc import client_token  # noqa: PLC0415 - only who logs in so

            text, lifetime_s = client_token(mechanism, timeout_s)
            claims = claims_of(text)
            expires_at_s = _number(claims.get("exp")) or now_s + lifetime_s
            subject = claims.get(mechanism.subject_claim)
            principal = f"User:{subject}" if isinstance(subject, str) and subject else ""
            made = Token(text, expires_at_s, principal, mechanism.extensions)
        case AwsMskIam():
            from kplan.kafka.msk import signed  # noqa: PLC0415 - AWS's library is large

            made = Token(*signed(mechanism))
        case _:
            assert_never(mechanism)
    if not _BEARER.fullmatch(made.text):
        raise AuthError("The token that was given has characters that no token may have.")
    if made.expires_at_s <= now_s:
        raise AuthError(
            "The token that was given has expired already.",
            hint="Compare the clocks of this machine and of the token endpoint.",
        )
    return made


def claims_of(token: str) -> Mapping[str, object]:
    """Read the claims of a JSON web token (RFC 7519), unchecked; none where it is no such token."""
    parts = token.split(".")
    if len(parts) != 3:  # noqa: PLR2004 - header, claims, signature
        return {}
    try:
        found = json.loads(urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    except (ValueError, binascii.Error):
        return {}
    return found if isinstance(found, dict) else {}


def _number(value: object) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number else None  # type: ignore[arg-type] # just looked at
