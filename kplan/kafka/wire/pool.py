"""Connections kept open and lent to one thread at a time."""

import ssl
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager

from kplan.kafka.auth import AwsMskIam, ClientCredentials
from kplan.kafka.settings.connection import ConnectionSettings, Endpoint
from kplan.kafka.token import TokenCache
from kplan.kafka.wire.connection import Connection, open_connection
from kplan.kafka.wire.diagnosis import diagnose_opening
from kplan.kafka.wire.transport import ConnectionLost, Deadline, tls_context
from kplan.model.errors import UnreachableError


class ConnectionPool:
    """Connections per node. There are as many as threads that ask at the same time.

    A broker closes connections that idle for ten minutes, so one is looked at before it is lent.
    """

    def __init__(self, settings: ConnectionSettings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._idle: dict[Endpoint, list[Connection]] = defaultdict(list)
        self._leased: set[Connection] = set()
        self._is_closed = False
        self.context: ssl.SSLContext | None = tls_context(settings.tls) if settings.tls else None
        self.tokens: TokenCache | None = None
        if isinstance(settings.sasl, ClientCredentials | AwsMskIam):
            self.tokens = TokenCache(settings.sasl)

    @contextmanager
    def lease(self, endpoint: Endpoint, deadline: Deadline) -> Iterator[Connection]:
        """Lend a connection; one whose use ends in an exception is not used again.

        Raises:
            Unreachable, AuthError: none could be opened; nothing was sent.

        """
        connection = self._idle_connection(endpoint) or self._open(endpoint, deadline)
        try:
            yield connection
        except BaseException:
            self._drop(connection)
            raise
        self._give_back(connection)

    def _idle_connection(self, endpoint: Endpoint) -> Connection | None:
        while True:
            with self._lock:
                if not self._idle[endpoint]:
                    return None
                connection = self._idle[endpoint].pop()
                self._leased.add(connection)
            if connection.is_usable:
                return connection
            self._drop(connection)

    def _open(self, endpoint: Endpoint, deadline: Deadline) -> Connection:
        within = deadline.within(self._settings.timeouts.connect_s)
        try:
            connection = open_connection(
                endpoint, self._settings, self.context, self.tokens, within
            )
        except ConnectionLost as failure:
            raise diagnose_opening(
                endpoint, self._settings, self.context, failure, deadline
            ) from failure
        sockets = self._settings.sockets
        connection.set_buffer_sizes(sockets.send_bytes, sockets.receive_bytes)
        with self._lock:
            if not self._is_closed:
                self._leased.add(connection)
                return connection
        connection.close()
        raise UnreachableError("The connections were closed.")

    def _give_back(self, connection: Connection) -> None:
        connection.idle_until_s = time.monotonic() + self._settings.sockets.idle_s
        with self._lock:
            self._leased.discard(connection)
            if not self._is_closed:
                self._idle[connection.endpoint].append(connection)
                return
        connection.close()

    def _drop(self, connection: Connection) -> None:
        with self._lock:
            self._leased.discard(connection)
        connection.close()

    def close(self) -> None:
        """Close all connections; whoever waits for an answer gets none."""
        with self._lock:
            self._is_closed = True
            idle = [each for waiting in self._idle.values() for each in waiting]
            self._idle.clear()
            lent = list(self._leased)
        for connection in idle:
            connection.close()
        for connection in lent:
            connection.shut_down()
