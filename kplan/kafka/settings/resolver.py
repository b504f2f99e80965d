"""Turn the settings that were read into `ConnectionSettings`; every problem is reported at once."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path

from kplan.cluster.protocol import INT32_MAX
from kplan.kafka.settings.certificate import certificates, private_key
from kplan.kafka.settings.connection import (
    ConnectionSettings,
    Endpoint,
    Seconds,
    SocketOptions,
    Timeouts,
    Tls,
    seconds,
)
from kplan.kafka.settings.key import Setting
from kplan.kafka.settings.safety import (
    allows_plaintext_login,
    check_binding,
    check_lock,
    check_plaintext_login,
)
from kplan.kafka.settings.sasl import MECHANISMS_WITHOUT_USER, mechanism_name, resolve_mechanism
from kplan.kafka.settings.service import CONNECT, SCHEMA_REGISTRY, resolve_service
from kplan.kafka.settings.source import (
    Precedence,
    ProviderBlock,
    RawSetting,
    RawSettings,
    read_raw_settings,
)
from kplan.model.dataclass import dataclass
from kplan.model.diagnostic import Diagnostic, has_errors, sort_diagnostics

CONTROLLERS_OPTION = "-bootstrap-controller"

Endpoints = tuple[Endpoint, ...]

_ENDPOINT = re.compile(r"(?:\w+://)?(?:\[([0-9a-fA-F:.%]+)\]|([^\s:/\[\]]+)):(\d{1,5})")
_MAX_PORT = 65535


def resolve_endpoints(settings: RawSettings, controllers: str = "") -> tuple[Endpoints, Endpoints]:
    """Return brokers and controllers, one of which there are; problems are noted.

    `controllers` are those of the command line: brokers that are given anywhere are then left out.
    """
    if controllers:
        option = RawSetting(CONTROLLERS_OPTION, controllers, Precedence.OPTION)
        settings.settings[Setting.CONTROLLERS] = [option]
        return (), _parse_endpoints(settings, option)
    brokers, direct = settings.find(Setting.SERVERS), settings.find(Setting.CONTROLLERS)
    if brokers and direct:
        settings.report(
            "KP308",
            direct[1],
            f'"{brokers[1].name}" and "{direct[1].name}" are both set; a connection uses one '
            "type of node.",
            f"Remove one of them; {CONTROLLERS_OPTION} leaves all brokers out for one run.",
        )
    if direct:
        return (), _parse_endpoints(settings, direct[1])
    if brokers:
        return _parse_endpoints(settings, brokers[1]), ()
    if any(each.code == "KP304" for each in settings.diagnostics):
        return (), ()  # they may be in the file that cannot be read
    settings.report(
        "KP303",
        None,
        "No bootstrap servers are configured.",
        'Set bootstrap_servers in provider "kafka", or KPLAN_BOOTSTRAP_SERVERS.',
    )
    return (), ()


def _parse_endpoints(settings: RawSettings, setting: RawSetting) -> Endpoints:
    listed = setting.value
    if isinstance(listed, str):
        listed = [each for each in re.split(r"[,\s]+", listed) if each]
    if not isinstance(listed, Sequence):
        settings.report("KP302", setting, f'"{setting.name}" is a list of host:port.')
        return ()
    return tuple(
        dict.fromkeys(each for one in listed if (each := _parse_endpoint(settings, setting, one)))
    )


def _parse_endpoint(settings: RawSettings, setting: RawSetting, written: object) -> Endpoint | None:
    match = _ENDPOINT.fullmatch(str(written).strip())
    if match is None or not 0 < int(match[3]) <= _MAX_PORT:
        hint = "As in kafka-1:9092."
        if isinstance(written, str) and "," in written:
            hint = 'An element of the list is one address; part them with split(",", ...).'
        settings.report("KP302", setting, f'"{written}" is not host:port.', hint)
        return None
    return Endpoint(match[1] or match[2], int(match[3]))


@dataclass(frozen=True, slots=True)
class ResolvedSettings:
    """Settings, None where an error is among the diagnostics."""

    settings: ConnectionSettings | None
    diagnostics: tuple[Diagnostic, ...]


def resolve_settings(
    block: ProviderBlock | None,
    environ: Mapping[str, str],
    *,
    folder: Path,
    properties_file: Path | None = None,
    controllers: str = "",
) -> ResolvedSettings:
    """Compute how to connect.

    Where a thing is given twice an argument of the block wins over its `config`, that over the
    properties file, that over the environment (`KPLAN_` over `KAFKA_`). Relative paths in the block
    start in `folder`, others where kplan was started. The properties file is the one given here,
    else `properties_file` of the block, else that of `KPLAN_COMMAND_CONFIG`. With `controllers`,
    of the command line, those are asked, whatever else is given (K919-03).
    """
    found = read_raw_settings(block, environ, folder=folder, properties_file=properties_file)
    servers, direct = resolve_endpoints(found, controllers)
    allowed = found.find(Setting.ALLOW_DIRECT)
    client_id = found.find(Setting.CLIENT_ID)
    tls = _tls(found) if _uses_tls(found) else None
    sasl = resolve_mechanism(found, servers or direct) if _uses_sasl(found) else None
    check_lock(found, environ)
    check_binding(found, servers or direct, tls, sasl.name if sasl else "")
    if tls is None:
        check_plaintext_login(found, servers or direct, sasl)
    settings = ConnectionSettings(
        bootstrap_servers=servers,
        tls=tls,
        sasl=sasl,
        timeouts=_timeouts(found),
        sockets=_socket_options(found),
        client_id=client_id[1].text if client_id else "kplan",
        librdkafka={key: given.text for key, given in sorted(found.librdkafka.items())},
        bootstrap_controllers=direct,
        allows_direct=allowed is not None and found.read_flag(allowed[1]),
        allows_plaintext_login=allows_plaintext_login(found),
        schema_registry=resolve_service(found, SCHEMA_REGISTRY),
        connect=resolve_service(found, CONNECT),
    )
    diagnostics = sort_diagnostics(found.diagnostics)
    return ResolvedSettings(None if has_errors(diagnostics) else settings, diagnostics)


_PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")


def _security_protocol(settings: RawSettings) -> str:
    nearest = settings.find(Setting.PROTOCOL)
    if nearest is None:
        return ""
    name = nearest[1].text.upper()
    if name not in _PROTOCOLS:
        known = ", ".join(_PROTOCOLS)
        settings.report(
            "KP302", nearest[1], f'"{name}" is not a security protocol.', f"One of {known}."
        )
    return name


def _uses_tls(settings: RawSettings) -> bool:
    """Whether to use TLS: on by default, wherever the address comes from."""
    said = settings.find(Setting.TLS, Setting.PROTOCOL)
    if said is None:
        return True
    if said[0] is Setting.TLS:
        return settings.read_flag(said[1])
    return _security_protocol(settings).endswith("SSL")


def _read_part(
    settings: RawSettings, given: RawSetting, part: Callable[[str], str], what: str
) -> str:
    """Read PEM text with at least one such part; "" with a problem recorded."""
    text = settings.read_pem(given)
    if text and not part(text):
        settings.report("KP304", given, f"{given.name}: it holds no {what}.")
        return ""
    return text


def _tls(settings: RawSettings) -> Tls:
    identity = settings.find(Setting.CERTIFICATE, Setting.KEYSTORE)
    chain = _read_part(settings, identity[1], certificates, "certificate") if identity else ""
    given_key = settings.find(Setting.KEY)
    key = private_key(
        _read_part(settings, given_key[1], private_key, "private key") if given_key else chain
    )
    if bool(identity) != bool(given_key) and bool(chain) != bool(key):
        have, lack = ("certificate", "key") if chain else ("key", "certificate")
        settings.report(
            "KP303",
            (identity or given_key or (None, None))[1],
            f"A client {have} is set without its {lack}.",
            "Give both client_cert and client_key.",
        )
    authority = settings.find(Setting.CA)
    password = settings.find(Setting.KEY_PASSWORD)
    return Tls(
        ca=settings.read_pem(authority[1]) if authority else "",
        certificate=certificates(chain),
        key=key,
        key_password=password[1].text if password else "",
        is_verified=_is_verified(settings),
        is_host_checked=_is_host_checked(settings),
        is_default=settings.find(Setting.TLS, Setting.PROTOCOL) is None,
    )


def _is_verified(settings: RawSettings) -> bool:
    said = settings.find(Setting.SKIP_VERIFY, Setting.VERIFY)
    if said is None:
        return True
    return settings.read_flag(said[1]) is (said[0] is Setting.VERIFY)


def _is_host_checked(settings: RawSettings) -> bool:
    said = settings.find(Setting.HOST_CHECK)
    if said is None:
        return True
    name = said[1].text.lower()
    if name not in {"https", "none", ""}:
        settings.report("KP302", said[1], f'"{said[1].name}" is "https" or "none".')
    return name == "https"


def _uses_sasl(settings: RawSettings) -> bool:
    """Whether to log in: the security protocol says so, or a better placed user name does."""
    protocol = settings.find(Setting.PROTOCOL)
    nameless = (Setting.MECHANISM,) if mechanism_name(settings) in MECHANISMS_WITHOUT_USER else ()
    user = settings.find(Setting.USERNAME, Setting.LOGIN, *nameless)
    if protocol and not (user and user[1].precedence < protocol[1].precedence):
        return _security_protocol(settings).startswith("SASL")
    return user is not None


_DEFAULTS = Timeouts()


def _timeouts(settings: RawSettings) -> Timeouts:
    request = settings.find(Setting.TIMEOUT_S, Setting.TIMEOUT_MS)
    connect = settings.find(Setting.CONNECT_TIMEOUT_MS)
    request_s, read_s = _DEFAULTS.request_s, _DEFAULTS.max_read_s
    if request is not None:
        per_second = 1 if request[0] is Setting.TIMEOUT_S else 1000
        request_s = _read_seconds(settings, request[1], per_second) or request_s
        read_s = request_s
    connect_s = min(_DEFAULTS.connect_s, request_s)
    if connect is not None:
        connect_s = _read_seconds(settings, connect[1], 1000) or connect_s
    return Timeouts(connect_s, request_s, max_read_s=read_s)


def _socket_options(settings: RawSettings) -> SocketOptions:
    idle_ms = _read_count(settings, Setting.IDLE_MS)
    return SocketOptions(
        send_bytes=_read_count(settings, Setting.SEND_BUFFER),
        receive_bytes=_read_count(settings, Setting.RECEIVE_BUFFER),
        idle_s=idle_ms / 1000 if idle_ms else math.inf,
    )


def _read_count(settings: RawSettings, setting: Setting) -> int:
    """Read a whole number; 0, and -1 as in Java clients, is unset."""
    nearest = settings.find(setting)
    if nearest is None:
        return 0
    number = _read_number(nearest[1]) if re.fullmatch(r"-?\d+", nearest[1].text) else math.nan
    if not -1 <= number <= INT32_MAX:
        detail = f'"{nearest[1].name}" is a whole number, at most {INT32_MAX}.'
        settings.report("KP302", nearest[1], detail)
        return 0
    return max(0, int(number))


def _read_seconds(settings: RawSettings, setting: RawSetting, per_second: int) -> Seconds | None:
    try:
        return seconds(_read_number(setting) / per_second)
    except ValueError:
        settings.report(
            "KP302",
            setting,
            f'"{setting.name}" is a time above 0 and at most an hour.',
            "Kafka 4 loses requests with a timeout of 0; leave it out for the default.",
        )
        return None


def _read_number(setting: RawSetting) -> float:
    """Read a number; not a number where it is none."""
    value = setting.value
    if isinstance(value, bool) or not isinstance(value, str | int | float | Fraction):
        return math.nan
    return float(value)
