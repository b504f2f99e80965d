"""The node for each request, its open connection, and the handling of lost connections."""

import ssl
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TypeVar

from kplan.cluster.errors import CLIENT_INVALID, CLIENT_NOT_SENT, client_refusal
from kplan.kafka.settings.connection import (
    AwsMskIam,
    ClientCredentials,
    ConnectionSettings,
    Endpoint,
)
from kplan.kafka.token import TokenCache
from kplan.kafka.wire import messages
from kplan.kafka.wire.connection import Connection, open_connection
from kplan.kafka.wire.diagnosis import diagnose_identity, diagnose_opening, diagnose_request
from kplan.kafka.wire.messages import Api, Message
from kplan.kafka.wire.transport import (
    ConnectionLost,
    Deadline,
    IdentityError,
    RequestTimeout,
    tls_context,
)
from kplan.model.errors import Refusal, UnreachableError, UnsupportedError


class ConnectionPool:
    """Connections per node. There are as many as threads that ask at the same time.

    A broker closes connections that idle for ten minutes, so one is inspected before it is lent.
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
        """Lend a connection; after an exception it is not used again.

        Raises:
            UnreachableError, AuthError: none could be opened; nothing was sent.

        """
        connection = self._idle_connection(endpoint) or self._connect(endpoint, deadline)
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

    def _connect(self, endpoint: Endpoint, deadline: Deadline) -> Connection:
        try:
            connection = self._open(endpoint, deadline)
        except IdentityError as failure:
            if error := diagnose_identity(failure, self._settings):
                raise error from failure
            raise
        sockets = self._settings.sockets
        connection.set_buffer_sizes(sockets.send_bytes, sockets.receive_bytes)
        with self._lock:
            if not self._is_closed:
                self._leased.add(connection)
                return connection
        connection.close()
        raise UnreachableError("The connections were closed.")

    def _open(self, endpoint: Endpoint, deadline: Deadline) -> Connection:
        within = deadline.within(self._settings.timeouts.connect_s)
        try:
            return open_connection(endpoint, self._settings, self.context, self.tokens, within)
        except ConnectionLost as failure:
            raise diagnose_opening(
                endpoint, self._settings, self.context, failure, deadline
            ) from failure

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
        """Close all connections; waiting readers get no answer."""
        with self._lock:
            self._is_closed = True
            idle = [each for waiting in self._idle.values() for each in waiting]
            self._idle.clear()
            lent = list(self._leased)
        for connection in idle:
            connection.close()
        for connection in lent:
            connection.shut_down()


BROKER_ENDPOINTS, CONTROLLER_ENDPOINTS = 1, 2
"""Kafka's numbers (EndpointType)."""

ELECTION_TIMEOUT_S = 20.0
"""How long the active controller is looked for: an election took 2 s where it was measured."""

RETRY_PAUSE_S = 0.2
"""How long to wait before one looks again."""

_NOT_CONTROLLER = 41
_ITEM_LISTS = ("results", "responses", "entries", "filter_results", "topics")
"""Where answers to changes hold the outcome of each item."""


def find_active_controller(
    node: Connection, deadline: Deadline, *, is_direct: bool
) -> Endpoint | None:
    """Ask where the active controller listens, None where none is known.

    A KRaft broker names any live broker instead, and forwards what it is asked (KIP-590): only a
    controller, or a cluster with ZooKeeper, ever answers that it is not the one.
    """
    kind = CONTROLLER_ENDPOINTS if is_direct else BROKER_ENDPOINTS
    request = messages.DESCRIBE_CLUSTER.request(endpoint_type=kind)
    answer = node.ask(messages.DESCRIBE_CLUSTER, request, deadline)
    said = [each for each in answer.brokers or () if each.broker_id == answer.controller_id]
    return Endpoint(said[0].host, said[0].port) if said else None


def is_not_controller(answer: object) -> bool:
    """Whether nothing was changed because another node is the controller."""
    if isinstance(answer, Mapping):
        refused = [each.code for each in answer.values() if isinstance(each, Refusal)]
        return bool(answer) and refused == [_NOT_CONTROLLER] * len(answer)
    return not isinstance(answer, Refusal) and set(_error_codes(answer)) == {_NOT_CONTROLLER}


def _error_codes(answer: Message) -> Iterator[int]:
    """List the error codes of a response: its own, otherwise those of its items."""
    own = getattr(answer, "error_code", 0)
    if own:
        yield own
        return
    for name in _ITEM_LISTS:
        yield from (getattr(each, "error_code", 0) for each in getattr(answer, name, None) or ())


Answer = TypeVar("Answer")


class Gateway:
    """Asks the cluster: any bootstrap server that answers, the same one as long as it does.

    Staying with one node makes what it has told us consistent: others may lag behind. Where
    controllers are asked directly (KIP-919), that one is the active controller once it is known.
    """

    def __init__(self, settings: ConnectionSettings) -> None:
        self._settings = settings
        self._pool = ConnectionPool(settings)
        self._bootstrap = settings.bootstrap_controllers or settings.bootstrap_servers
        self._preferred: Endpoint | None = None
        self._learned: tuple[Endpoint, ...] = ()

    @property
    def tokens(self) -> TokenCache | None:
        """The tokens that we log in with, None where a login takes none."""
        return self._pool.tokens

    @property
    def principal(self) -> str:
        """How an authorizer sees us; by a token it is known once we have logged in."""
        return self.tokens.principal if self.tokens else self._settings.principal

    @property
    def is_direct(self) -> bool:
        """Whether controllers are asked, not brokers."""
        return self._settings.is_direct

    @property
    def operation_timeout_ms(self) -> int:
        """How long a broker may take over a write, for the field of the request."""
        return max(1, int(self._settings.timeouts.request_s * 1000))

    def read(
        self,
        question: Callable[[Connection, Deadline], Answer],
        *,
        at: Endpoint | None = None,
    ) -> Answer:
        """Ask one node, `at` or any; the next one where it does not answer.

        Who is not the last has half of the time that is left: one silent node does not take it all.

        Raises:
            UnreachableError: no node answered.
            AuthError: a node refused us.

        """
        deadline = Deadline.after(self._settings.timeouts.read_s)
        failures: list[UnreachableError] = []
        endpoints = [at] if at else self._candidates()
        for number, endpoint in enumerate(endpoints, start=1):
            part = 1 if number == len(endpoints) else 2
            try:
                share = Deadline.after(deadline.remaining_s() / part)
                answer = self._ask_node(question, endpoint, share)
            except UnreachableError as failure:
                failures.append(failure)
            except RequestTimeout:
                break  # the others have used up all of the time
            else:
                if at is None:
                    self._preferred = endpoint
                return answer
        raise _unreachable_error(failures)

    def ask(self, api: Api, request: Message, *, at: Endpoint | None = None) -> Message:
        """Read with one request; raises as `read`."""
        return self.read(lambda node, deadline: node.ask(api, request, deadline), at=at)

    def ask_controller(self, api: Api, request: Message) -> Message:
        """Read what only the controller knows: brokers forward no reads where ZooKeeper elects it.

        The node that is said to be the controller is turned to as in `write`; raises as `read`.
        """
        answer = self.ask(api, request)
        until = Deadline.after(min(ELECTION_TIMEOUT_S, self._settings.timeouts.read_s))
        while is_not_controller(answer) and until.has_time_left:
            self._switch_to_controller()
            answer = self.ask(api, request)
            if is_not_controller(answer):
                time.sleep(RETRY_PAUSE_S)
        return answer

    def write(
        self,
        question: Callable[[Connection, Deadline], Answer],
        *,
        at: Endpoint | None = None,
    ) -> Answer | Refusal:
        """Ask one node, `at` or any, for a change, once: brokers forward it (KIP-590).

        It is asked a second time only where the answer was that another node is the controller,
        which has changed nothing: that node is then asked, for 20 s at most. Without an answer the
        refusal says that the outcome is in doubt, also where nothing can have been sent.

        Raises:
            AuthError: a node refused us; nothing was sent.
            UnsupportedError: the node does not speak the API; nothing was sent.

        """
        answer = self._write_once(question, at)
        until = Deadline.after(min(ELECTION_TIMEOUT_S, self._settings.timeouts.request_s))
        while at is None and is_not_controller(answer) and until.has_time_left:
            time.sleep(RETRY_PAUSE_S)
            self._switch_to_controller()
            answer = self._write_once(question, None)
        return answer

    def _switch_to_controller(self) -> None:
        """Turn to the node that is said to be the active controller."""
        try:
            said = self.controller()
        except (UnreachableError, UnsupportedError):
            return
        self._preferred = said or self._preferred

    def controller(self) -> Endpoint | None:
        """Ask where the active controller listens, None where none is known; raises as `read`."""
        return self.read(
            lambda node, left: find_active_controller(node, left, is_direct=self.is_direct)
        )

    def _write_once(
        self, question: Callable[[Connection, Deadline], Answer], at: Endpoint | None
    ) -> Answer | Refusal:
        timeouts = self._settings.timeouts
        deadline = Deadline.after(timeouts.request_s + timeouts.grace_s)
        failures: list[UnreachableError] = []
        for endpoint in [at] if at else self._candidates():
            try:
                with self._pool.lease(endpoint, deadline) as node:
                    answer = question(node, deadline)
            except UnreachableError as failure:
                failures.append(failure)
            except ConnectionLost as failure:
                return client_refusal(failure.error, f"{endpoint}: {failure}.")
            except messages.UnencodableRequest as failure:
                return client_refusal(CLIENT_INVALID, f"{failure}.")
            else:
                if at is None:
                    self._preferred = endpoint
                return answer
        return client_refusal(
            CLIENT_NOT_SENT, f"Nothing was sent. {_unreachable_error(failures).detail}"
        )

    def send(self, api: Api, request: Message, *, at: Endpoint | None = None) -> Message | Refusal:
        """Write with one request; raises as `write`."""
        return self.write(lambda node, deadline: node.ask(api, request, deadline), at=at)

    def add_endpoints(self, endpoints: Iterable[Endpoint], home: Endpoint | None = None) -> None:
        """Remember where nodes listen, for when no bootstrap server answers any more.

        With `home`, ask that one first.
        """
        self._learned = tuple(endpoints)
        self._preferred = home or self._preferred

    def close(self) -> None:
        """Close all connections; waiting readers get no answer."""
        self._pool.close()

    def _ask_node(
        self,
        question: Callable[[Connection, Deadline], Answer],
        endpoint: Endpoint,
        deadline: Deadline,
    ) -> Answer:
        """Ask one node; once more over a new connection where the old one broke."""
        for is_last in (False, True):
            try:
                with self._pool.lease(endpoint, deadline) as node:
                    return question(node, deadline)
            except RequestTimeout as failure:
                raise UnreachableError(f"{endpoint}: {failure}.", hint=TIMEOUT_HINT) from failure
            except ConnectionLost as failure:
                if is_last:
                    why = diagnose_request(endpoint, self._settings, self._pool.context)
                    raise why or UnreachableError(f"{endpoint}: {failure}.") from failure
        raise AssertionError  # the loop returns or raises

    def _candidates(self) -> tuple[Endpoint, ...]:
        home = (self._preferred,) if self._preferred else ()
        return tuple(dict.fromkeys((*home, *self._bootstrap, *self._learned)))


TIMEOUT_HINT = (
    'To wait longer, set timeout in provider "kafka", or request.timeout.ms in the properties file.'
)


def _unreachable_error(failures: list[UnreachableError]) -> UnreachableError:
    """Put the failures of all nodes into one."""
    details = dict.fromkeys(each.detail for each in failures)
    hints = dict.fromkeys(each.hint for each in failures if each.hint)
    return UnreachableError(" ".join(details), hint=" ".join(hints))
