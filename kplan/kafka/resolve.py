"""Connection settings from what was given: every problem at once."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from kplan.kafka.addresses import addresses
from kplan.kafka.given import Gathered, Given, ProviderBlock, Rank, gather
from kplan.kafka.keys import Setting
from kplan.kafka.logins import NAMELESS, mechanism, mechanism_name
from kplan.kafka.pem import certificates, private_key
from kplan.kafka.settings import (
    ConnectionSettings,
    Seconds,
    Sockets,
    Timeouts,
    Tls,
    seconds,
)
from kplan.model.diagnostic import Diagnostic, has_errors, in_order


@dataclass(frozen=True, slots=True)
class Resolved:
    """Settings, None where an error is among the diagnostics."""

    settings: ConnectionSettings | None
    diagnostics: tuple[Diagnostic, ...]


def connection_settings(
    block: ProviderBlock | None,
    environ: Mapping[str, str],
    *,
    folder: Path,
    properties_file: Path | None = None,
    controllers: str = "",
) -> Resolved:
    """Work out how to connect.

    Where a thing is given twice an argument of the block wins over its `config`, that over the
    properties file, that over the environment (`KPLAN_` over `KAFKA_`). Relative paths in the block
    start in `folder`, others where kplan was started. The properties file is the one given here,
    else `properties_file` of the block, else that of `KPLAN_COMMAND_CONFIG`. With `controllers`,
    of the command line, those are asked, whatever else is given (K919-03).
    """
    found = gather(block, environ, folder=folder, properties_file=properties_file)
    servers, direct = addresses(found, controllers)
    allowed = found.nearest(Setting.ALLOW_DIRECT)
    client_id = found.nearest(Setting.CLIENT_ID)
    settings = ConnectionSettings(
        bootstrap_servers=servers,
        tls=_tls(found) if _is_tls(found) else None,
        sasl=mechanism(found, servers or direct) if _is_sasl(found) else None,
        timeouts=_timeouts(found),
        sockets=_sockets(found),
        client_id=client_id[1].text if client_id else "kplan",
        librdkafka={key: given.text for key, given in sorted(found.librdkafka.items())},
        bootstrap_controllers=direct,
        allows_direct=allowed is not None and found.flag(allowed[1]),
    )
    diagnostics = in_order(found.diagnostics)
    return Resolved(None if has_errors(diagnostics) else settings, diagnostics)


_PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")


def _protocol(found: Gathered) -> str:
    nearest = found.nearest(Setting.PROTOCOL)
    if nearest is None:
        return ""
    name = nearest[1].text.upper()
    if name not in _PROTOCOLS:
        known = ", ".join(_PROTOCOLS)
        found.report("KP302", nearest[1], f'"{name}" is no security protocol.', f"One of {known}.")
    return name


def _is_tls(found: Gathered) -> bool:
    """Whether to speak TLS; where nothing is said, the block means yes, as in Terraform."""
    said = found.nearest(Setting.TLS, Setting.PROTOCOL)
    if said is None:
        servers = found.nearest(Setting.SERVERS) or found.nearest(Setting.CONTROLLERS)
        material = found.nearest(Setting.CA, Setting.CERTIFICATE, Setting.KEYSTORE)
        return material is not None or (servers is not None and servers[1].rank is Rank.ARGUMENT)
    if said[0] is Setting.TLS:
        return found.flag(said[1])
    return _protocol(found).endswith("SSL")


def _tls(found: Gathered) -> Tls:
    identity = found.nearest(Setting.CERTIFICATE, Setting.KEYSTORE)
    chain = found.pem(identity[1]) if identity else ""
    given_key = found.nearest(Setting.KEY)
    key = private_key(found.pem(given_key[1]) if given_key else chain)
    if bool(chain) != bool(key):
        have, lack = ("certificate", "key") if chain else ("key", "certificate")
        found.report(
            "KP303",
            (identity or given_key or (None, None))[1],
            f"A client {have} is given without its {lack}.",
            "Give both client_cert and client_key.",
        )
    authority = found.nearest(Setting.CA)
    password = found.nearest(Setting.KEY_PASSWORD)
    return Tls(
        ca=found.pem(authority[1]) if authority else "",
        certificate=certificates(chain),
        key=key,
        key_password=password[1].text if password else "",
        is_verified=_is_verified(found),
        is_host_checked=_is_host_checked(found),
    )


def _is_verified(found: Gathered) -> bool:
    said = found.nearest(Setting.SKIP_VERIFY, Setting.VERIFY)
    if said is None:
        return True
    return found.flag(said[1]) is (said[0] is Setting.VERIFY)


def _is_host_checked(found: Gathered) -> bool:
    said = found.nearest(Setting.HOST_CHECK)
    if said is None:
        return True
    name = said[1].text.lower()
    if name not in {"https", "none", ""}:
        found.report("KP302", said[1], f'"{said[1].name}" is "https" or "none".')
    return name == "https"


def _is_sasl(found: Gathered) -> bool:
    """Whether to log in: the security protocol says so, or a better placed user name does."""
    protocol = found.nearest(Setting.PROTOCOL)
    nameless = (Setting.MECHANISM,) if mechanism_name(found) in NAMELESS else ()
    user = found.nearest(Setting.USERNAME, Setting.LOGIN, *nameless)
    if protocol and not (user and user[1].rank < protocol[1].rank):
        return _protocol(found).startswith("SASL")
    return user is not None


_DEFAULTS = Timeouts()


def _timeouts(found: Gathered) -> Timeouts:
    request = found.nearest(Setting.TIMEOUT_S, Setting.TIMEOUT_MS)
    connect = found.nearest(Setting.CONNECT_TIMEOUT_MS)
    request_s = _DEFAULTS.request_s
    if request is not None:
        per_second = 1 if request[0] is Setting.TIMEOUT_S else 1000
        request_s = _seconds(found, request[1], per_second) or request_s
    connect_s = min(_DEFAULTS.connect_s, request_s)
    if connect is not None:
        connect_s = _seconds(found, connect[1], 1000) or connect_s
    return Timeouts(connect_s, request_s)


def _sockets(found: Gathered) -> Sockets:
    idle_ms = _count(found, Setting.IDLE_MS)
    return Sockets(
        send_bytes=_count(found, Setting.SEND_BUFFER),
        receive_bytes=_count(found, Setting.RECEIVE_BUFFER),
        idle_s=idle_ms / 1000 if idle_ms else math.inf,
    )


_LARGEST = 2**31 - 1


def _count(found: Gathered, setting: Setting) -> int:
    """Read a whole number; 0, and -1 as Java clients say it, is what is not set."""
    nearest = found.nearest(setting)
    if nearest is None:
        return 0
    number = _number(nearest[1]) if re.fullmatch(r"-?\d+", nearest[1].text) else math.nan
    if not -1 <= number <= _LARGEST:
        detail = f'"{nearest[1].name}" is a whole number, at most {_LARGEST}.'
        found.report("KP302", nearest[1], detail)
        return 0
    return max(0, int(number))


def _seconds(found: Gathered, given: Given, per_second: int) -> Seconds | None:
    try:
        return seconds(_number(given) / per_second)
    except ValueError:
        found.report(
            "KP302",
            given,
            f'"{given.name}" is a time above 0 and at most an hour.',
            "Kafka 4 loses requests with a timeout of 0; leave it out for the default.",
        )
        return None


def _number(given: Given) -> float:
    """Read a number; not a number where it is none."""
    value = given.value
    if isinstance(value, bool) or not isinstance(value, str | int | float | Fraction):
        return math.nan
    return float(value)
