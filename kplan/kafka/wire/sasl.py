"""Logging in by SASL (KIP-43, KIP-152)."""

from kplan.kafka.auth import AwsMskIam, ClientCredentials, Mechanism
from kplan.kafka.tokens import Tokens
from kplan.kafka.wire import messages
from kplan.kafka.wire.api import Message
from kplan.kafka.wire.connection import Connection
from kplan.kafka.wire.link import Deadline
from kplan.model.errors import AuthError

UNSUPPORTED_SASL_MECHANISM = 33
ILLEGAL_SASL_STATE = 34


def log_in(
    connection: Connection, mechanism: Mechanism, tokens: Tokens | None, deadline: Deadline
) -> float:
    """Log in; return for how many seconds the login holds (KIP-368), infinity without a limit.

    `tokens` are those of a mechanism that takes any.

    Raises:
        AuthError: the mechanism is not offered, or name, password or token is wrong.
        Unreachable: nobody who gives tokens answers.
        Broken: the connection broke.

    """
    handshake = _handshake(connection, mechanism.name, deadline)
    if handshake.error_code:
        raise _mechanism_refused(connection, mechanism, handshake)
    exchange = _exchange(mechanism, tokens, deadline)
    lifetime_ms = 0
    while not exchange.is_done():
        step = messages.SASL_AUTHENTICATE.request(auth_bytes=exchange.auth_bytes())
        answer = connection.ask(messages.SASL_AUTHENTICATE, step, deadline)
        if answer.error_code:
            raise _login_refused(connection, mechanism, tokens, answer.error_message)
        _take(exchange, answer.auth_bytes, connection)
        lifetime_ms = answer.session_lifetime_ms
    return lifetime_ms / 1000 or float("inf")


def _exchange(mechanism: Mechanism, tokens: Tokens | None, deadline: Deadline) -> Message:
    from kplan.kafka.wire import exchanges  # noqa: PLC0415 - many clusters take no login

    match mechanism:
        case ClientCredentials() | AwsMskIam():
            token = (tokens or Tokens(mechanism)).current(deadline.left_s())
            return exchanges.bearer_exchange(token)
        case _:
            return exchanges.sasl_exchange(mechanism)


def offered_mechanisms(connection: Connection, deadline: Deadline) -> tuple[str, ...]:
    """Ask which mechanisms the listener offers; none where it takes no SASL at all."""
    answer = _handshake(connection, "?", deadline)
    return tuple(sorted(answer.mechanisms))


def _handshake(connection: Connection, mechanism: str, deadline: Deadline) -> Message:
    request = messages.SASL_HANDSHAKE.request(mechanism=mechanism)
    return connection.ask(messages.SASL_HANDSHAKE, request, deadline)


def _take(exchange: Message, challenge: bytes, connection: Connection) -> None:
    try:
        exchange.receive(bytes(challenge))
    except (ValueError, KeyError) as failure:
        raise AuthError(
            f"{connection.endpoint} gave an answer that does not prove that it knows the password."
        ) from failure


def _mechanism_refused(
    connection: Connection, mechanism: Mechanism, handshake: Message
) -> AuthError:
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


def _login_refused(
    connection: Connection, mechanism: Mechanism, tokens: Tokens | None, why: str | None
) -> AuthError:
    principal = tokens.principal if tokens else mechanism.principal
    return AuthError(
        f"{connection.endpoint} refused the login {f'of {principal} ' if principal else ''}"
        f"by {mechanism.name}: {(why or 'it gave no reason').rstrip('.')}.",
        hint="The brokers expect a token of another issuer, audience, scope or time."
        if tokens
        else "Check user name, password and mechanism.",
    )
