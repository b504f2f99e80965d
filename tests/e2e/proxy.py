"""A stand-in address for a broker: counts requests, and lets a test act between two of them."""

import socket
import struct
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress

API_VERSIONS = 18
DESCRIBE_ACLS, CREATE_ACLS, DELETE_ACLS, DESCRIBE_CONFIGS = 29, 30, 31, 32
CREATE_TOPICS, DELETE_TOPICS, DESCRIBE_TOPIC_PARTITIONS = 19, 20, 75
"""API keys, as Kafka's protocol numbers them."""


class Cut(Exception):  # noqa: N818 - no error: what a hook raises to break a connection
    """Ends the connection that a request came on, instead of passing the request on."""


class Proxy:
    """Passes plaintext requests on to a broker, in the order in which they come.

    `seen` holds their API keys. A hook in `before` is called with no lock held before each request
    of its key is passed on; it may wait, or raise Cut. While `is_down` nobody is let in.
    """

    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener
        self.port: int = listener.getsockname()[1]
        self.upstream = 0
        self.seen: list[int] = []
        self.before: dict[int, Callable[[], None]] = {}
        self.is_down = False

    @property
    def servers(self) -> str:
        """What to give as bootstrap servers."""
        return f"127.0.0.1:{self.port}"

    @property
    def counts(self) -> Counter[int]:
        """How many requests of each API key came."""
        return Counter(self.seen)

    def reset(self) -> None:
        """Forget what a test did."""
        self.seen.clear()
        self.before.clear()
        self.is_down = False

    def serve(self) -> None:
        """Take connections until the listener is closed."""
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                if self.is_down:
                    client.close()
                else:
                    threading.Thread(target=self._carry, args=(client,), daemon=True).start()

    def _carry(self, client: socket.socket) -> None:
        with closing(client), suppress(OSError, Cut):
            with socket.create_connection(("127.0.0.1", self.upstream)) as broker:
                threading.Thread(target=_copy, args=(broker, client), daemon=True).start()
                with suppress(Cut):
                    for frame in _frames(client):
                        self._take(struct.unpack_from(">h", frame, 4)[0])
                        broker.sendall(frame)
                _hang_up(broker)
            _hang_up(client)

    def _take(self, key: int) -> None:
        self.seen.append(key)
        if hook := self.before.get(key):
            hook()
        if self.is_down:
            raise Cut


def _frames(client: socket.socket) -> Iterator[bytes]:
    """Read requests as they stand on the wire: a length of four bytes, and then so many."""
    with client.makefile("rb") as stream:
        while len(head := stream.read(4)) == 4:
            yield head + stream.read(struct.unpack(">i", head)[0])


def _copy(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while part := source.recv(65536):
            target.sendall(part)
        _hang_up(target)


def _hang_up(end: socket.socket) -> None:
    with suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)


@contextmanager
def proxied() -> Iterator[Proxy]:
    """Listen on a free port; `upstream` is to be set before the first client comes."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        proxy = Proxy(listener)
        server = threading.Thread(target=proxy.serve, daemon=True)
        server.start()
        yield proxy
        _hang_up(listener)
        server.join()
