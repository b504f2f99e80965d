"""Tokens for OAUTHBEARER: requested or signed on demand, cached for most of their lifetime."""

import base64
import binascii
import json
import re
import ssl
import threading
import time
from base64 import urlsafe_b64decode
from collections.abc import Callable, Mapping
from dataclasses import field
from http.client import HTTPException
from typing import assert_never
from urllib.error import HTTPError, URLError
from urllib.parse import quote_plus, urlencode
from urllib.request import HTTPRedirectHandler, HTTPSHandler, OpenerDirector, Request, build_opener

from kplan.kafka.settings.connection import AwsMskIam, ClientCredentials, TokenMechanism
from kplan.model.dataclass import dataclass
from kplan.model.errors import AuthError, KplanError, UnreachableError

_REFRESH_RATIO = (
    0.8  # the part of its life after which a token is replaced, as Kafka's own clients do
)
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
            Unreachable: no one who gives any answers.

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


_MAX_RESPONSE_BYTES = 1_000_000
_DEFAULT_LIFETIME_S = 300.0  # of a token that does not return, which OAuth allows


class _NoRedirect(HTTPRedirectHandler):
    """The secret is sent to the configured endpoint only."""

    def redirect_request(self, *_: object) -> None:
        """Follow nowhere."""


def request_token(client: ClientCredentials, timeout_s: float) -> tuple[str, float]:
    """Request a token; also returns its lifetime in seconds.

    Raises:
        AuthError: the endpoint refuses the client, or does not prove who it is.
        Unreachable: it does not answer.

    """
    try:
        with _build_opener(client).open(_build_request(client), timeout=timeout_s) as answer:
            body = answer.read(_MAX_RESPONSE_BYTES)
    except HTTPError as refusal:
        with refusal:
            raise _endpoint_error(
                client, refusal.code, _parse_document(refusal.read(_MAX_RESPONSE_BYTES))
            ) from refusal
    except (URLError, OSError, HTTPException) as failure:
        raise _connection_error(client, failure) from failure
    found = _parse_document(body)
    token, life = found.get("access_token"), found.get("expires_in")
    if not isinstance(token, str) or not token:
        raise AuthError(
            f"{client.token_url} answered without a token.",
            hint="Check that sasl_token_url is the token endpoint itself.",
        )
    try:
        return token, float(str(life))
    except ValueError:
        return token, _DEFAULT_LIFETIME_S


def _build_opener(client: ClientCredentials) -> OpenerDirector:
    try:
        context = ssl.create_default_context(cadata=client.ca or None)
    except (ssl.SSLError, ValueError) as failure:
        raise AuthError(
            "The certificate authority of the token endpoint is not a certificate in PEM form.",
            hint="Check https.ca.pem or https.ca.location.",
        ) from failure
    return build_opener(_NoRedirect, HTTPSHandler(context=context))


def _build_request(client: ClientCredentials) -> Request:
    written = quote_plus if client.is_url_encoded else str
    pair = f"{written(client.client_id)}:{written(client.client_secret)}"
    form = {"grant_type": "client_credentials"} | ({"scope": client.scope} if client.scope else {})
    return Request(  # noqa: S310 - resolving the settings took only https and http
        client.token_url,
        data=urlencode(form).encode(),
        headers={
            "Accept": "application/json",
            "Authorization": f"Basic {base64.b64encode(pair.encode()).decode()}",
            "Content-Type": "application/x-www-form-urlencoded",
        },
    )


def _parse_document(body: bytes) -> dict[str, object]:
    try:
        found = json.loads(body)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _endpoint_error(client: ClientCredentials, status: int, told: dict[str, object]) -> AuthError:
    """Return the error of an endpoint (RFC 6749, 5.2)."""
    words = [str(told[key]) for key in ("error", "error_description") if told.get(key)]
    return AuthError(
        f"{client.token_url} gave the client {client.client_id} no token: "
        f"{': '.join([f'HTTP {status}', *words])[:500].rstrip('.')}.",
        hint="Check the client's id, secret and scopes, and the URL of the token endpoint.",
    )


def _connection_error(
    client: ClientCredentials, failure: Exception
) -> AuthError | UnreachableError:
    reason = failure.reason if isinstance(failure, URLError) else failure
    if isinstance(reason, ssl.SSLCertVerificationError):
        return AuthError(
            f"The certificate of {client.token_url} is not trusted "
            f"(CERTIFICATE_VERIFY_FAILED: {reason.verify_message}).",
            hint="Give the certificate authority that signed it as https.ca.location.",
        )
    if isinstance(reason, TimeoutError):
        return UnreachableError(f"{client.token_url}: no answer came in time.")
    why = getattr(reason, "strerror", None) or reason
    return UnreachableError(
        f"{client.token_url} did not return a token: {why}.",
        hint="Check the URL of the token endpoint.",
    )
