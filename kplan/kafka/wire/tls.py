"""TLS: the context from settings, the handshake, and its failures in plain words."""

import socket
import ssl
import tempfile
from pathlib import Path

from kplan.kafka.settings import Endpoint, Tls
from kplan.kafka.wire.link import Broken, Deadline, TimedOut
from kplan.model.errors import AuthError


def tls_context(tls: Tls) -> ssl.SSLContext:
    """Make the context of all connections.

    Raises:
        AuthError: certificate, key or authority cannot be used.

    """
    context = _trusting(tls)
    if not tls.is_host_checked or not tls.is_verified:
        context.check_hostname = False
    if not tls.is_verified:
        context.verify_mode = ssl.CERT_NONE
    if tls.certificate:
        _identify(context, tls)
    return context


def _trusting(tls: Tls) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cadata=tls.ca or None)
    except (ssl.SSLError, ValueError) as failure:
        raise AuthError(
            "The certificate authority is not a certificate in PEM form.",
            hint='It begins with "-----BEGIN CERTIFICATE-----".',
        ) from failure


def _identify(context: ssl.SSLContext, tls: Tls) -> None:
    """Load our certificate and key, which the ssl module takes from files only."""
    with tempfile.TemporaryDirectory(prefix="kplan-") as folder:  # only ours to enter
        chain = Path(folder, "chain.pem")
        chain.touch(mode=0o600)
        chain.write_text(f"{tls.certificate.strip()}\n{tls.key.strip()}\n", encoding="ascii")
        try:
            # Without a password OpenSSL would ask at the terminal.
            context.load_cert_chain(chain, password=tls.key_password)
        except (ssl.SSLError, OSError, ValueError) as failure:
            raise AuthError(
                _identity_fault(failure),
                hint="Give certificate and private key in PEM form, and the passphrase of the key.",
            ) from failure


def _identity_fault(failure: Exception) -> str:
    reason = getattr(failure, "reason", None) or ""
    if reason == "KEY_VALUES_MISMATCH":
        return "The private key does not belong to the client certificate."
    return (
        "The client certificate with its private key cannot be used: it is not PEM, "
        "or the passphrase of the key is wrong or missing."
    )


def secured(
    stream: socket.socket, context: ssl.SSLContext, endpoint: Endpoint, deadline: Deadline
) -> ssl.SSLSocket:
    """Shake hands over a connected stream, which is closed on failure.

    Raises:
        AuthError: one side does not trust the other.
        Broken: the other side went away, or does not speak TLS.

    """
    try:
        stream.settimeout(deadline.left_s())
        return context.wrap_socket(stream, server_hostname=endpoint.host)
    except TimeoutError as failure:
        stream.close()
        raise TimedOut("no answer to the TLS handshake came in time") from failure
    except ssl.SSLError as failure:
        stream.close()
        raise tls_failure(endpoint, failure) from failure
    except (OSError, ValueError) as failure:
        stream.close()
        raise Broken("it closed the connection during the TLS handshake") from failure
    except BaseException:
        stream.close()
        raise


def tls_failure(endpoint: Endpoint, failure: BaseException | None) -> AuthError | Broken:
    """Tell a failure of a handshake in plain words; Broken where it does not look like TLS."""
    if isinstance(failure, ssl.SSLCertVerificationError):
        return _distrust(endpoint, failure)
    reason = (failure.reason or "") if isinstance(failure, ssl.SSLError) else ""
    if "ALERT" in reason and "PROTOCOL_VERSION" not in reason:
        return _rejection(endpoint, reason)
    return Broken(f"the TLS handshake failed ({reason or 'connection closed'})")


_NAME_MISMATCH = {62, 64}  # X509_V_ERR_HOSTNAME_MISMATCH, X509_V_ERR_IP_ADDRESS_MISMATCH


def _distrust(endpoint: Endpoint, failure: ssl.SSLCertVerificationError) -> AuthError:
    if failure.verify_code in _NAME_MISMATCH:
        return AuthError(
            f"The certificate of {endpoint} is for another name (CERTIFICATE_VERIFY_FAILED: "
            f"{failure.verify_message}).",
            hint="Use the host name in the certificate, or turn the check off with "
            'config = { "ssl.endpoint.identification.algorithm" = "none" }.',
        )
    return AuthError(
        f"The certificate of {endpoint} is not trusted (CERTIFICATE_VERIFY_FAILED: "
        f"{failure.verify_message}).",
        hint="Give the certificate authority that signed it as ca_cert.",
    )


def _rejection(endpoint: Endpoint, reason: str) -> AuthError:
    words = reason.partition("ALERT_")[2].replace("_", " ").lower()
    return AuthError(
        f"{endpoint} ended the TLS handshake: {words}.",
        hint="Give a client certificate that the brokers trust, as client_cert with client_key.",
    )
