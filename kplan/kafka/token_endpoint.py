"""Tokens from an OAuth 2 endpoint, by client credentials (RFC 6749, 4.4); https comes along."""

import base64
import json
import ssl
from http.client import HTTPException
from urllib.error import HTTPError, URLError
from urllib.parse import quote_plus, urlencode
from urllib.request import HTTPRedirectHandler, HTTPSHandler, OpenerDirector, Request, build_opener

from kplan.kafka.settings.certificate import verification_hint
from kplan.kafka.settings.connection import ClientCredentials
from kplan.model.errors import AuthError, UnreachableError

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
        UnreachableError: it does not answer.

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


def _endpoint_error(client: ClientCredentials, status: int, values: dict[str, object]) -> AuthError:
    """Return the error of an endpoint (RFC 6749, 5.2)."""
    words = [str(values[key]) for key in ("error", "error_description") if values.get(key)]
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
            f"(CERTIFICATE_VERIFY_FAILED: {reason.verify_message.rstrip('.')}).",
            hint=verification_hint(
                reason, "Give the certificate authority that signed it as https.ca.location."
            ),
        )
    if isinstance(reason, TimeoutError):
        return UnreachableError(f"{client.token_url}: no answer came in time.")
    why = getattr(reason, "strerror", None) or reason
    return UnreachableError(
        f"{client.token_url} did not return a token: {why}.",
        hint="Check the URL of the token endpoint.",
    )
