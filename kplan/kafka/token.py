"""Tokens for OAUTHBEARER: requested or signed on demand, cached for most of their lifetime."""

import binascii
import json
import re
import threading
import time
from base64 import urlsafe_b64decode
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import assert_never

from kplan.kafka.settings.connection import AwsMskIam, ClientCredentials, TokenMechanism
from kplan.model.dataclass import dataclass
from kplan.model.errors import AuthError, KplanError

_REFRESH_RATIO = 0.8
"""The part of its life after which a token is replaced, as Kafka's own clients do."""
_BEARER_TOKEN = re.compile(r"[A-Za-z0-9._~+/-]+=*")  # RFC 6750, 2.1


@dataclass(frozen=True, slots=True)
class Token:
    """A token; `expires_at_s` in seconds since 1970. `principal` is "" where it does not return."""

    text: str = field(repr=False)
    expires_at_s: float
    principal: str = ""
    extensions: tuple[tuple[str, str], ...] = ()


class TokenCache:
    """The tokens of a mechanism. May be asked from several threads."""

    def __init__(self, mechanism: TokenMechanism, clock: Callable[[], float] = time.time) -> None:
        self._mechanism = mechanism
        self._clock = clock
        self._lock = threading.Lock()
        self._token: Token | None = None
        self._refresh_at_s = 0.0

    def get_token(self, timeout_s: float) -> Token:
        """Return a token with life left in it.

        Raises:
            AuthError: none is given to us.
            UnreachableError: no one who gives any answers.

        """
        with self._lock:
            now = self._clock()
            if self._token is None or now >= self._refresh_at_s:
                self._token = _fetch_token(self._mechanism, timeout_s, now)
                self._refresh_at_s = now + (self._token.expires_at_s - now) * _REFRESH_RATIO
            return self._token

    @property
    def principal(self) -> str:
        """How an authorizer sees us by the last token, "" where it cannot be known."""
        return self._token.principal if self._token else ""


def _fetch_token(mechanism: TokenMechanism, timeout_s: float, now_s: float) -> Token:
    match mechanism:
        case ClientCredentials():
            from kplan.kafka.token_endpoint import request_token  # noqa: PLC0415 - brings https along

            text, lifetime_s = request_token(mechanism, timeout_s)
            claims = token_claims(text)
            expires_at_s = _claim_number(claims.get("exp")) or now_s + lifetime_s
            subject = claims.get(mechanism.subject_claim)
            principal = f"User:{subject}" if isinstance(subject, str) and subject else ""
            made = Token(text, expires_at_s, principal, mechanism.extensions)
        case AwsMskIam():
            made = Token(*sign_token(mechanism))
        case _:
            assert_never(mechanism)
    if not _BEARER_TOKEN.fullmatch(made.text):
        raise AuthError("The token has invalid characters.")
    if made.expires_at_s <= now_s:
        raise AuthError(
            "The token has expired.",
            hint="Compare the clocks of this machine and of the token endpoint.",
        )
    return made


def token_claims(token: str) -> Mapping[str, object]:
    """Read the claims of a JSON web token (RFC 7519), unchecked; none if it is not one."""
    parts = token.split(".")
    if len(parts) != 3:  # noqa: PLR2004 - header, claims, signature
        return {}
    try:
        found = json.loads(urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    except (ValueError, binascii.Error):
        return {}
    return found if isinstance(found, dict) else {}


def _claim_number(value: object) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number else None  # type: ignore[arg-type] # just inspected


def sign_token(identity: AwsMskIam) -> tuple[str, float]:
    """Sign a login; gives the token and when it expires, in seconds since 1970.

    Raises:
        AuthError: there are no credentials, or AWS refuses the role.
        KplanError: AWS's signer is not installed.

    """
    try:
        import aws_msk_iam_sasl_signer  # noqa: F401 - AWS's library is large
        from botocore.exceptions import BotoCoreError, ClientError
    except ImportError as failure:
        raise KplanError(
            "A login with IAM takes AWS's signer, which is not installed.",
            hint="Install kplan[msk].",
        ) from failure
    try:
        token, expires_at_ms = _generate_token(identity)
    except (BotoCoreError, ClientError) as failure:
        raise _signing_error(str(failure)) from failure
    except (ValueError, AttributeError) as failure:  # how the signer says that it found none
        raise _signing_error("no credentials were found") from failure
    return token, expires_at_ms / 1000


def _generate_token(identity: AwsMskIam) -> tuple[str, int]:
    """Sign with the most explicit credentials: keys, role, profile, or AWS's own settings."""
    from aws_msk_iam_sasl_signer import MSKAuthTokenProvider as Signer
    from botocore.credentials import CredentialProvider, Credentials

    signed: tuple[str, int]
    if identity.access_key:
        held = Credentials(identity.access_key, identity.secret_key, identity.session_token or None)
        provider = CredentialProvider()
        provider.load = lambda: held
        signed = Signer.generate_auth_token_from_credentials_provider(identity.region, provider)
    elif identity.role_arn:
        signed = Signer.generate_auth_token_from_role_arn(identity.region, identity.role_arn)
    elif identity.profile:
        signed = Signer.generate_auth_token_from_profile(identity.region, identity.profile)
    else:
        signed = Signer.generate_auth_token(identity.region)
    return signed


def _signing_error(why: str) -> AuthError:
    return AuthError(
        f"AWS's signer made no token: {why.rstrip('.')}.",
        hint="Check the sasl_aws_ arguments, or AWS's own settings (AWS_PROFILE and the like).",
    )
