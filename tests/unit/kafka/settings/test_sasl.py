"""Connection settings of logins by token: OAuth clients and identities of AWS."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from kplan.kafka.settings.connection import AwsMskIam, ClientCredentials, Kerberos
from kplan.kafka.settings.resolver import ResolvedSettings, resolve_settings
from kplan.kafka.transaction import librdkafka_settings
from kplan.model.diagnostic import SourceRange
from kplan.model.errors import ClusterError

CERTIFICATE = "-----BEGIN CERTIFICATE-----\nQUJD\n-----END CERTIFICATE-----\n"
URL = "https://login.example/token"
MODULE = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required"
CLIENT = ClientCredentials(URL, "ci", "hush", scope="a b")
BASE = {"bootstrap.servers": "a:1", "security.protocol": "SASL_SSL"}
OAUTH = {
    **BASE,
    "sasl.mechanism": "OAUTHBEARER",
    "sasl.oauthbearer.token.endpoint.url": URL,
}


@dataclass
class Block:
    """A provider block as the configuration hands it over."""

    arguments: Mapping[str, object]
    ranges: Mapping[str, SourceRange] = field(default_factory=dict)
    folder: Path | None = None


def resolved(
    arguments: Mapping[str, object], environ: Mapping[str, str] | None = None
) -> ResolvedSettings:
    return resolve_settings(Block(arguments), environ or {}, folder=Path())


def sasl(arguments: Mapping[str, object], environ: Mapping[str, str] | None = None) -> object:
    found = resolved(arguments, environ)
    assert found.diagnostics == ()
    assert found.settings is not None
    assert found.settings.security_protocol == "SASL_SSL"
    assert found.settings.principal == ""
    return found.settings.sasl


def problems(arguments: Mapping[str, object]) -> list[str]:
    found = resolved(arguments)
    assert found.settings is None
    return [f"{each.code} {each.detail}" for each in found.diagnostics]


LIBRDKAFKA = {
    "sasl.oauthbearer.method": "oidc",
    "sasl.oauthbearer.client.id": "ci",
    "sasl.oauthbearer.client.secret": "hush",
    "sasl.oauthbearer.scope": "a b",
    "sasl.oauthbearer.grant.type": "client_credentials",
}
JAVA = {
    "sasl.jaas.config": f"{MODULE};",
    "sasl.login.callback.handler.class": "org.apache.kafka.common.security.oauthbearer."
    "OAuthBearerLoginCallbackHandler",
    "sasl.oauthbearer.client.credentials.client.id": "ci",
    "sasl.oauthbearer.client.credentials.client.secret": "hush",
    "sasl.oauthbearer.scope": "a b",
    "sasl.oauthbearer.jwt.retriever.class": "x",
}
OLDER_JAVA = {"sasl.jaas.config": f'{MODULE} clientId="ci" clientSecret="hush" scope="a b";'}


@pytest.mark.parametrize("keys", [LIBRDKAFKA, JAVA, OLDER_JAVA], ids=["c", "java", "older"])
def test_every_clients_words_for_an_oauth_client_mean_the_same(keys: Mapping[str, str]) -> None:
    """S01, K117-02: Java-style and librdkafka-style property files."""
    assert sasl({"config": {**OAUTH, **keys}}) == CLIENT


def test_the_arguments_of_terraforms_provider_mean_the_same() -> None:
    block = {
        "bootstrap_servers": ["a:1"],
        "sasl_mechanism": "oauthbearer",
        "sasl_token_url": URL,
        "sasl_oauth_scopes": ["a", "b"],
    }
    assert sasl({**block, "sasl_username": "ci", "sasl_password": "hush"}) == CLIENT
    environ = {"KPLAN_SASL_USERNAME": "ci", "KPLAN_SASL_PASSWORD": "hush"}
    assert sasl(block, environ) == CLIENT


def test_a_better_placed_client_wins_over_the_login_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    file.write_text("".join(f"{key}={value}\n" for key, value in {**OAUTH, **OLDER_JAVA}.items()))
    block = Block({"sasl_username": "other"})
    found = resolve_settings(block, {}, folder=tmp_path, properties_file=file)
    assert found.settings is not None
    assert found.settings.sasl == replace(CLIENT, client_id="other")


def test_extensions_authority_and_claim_are_read() -> None:
    """KIP-342."""
    keys = {
        **LIBRDKAFKA,
        "sasl.oauthbearer.extensions": "logicalCluster=lkc-1, pool=p 2",
        "sasl.oauthbearer.sub.claim.name": "azp",
        "sasl.oauthbearer.header.urlencode": "true",
        "https.ca.pem": CERTIFICATE,
    }
    assert sasl({"config": {**OAUTH, **keys}}) == replace(
        CLIENT,
        ca=CERTIFICATE,
        extensions=(("logicalCluster", "lkc-1"), ("pool", "p 2")),
        subject_claim="azp",
        is_url_encoded=True,
    )
    login = f'{MODULE} clientId="ci" clientSecret="hush" scope="a b" extension_pool="p";'
    found = sasl({"config": {**OAUTH, "sasl.jaas.config": login}})
    assert found == replace(CLIENT, extensions=(("pool", "p"),))


def test_all_that_an_oauth_client_lacks_is_told_at_once() -> None:
    assert problems({"config": {**BASE, "sasl.mechanism": "OAUTHBEARER"}}) == [
        "KP303 No OAuth client id is given.",
        "KP303 No OAuth client secret is given.",
        "KP303 No URL of a token endpoint is given.",
    ]


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("token.endpoint.url", "file:///token", "is a URL that begins with https:// or http://."),
        ("token.endpoint.url", "https://ci:hush@login/", "is a URL that begins with"),
        ("extensions", "auth=x", "is name=value, with commas between."),
        ("extensions", "a", "is name=value, with commas between."),
        ("grant.type", "urn:jwt", 'with client credentials, not with "urn:jwt".'),
        ("metadata.authentication.type", "aws_iam", "kplan cannot honour"),
        ("cliend.id", "x", 'There is no setting "sasl.oauthbearer.cliend.id".'),
        ("header.urlencode", "perhaps", "is true or false."),
    ],
)
def test_a_setting_of_oauth_that_makes_no_sense_is_told(key: str, value: str, told: str) -> None:
    """K117-03: an unknown key is told with the closest match."""
    found = resolved({"config": {**OAUTH, **LIBRDKAFKA, f"sasl.oauthbearer.{key}": value}})
    (problem,) = found.diagnostics
    assert told in problem.detail
    assert found.settings is None
    if "There is no" in told:
        assert problem.hint == 'Did you mean "sasl.oauthbearer.client.id"?'


MSK = "b-1.orders.x1.c2.kafka.eu-west-1.amazonaws.com:9098"


@pytest.mark.parametrize(
    ("server", "given", "region"),
    [
        (MSK, None, "eu-west-1"),
        ("boot-x.c1.kafka-serverless.us-east-2.amazonaws.com:9098", None, "us-east-2"),
        ("b-1.x.kafka.cn-north-1.amazonaws.com.cn:9098", None, "cn-north-1"),
        ("proxy.internal:9098", "eu-north-1", "eu-north-1"),
        (MSK, "eu-north-1", "eu-north-1"),
    ],
)
def test_the_region_of_msk_is_given_or_told_by_the_brokers_names(
    server: str, given: str | None, region: str
) -> None:
    """S01: AWS MSK IAM."""
    block = {
        "bootstrap_servers": [server],
        "sasl_mechanism": "aws-iam",
        "sasl_aws_region": given,
        "sasl_aws_creds_debug": True,
    }
    assert sasl(block) == AwsMskIam(region)


def test_keys_role_and_profile_of_aws_are_read() -> None:
    block = {
        "bootstrap_servers": [MSK],
        "sasl_mechanism": "aws-iam",
        "sasl_aws_access_key": "AKID",
        "sasl_aws_secret_key": "hush",
        "sasl_aws_token": "session",
        "sasl_aws_role_arn": "arn:aws:iam::1:role/ci",
        "sasl_aws_profile": "team",
    }
    assert sasl(block) == AwsMskIam(
        "eu-west-1", "team", "arn:aws:iam::1:role/ci", "AKID", "hush", "session"
    )


def test_the_login_of_amazons_java_library_is_read() -> None:
    login = (
        'software.amazon.msk.auth.iam.IAMLoginModule required awsProfileName="team" '
        'awsRoleArn="arn:aws:iam::1:role/ci";'
    )
    keys = {
        **BASE,
        "bootstrap.servers": MSK,
        "sasl.mechanism": "AWS_MSK_IAM",
        "sasl.jaas.config": login,
    }
    assert sasl({"config": keys}) == AwsMskIam("eu-west-1", "team", "arn:aws:iam::1:role/ci")


def test_what_cannot_be_signed_for_aws_is_told() -> None:
    block = {
        "bootstrap_servers": ["proxy.internal:9098"],
        "sasl_mechanism": "aws-iam",
        "sasl_aws_access_key": "AKID",
        "sasl_aws_external_id": "x",
    }
    assert problems(block) == [
        "KP303 No AWS region is given.",
        "KP303 Only one half of an AWS key is set.",
        'KP305 kplan does not hand "sasl_aws_external_id" to AWS.',
    ]


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("sasl_aws_external_id", "in a profile of ~/.aws/config"),
        ("sasl_aws_shared_config_files", "AWS_CONFIG_FILE"),
        ("sasl_aws_container_credentials_full_uri", "AWS_CONTAINER_CREDENTIALS_FULL_URI"),
        (
            "sasl_aws_container_authorization_token_file",
            "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
        ),
    ],
)
def test_what_only_aws_reads_is_refused_with_its_place(name: str, place: str) -> None:
    block = {"bootstrap_servers": ["a:1"], "sasl_mechanism": "aws-iam", "sasl_aws_region": "x"}
    (told,) = resolved({**block, name: "x"}).diagnostics
    assert (told.code, place in told.hint) == ("KP305", True)


def test_settings_of_aws_mean_nothing_to_other_logins() -> None:
    """Terraform's provider takes them so, too."""
    found = resolved(
        {
            "bootstrap_servers": ["a:1"],
            "sasl_username": "a",
            "sasl_password": "b",
            "sasl_aws_external_id": "x",
        }
    )
    assert found.diagnostics == ()


KERBEROS = {**BASE, "sasl.mechanism": "GSSAPI"}


def test_kerberos_takes_the_ticket_of_the_cache_where_nothing_is_said() -> None:
    assert sasl({"config": KERBEROS}) == Kerberos("kafka")
    block = {"bootstrap_servers": ["a:1"], "sasl_mechanism": "gssapi"}
    assert sasl(block) == Kerberos("kafka")


def test_a_keytab_is_read_in_every_style(tmp_path: Path) -> None:
    """Arguments, librdkafka's names, and the login of Java; paths of a block start there."""
    keytab = str(tmp_path / "ci.keytab")
    found = Kerberos("broker", "ci@EXAMPLE.COM", keytab)
    arguments = {
        "bootstrap_servers": ["a:1"],
        "sasl_mechanism": "gssapi",
        "sasl_kerberos_service_name": "broker",
        "sasl_kerberos_principal": "ci@EXAMPLE.COM",
        "sasl_kerberos_keytab": "ci.keytab",
    }
    resolved = resolve_settings(Block(arguments), {}, folder=tmp_path)
    assert resolved.settings is not None
    assert resolved.settings.sasl == found
    librdkafka = {
        "sasl.kerberos.service.name": "broker",
        "sasl.kerberos.principal": "ci@EXAMPLE.COM",
        "sasl.kerberos.keytab": keytab,
        "sasl.kerberos.kinit.cmd": "kinit -kt",
    }
    assert sasl({"config": {**KERBEROS, **librdkafka}}) == found
    login = (
        "com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true "
        f'keyTab="{keytab}" principal="ci@EXAMPLE.COM" serviceName="broker";'
    )
    assert sasl({"config": {**BASE, "sasl.jaas.config": login}}) == found


def test_a_keytab_of_the_environment_goes_to_no_other_servers() -> None:
    """A change may not take the identity of the job elsewhere."""
    environ = {
        "KPLAN_BOOTSTRAP_SERVERS": "kafka.example:9093",
        "KPLAN_SASL_MECHANISM": "gssapi",
        "KPLAN_SASL_KERBEROS_KEYTAB": "/etc/ci.keytab",
    }
    block = Block({"bootstrap_servers": ["evil.example:9093"]})
    found = resolve_settings(block, environ, folder=Path())
    (problem,) = found.diagnostics
    assert problem.code == "KP310"
    assert "KPLAN_SASL_KERBEROS_KEYTAB" in problem.detail


def test_what_librdkafka_writes_is_refused_with_kerberos() -> None:
    """Its packages for Python have no GSSAPI; the producer of a state in a topic is its."""
    resolved = resolve_settings(Block({"config": KERBEROS}), {}, folder=Path())
    assert resolved.settings is not None
    with pytest.raises(ClusterError, match="has no Kerberos"):
        librdkafka_settings(resolved.settings)
