"""The SASL mechanism that the settings ask for, with everything it needs."""

import re
from collections.abc import Iterator, Sequence

from kplan.kafka.settings.connection import (
    PASSWORD_MECHANISMS,
    UNSUPPORTED_MECHANISMS,
    AwsMskIam,
    ClientCredentials,
    Endpoint,
    Mechanism,
)
from kplan.kafka.settings.java import JaasLogin, parse_jaas_login
from kplan.kafka.settings.key import Setting
from kplan.kafka.settings.source import RawSettings

OAUTHBEARER = ClientCredentials.name
AWS_MSK_IAM = "AWS_MSK_IAM"
MECHANISMS_WITHOUT_USER = (OAUTHBEARER, AWS_MSK_IAM, *UNSUPPORTED_MECHANISMS)
"""Mechanisms that may do without a user name."""

_SUPPORTED = (*(each.name for each in PASSWORD_MECHANISMS), OAUTHBEARER, AWS_MSK_IAM)
_LOGIN_MODULES = {
    "ScramLoginModule": "SCRAM",
    "OAuthBearerLoginModule": OAUTHBEARER,
    "IAMLoginModule": AWS_MSK_IAM,
}


def mechanism_name(found: RawSettings) -> str:
    """Return Kafka's name of the mechanism; that of Terraform's provider has no hyphen in SHA."""
    given = found.find(Setting.MECHANISM)
    name = given[1].text.upper() if given else ""
    return {
        "SCRAM-SHA256": "SCRAM-SHA-256",
        "SCRAM-SHA512": "SCRAM-SHA-512",
        "AWS-IAM": AWS_MSK_IAM,
    }.get(name, name)


def resolve_mechanism(found: RawSettings, servers: Sequence[Endpoint]) -> Mechanism | None:
    """Read the mechanism with all that it needs; None with problems noted."""
    login = _jaas_login(found)
    name = mechanism_name(found)
    if not name:  # what Terraform's provider takes, and what a login says
        name = _LOGIN_MODULES.get(login.module if login else "", "PLAIN")
    if name == OAUTHBEARER:
        return _client_credentials(found, login)
    if name == AWS_MSK_IAM:
        return _aws_msk_iam(found, login, servers)
    by_password = {each.name: each for each in PASSWORD_MECHANISMS}
    if name in by_password:
        username = _credential(found, Setting.USERNAME, login, "username")
        password = _credential(found, Setting.PASSWORD, login, "password")
        return by_password[name](username, password)
    _report_mechanism(found, name)
    return None


def _report_mechanism(found: RawSettings, name: str) -> None:
    nearest = found.find(Setting.MECHANISM, Setting.LOGIN)
    given = nearest[1] if nearest else None
    known = ", ".join(_SUPPORTED)
    if name in UNSUPPORTED_MECHANISMS:
        found.report("KP305", given, f"kplan cannot log in by {name} yet.", f"It can by {known}.")
    else:
        detail = f'"{name}" is not a SASL mechanism.'
        found.report("KP302", given, detail, f"Set sasl_mechanism to one of {known}.")


def _jaas_login(found: RawSettings) -> JaasLogin | None:
    nearest = found.find(Setting.LOGIN)
    if nearest is None:
        return None
    login = parse_jaas_login(nearest[1].text)
    if login is None:
        found.report(
            "KP302",
            nearest[1],
            f'"{nearest[1].name}" is not a JAAS login.',
            'As in: CLASS required username="NAME" password="SECRET";',
        )
    return login


def _credential(found: RawSettings, setting: Setting, login: JaasLogin | None, option: str) -> str:
    nearest = found.find(setting, Setting.LOGIN)
    if nearest is not None and nearest[0] is Setting.LOGIN:
        value = login.options.get(option, "") if login else "unreadable"
    else:
        value = nearest[1].text if nearest else ""
    if not value:
        found.report("KP303", None, f"No {setting} is given.", f"Set sasl_{option}.")
    return value


_URL = re.compile(r"https?://[^\s/@?#]+(?:[/?][^\s#]*)?", re.IGNORECASE)


def _client_credentials(found: RawSettings, login: JaasLogin | None) -> ClientCredentials:
    """Read an OAuth client (KIP-768); name and password of the block are its id and secret."""
    grant = found.find(Setting.GRANT)
    if grant and grant[1].text.lower() != "client_credentials":
        detail = f'kplan requests tokens with client credentials, not with "{grant[1].text}".'
        found.report("KP305", grant[1], detail)
    authority = found.find(Setting.TOKEN_CA)
    is_url_encoded = found.find(Setting.URL_ENCODED)
    return ClientCredentials(
        token_url=_token_url(found),
        client_id=_client_credential(
            found, login, "clientId", Setting.OAUTH_CLIENT, Setting.USERNAME
        ),
        client_secret=_client_credential(
            found, login, "clientSecret", Setting.OAUTH_SECRET, Setting.PASSWORD
        ),
        scope=_scope(found, login),
        ca=found.read_pem(authority[1]) if authority else "",
        extensions=tuple(sorted(_extensions(found, login))),
        subject_claim=_setting_text(found, Setting.SUBJECT_CLAIM) or "sub",
        is_url_encoded=is_url_encoded is not None and found.read_flag(is_url_encoded[1]),
    )


def _token_url(found: RawSettings) -> str:
    nearest = found.find(Setting.TOKEN_URL)
    if nearest is None:
        hint = "Set sasl_token_url, or sasl.oauthbearer.token.endpoint.url."
        found.report("KP303", None, f"No {Setting.TOKEN_URL} is given.", hint)
        return ""
    if not _URL.fullmatch(nearest[1].text):
        detail = f'"{nearest[1].name}" is a URL that begins with https:// or http://.'
        found.report("KP302", nearest[1], detail)
    return nearest[1].text


def _client_credential(
    found: RawSettings, login: JaasLogin | None, option: str, *settings: Setting
) -> str:
    """Read one half of the client, from a setting or from the login of older Java clients."""
    nearest = found.find(*settings)
    in_login = login.options.get(option, "") if login else ""
    is_by_login = in_login and found.find(Setting.LOGIN, *settings) != nearest
    value = in_login if is_by_login else nearest[1].text if nearest else ""
    if not value:
        argument = "sasl_username" if option == "clientId" else "sasl_password"
        found.report("KP303", None, f"No {settings[0]} is given.", f"Set {argument}.")
    return value


def _scope(found: RawSettings, login: JaasLogin | None) -> str:
    nearest = found.find(Setting.SCOPES)
    if nearest is None:
        return login.options.get("scope", "") if login else ""
    value = nearest[1].value
    if isinstance(value, Sequence) and not isinstance(value, str):
        return " ".join(str(each) for each in value)
    return " ".join(nearest[1].text.replace(",", " ").split())


_EXTENSION = re.compile(r"([A-Za-z]+)=([\x21-\x7e \t\r\n]+)")


def _extensions(found: RawSettings, login: JaasLogin | None) -> Iterator[tuple[str, str]]:
    """Read SASL extensions (KIP-342): name=value with commas, or options of the login."""
    for name, value in (login.options if login else {}).items():
        if name.startswith("extension_"):
            yield name.removeprefix("extension_"), value
    nearest = found.find(Setting.EXTENSIONS)
    if nearest is None:
        return
    for each in nearest[1].text.split(","):
        match = _EXTENSION.fullmatch(each.strip())
        if match is None or match[1].lower() == "auth":
            detail = f'"{nearest[1].name}" is name=value, with commas between.'
            found.report("KP302", nearest[1], detail)
        else:
            yield match[1], match[2]


_MSK_HOST = re.compile(r"\.kafka(?:-serverless)?\.([a-z0-9-]+)\.amazonaws\.com(?:\.cn)?$")


def _aws_msk_iam(
    found: RawSettings, login: JaasLogin | None, servers: Sequence[Endpoint]
) -> AwsMskIam:
    """Read how to sign a login for MSK; the region is in the brokers' names too."""
    options = login.options if login else {}
    for given in found.settings.get(Setting.AWS_OTHER, ()):
        hint = "Set it in the environment, as AWS's own tools take it."
        found.report("KP305", given, f'kplan does not hand "{given.name}" to AWS.', hint)
    hosts = (_MSK_HOST.search(each.host) for each in servers)
    region = _setting_text(found, Setting.AWS_REGION) or next(
        (host[1] for host in hosts if host), ""
    )
    if not region:
        hint = "Set sasl_aws_region; the broker names do not contain it."
        found.report("KP303", None, f"No {Setting.AWS_REGION} is given.", hint)
    access_key, secret_key = (
        _setting_text(found, each) for each in (Setting.AWS_ACCESS_KEY, Setting.AWS_SECRET_KEY)
    )
    if bool(access_key) != bool(secret_key):
        hint = "Give both sasl_aws_access_key and sasl_aws_secret_key, or neither."
        found.report("KP303", None, "Only one half of an AWS key is set.", hint)
    return AwsMskIam(
        region,
        profile=_setting_text(found, Setting.AWS_PROFILE) or options.get("awsProfileName", ""),
        role_arn=_setting_text(found, Setting.AWS_ROLE) or options.get("awsRoleArn", ""),
        access_key=access_key,
        secret_key=secret_key,
        session_token=_setting_text(found, Setting.AWS_TOKEN),
    )


def _setting_text(found: RawSettings, setting: Setting) -> str:
    nearest = found.find(setting)
    return nearest[1].text if nearest else ""
