"""A connection to one node: open it, negotiate versions, log in by SASL, send requests."""

import logging
import ssl
import struct
import time
from collections.abc import Mapping

from kplan.cluster.releases import first_release
from kplan.kafka.settings.connection import (
    AwsMskIam,
    ClientCredentials,
    ConnectionSettings,
    Endpoint,
    Kerberos,
    Mechanism,
)
from kplan.kafka.token import TokenCache
from kplan.kafka.wire import messages
from kplan.kafka.wire.messages import Api, Message
from kplan.kafka.wire.transport import (
    ConnectionLost,
    Deadline,
    FrameStream,
    NotKafkaProtocol,
    TlsFailure,
    open_socket,
    tls_error,
    wrap_tls,
)
from kplan.model.errors import AuthError, UnsupportedError, WrongEndpointError

_HEADER_BYTES = 4
_REQUESTS = logging.getLogger("kplan.request")
WAITS = logging.getLogger("kplan.wait")
"""Hears of every answer that takes long; the command shows it beside its progress."""


class Connection:
    """A connection on which one thread at a time asks. Made by `wire/login.py`."""

    def __init__(self, link: FrameStream, endpoint: Endpoint, client_id: str) -> None:
        self.endpoint = endpoint
        self.versions: Mapping[int, tuple[int, int]] = {
            messages.API_VERSIONS.key: (0, messages.API_VERSIONS.newest)
        }
        self.features: Mapping[str, int] = {}
        self.expires_at_s = float("inf")
        self.idle_until_s = float("inf")
        self._link = link
        self._client_id = client_id
        self._correlation_id = 0

    def version(self, api: Api) -> int:
        """Return the newest version of the API that both sides speak.

        Raises:
            UnsupportedError: there is none.

        """
        oldest, newest = self.versions.get(api.key, (0, -1))
        agreed = min(newest, api.newest)
        if agreed < max(oldest, api.oldest):
            offered = f"offers versions {oldest} to {newest}" if newest >= 0 else "lacks it"
            raise UnsupportedError(
                f"kplan needs {api.name} in a version of {api.oldest} to {api.newest}; "
                f"{self.endpoint} {offered}.",
                hint=self._version_hint(api),
            )
        return agreed

    def _version_hint(self, api: Api) -> str:
        if len(self.versions) > 1 and messages.METADATA.key not in self.versions:
            return "The node is a controller: connect to brokers with bootstrap_servers."
        release = first_release(api.name)
        known = "kplan works with Kafka 2.8 and later; see: kplan cluster versions"
        return f"{release} {known}".lstrip()

    def ask(self, api: Api, request: Message, deadline: Deadline) -> Message:
        """Ask and read the answer.

        Raises:
            ConnectionLost: no answer came, and the request may have been executed.
            UnsupportedError: the node does not speak the API.

        """
        version = self.version(api)
        return self.decode(api, version, self.ask_raw(api, version, request, deadline))

    def decode(self, api: Api, version: int, body: memoryview) -> Message:
        """Read the body of an answer."""
        try:
            return messages.decode_response(api, version, body)
        except messages.MalformedResponse as failure:
            raise NotKafkaProtocol(bytes(body[:16])) from failure

    def ask_raw(self, api: Api, version: int, request: Message, deadline: Deadline) -> memoryview:
        """Ask and give the body of the answer as it came; raises as `ask`."""
        self._correlation_id += 1
        frame = messages.encode_request(request, version, self._correlation_id, self._client_id)
        begun = time.monotonic()

        def notify() -> None:
            waited_s = time.monotonic() - begun
            WAITS.warning(
                "%s has not answered %s for %.0f s; the limit is %g s (timeout).",
                self.endpoint, api.name, waited_s, deadline.span_s,
            )  # fmt: skip

        try:
            answer = self._link.exchange(frame, deadline, notify)
            body = self._strip_header(api, version, answer)
        except ConnectionLost as failure:
            self._log_request(api, version, request, begun, str(failure))
            raise
        if _REQUESTS.isEnabledFor(logging.DEBUG):
            errors = messages.error_summary(self.decode(api, version, body))
            self._log_request(api, version, request, begun, errors)
        return body

    def _log_request(
        self, api: Api, version: int, request: Message, begun: float, errors: str
    ) -> None:
        """Log request and result, but not the contents: some are secret."""
        if not _REQUESTS.isEnabledFor(logging.DEBUG):
            return
        elapsed_ms = (time.monotonic() - begun) * 1000
        _REQUESTS.debug(
            "%s v%d at %s: %d items, %.1f ms, %s",
            api.name, version, self.endpoint, messages.item_count(request), elapsed_ms,
            errors or "no error",
        )  # fmt: skip

    def _strip_header(self, api: Api, version: int, answer: memoryview) -> memoryview:
        if len(answer) < _HEADER_BYTES:
            raise NotKafkaProtocol(bytes(answer))
        (correlation_id,) = struct.unpack_from(">i", answer)
        if correlation_id != self._correlation_id:
            raise NotKafkaProtocol(bytes(answer[:16]))
        if not messages.has_tagged_header(api, version):
            return answer[_HEADER_BYTES:]
        if answer[_HEADER_BYTES] != 0:  # no tagged header fields are defined
            raise NotKafkaProtocol(bytes(answer[:16]))
        return answer[_HEADER_BYTES + 1 :]

    @property
    def is_usable(self) -> bool:
        """Whether another request may be sent."""
        until_s = min(self.expires_at_s, self.idle_until_s)
        return time.monotonic() < until_s and self._link.is_idle()

    def set_buffer_sizes(self, send_bytes: int, receive_bytes: int) -> None:
        """Ask the system for buffers of these sizes; 0 leaves one as it is."""
        self._link.set_buffer_sizes(send_bytes, receive_bytes)

    def shut_down(self) -> None:
        """Wake a waiting reader from another thread."""
        self._link.shut_down()

    def close(self) -> None:
        """Close the connection."""
        self._link.close()


UNSUPPORTED_SASL_MECHANISM = 33


def log_in(
    connection: Connection, mechanism: Mechanism, tokens: TokenCache | None, deadline: Deadline
) -> float:
    """Log in; return the lifetime of the login in seconds (KIP-368), infinity without a limit.

    `tokens` are those of a mechanism that takes any.

    Raises:
        AuthError: the mechanism is not offered, or name, password or token is wrong.
        UnreachableError: no one who gives tokens answers.
        ConnectionLost: the connection broke.

    """
    handshake = _send_handshake(connection, mechanism.name, deadline)
    if handshake.error_code:
        raise _mechanism_error(connection, mechanism, handshake)
    exchange = _start_exchange(connection, mechanism, tokens, deadline)
    lifetime_ms = 0
    while not exchange.is_done():
        step = messages.SASL_AUTHENTICATE.request(auth_bytes=exchange.auth_bytes())
        answer = connection.ask(messages.SASL_AUTHENTICATE, step, deadline)
        if answer.error_code:
            raise _login_error(connection, mechanism, tokens, answer.error_message)
        _receive_challenge(exchange, answer.auth_bytes, connection)
        lifetime_ms = answer.session_lifetime_ms
    return lifetime_ms / 1000 or float("inf")


def _start_exchange(
    connection: Connection, mechanism: Mechanism, tokens: TokenCache | None, deadline: Deadline
) -> Message:
    from kplan.kafka.wire import sasl  # noqa: PLC0415 - many clusters take no login

    match mechanism:
        case ClientCredentials() | AwsMskIam():
            token = (tokens or TokenCache(mechanism)).get_token(deadline.remaining_s())
            return sasl.bearer_exchange(token)
        case Kerberos():
            from kplan.kafka.wire.gssapi import GssapiExchange  # noqa: PLC0415 - few log in so

            return GssapiExchange(mechanism, connection.endpoint.host)
        case _:
            return sasl.password_exchange(mechanism)


def offered_mechanisms(connection: Connection, deadline: Deadline) -> tuple[str, ...]:
    """Query the mechanisms of the listener; none if it has no SASL."""
    answer = _send_handshake(connection, "?", deadline)
    return tuple(sorted(answer.mechanisms))


def _send_handshake(connection: Connection, mechanism: str, deadline: Deadline) -> Message:
    request = messages.SASL_HANDSHAKE.request(mechanism=mechanism)
    return connection.ask(messages.SASL_HANDSHAKE, request, deadline)


def _receive_challenge(exchange: Message, challenge: bytes, connection: Connection) -> None:
    try:
        exchange.receive(bytes(challenge))
    except (ValueError, KeyError) as failure:
        raise AuthError(
            f"{connection.endpoint} gave an answer that does not prove that it knows the password."
        ) from failure


def _mechanism_error(connection: Connection, mechanism: Mechanism, handshake: Message) -> AuthError:
    if handshake.error_code == UNSUPPORTED_SASL_MECHANISM:
        offered = ", ".join(sorted(handshake.mechanisms)) or "none"
        return AuthError(
            f"{connection.endpoint} does not offer the SASL mechanism {mechanism.name}. "
            f"It offers: {offered}.",
            hint="Set sasl_mechanism to one that is offered.",
        )
    return AuthError(
        f"{connection.endpoint} takes no SASL login.",
        hint="Leave the sasl_ arguments out, or give the address of a SASL listener.",
    )


def _login_error(
    connection: Connection, mechanism: Mechanism, tokens: TokenCache | None, why: str | None
) -> AuthError:
    principal = tokens.principal if tokens else mechanism.principal
    return AuthError(
        f"{connection.endpoint} refused the login {f'of {principal} ' if principal else ''}"
        f"by {mechanism.name}: {(why or 'it gave no reason').rstrip('.')}.",
        hint="The brokers expect a token of another issuer, audience, scope or time."
        if tokens
        else "Check user name, password and mechanism.",
    )


UNSUPPORTED_VERSION = 35
_REAUTHENTICATE_AT = 0.85  # of the life of a login, as Kafka's own client does


def open_connection(
    endpoint: Endpoint,
    settings: ConnectionSettings,
    context: ssl.SSLContext | None,
    tokens: TokenCache | None,
    deadline: Deadline,
) -> Connection:
    """Open a connection that may be asked anything.

    Raises:
        UnreachableError: no one listens, or not a Kafka node.
        WrongEndpointError: it is a controller and no broker, or the other way round.
        AuthError: TLS or SASL refused us, or the login would go over a network without TLS.
        ConnectionLost: the other side went away, or did not understand us.

    """
    if settings.sasl is not None and not _may_log_in(endpoint, settings):
        raise AuthError(
            f"{endpoint} is another machine, and the login would go there without TLS.",
            hint="Enable TLS; in a network where that is acceptable set allow_plaintext_sasl = "
            "true.",
        )
    connection = open_without_login(endpoint, settings.client_id, context, deadline)
    try:
        _check_node_type(connection, is_direct=settings.is_direct)
        if settings.sasl is not None:
            lifetime_s = log_in(connection, settings.sasl, tokens, deadline)
            connection.expires_at_s = time.monotonic() + lifetime_s * _REAUTHENTICATE_AT
    except BaseException:
        connection.close()
        raise
    return connection


def _may_log_in(endpoint: Endpoint, settings: ConnectionSettings) -> bool:
    """Brokers advertise nodes that were not configured: each address is checked."""
    return settings.tls is not None or settings.allows_plaintext_login or endpoint.is_loopback


def _check_node_type(connection: Connection, *, is_direct: bool) -> None:
    """Distinguish brokers and KRaft controllers by APIs that only brokers have (KIP-919)."""
    is_broker = messages.METADATA.key in connection.versions
    if is_broker and is_direct:
        raise WrongEndpointError(
            f"{connection.endpoint} is a broker; a controller was expected "
            "(MISMATCHED_ENDPOINT_TYPE).",
            hint="Use addresses of controllers, from the listeners in controller.listener.names, "
            "or connect to brokers with bootstrap_servers.",
        )
    if not is_broker and not is_direct:
        raise WrongEndpointError(
            f"{connection.endpoint} is a controller, not a broker.",
            hint="Give addresses of brokers in bootstrap_servers. Where none is up: "
            "-bootstrap-controller, or bootstrap_controllers.",
        )


def open_without_login(
    endpoint: Endpoint, client_id: str, context: ssl.SSLContext | None, deadline: Deadline
) -> Connection:
    """Open a connection without logging in; raises as `open_connection`."""
    stream = open_socket(endpoint, deadline)
    if context is not None:
        stream = wrap_tls(stream, context, endpoint, deadline)
    connection = Connection(FrameStream(stream), endpoint, client_id)
    try:
        _negotiate_versions(connection, deadline)
    except TlsFailure as failure:  # with TLS 1.3 a client certificate is refused only now
        connection.close()
        raise tls_error(endpoint, failure.__cause__) from failure
    except BaseException:
        connection.close()
        raise
    return connection


def _negotiate_versions(connection: Connection, deadline: Deadline) -> None:
    """Learn versions and features (KIP-511): an old broker answers, then is asked in its words.

    Version 4 tells features that can be off, version 3 features at all, version 0 APIs alone.
    """
    answer = _ask_versions(connection, messages.API_VERSIONS.newest, deadline)
    for older in (3, 0):
        if answer.error_code == UNSUPPORTED_VERSION:
            answer = _ask_versions(connection, older, deadline)
    if answer.error_code:
        raise ConnectionLost(f"it answered ApiVersions with error {answer.error_code}")
    connection.versions = {
        each.api_key: (each.min_version, each.max_version) for each in answer.api_keys
    }
    connection.features = {
        each.name: each.max_version_level for each in answer.finalized_features or ()
    }


def _ask_versions(connection: Connection, version: int, deadline: Deadline) -> Message:
    api = messages.API_VERSIONS
    return connection.decode(
        api, version, connection.ask_raw(api, version, messages.versions_request(), deadline)
    )
