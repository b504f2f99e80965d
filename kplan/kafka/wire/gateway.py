"""Whom to ask, and what a broken connection means for reads and for writes."""

import time
from collections.abc import Callable, Iterable
from typing import TypeVar

from kplan.cluster.errors import CLIENT_DISCONNECTED, CLIENT_INVALID, client_refusal
from kplan.kafka.settings import ConnectionSettings, Endpoint
from kplan.kafka.tokens import Tokens
from kplan.kafka.wire import messages
from kplan.kafka.wire.active import ELECTION_S, PAUSE_S, active, is_not_controller
from kplan.kafka.wire.api import Api, Message
from kplan.kafka.wire.connection import Connection
from kplan.kafka.wire.diagnosis import refused_request
from kplan.kafka.wire.link import Broken, Deadline, TimedOut
from kplan.kafka.wire.pool import Pool
from kplan.model.errors import Unreachable, Unsupported
from kplan.model.refusal import Refusal

Answer = TypeVar("Answer")


class Gateway:
    """Asks the cluster: any bootstrap server that answers, the same one as long as it does.

    Staying with one node makes what it has told us consistent: others may lag behind. Where
    controllers are asked directly (KIP-919), that one is the active controller once it is known.
    """

    def __init__(self, settings: ConnectionSettings) -> None:
        self._settings = settings
        self._pool = Pool(settings)
        self._bootstrap = settings.bootstrap_controllers or settings.bootstrap_servers
        self._home: Endpoint | None = None
        self._learned: tuple[Endpoint, ...] = ()

    @property
    def tokens(self) -> Tokens | None:
        """The tokens that we log in with, None where a login takes none."""
        return self._pool.tokens

    @property
    def principal(self) -> str:
        """How an authorizer sees us; by a token it is known once we have logged in."""
        return self.tokens.principal if self.tokens else self._settings.principal

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

        Raises:
            Unreachable: no node answered.
            AuthError: a node refused us.

        """
        deadline = Deadline.after(self._settings.timeouts.request_s)
        failures: list[Unreachable] = []
        for endpoint in [at] if at else self._candidates():
            try:
                answer = self._asked(question, endpoint, deadline)
            except Unreachable as failure:
                failures.append(failure)
            else:
                if at is None:
                    self._home = endpoint
                return answer
        raise _nobody(failures)

    def ask(self, api: Api, request: Message, *, at: Endpoint | None = None) -> Message:
        """Read with one request; raises as `read`."""
        return self.read(lambda node, deadline: node.ask(api, request, deadline), at=at)

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
            Unsupported: the node does not speak the API; nothing was sent.

        """
        answer = self._written(question, at)
        until = Deadline.after(min(ELECTION_S, self._settings.timeouts.request_s))
        while at is None and is_not_controller(answer) and until.is_ahead:
            time.sleep(PAUSE_S)
            self._follow()
            answer = self._written(question, None)
        return answer

    def _follow(self) -> None:
        """Turn to the node that is said to be the active controller."""
        try:
            said = self.controller()
        except (Unreachable, Unsupported):
            return
        self._home = said or self._home

    def controller(self) -> Endpoint | None:
        """Ask where the active controller listens, None where none is known; raises as `read`."""
        return self.read(lambda node, left: active(node, left, is_direct=self._settings.is_direct))

    def _written(
        self, question: Callable[[Connection, Deadline], Answer], at: Endpoint | None
    ) -> Answer | Refusal:
        timeouts = self._settings.timeouts
        deadline = Deadline.after(timeouts.request_s + timeouts.grace_s)
        failures: list[Unreachable] = []
        for endpoint in [at] if at else self._candidates():
            try:
                with self._pool.lent(endpoint, deadline) as node:
                    answer = question(node, deadline)
            except Unreachable as failure:
                failures.append(failure)
            except Broken as failure:
                return client_refusal(failure.error, f"{endpoint}: {failure}.")
            except messages.Unwritable as failure:
                return client_refusal(CLIENT_INVALID, f"{failure}.")
            else:
                if at is None:
                    self._home = endpoint
                return answer
        return client_refusal(CLIENT_DISCONNECTED, f"Nothing was sent. {_nobody(failures).detail}")

    def send(self, api: Api, request: Message, *, at: Endpoint | None = None) -> Message | Refusal:
        """Write with one request; raises as `write`."""
        return self.write(lambda node, deadline: node.ask(api, request, deadline), at=at)

    def learn(self, endpoints: Iterable[Endpoint], home: Endpoint | None = None) -> None:
        """Remember where nodes listen, for when no bootstrap server answers any more.

        With `home`, ask that one first.
        """
        self._learned = tuple(endpoints)
        self._home = home or self._home

    def close(self) -> None:
        """Close all connections; whoever waits for an answer gets none."""
        self._pool.close()

    def _asked(
        self,
        question: Callable[[Connection, Deadline], Answer],
        endpoint: Endpoint,
        deadline: Deadline,
    ) -> Answer:
        """Ask one node; once more over a new connection where the old one broke."""
        for is_last in (False, True):
            try:
                with self._pool.lent(endpoint, deadline) as node:
                    return question(node, deadline)
            except TimedOut as failure:
                raise Unreachable(f"{endpoint}: {failure}.") from failure
            except Broken as failure:
                if is_last:
                    why = refused_request(endpoint, self._settings, self._pool.context)
                    raise why or Unreachable(f"{endpoint}: {failure}.") from failure
        raise AssertionError  # the loop returns or raises

    def _candidates(self) -> tuple[Endpoint, ...]:
        home = (self._home,) if self._home else ()
        return tuple(dict.fromkeys((*home, *self._bootstrap, *self._learned)))


def _nobody(failures: list[Unreachable]) -> Unreachable:
    """Put the failures of all nodes into one."""
    details = dict.fromkeys(each.detail for each in failures)
    hints = dict.fromkeys(each.hint for each in failures if each.hint)
    return Unreachable(" ".join(details), hint=" ".join(hints))
