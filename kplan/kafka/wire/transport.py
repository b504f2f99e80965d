"""TCP and TLS: open a socket, exchange whole frames, and explain what failed."""

import selectors
import socket
import ssl
import struct
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

from kplan.cluster.errors import CLIENT_DISCONNECTED, CLIENT_TIMED_OUT
from kplan.kafka.settings.certificate import is_name_mismatch, verification_hint
from kplan.kafka.settings.connection import Endpoint, Tls
from kplan.model.dataclass import dataclass
from kplan.model.errors import AuthError, UnreachableError

MAX_FRAME_BYTES = 100_000_000
"""The largest frame taken, which is what Kafka's own clients and brokers take by default."""


class ConnectionLost(Exception):  # noqa: N818 - a state of the stream
    """A request has no answer, and may have been executed; the stream is of no more use."""

    error: ClassVar[str] = CLIENT_DISCONNECTED


class IdentityError(AuthError):
    """The other side ended the TLS handshake: our certificate is missing, or it refuses it."""


class RequestTimeout(ConnectionLost):
    """No answer came in time."""

    error = CLIENT_TIMED_OUT


class TlsFailure(ConnectionLost):
    """TLS broke off; the cause is an `ssl.SSLError`."""


class NotKafkaProtocol(ConnectionLost):
    """What came is no frame of Kafka's protocol; `seen` is how it begins."""

    def __init__(self, seen: bytes) -> None:
        super().__init__("it does not speak Kafka's protocol")
        self.seen = seen


@dataclass(frozen=True, slots=True)
class Deadline:
    """A moment on the monotonic clock, in seconds, and how long it was ahead at first."""

    at_s: float
    span_s: float

    @classmethod
    def after(cls, span_s: float) -> "Deadline":
        """Set a deadline from now on."""
        return cls(time.monotonic() + span_s, span_s)

    def within(self, span_s: float) -> "Deadline":
        """Set a nearer deadline; never one beyond this."""
        nearer = Deadline.after(span_s)
        return nearer if nearer.at_s < self.at_s else self

    @property
    def has_time_left(self) -> bool:
        """Whether there is time left."""
        return time.monotonic() < self.at_s

    def remaining_s(self) -> float:
        """Return the time left.

        Raises:
            RequestTimeout: there is none.

        """
        left = self.at_s - time.monotonic()
        if left <= 0:
            raise RequestTimeout(self.timeout_text())
        return left

    def timeout_text(self) -> str:
        """Say that time is over, and how much there was."""
        return f"no answer came in time ({round(self.span_s, 1):g} s)"


def open_socket(endpoint: Endpoint, deadline: Deadline) -> socket.socket:
    """Connect to the first address of the host that accepts.

    Raises:
        UnreachableError: none did, with the reason of the last.

    """
    addresses = _resolve_host(endpoint, deadline)
    refused = f"{endpoint} has no address."
    for number, (family, address) in enumerate(addresses):
        stream = socket.socket(family, socket.SOCK_STREAM)
        try:
            stream.settimeout(deadline.remaining_s() / (len(addresses) - number))
            stream.connect(address)
            stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except (OSError, RequestTimeout) as failure:
            stream.close()
            refused = _connect_failure(endpoint, failure)
        except BaseException:
            stream.close()
            raise
        else:
            return stream
    raise UnreachableError(refused, hint="Check host and port, and that the node runs.")


def _connect_failure(endpoint: Endpoint, failure: OSError | RequestTimeout) -> str:
    if isinstance(failure, ConnectionRefusedError):
        return f"{endpoint} refused the connection: nothing listens there."
    if isinstance(failure, TimeoutError | RequestTimeout):
        return f"{endpoint} did not accept a connection in time."
    return f"{endpoint} cannot be reached: {failure.strerror or failure}."


_Addresses = list[tuple[socket.AddressFamily, tuple[str, int] | tuple[str, int, int, int]]]


def _resolve_host(endpoint: Endpoint, deadline: Deadline) -> _Addresses:
    """Resolve a name in a thread, as the system's resolver has no adjustable timeout."""
    found: _Addresses = []
    failed: list[OSError] = []

    def resolve() -> None:
        try:
            rows = socket.getaddrinfo(endpoint.host, endpoint.port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as failure:
            failed.append(OSError(str(failure)))
        else:
            found.extend((row[0], row[4]) for row in rows)  # type: ignore[misc] # TCP over IP only

    resolver = threading.Thread(target=resolve, name="resolve", daemon=True)
    resolver.start()
    resolver.join(deadline.remaining_s())
    if failed or not found:
        why = "is not known" if failed else "could not be looked up in time"
        raise UnreachableError(
            f'The host name "{endpoint.host}" {why}.', hint="Check the spelling, and DNS."
        )
    return found


NOTICE_S = 10.0
"""How long an answer may take before somebody is told what is waited for."""


def _never_notify() -> None:
    """Notify nothing."""


class FrameStream:
    """A stream of frames: four bytes of length, then that many bytes (Kafka's protocol guide)."""

    def __init__(self, stream: socket.socket) -> None:
        self._stream = stream

    def exchange(
        self,
        frame: bytes | bytearray,
        deadline: Deadline,
        notify: Callable[[], None] = _never_notify,
    ) -> memoryview:
        """Send one frame and wait for one; `notify` is called each ten seconds without a byte.

        Raises:
            ConnectionLost: no whole frame came back; ours may have arrived.

        """
        try:
            self._stream.settimeout(deadline.remaining_s())
            self._stream.sendall(frame)
            return self._read_frame(deadline, notify)
        except TimeoutError as failure:
            raise RequestTimeout(deadline.timeout_text()) from failure
        except ssl.SSLError as failure:
            raise TlsFailure(f"TLS failed: {failure.reason or failure}") from failure
        except OSError as failure:
            raise ConnectionLost(
                f"the connection broke: {failure.strerror or failure}"
            ) from failure

    def _read_frame(self, deadline: Deadline, notify: Callable[[], None]) -> memoryview:
        head = self._read_bytes(4, deadline, notify)
        (size,) = struct.unpack(">i", head)
        if not 0 < size <= MAX_FRAME_BYTES:
            raise NotKafkaProtocol(bytes(head))
        return self._read_bytes(size, deadline, notify)

    def _read_bytes(self, size: int, deadline: Deadline, notify: Callable[[], None]) -> memoryview:
        view = memoryview(bytearray(size))
        at = 0
        while at < size:
            self._stream.settimeout(min(NOTICE_S, deadline.remaining_s()))
            try:
                count = self._stream.recv_into(view[at:])
            except TimeoutError:
                deadline.remaining_s()  # raises where time is over
                notify()
                continue
            if count == 0:
                raise ConnectionLost("the other side closed the connection")
            at += count
        return view

    def set_buffer_sizes(self, send_bytes: int, receive_bytes: int) -> None:
        """Ask the system for buffers of these sizes; 0 leaves one as it is."""
        for option, size in ((socket.SO_SNDBUF, send_bytes), (socket.SO_RCVBUF, receive_bytes)):
            if size:
                self._stream.setsockopt(socket.SOL_SOCKET, option, size)

    def is_idle(self) -> bool:
        """Whether the stream has no unread data: between requests, data means a closed peer."""
        if self._stream.fileno() < 0:
            return False
        with selectors.DefaultSelector() as selector:
            selector.register(self._stream, selectors.EVENT_READ)
            return not selector.select(timeout=0)

    def shut_down(self) -> None:
        """Wake a reader that waits on the stream, from another thread."""
        try:
            self._stream.shutdown(socket.SHUT_RDWR)
        except OSError:
            return  # it is closed already

    def close(self) -> None:
        """Close the stream."""
        self._stream.close()


def tls_context(tls: Tls) -> ssl.SSLContext:
    """Make the context of all connections.

    Raises:
        AuthError: certificate, key or authority cannot be used.

    """
    context = _default_context(tls)
    if not tls.is_host_checked or not tls.is_verified:
        context.check_hostname = False
    if not tls.is_verified:
        context.verify_mode = ssl.CERT_NONE
    if tls.certificate:
        _load_identity(context, tls)
    return context


def _default_context(tls: Tls) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cadata=tls.ca or None)
    except (ssl.SSLError, ValueError) as failure:
        raise AuthError(
            "The certificate authority is not a certificate in PEM form.",
            hint='It begins with "-----BEGIN CERTIFICATE-----".',
        ) from failure


def _load_identity(context: ssl.SSLContext, tls: Tls) -> None:
    """Load our certificate and key, which the ssl module takes from files only."""
    with tempfile.TemporaryDirectory(prefix="kplan-") as folder:  # only ours to enter
        chain = Path(folder, "chain.pem")
        chain.touch(mode=0o600)
        chain.write_text(f"{tls.certificate.strip()}\n{tls.key.strip()}\n", encoding="ascii")
        try:
            # Without a password OpenSSL would ask at the terminal.
            context.load_cert_chain(chain, password=tls.key_password)
        except (ssl.SSLError, OSError, ValueError) as failure:
            raise _identity_fault(failure) from failure


def _identity_fault(failure: Exception) -> AuthError:
    reason = getattr(failure, "reason", None) or ""
    if reason == "KEY_VALUES_MISMATCH":
        return AuthError(
            "The private key does not belong to the client certificate.",
            hint="Give the key that the certificate was issued for; the certificate goes before "
            "those of its authorities.",
        )
    return AuthError(
        "The client certificate with its private key cannot be used: it is not PEM, "
        "or the passphrase of the key is wrong or missing.",
        hint="Give certificate and private key in PEM form, and the passphrase of the key.",
    )


def wrap_tls(
    stream: socket.socket, context: ssl.SSLContext, endpoint: Endpoint, deadline: Deadline
) -> ssl.SSLSocket:
    """Shake hands over a connected stream, which is closed on failure.

    Raises:
        AuthError: one side does not trust the other.
        ConnectionLost: the other side went away, or does not speak TLS.

    """
    try:
        stream.settimeout(deadline.remaining_s())
        return context.wrap_socket(stream, server_hostname=endpoint.host)
    except TimeoutError as failure:
        stream.close()
        raise RequestTimeout(
            f"no answer to the TLS handshake came in time ({round(deadline.span_s, 1):g} s)"
        ) from failure
    except ssl.SSLError as failure:
        stream.close()
        raise tls_error(endpoint, failure) from failure
    except (OSError, ValueError) as failure:
        stream.close()
        raise ConnectionLost("it closed the connection during the TLS handshake") from failure
    except BaseException:
        stream.close()
        raise


def tls_error(endpoint: Endpoint, failure: BaseException | None) -> AuthError | ConnectionLost:
    """Say in plain words why a handshake failed; ConnectionLost if it does not look like TLS."""
    if isinstance(failure, ssl.SSLCertVerificationError):
        return _untrusted_error(endpoint, failure)
    reason = (failure.reason or "") if isinstance(failure, ssl.SSLError) else ""
    if "ALERT" in reason and "PROTOCOL_VERSION" not in reason:
        return _alert_error(endpoint, reason)
    if "BAD_RECORD_MAC" in reason:  # Kafka 2.8 encrypts its alert in TLS 1.3 with another key
        return AuthError(
            f"{endpoint} ended TLS with a record that cannot be read ({reason}).",
            hint="Older brokers refuse a missing client certificate so: give client_cert with "
            "client_key.",
        )
    return ConnectionLost(f"the TLS handshake failed ({reason or 'connection closed'})")


def _untrusted_error(endpoint: Endpoint, failure: ssl.SSLCertVerificationError) -> AuthError:
    reason = failure.verify_message.rstrip(".")
    if is_name_mismatch(failure):
        return AuthError(
            f"The certificate of {endpoint} is for another name (CERTIFICATE_VERIFY_FAILED: "
            f"{reason}).",
            hint="Use the host name in the certificate, or turn the check off with "
            'config = { "ssl.endpoint.identification.algorithm" = "none" }.',
        )
    return AuthError(
        f"The certificate of {endpoint} is not trusted (CERTIFICATE_VERIFY_FAILED: {reason}).",
        hint=verification_hint(
            failure, "Give the certificate authority that signed it as ca_cert."
        ),
    )


def _alert_error(endpoint: Endpoint, reason: str) -> IdentityError:
    words = reason.partition("ALERT_")[2].replace("_", " ").lower()
    return IdentityError(
        f"{endpoint} ended the TLS handshake: {words}.",
        hint="Give a client certificate that the brokers trust, as client_cert with client_key.",
    )
