"""Where the services beside the brokers are, and what may be sent to them."""

from urllib.parse import SplitResult, urlsplit

from kplan.kafka.settings.connection import Endpoint, RestService
from kplan.kafka.settings.key import Setting
from kplan.kafka.settings.safety import check_service_binding, check_service_login
from kplan.kafka.settings.source import RawSetting, RawSettings
from kplan.model.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class ServiceSettings:
    """Which settings speak of a service. `login` is user name and password in one."""

    url: Setting
    username: Setting
    password: Setting
    ca: Setting
    login: Setting | None = None


SCHEMA_REGISTRY = ServiceSettings(
    Setting.REGISTRY_URL,
    Setting.REGISTRY_USER,
    Setting.REGISTRY_PASSWORD,
    Setting.REGISTRY_CA,
    Setting.REGISTRY_LOGIN,
)
CONNECT = ServiceSettings(
    Setting.CONNECT_URL, Setting.CONNECT_USER, Setting.CONNECT_PASSWORD, Setting.CONNECT_CA
)


def resolve_service(settings: RawSettings, named: ServiceSettings) -> RestService | None:
    """Read where a service is and how to log in; None where it is not named, or with problems."""
    given = settings.find(named.url)
    if given is None:
        return None
    parts = _parse_url(settings, given[1])
    username, password, secret = _credentials(settings, named)
    if parts is None or parts.hostname is None:
        return None
    if secret is not None:
        endpoint = Endpoint(parts.hostname, parts.port or 0)
        check_service_binding(settings, given[1], secret, named.url)
        if parts.scheme == "http":
            check_service_login(settings, given[1], secret, endpoint)
    ca = settings.find(named.ca)
    return RestService(
        given[1].text.rstrip("/"), username, password, settings.read_pem(ca[1]) if ca else ""
    )


def _parse_url(settings: RawSettings, given: RawSetting) -> SplitResult | None:
    text = given.text
    hint = "As in https://registry.example.com:8081."
    parts = _split_url(text)
    if parts is None or any(each.isspace() for each in text):
        settings.report("KP302", given, f'"{given.name}" is not an http or https URL.', hint)
        return None
    if parts.username is not None or parts.password is not None:
        detail = f'"{given.name}" holds credentials, which would be shown with the URL.'
        settings.report("KP302", given, detail, "Set them as user name and password.")
        return None
    if parts.query or parts.fragment:
        settings.report(
            "KP302", given, f'"{given.name}" has more than scheme, host and path.', hint
        )
        return None
    return parts


def _split_url(text: str) -> SplitResult | None:
    try:
        parts = urlsplit(text)
        is_url = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port that is no number, an IPv6 address without its bracket
        return None
    return parts if is_url else None


def _credentials(
    settings: RawSettings, named: ServiceSettings
) -> tuple[str, str, RawSetting | None]:
    """Return user name, password, and the setting that gives the password."""
    user, password = settings.find(named.username), settings.find(named.password)
    login = settings.find(named.login) if named.login else None
    if login and not (password and password[1].precedence < login[1].precedence):
        name, colon, secret = login[1].text.partition(":")
        if not (name and colon and secret):
            settings.report("KP302", login[1], f'"{login[1].name}" is USER:PASSWORD.')
            return "", "", None
        return name, secret, login[1]
    if bool(user) != bool(password):
        one = (user or password or (None, None))[1]
        have, lack = (named.username, named.password) if user else (named.password, named.username)
        settings.report("KP303", one, f"There is a {have} without a {lack}.", "Set both.")
        return "", "", None
    if user is None or password is None:
        return "", "", None
    return user[1].text, password[1].text, password[1]
