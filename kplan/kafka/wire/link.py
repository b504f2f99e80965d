"""One stream to a node: dialling, and whole frames in and out."""

import selectors
import socket
import ssl
import struct
import threading
import time
from dataclasses import dataclass
from typing import ClassVar

from kplan.cluster.errors import CLIENT_DISCONNECTED, CLIENT_TIMED_OUT
from kplan.kafka.settings import Endpoint
from kplan.model.errors import Unreachable

MAX_FRAME_BYTES = 100_000_000
"""The largest frame taken, which is what Kafka's own clients and brokers take by default."""


class Broken(Exception):  # noqa: N818 - a state of the stream
    """A request has no answer, and may have been carried out; the stream is of no more use."""

    error: ClassVar[str] = CLIENT_DISCONNECTED


class TimedOut(Broken):
    """No answer came in time."""

    error = CLIENT_TIMED_OUT


class TlsFailed(Broken):
    """TLS broke off; the cause is an `ssl.SSLError`."""


class NotKafka(Broken):
    """What came is no frame of Kafka's protocol; `seen` is how it begins."""

    def __init__(self, seen: bytes) -> None:
        super().__init__("it does not speak Kafka's protocol")
        self.seen = seen


@dataclass(frozen=True, slots=True)
class Deadline:
    """A moment on the monotonic clock, in seconds."""

    at_s: float

    @classmethod
    def after(cls, span_s: float) -> "Deadline":
        """Set a deadline from now on."""
        return cls(time.monotonic() + span_s)

    def within(self, span_s: float) -> "Deadline":
        """Set a nearer deadline; never one beyond this."""
        return Deadline(min(self.at_s, time.monotonic() + span_s))

    @property
    def is_ahead(self) -> bool:
        """Whether there is time left."""
        return time.monotonic() < self.at_s

    def left_s(self) -> float:
        """Tell the time left.

        Raises:
            TimedOut: there is none.

        """
        left = self.at_s - time.monotonic()
        if left <= 0:
            raise TimedOut("no answer came in time")
        return left


def dial(endpoint: Endpoint, deadline: Deadline) -> socket.socket:
    """Connect to the first address of the host that accepts.

    Raises:
        Unreachable: none did, with the reason of the last.

    """
    addresses = _addresses(endpoint, deadline)
    refused = f"{endpoint} has no address."
    for number, (family, address) in enumerate(addresses):
        stream = socket.socket(family, socket.SOCK_STREAM)
        try:
            stream.settimeout(deadline.left_s() / (len(addresses) - number))
            stream.connect(address)
            stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except (OSError, TimedOut) as failure:
            stream.close()
            refused = _refused(endpoint, failure)
        except BaseException:
            stream.close()
            raise
        else:
            return stream
    raise Unreachable(refused, hint="Check host and port, and that the broker runs.")


def _refused(endpoint: Endpoint, failure: OSError | TimedOut) -> str:
    if isinstance(failure, ConnectionRefusedError):
        return f"{endpoint} refused the connection: nothing listens there."
    if isinstance(failure, TimeoutError | TimedOut):
        return f"{endpoint} did not accept a connection in time."
    return f"{endpoint} cannot be reached: {failure.strerror or failure}."


_Addresses = list[tuple[socket.AddressFamily, tuple[str, int] | tuple[str, int, int, int]]]


def _addresses(endpoint: Endpoint, deadline: Deadline) -> _Addresses:
    """Resolve a name; in a thread, as the system's resolver has no time limit that we could set."""
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
    resolver.join(deadline.left_s())
    if failed or not found:
        why = "is not known" if failed else "could not be looked up in time"
        raise Unreachable(
            f'The host name "{endpoint.host}" {why}.', hint="Check the spelling, and DNS."
        )
    return found


class Link:
    """A stream of frames: four bytes of length, then that many bytes (Kafka's protocol guide)."""

    def __init__(self, stream: socket.socket) -> None:
        self._stream = stream

    def exchange(self, frame: bytes | bytearray, deadline: Deadline) -> memoryview:
        """Send one frame and wait for one.

        Raises:
            Broken: no whole frame came back; ours may have arrived.

        """
        try:
            self._stream.settimeout(deadline.left_s())
            self._stream.sendall(frame)
            return self._received(deadline)
        except TimeoutError as failure:
            raise TimedOut("no answer came in time") from failure
        except ssl.SSLError as failure:
            raise TlsFailed(f"TLS failed: {failure.reason or failure}") from failure
        except OSError as failure:
            raise Broken(f"the connection broke: {failure.strerror or failure}") from failure

    def _received(self, deadline: Deadline) -> memoryview:
        head = self._filled(4, deadline)
        (size,) = struct.unpack(">i", head)
        if not 0 < size <= MAX_FRAME_BYTES:
            raise NotKafka(bytes(head))
        return self._filled(size, deadline)

    def _filled(self, size: int, deadline: Deadline) -> memoryview:
        view = memoryview(bytearray(size))
        at = 0
        while at < size:
            self._stream.settimeout(deadline.left_s())
            count = self._stream.recv_into(view[at:])
            if count == 0:
                raise Broken("the other side closed the connection")
            at += count
        return view

    def sized(self, send_bytes: int, receive_bytes: int) -> None:
        """Ask the system for buffers of these sizes; 0 leaves one as it is."""
        for option, size in ((socket.SO_SNDBUF, send_bytes), (socket.SO_RCVBUF, receive_bytes)):
            if size:
                self._stream.setsockopt(socket.SOL_SOCKET, option, size)

    def is_silent(self) -> bool:
        """Whether nothing waits to be read: between two requests anything else means the end."""
        if self._stream.fileno() < 0:
            return False
        with selectors.DefaultSelector() as selector:
            selector.register(self._stream, selectors.EVENT_READ)
            return not selector.select(timeout=0)

    def cut(self) -> None:
        """Wake whoever waits on the stream, from another thread."""
        try:
            self._stream.shutdown(socket.SHUT_RDWR)
        except OSError:
            return  # it is closed already

    def close(self) -> None:
        """Close the stream."""
        self._stream.close()
