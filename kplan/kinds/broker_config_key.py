"""Keys of broker configs: which are secrets, what brokers say of values, and absent brokers."""

from collections.abc import Collection, Mapping
from difflib import get_close_matches

from kplan.cluster.errors import CLIENT_DISCONNECTED, CLIENT_INVALID, client_refusal
from kplan.cluster.request import ClusterDescription
from kplan.cluster.setting_keys import BROKER_CONFIG_BOUNDS, known_configs
from kplan.cluster.settings import ConfigDetail, ConfigResourceAlteration, ConfigScope
from kplan.cluster.topic import ConfigDefinition, ConfigType, value_fault
from kplan.model.errors import Refusal

KnownKeys = Mapping[str, ConfigDetail]


def absent_broker_refusal(described: ClusterDescription, name: str) -> Refusal | None:
    """Return what to say of the configs of a broker that the cluster does not list, else None.

    It may be down, so the answer is in doubt: nothing is planned for what is owned.
    """
    ids = sorted(each.id for each in described.brokers)
    if described.controller_access is not None or name in map(str, ids):
        return None
    if name in {str(each.id) for each in described.fenced}:
        detail, hint = f"Broker {name} does not answer: it is registered and not running.", ""
    else:
        listed = f"it lists {', '.join(map(str, ids))}"
        detail, hint = f"The cluster lists no broker {name}: {listed}.", "Correct broker_id, or "
    start = f"{'start' if hint else 'Start'} broker {name} and plan again."
    return client_refusal(CLIENT_DISCONNECTED, detail, f"{hint}{start}")


def declared_value_fault(key: str, text: str) -> str:
    """Say why no broker takes the value of a key that is known here, "" of others."""
    if key in (known := known_configs(ConfigScope.BROKER)):
        return value_fault(known[key].definition, text)
    least, most = BROKER_CONFIG_BOUNDS.get(key, (None, None))
    try:
        number = float(text)
    except ValueError:
        return "it is not a number" if key in BROKER_CONFIG_BOUNDS else ""
    if least is not None and number < least:
        return f"the value must be at least {least:g}"
    return f"the value must be at most {most:g}" if most is not None and number > most else ""


def is_throttle_key(key: str) -> bool:
    """Whether a key limits the traffic of a reassignment, which sets and removes it."""
    return ".throttled." in key or key.endswith(".throttled")


def is_secret_key(key: str) -> bool:
    """Whether Kafka hides the value of a key, judged by its name."""
    return key.endswith(_SECRET_ENDS)


_SECRET_ENDS = (
    ".password",
    ".secret",
    "sasl.jaas.config",
    "ssl.keystore.certificate.chain",
    "ssl.keystore.key",
    "ssl.truststore.certificates",
)
"""Passwords, and what Kafka takes for one though it is public, as PEM certificates (KIP-651)."""


def find_refusal(
    spec: ConfigResourceAlteration, keys: KnownKeys, secrets: Collection[str]
) -> Refusal | None:
    """Report values that a broker would refuse, or accept silently and ignore."""
    for key, value in sorted(spec.set.items()):
        if fault := _secrecy_fault(keys.get(_plain_key(key)), is_secret=key in secrets):
            return client_refusal(CLIENT_INVALID, f"{key} {fault}.")
        if key.startswith("listener.name."):  # brokers do not tell those of one listener, or as
            continue  # read-only once they are set, which they are not (KIP-226)
        if key not in keys:
            return client_refusal(CLIENT_INVALID, _unknown_key_message(key, keys))
        found = keys[key]
        if found.is_read_only:
            way = "set it in the broker's server.properties and restart the broker"
            return client_refusal(CLIENT_INVALID, f"{key} is read-only: {way}.")
        if found.type is None or found.entry.is_sensitive:
            continue
        if fault := value_fault(ConfigDefinition(key, found.type, ""), value):
            return client_refusal(CLIENT_INVALID, f"{key}: {fault} ({found.type}).")
    return None


def _plain_key(key: str) -> str:
    """Return the key without the listener that it is for."""
    return key.split(".", 3)[-1] if key.startswith("listener.name.") else key


def _secrecy_fault(known: ConfigDetail | None, *, is_secret: bool) -> str:
    """Say why a key is declared in the wrong one of the two maps: what is live would be too."""
    if known is None or known.type is None:
        return ""
    is_hidden = known.entry.is_sensitive or known.type is ConfigType.PASSWORD
    if is_hidden is is_secret:
        return ""
    if is_secret:
        return "is no secret to Kafka, which shows it: declare it in config"
    return "is a secret: declare it in sensitive_config"


def _unknown_key_message(key: str, keys: KnownKeys) -> str:
    close = get_close_matches(key, keys, 1)
    meant = f" Did you mean {close[0]}?" if close else ""
    return f"No config of a broker is called {key}; it would be stored and never used.{meant}"
