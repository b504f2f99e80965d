"""Why a node did not understand us: looked into with one more connection."""

import ssl
from datetime import UTC, datetime

from kplan.kafka.settings.certificate import certificate_end
from kplan.kafka.settings.connection import ConnectionSettings, Endpoint
from kplan.kafka.wire.connection import offered_mechanisms, open_without_login
from kplan.kafka.wire.transport import (
    ConnectionLost,
    Deadline,
    IdentityError,
    NotKafkaProtocol,
    open_socket,
    tls_error,
    wrap_tls,
)
from kplan.model.errors import AuthError, UnreachableError, UnsupportedError

_PROBE_TIMEOUT_S = 1.0


def diagnose_opening(
    endpoint: Endpoint,
    settings: ConnectionSettings,
    context: ssl.SSLContext | None,
    failure: ConnectionLost,
    deadline: Deadline,
) -> AuthError | UnreachableError:
    """Explain a connection that broke before versions were exchanged or the login was done."""
    probe = deadline.within(_PROBE_TIMEOUT_S)
    if context is None and _speaks_tls(endpoint, failure, probe):
        return AuthError(
            f"{endpoint} uses TLS, and TLS is disabled for this connection.",
            hint="Set tls_enabled = true, or security.protocol to SSL or SASL_SSL.",
        )
    if context is not None and _speaks_plaintext(endpoint, settings, probe):
        by_default = settings.tls is not None and settings.tls.is_default
        why = "connections use TLS unless told otherwise" if by_default else "TLS is enabled here"
        return AuthError(
            f"{endpoint} does not use TLS, and {why}.",
            hint="Set tls_enabled = false or KPLAN_TLS_ENABLED=false, or security.protocol to "
            "PLAINTEXT or SASL_PLAINTEXT.",
        )
    if context is not None and (rejection := _tls_rejection(endpoint, context, probe)):
        return rejection
    if isinstance(failure, NotKafkaProtocol):
        return UnreachableError(
            f"{endpoint} does not speak Kafka's protocol: what it sent begins with "
            f"{failure.seen!r}.",
            hint="Check the port.",
        )
    return UnreachableError(
        f"{endpoint} accepted the connection, but {failure}.",
        hint="Check that this port belongs to a Kafka broker.",
    )


def diagnose_identity(failure: IdentityError, settings: ConnectionSettings) -> AuthError | None:
    """Explain a certificate of ours that brokers refuse by its time; None: it is not that.

    Of one that expired Kafka says "certificate unknown".
    """
    end = certificate_end(settings.tls.certificate) if settings.tls else None
    if end is None or end > datetime.now(UTC):
        return None
    return AuthError(
        f"{failure.detail} The client certificate expired on {end:%Y-%m-%d at %H:%M:%S} UTC.",
        hint="Renew the client certificate.",
    )


def diagnose_request(
    endpoint: Endpoint, settings: ConnectionSettings, context: ssl.SSLContext | None
) -> AuthError | None:
    """Explain a connection without SASL that broke when first asked; None: not for that."""
    if settings.sasl is not None:
        return None
    deadline = Deadline.after(_PROBE_TIMEOUT_S)
    try:
        connection = open_without_login(endpoint, settings.client_id, context, deadline)
        try:
            offered = offered_mechanisms(connection, deadline)
        finally:
            connection.close()
    except (ConnectionLost, UnreachableError, AuthError, UnsupportedError):
        return None
    if not offered:
        return None
    return AuthError(
        f"{endpoint} wants a SASL login, and kplan has none. It offers: {', '.join(offered)}.",
        hint="Set sasl_username, sasl_password and sasl_mechanism.",
    )


def _speaks_tls(endpoint: Endpoint, failure: ConnectionLost, probe: Deadline) -> bool:
    """Whether it answered with a TLS alert, or shakes hands when asked to."""
    if isinstance(failure, NotKafkaProtocol) and failure.seen[:2] == b"\x15\x03":
        return True
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE  # nothing is sent: only the handshake is of interest
    try:
        wrap_tls(open_socket(endpoint, probe), context, endpoint, probe).close()
    except AuthError:
        return True
    except (ConnectionLost, UnreachableError):
        return False
    return True


def _speaks_plaintext(endpoint: Endpoint, settings: ConnectionSettings, probe: Deadline) -> bool:
    try:
        open_without_login(endpoint, settings.client_id, None, probe).close()
    except (ConnectionLost, UnreachableError):
        return False
    return True


def _tls_rejection(
    endpoint: Endpoint, context: ssl.SSLContext, probe: Deadline
) -> AuthError | None:
    """Shake hands and listen: had we sent something, a reset may have overtaken the reason."""
    try:
        with wrap_tls(open_socket(endpoint, probe), context, endpoint, probe) as stream:
            stream.settimeout(probe.remaining_s())
            stream.recv(1)
    except ssl.SSLError as failure:
        found = tls_error(endpoint, failure)
        return found if isinstance(found, AuthError) else None
    except (OSError, ConnectionLost, UnreachableError, AuthError):
        return None
    return None
