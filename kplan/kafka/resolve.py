"""Connection settings from what was given: every problem at once."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from kplan.kafka.auth import MECHANISMS, NOT_YET, Mechanism
from kplan.kafka.given import Gathered, Given, ProviderBlock, Rank, gather
from kplan.kafka.keys import Setting
from kplan.kafka.pem import NotPem, certificates, pem_text, private_key
from kplan.kafka.properties import Login, jaas_login
from kplan.kafka.settings import (
    ConnectionSettings,
    Endpoint,
    Seconds,
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
) -> Resolved:
    """Work out how to connect.

    Where a thing is given twice an argument of the block wins over its `config`, that over the
    properties file, that over the environment (`KPLAN_` over `KAFKA_`). Relative paths in the block
    start in `folder`, others where kplan was started. The properties file is the one given here,
    else `properties_file` of the block, else that of `KPLAN_COMMAND_CONFIG`.
    """
    found = gather(block, environ, folder=folder, properties_file=properties_file)
    servers = _servers(found)
    client_id = found.nearest(Setting.CLIENT_ID)
    settings = ConnectionSettings(
        bootstrap_servers=servers,
        tls=_tls(found) if _is_tls(found) else None,
        sasl=_sasl(found) if _is_sasl(found) else None,
        timeouts=_timeouts(found),
        client_id=_text(client_id[1]) if client_id else "kplan",
        librdkafka={key: _text(given) for key, given in sorted(found.librdkafka.items())},
    )
    diagnostics = in_order(found.diagnostics)
    return Resolved(None if has_errors(diagnostics) else settings, diagnostics)


_SERVER = re.compile(r"(?:\w+://)?(?:\[([0-9a-fA-F:.%]+)\]|([^\s:/\[\]]+)):(\d{1,5})")
_MAX_PORT = 65535


def _servers(found: Gathered) -> tuple[Endpoint, ...]:
    nearest = found.nearest(Setting.SERVERS)
    if nearest is None:
        found.report(
            "KP303",
            None,
            "No bootstrap servers are given.",
            'Set bootstrap_servers in provider "kafka", or KPLAN_BOOTSTRAP_SERVERS.',
        )
        return ()
    given = nearest[1]
    listed = given.value
    if isinstance(listed, str):
        listed = [each for each in re.split(r"[,\s]+", listed) if each]
    if not isinstance(listed, Sequence):
        found.report("KP302", given, f'"{given.name}" is a list of host:port.')
        return ()
    return tuple(dict.fromkeys(each for one in listed if (each := _server(found, given, one))))


def _server(found: Gathered, given: Given, written: object) -> Endpoint | None:
    match = _SERVER.fullmatch(str(written).strip())
    if match is None or not 0 < int(match[3]) <= _MAX_PORT:
        found.report("KP302", given, f'"{written}" is not host:port.', "As in kafka-1:9092.")
        return None
    return Endpoint(match[1] or match[2], int(match[3]))


_PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")


def _protocol(found: Gathered) -> str:
    nearest = found.nearest(Setting.PROTOCOL)
    if nearest is None:
        return ""
    name = _text(nearest[1]).upper()
    if name not in _PROTOCOLS:
        known = ", ".join(_PROTOCOLS)
        found.report("KP302", nearest[1], f'"{name}" is no security protocol.', f"One of {known}.")
    return name


def _is_tls(found: Gathered) -> bool:
    """Whether to speak TLS; where nothing is said, the block means yes, as in Terraform."""
    said = found.nearest(Setting.TLS, Setting.PROTOCOL)
    if said is None:
        servers = found.nearest(Setting.SERVERS)
        material = found.nearest(Setting.CA, Setting.CERTIFICATE, Setting.KEYSTORE)
        return material is not None or (servers is not None and servers[1].rank is Rank.ARGUMENT)
    if said[0] is Setting.TLS:
        return _flag(found, said[1])
    return _protocol(found).endswith("SSL")


def _tls(found: Gathered) -> Tls:
    identity = found.nearest(Setting.CERTIFICATE, Setting.KEYSTORE)
    chain = _pem(found, identity[1]) if identity else ""
    given_key = found.nearest(Setting.KEY)
    key = private_key(_pem(found, given_key[1]) if given_key else chain)
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
        ca=_pem(found, authority[1]) if authority else "",
        certificate=certificates(chain),
        key=key,
        key_password=_text(password[1]) if password else "",
        is_verified=_is_verified(found),
        is_host_checked=_is_host_checked(found),
    )


def _pem(found: Gathered, given: Given) -> str:
    try:
        return pem_text(_text(given), given.folder)
    except NotPem as failure:
        found.report("KP304", given, f"{given.name}: {failure}", failure.hint)
        return ""


def _is_verified(found: Gathered) -> bool:
    said = found.nearest(Setting.SKIP_VERIFY, Setting.VERIFY)
    if said is None:
        return True
    return _flag(found, said[1]) is (said[0] is Setting.VERIFY)


def _is_host_checked(found: Gathered) -> bool:
    said = found.nearest(Setting.HOST_CHECK)
    if said is None:
        return True
    name = _text(said[1]).lower()
    if name not in {"https", "none", ""}:
        found.report("KP302", said[1], f'"{said[1].name}" is "https" or "none".')
    return name == "https"


def _is_sasl(found: Gathered) -> bool:
    """Whether to log in: the security protocol says so, or a better placed user name does."""
    protocol = found.nearest(Setting.PROTOCOL)
    user = found.nearest(Setting.USERNAME, Setting.LOGIN)
    if protocol and not (user and user[1].rank < protocol[1].rank):
        return _protocol(found).startswith("SASL")
    return user is not None or _mechanism_name(found) in NOT_YET


def _mechanism_name(found: Gathered) -> str:
    """Give Kafka's name of the mechanism; that of Terraform's provider has no hyphen in SHA."""
    given = found.nearest(Setting.MECHANISM)
    name = _text(given[1]).upper() if given else ""
    return {
        "SCRAM-SHA256": "SCRAM-SHA-256",
        "SCRAM-SHA512": "SCRAM-SHA-512",
        "AWS-IAM": "AWS_MSK_IAM",
    }.get(name, name)


def _sasl(found: Gathered) -> Mechanism | None:
    login = _login(found)
    name = _mechanism_name(found)
    if not name:  # what Terraform's provider takes, and what a PLAIN login says
        name = "SCRAM" if login and login.module == "ScramLoginModule" else "PLAIN"
    given = found.nearest(Setting.MECHANISM, Setting.LOGIN)
    working = {each.name: each for each in MECHANISMS}
    if name in NOT_YET:
        found.report(
            "KP305",
            given[1] if given else None,
            f"kplan cannot log in by {name} yet.",
            f"It can by {', '.join(working)}.",
        )
        return None
    if name not in working:
        found.report(
            "KP302",
            given[1] if given else None,
            f'"{name}" is no SASL mechanism.',
            f"Set sasl_mechanism to one of {', '.join(working)}.",
        )
        return None
    username = _credential(found, Setting.USERNAME, login, "username")
    password = _credential(found, Setting.PASSWORD, login, "password")
    return working[name](username, password)


def _login(found: Gathered) -> Login | None:
    nearest = found.nearest(Setting.LOGIN)
    if nearest is None:
        return None
    login = jaas_login(_text(nearest[1]))
    if login is None:
        found.report(
            "KP302",
            nearest[1],
            f'"{nearest[1].name}" is not a JAAS login.',
            'As in: CLASS required username="NAME" password="SECRET";',
        )
    return login


def _credential(found: Gathered, setting: Setting, login: Login | None, option: str) -> str:
    nearest = found.nearest(setting, Setting.LOGIN)
    if nearest is not None and nearest[0] is Setting.LOGIN:
        value = login.options.get(option, "") if login else "unreadable"
    else:
        value = _text(nearest[1]) if nearest else ""
    if not value:
        found.report("KP303", None, f"No {setting} is given.", f"Set sasl_{option}.")
    return value


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


def _flag(found: Gathered, given: Given) -> bool:
    words = {"true": True, "t": True, "1": True, "false": False, "f": False, "0": False}
    value = words.get(_text(given).lower())
    if value is None:
        found.report("KP302", given, f'"{given.name}" is true or false.')
    return bool(value)


def _text(given: Given) -> str:
    value = given.value
    return str(value).lower() if isinstance(value, bool) else str(value)
