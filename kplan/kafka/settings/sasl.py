"""The SASL mechanism that the settings ask for, with everything it needs."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from kplan.kafka.settings.connection import (
    PASSWORD_MECHANISMS,
    AwsMskIam,
    ClientCredentials,
    Endpoint,
    Kerberos,
    Mechanism,
)
from kplan.kafka.settings.java import JaasLogin, parse_jaas_login
from kplan.kafka.settings.key import Setting
from kplan.kafka.settings.source import RawSettings

OAUTHBEARER = ClientCredentials.name
AWS_MSK_IAM = "AWS_MSK_IAM"
GSSAPI = Kerberos.name
MECHANISMS_WITHOUT_USER = (OAUTHBEARER, AWS_MSK_IAM, GSSAPI)
"""Mechanisms that may do without a user name."""

_SUPPORTED = (*(each.name for each in PASSWORD_MECHANISMS), OAUTHBEARER, AWS_MSK_IAM, GSSAPI)
_LOGIN_MODULES = {
    "ScramLoginModule": "SCRAM",
    "OAuthBearerLoginModule": OAUTHBEARER,
    "IAMLoginModule": AWS_MSK_IAM,
    "Krb5LoginModule": GSSAPI,
}


def mechanism_name(settings: RawSettings) -> str:
    """Return Kafka's name of the mechanism, "" where none is given."""
    given = settings.find(Setting.MECHANISM)
    return mechanism_alias(given[1].text) if given else ""


def mechanism_alias(text: str) -> str:
    """Return Kafka's name for that of Terraform's provider, which has no hyphen in SHA."""
    name = text.upper()
    return {
        "SCRAM-SHA256": "SCRAM-SHA-256",
        "SCRAM-SHA512": "SCRAM-SHA-512",
        "AWS-IAM": AWS_MSK_IAM,
    }.get(name, name)


def resolve_mechanism(settings: RawSettings, servers: Sequence[Endpoint]) -> Mechanism | None:
    """Read the mechanism with all that it needs; None with problems noted."""
    login = _jaas_login(settings)
    name = mechanism_name(settings)
    if not name:  # what Terraform's provider takes, and what a login says
        name = _LOGIN_MODULES.get(login.module if login else "", "PLAIN")
    if name == OAUTHBEARER:
        return _client_credentials(settings, login)
    if name == AWS_MSK_IAM:
        return _aws_msk_iam(settings, login, servers)
    if name == GSSAPI:
        return _kerberos(settings, login)
    by_password = {each.name: each for each in PASSWORD_MECHANISMS}
    if name in by_password:
        username = _credential(settings, Setting.USERNAME, login, "username")
        password = _credential(settings, Setting.PASSWORD, login, "password")
        return by_password[name](username, password)
    _report_mechanism(settings, name)
    return None


def _report_mechanism(settings: RawSettings, name: str) -> None:
    nearest = settings.find(Setting.MECHANISM, Setting.LOGIN)
    given = nearest[1] if nearest else None
    detail = f'"{name}" is not a SASL mechanism.'
    hint = f"Set sasl_mechanism to one of {', '.join(_SUPPORTED)}."
    settings.report("KP302", given, detail, hint)


def _jaas_login(settings: RawSettings) -> JaasLogin | None:
    nearest = settings.find(Setting.LOGIN)
    if nearest is None:
        return None
    login = parse_jaas_login(nearest[1].text)
    if login is None:
        settings.report(
            "KP302",
            nearest[1],
            f'"{nearest[1].name}" is not a JAAS login.',
            'As in: CLASS required username="NAME" password="SECRET";',
        )
    return login


def _credential(
    settings: RawSettings, setting: Setting, login: JaasLogin | None, option: str
) -> str:
    nearest = settings.find(setting, Setting.LOGIN)
    if nearest is not None and nearest[0] is Setting.LOGIN:
        value = login.options.get(option, "") if login else "unreadable"
    else:
        value = nearest[1].text if nearest else ""
    if not value:
        settings.report("KP303", None, f"No {setting} is given.", f"Set sasl_{option}.")
    return value


_URL = re.compile(r"https?://[^\s/@?#]+(?:[/?][^\s#]*)?", re.IGNORECASE)


def _client_credentials(settings: RawSettings, login: JaasLogin | None) -> ClientCredentials:
    """Read an OAuth client (KIP-768); name and password of the block are its id and secret."""
    grant = settings.find(Setting.GRANT)
    if grant and grant[1].text.lower() != "client_credentials":
        detail = f'kplan requests tokens with client credentials, not with "{grant[1].text}".'
        settings.report("KP305", grant[1], detail)
    authority = settings.find(Setting.TOKEN_CA)
    is_url_encoded = settings.find(Setting.URL_ENCODED)
    return ClientCredentials(
        token_url=_token_url(settings),
        client_id=_client_credential(
            settings, login, "clientId", Setting.OAUTH_CLIENT, Setting.USERNAME
        ),
        client_secret=_client_credential(
            settings, login, "clientSecret", Setting.OAUTH_SECRET, Setting.PASSWORD
        ),
        scope=_scope(settings, login),
        ca=settings.read_pem(authority[1]) if authority else "",
        extensions=tuple(sorted(_extensions(settings, login))),
        subject_claim=_setting_text(settings, Setting.SUBJECT_CLAIM) or "sub",
        is_url_encoded=is_url_encoded is not None and settings.read_flag(is_url_encoded[1]),
    )


def _token_url(settings: RawSettings) -> str:
    nearest = settings.find(Setting.TOKEN_URL)
    if nearest is None:
        hint = "Set sasl_token_url, or sasl.oauthbearer.token.endpoint.url."
        settings.report("KP303", None, f"No {Setting.TOKEN_URL} is given.", hint)
        return ""
    if not _URL.fullmatch(nearest[1].text):
        detail = f'"{nearest[1].name}" is a URL that begins with https:// or http://.'
        settings.report("KP302", nearest[1], detail)
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


def _scope(settings: RawSettings, login: JaasLogin | None) -> str:
    nearest = settings.find(Setting.SCOPES)
    if nearest is None:
        return login.options.get("scope", "") if login else ""
    value = nearest[1].value
    if isinstance(value, Sequence) and not isinstance(value, str):
        return " ".join(str(each) for each in value)
    return " ".join(nearest[1].text.replace(",", " ").split())


_EXTENSION = re.compile(r"([A-Za-z]+)=([\x21-\x7e \t\r\n]+)")


def _extensions(settings: RawSettings, login: JaasLogin | None) -> Iterator[tuple[str, str]]:
    """Read SASL extensions (KIP-342): name=value with commas, or options of the login."""
    for name, value in (login.options if login else {}).items():
        if name.startswith("extension_"):
            yield name.removeprefix("extension_"), value
    nearest = settings.find(Setting.EXTENSIONS)
    if nearest is None:
        return
    for each in nearest[1].text.split(","):
        match = _EXTENSION.fullmatch(each.strip())
        if match is None or match[1].lower() == "auth":
            detail = f'"{nearest[1].name}" is name=value, with commas between.'
            settings.report("KP302", nearest[1], detail)
        else:
            yield match[1], match[2]


_AWS_PLACES = {
    "sasl_aws_container_authorization_token_file": (
        "set AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE; Kubernetes sets it in pods"
    ),
    "sasl_aws_container_credentials_full_uri": (
        "set AWS_CONTAINER_CREDENTIALS_FULL_URI; Kubernetes sets it in pods"
    ),
    "sasl_aws_external_id": (
        "write external_id and role_arn in a profile of ~/.aws/config, named by sasl_aws_profile"
    ),
    "sasl_aws_shared_config_files": "name the file in AWS_CONFIG_FILE",
}
"""Where AWS's own tools read what the provider also takes as an argument."""

_MSK_HOST = re.compile(r"\.kafka(?:-serverless)?\.([a-z0-9-]+)\.amazonaws\.com(?:\.cn)?$")


def _aws_msk_iam(
    settings: RawSettings, login: JaasLogin | None, servers: Sequence[Endpoint]
) -> AwsMskIam:
    """Read how to sign a login for MSK; the region is in the brokers' names too."""
    options = login.options if login else {}
    for given in settings.settings.get(Setting.AWS_OTHER, ()):
        hint = f"Remove it, and {_AWS_PLACES[given.name]}."
        settings.report("KP305", given, f'kplan does not hand "{given.name}" to AWS.', hint)
    hosts = (_MSK_HOST.search(each.host) for each in servers)
    region = _setting_text(settings, Setting.AWS_REGION) or next(
        (host[1] for host in hosts if host), ""
    )
    if not region:
        hint = "Set sasl_aws_region; the broker names do not contain it."
        settings.report("KP303", None, f"No {Setting.AWS_REGION} is given.", hint)
    access_key, secret_key = (
        _setting_text(settings, each) for each in (Setting.AWS_ACCESS_KEY, Setting.AWS_SECRET_KEY)
    )
    if bool(access_key) != bool(secret_key):
        hint = "Give both sasl_aws_access_key and sasl_aws_secret_key, or neither."
        settings.report("KP303", None, "Only one half of an AWS key is set.", hint)
    return AwsMskIam(
        region,
        profile=_setting_text(settings, Setting.AWS_PROFILE) or options.get("awsProfileName", ""),
        role_arn=_setting_text(settings, Setting.AWS_ROLE) or options.get("awsRoleArn", ""),
        access_key=access_key,
        secret_key=secret_key,
        session_token=_setting_text(settings, Setting.AWS_TOKEN),
    )


_KERBEROS_SERVICE = "kafka"


def _kerberos(settings: RawSettings, login: JaasLogin | None) -> Kerberos:
    """Read how to log in by Kerberos; options of a login are those of Java's own module."""
    options = login.options if login else {}
    keytab = settings.find(Setting.KERBEROS_KEYTAB)
    path = str(keytab[1].folder / Path(keytab[1].text).expanduser()) if keytab else ""
    return Kerberos(
        service_name=_setting_text(settings, Setting.KERBEROS_SERVICE)
        or options.get("serviceName", "")
        or _KERBEROS_SERVICE,
        client=_setting_text(settings, Setting.KERBEROS_PRINCIPAL) or options.get("principal", ""),
        keytab=path or options.get("keyTab", ""),
    )


def _setting_text(settings: RawSettings, setting: Setting) -> str:
    nearest = settings.find(setting)
    return nearest[1].text if nearest else ""
