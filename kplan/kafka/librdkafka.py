"""Connection settings in librdkafka's words, and where its own words go."""

import logging
import math

from kplan.kafka.auth import AwsMskIam, ClientCredentials, Mechanism
from kplan.kafka.settings.connection import ConnectionSettings, SocketOptions, Tls

LOGGER = logging.getLogger("kplan.kafka.librdkafka")
LOGGER.addHandler(logging.NullHandler())  # else its lines go to stderr


def librdkafka_settings(settings: ConnectionSettings) -> dict[str, str]:
    """Write the settings as confluent-kafka takes them. They hold secrets: not for any log."""
    written = {
        **settings.librdkafka,
        "bootstrap.servers": ",".join(str(each) for each in settings.bootstrap_servers),
        "client.id": settings.client_id,
        "security.protocol": settings.security_protocol,
        "socket.connection.setup.timeout.ms": _milliseconds(
            settings.timeouts.connect_s, 1000, 3600_000
        ),
        "socket.timeout.ms": _milliseconds(settings.timeouts.request_s, 10, 300_000),
    }
    written |= _socket_options(settings.sockets)
    if settings.tls is not None:
        written |= _tls(settings.tls)
    if settings.sasl is not None:
        written |= _sasl(settings.sasl)
    return written


def _socket_options(sockets: SocketOptions) -> dict[str, str]:
    """Write what differs from what the system gives."""
    is_bounded = math.isfinite(sockets.idle_s)
    counts = {
        "connections.max.idle.ms": int(sockets.idle_s * 1000) if is_bounded else 0,
        "socket.receive.buffer.bytes": min(sockets.receive_bytes, _MAX_BUFFER_BYTES),
        "socket.send.buffer.bytes": min(sockets.send_bytes, _MAX_BUFFER_BYTES),
    }
    return {key: str(count) for key, count in counts.items() if count}


_MAX_BUFFER_BYTES = 100_000_000
"""The most that librdkafka takes."""


def _sasl(mechanism: Mechanism) -> dict[str, str]:
    """Write how to log in; tokens are handed over when librdkafka asks for one."""
    match mechanism:
        case ClientCredentials() | AwsMskIam():
            return {"sasl.mechanism": mechanism.name}
        case _:
            return {
                "sasl.mechanism": mechanism.name,
                "sasl.username": mechanism.username,
                "sasl.password": mechanism.password,
            }


def _milliseconds(span_s: float, least_ms: int, most_ms: int) -> str:
    """Write milliseconds within the range that librdkafka takes."""
    return str(min(max(int(span_s * 1000), least_ms), most_ms))


def _tls(tls: Tls) -> dict[str, str]:
    texts = {
        "ssl.ca.pem": tls.ca,
        "ssl.certificate.pem": tls.certificate,
        "ssl.key.pem": tls.key,
        "ssl.key.password": tls.key_password,
    }
    is_host_checked = tls.is_verified and tls.is_host_checked
    return {key: text for key, text in texts.items() if text} | {
        "enable.ssl.certificate.verification": str(tls.is_verified).lower(),
        "ssl.endpoint.identification.algorithm": "https" if is_host_checked else "none",
    }
