"""Connection settings in the words of Kafka's Java client, which others than kplan may run."""

from kplan.kafka.auth import Mechanism, Plain, ScramSha256, ScramSha512
from kplan.kafka.settings import ConnectionSettings, Tls
from kplan.model.errors import AuthError

_MODULES = "org.apache.kafka.common.security"


def java_settings(settings: ConnectionSettings) -> dict[str, str]:
    """Write the settings. They hold secrets: not for any log.

    Raises:
        AuthError: the mechanism takes tokens that kplan fetches, which Java would not know of.

    """
    written = {
        "bootstrap.servers": ",".join(str(each) for each in settings.bootstrap_servers),
        "client.id": settings.client_id,
        "security.protocol": settings.security_protocol,
    }
    if settings.tls is not None:
        written |= _tls(settings.tls)
    if settings.sasl is not None:
        written |= {"sasl.mechanism": settings.sasl.name, "sasl.jaas.config": _jaas(settings.sasl)}
    return written


def _jaas(mechanism: Mechanism) -> str:
    match mechanism:
        case Plain():
            module = f"{_MODULES}.plain.PlainLoginModule"
        case ScramSha256() | ScramSha512():
            module = f"{_MODULES}.scram.ScramLoginModule"
        case _:
            raise AuthError(
                f"Spark cannot log in with {mechanism.name} as kplan does.",
                "Use a SCRAM user for reading the topic, or name files of logs.",
            )
    name, password = _quoted(mechanism.username), _quoted(mechanism.password)
    return f"{module} required username={name} password={password};"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _tls(tls: Tls) -> dict[str, str]:
    """Hand over PEM texts (KIP-651). Java has no way not to check certificates at all."""
    written = {
        "ssl.truststore.certificates": tls.ca,
        "ssl.keystore.certificate.chain": tls.certificate,
        "ssl.keystore.key": tls.key,
        "ssl.key.password": tls.key_password,
    }
    found = {key: text for key, text in written.items() if text}
    for store, key in (("truststore", "certificates"), ("keystore", "key")):
        if f"ssl.{store}.{key}" in found:
            found[f"ssl.{store}.type"] = "PEM"
    if not tls.is_host_checked:
        found["ssl.endpoint.identification.algorithm"] = ""
    return found
