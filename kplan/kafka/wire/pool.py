"""Connections kept open and lent to one thread at a time."""

import ssl
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager

from kplan.kafka.auth import AwsMskIam, ClientCredentials
from kplan.kafka.settings import ConnectionSettings, Endpoint
from kplan.kafka.tokens import Tokens
from kplan.kafka.wire.connection import Connection
from kplan.kafka.wire.diagnosis import refused_opening
from kplan.kafka.wire.link import Broken, Deadline
from kplan.kafka.wire.login import opened
from kplan.kafka.wire.tls import tls_context
from kplan.model.errors import Unreachable


class Pool:
    """Connections per node. There are as many as threads that ask at the same time.

    A broker closes connections that idle for ten minutes, so one is looked at before it is lent.
    """

    def __init__(self, settings: ConnectionSettings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._idle: dict[Endpoint, list[Connection]] = defaultdict(list)
        self._lent: set[Connection] = set()
        self._is_closed = False
        self.context: ssl.SSLContext | None = tls_context(settings.tls) if settings.tls else None
        self.tokens: Tokens | None = None
        if isinstance(settings.sasl, ClientCredentials | AwsMskIam):
            self.tokens = Tokens(settings.sasl)

    @contextmanager
    def lent(self, endpoint: Endpoint, deadline: Deadline) -> Iterator[Connection]:
        """Lend a connection; one whose use ends in an exception is not used again.

        Raises:
            Unreachable, AuthError: none could be opened; nothing was sent.

        """
        connection = self._waiting(endpoint) or self._opened(endpoint, deadline)
        try:
            yield connection
        except BaseException:
            self._drop(connection)
            raise
        self._take_back(connection)

    def _waiting(self, endpoint: Endpoint) -> Connection | None:
        while True:
            with self._lock:
                if not self._idle[endpoint]:
                    return None
                connection = self._idle[endpoint].pop()
                self._lent.add(connection)
            if connection.is_usable:
                return connection
            self._drop(connection)

    def _opened(self, endpoint: Endpoint, deadline: Deadline) -> Connection:
        within = deadline.within(self._settings.timeouts.connect_s)
        try:
            connection = opened(endpoint, self._settings, self.context, self.tokens, within)
        except Broken as failure:
            raise refused_opening(
                endpoint, self._settings, self.context, failure, deadline
            ) from failure
        sockets = self._settings.sockets
        connection.sized(sockets.send_bytes, sockets.receive_bytes)
        with self._lock:
            if not self._is_closed:
                self._lent.add(connection)
                return connection
        connection.close()
        raise Unreachable("The connections were closed.")

    def _take_back(self, connection: Connection) -> None:
        connection.idles_until_s = time.monotonic() + self._settings.sockets.idle_s
        with self._lock:
            self._lent.discard(connection)
            if not self._is_closed:
                self._idle[connection.endpoint].append(connection)
                return
        connection.close()

    def _drop(self, connection: Connection) -> None:
        with self._lock:
            self._lent.discard(connection)
        connection.close()

    def close(self) -> None:
        """Close all connections; whoever waits for an answer gets none."""
        with self._lock:
            self._is_closed = True
            idle = [each for waiting in self._idle.values() for each in waiting]
            self._idle.clear()
            lent = list(self._lent)
        for connection in idle:
            connection.close()
        for connection in lent:
            connection.cut()
