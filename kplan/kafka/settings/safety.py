"""What a connection must not do with credentials: go to others, or in plaintext over a network.

A folder of configuration is changed in pull requests by whoever may open one; the environment is
set by whoever runs the pipeline. Credentials of the environment go only where the environment says.
"""

from collections.abc import Iterator, Mapping

from kplan.kafka.settings.connection import Endpoint, Mechanism, Tls
from kplan.kafka.settings.key import CONNECTION_VARIABLE, Setting
from kplan.kafka.settings.sasl import mechanism_alias
from kplan.kafka.settings.source import Precedence, RawSetting, RawSettings

Endpoints = tuple[Endpoint, ...]

_SECRETS = (
    Setting.PASSWORD,
    Setting.LOGIN,
    Setting.OAUTH_SECRET,
    Setting.AWS_SECRET_KEY,
    Setting.KERBEROS_KEYTAB,
    Setting.KEY,
    Setting.KEYSTORE,
)
_ADDRESSES = (Setting.SERVERS, Setting.CONTROLLERS)
_UNLOCKED = frozenset(
    {
        Setting.ALLOW_DIRECT,
        Setting.CLIENT_ID,
        Setting.CONNECT_TIMEOUT_MS,
        Setting.IDLE_MS,
        Setting.RECEIVE_BUFFER,
        Setting.SEND_BUFFER,
        Setting.TIMEOUT_MS,
        Setting.TIMEOUT_S,
    }
)
"""What a block may set although the connection is that of the environment."""

_STRENGTHS: Mapping[str, int] = {"PLAIN": 0, "SCRAM-SHA-256": 1, "SCRAM-SHA-512": 2}
_MOVE_HINT = (
    "Set them in the environment too, or set the credentials in the block that names the servers."
)


def check_plaintext_login(
    settings: RawSettings, nodes: Endpoints, mechanism: Mechanism | None
) -> None:
    """Refuse a login over a network without TLS, unless it is allowed by name.

    PLAIN and tokens can be read on the way; a SCRAM password can be guessed from what is read.
    """
    far = [each for each in nodes if not each.is_loopback]
    if mechanism is None or not far or allows_plaintext_login(settings):
        return
    given = settings.find(Setting.TLS, Setting.PROTOCOL)
    way = (
        "KPLAN_ALLOW_PLAINTEXT_SASL="
        if _environment_secret(settings)
        else "allow_plaintext_sasl = "
    )
    settings.report(
        "KP309",
        given[1] if given else None,
        f"The {mechanism.name} login would go to {far[0]} without TLS, where others can read or "
        "guess the credentials.",
        f"Enable TLS; in a network where that is acceptable set {way}true.",
    )


def allows_plaintext_login(settings: RawSettings) -> bool:
    """Whether a login without TLS is allowed; for credentials of the environment, only there."""
    return _is_plaintext_allowed(settings, is_environment=_environment_secret(settings) is not None)


def _is_plaintext_allowed(settings: RawSettings, *, is_environment: bool) -> bool:
    allowed = settings.find(Setting.ALLOW_PLAINTEXT)
    if allowed is None:
        return False
    if allowed[1].is_block and is_environment:
        own = _environment_settings(settings, Setting.ALLOW_PLAINTEXT)
        return bool(own) and settings.read_flag(own[0])
    return settings.read_flag(allowed[1])


def check_service_login(
    settings: RawSettings, url: RawSetting, secret: RawSetting, endpoint: Endpoint
) -> None:
    """Refuse to send a password to a service over a network without TLS, unless that is allowed."""
    is_allowed = _is_plaintext_allowed(settings, is_environment=not secret.is_block)
    if not endpoint.is_loopback and not is_allowed:
        settings.report(
            "KP309",
            url,
            f"The password would go to {endpoint.host} without TLS, where others can read it.",
            "Use an https URL; in a network where that is acceptable set "
            "KPLAN_ALLOW_PLAINTEXT_SASL=true.",
        )


def check_service_binding(
    settings: RawSettings, url: RawSetting, secret: RawSetting, setting: Setting
) -> None:
    """Refuse a block that takes a password of the environment to another service."""
    own = _environment_settings(settings, setting)
    if secret.is_block or not url.is_block or not own or own[0].text == url.text:
        return
    settings.report(
        "KP310",
        url,
        f"It is another address than that of {own[0].name}. The credentials are those of "
        f"{secret.name}.",
        _MOVE_HINT,
    )


def check_lock(settings: RawSettings, environ: Mapping[str, str]) -> None:
    """Refuse connection settings of a block where the environment decides alone."""
    wanted = environ.get(CONNECTION_VARIABLE, "")
    if wanted not in {"", "environment"}:
        given = RawSetting(CONNECTION_VARIABLE, wanted, Precedence.OWN_VARIABLE)
        settings.report("KP302", given, f'{CONNECTION_VARIABLE} is "environment" or not set.')
    if wanted != "environment":
        return
    blocked = [
        each
        for setting, found in settings.settings.items()
        for each in found
        if each.is_block and setting not in _UNLOCKED
    ]
    for each in blocked:
        settings.report(
            "KP310",
            each,
            f'"{each.name}" is set here, and {CONNECTION_VARIABLE}=environment reserves the '
            "connection for the environment.",
            f"Remove it, or run without {CONNECTION_VARIABLE}.",
        )


def check_binding(settings: RawSettings, nodes: Endpoints, tls: Tls | None, mechanism: str) -> None:
    """Refuse a block that takes credentials of the environment elsewhere, or less protected."""
    secret = _environment_secret(settings)
    if secret is None:
        return
    for given, detail in _weaknesses(settings, nodes, tls, mechanism):
        settings.report(
            "KP310", given, f"{detail} The credentials are those of {secret.name}.", _MOVE_HINT
        )


def _weaknesses(
    settings: RawSettings, nodes: Endpoints, tls: Tls | None, mechanism: str
) -> Iterator[tuple[RawSetting, str]]:
    addresses = settings.find(*_ADDRESSES)
    own = [one for each in _ADDRESSES for one in _environment_settings(settings, each)]
    if addresses and addresses[1].is_block and own:
        known = {each for one in own for each in _hosts(one)}
        other = [str(each) for each in nodes if str(each) not in known]
        if other:
            yield addresses[1], f"{other[0]} is not among the servers of {own[0].name}."
    if tls is not None and any(not each.is_loopback for each in nodes):
        yield from _tls_weaknesses(settings, tls)
    given = settings.find(Setting.MECHANISM, Setting.LOGIN)
    declared = _environment_settings(settings, Setting.MECHANISM)
    if given and given[1].is_block and declared:
        named = mechanism_alias(declared[0].text)
        if named != mechanism and not _is_stronger(mechanism, named):
            yield given[1], f"{mechanism} is weaker than {named} of {declared[0].name}."
    url = settings.find(Setting.TOKEN_URL)
    own_url = _environment_settings(settings, Setting.TOKEN_URL)
    if url and url[1].is_block and own_url and url[1].text != own_url[0].text:
        yield url[1], f"It is another token endpoint than that of {own_url[0].name}."


def _tls_weaknesses(settings: RawSettings, tls: Tls) -> Iterator[tuple[RawSetting, str]]:
    for is_weak, names, detail in (
        (
            not tls.is_verified,
            (Setting.SKIP_VERIFY, Setting.VERIFY),
            "Certificates are not verified.",
        ),
        (not tls.is_host_checked, (Setting.HOST_CHECK,), "The host name is not checked."),
    ):
        nearest = settings.find(*names)
        own = [each for name in names for each in _environment_settings(settings, name)]
        if is_weak and nearest and nearest[1].is_block and not any(map(_is_weak, own)):
            yield nearest[1], detail


def _is_weak(setting: RawSetting) -> bool:
    """Whether the environment itself asks for less protection."""
    is_skip = "skip" in setting.name.lower()
    return setting.text.lower() in (_YES if is_skip else _WEAK)


_YES = frozenset({"true", "t", "1"})
_WEAK = frozenset({"false", "f", "0", "none", ""})


def _is_stronger(one: str, other: str) -> bool:
    return one in _STRENGTHS and other in _STRENGTHS and _STRENGTHS[one] > _STRENGTHS[other]


def _environment_secret(settings: RawSettings) -> RawSetting | None:
    """Return the credential in use if it is from the environment."""
    found = settings.find(*_SECRETS)
    return found[1] if found and not found[1].is_block else None


def _environment_settings(settings: RawSettings, setting: Setting) -> list[RawSetting]:
    return [each for each in settings.settings.get(setting, ()) if not each.is_block]


def _hosts(setting: RawSetting) -> Iterator[str]:
    listed = setting.value
    words = listed.replace(",", " ").split() if isinstance(listed, str) else listed
    for each in words if isinstance(words, list | tuple) else ():
        yield str(each).rpartition("//")[2].strip()
