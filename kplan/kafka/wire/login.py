"""Opening a connection: dial, TLS, versions, SASL."""

import ssl
import time

from kplan.kafka.settings import ConnectionSettings, Endpoint
from kplan.kafka.tokens import Tokens
from kplan.kafka.wire import messages
from kplan.kafka.wire.api import Message
from kplan.kafka.wire.connection import Connection
from kplan.kafka.wire.link import Broken, Deadline, Link, TlsFailed, dial
from kplan.kafka.wire.sasl import log_in
from kplan.kafka.wire.tls import secured, tls_failure
from kplan.model.errors import WrongEndpoint

UNSUPPORTED_VERSION = 35
_REAUTHENTICATE_AT = 0.85  # of the life of a login, as Kafka's own client does


def opened(
    endpoint: Endpoint,
    settings: ConnectionSettings,
    context: ssl.SSLContext | None,
    tokens: Tokens | None,
    deadline: Deadline,
) -> Connection:
    """Open a connection that may be asked anything.

    Raises:
        Unreachable: nobody listens, or not a Kafka node.
        WrongEndpoint: it is a controller and no broker, or the other way round.
        AuthError: TLS or SASL refused us.
        Broken: the other side went away, or did not understand us.

    """
    connection = introduced(endpoint, settings.client_id, context, deadline)
    try:
        _check_sort(connection, is_direct=settings.is_direct)
        if settings.sasl is not None:
            lifetime_s = log_in(connection, settings.sasl, tokens, deadline)
            connection.expires_at_s = time.monotonic() + lifetime_s * _REAUTHENTICATE_AT
    except BaseException:
        connection.close()
        raise
    return connection


def _check_sort(connection: Connection, *, is_direct: bool) -> None:
    """Tell brokers and KRaft controllers apart by what only brokers serve (KIP-919)."""
    is_broker = messages.METADATA.key in connection.versions
    if is_broker and is_direct:
        raise WrongEndpoint(
            f"{connection.endpoint} is a broker; a controller was expected "
            "(MISMATCHED_ENDPOINT_TYPE).",
            hint="Give addresses of controllers, those of the listeners in "
            "controller.listener.names; or ask brokers with bootstrap_servers.",
        )
    if not is_broker and not is_direct:
        raise WrongEndpoint(
            f"{connection.endpoint} is a controller, not a broker.",
            hint="Give addresses of brokers in bootstrap_servers. Where none is up: "
            "-bootstrap-controller, or bootstrap_controllers.",
        )


def introduced(
    endpoint: Endpoint, client_id: str, context: ssl.SSLContext | None, deadline: Deadline
) -> Connection:
    """Open a connection as far as it goes without a login; raises as `opened`."""
    stream = dial(endpoint, deadline)
    if context is not None:
        stream = secured(stream, context, endpoint, deadline)
    connection = Connection(Link(stream), endpoint, client_id)
    try:
        _agree(connection, deadline)
    except TlsFailed as failure:  # with TLS 1.3 a client certificate is refused only now
        connection.close()
        raise tls_failure(endpoint, failure.__cause__) from failure
    except BaseException:
        connection.close()
        raise
    return connection


def _agree(connection: Connection, deadline: Deadline) -> None:
    """Learn versions and features (KIP-511): an old broker answers, then is asked in its words.

    Version 4 tells features that can be off, version 3 features at all, version 0 APIs alone.
    """
    answer = _versions(connection, messages.API_VERSIONS.newest, deadline)
    for older in (3, 0):
        if answer.error_code == UNSUPPORTED_VERSION:
            answer = _versions(connection, older, deadline)
    if answer.error_code:
        raise Broken(f"it answered ApiVersions with error {answer.error_code}")
    connection.versions = {
        each.api_key: (each.min_version, each.max_version) for each in answer.api_keys
    }
    connection.features = {
        each.name: each.max_version_level for each in answer.finalized_features or ()
    }


def _versions(connection: Connection, version: int, deadline: Deadline) -> Message:
    api = messages.API_VERSIONS
    return connection.decoded(
        api, version, connection.ask_raw(api, version, messages.introduction(), deadline)
    )
