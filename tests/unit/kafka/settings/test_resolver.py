"""Connection settings: every way of giving them, one value, every problem at once."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

import pytest

from kplan.kafka.settings.connection import (
    PASSWORD_MECHANISMS,
    ConnectionSettings,
    Endpoint,
    Plain,
    ScramSha256,
    ScramSha512,
    SocketOptions,
    Timeouts,
    seconds,
)
from kplan.kafka.settings.key import KEY_SETTINGS, LIBRDKAFKA_KEYS, UNSUPPORTED_KEYS, UNUSED_KEYS
from kplan.kafka.settings.resolver import ResolvedSettings, resolve_settings
from kplan.kafka.transaction import librdkafka_settings
from kplan.model.codes import SUMMARIES
from kplan.model.diagnostic import SourceRange

CERTIFICATE = "-----BEGIN CERTIFICATE-----\nQUJD\n-----END CERTIFICATE-----\n"
OTHER_CERTIFICATE = "-----BEGIN CERTIFICATE-----\nREVG\n-----END CERTIFICATE-----\n"
KEY = "-----BEGIN PRIVATE KEY-----\nU0VDUkVU\n-----END PRIVATE KEY-----\n"


@dataclass
class Block:
    """A provider block as the configuration hands it over."""

    arguments: Mapping[str, object]
    ranges: Mapping[str, SourceRange] = field(default_factory=dict)
    folder: Path | None = None


def resolved(
    arguments: Mapping[str, object] | None = None,
    environ: Mapping[str, str] | None = None,
    folder: Path = Path(),
    properties_file: Path | None = None,
) -> ResolvedSettings:
    block = None if arguments is None else Block(arguments)
    return resolve_settings(block, environ or {}, folder=folder, properties_file=properties_file)


def settings(
    arguments: Mapping[str, object] | None = None,
    environ: Mapping[str, str] | None = None,
    folder: Path = Path(),
    properties_file: Path | None = None,
) -> ConnectionSettings:
    found = resolved(arguments, environ, folder, properties_file)
    assert found.diagnostics == ()
    assert found.settings is not None
    return found.settings


def problems(
    arguments: Mapping[str, object] | None = None, environ: Mapping[str, str] | None = None
) -> list[str]:
    found = resolved(arguments, environ)
    assert found.settings is None
    return [f"{each.code} {each.detail}" for each in found.diagnostics]


PLAIN_BLOCK = {"bootstrap_servers": ["localhost:9092"], "tls_enabled": False}


def test_the_arguments_of_terraforms_provider_are_read(tmp_path: Path) -> None:
    """Main job 3: files written for that provider are read unchanged."""
    (tmp_path / "ca.pem").write_text(CERTIFICATE)
    (tmp_path / "client.pem").write_text(OTHER_CERTIFICATE)
    found = settings(
        {
            "bootstrap_servers": ["kafka-1:9092", "[::1]:9093"],
            "ca_cert": "ca.pem",
            "client_cert_file": "client.pem",
            "client_key": KEY,
            "client_key_passphrase": "open",
            "kafka_version": "3.0.0",
            "sasl_aws_region": "eu-west-1",
            "sasl_mechanism": "scram-sha512",
            "sasl_password": "secret",
            "sasl_username": "ci",
            "skip_tls_verify": False,
            "timeout": 30,
            "tls_enabled": True,
        },
        folder=tmp_path,
    )
    assert found.bootstrap_servers == (Endpoint("kafka-1", 9092), Endpoint("::1", 9093))
    assert found.sasl == ScramSha512("ci", "secret")
    assert found.security_protocol == "SASL_SSL"
    assert found.tls is not None
    assert (found.tls.ca, found.tls.certificate) == (CERTIFICATE, OTHER_CERTIFICATE)
    assert (found.tls.key, found.tls.key_password) == (KEY, "open")
    assert found.tls.is_verified
    assert found.timeouts.request_s == seconds(30)
    assert found.principal == "User:ci"


def test_a_block_that_says_nothing_of_tls_means_tls() -> None:
    """Terraform's provider has tls_enabled = true by default."""
    assert settings({"bootstrap_servers": ["a:1"]}).security_protocol == "SSL"
    assert settings({"bootstrap_servers": ["a:1"], "tls_enabled": False}).tls is None
    assert settings({"bootstrap_servers": ["a:1"]}, {"KAFKA_ENABLE_TLS": "false"}).tls is None


def test_tls_is_on_wherever_the_address_comes_from(tmp_path: Path) -> None:
    """What `kplan init` and pipelines use is the environment (review F3)."""
    own = {"KPLAN_BOOTSTRAP_SERVERS": "a:1"}
    assert settings(None, own).security_protocol == "SSL"
    assert settings({}, {"KAFKA_BOOTSTRAP_SERVERS": "a:1"}).security_protocol == "SSL"
    assert settings(None, {**own, "KPLAN_TLS_ENABLED": "false"}).tls is None
    file = tmp_path / "client.properties"
    file.write_text("bootstrap.servers=a:1\n")
    assert settings(properties_file=file).security_protocol == "SSL"


def test_servers_may_be_text_with_commas() -> None:
    found = settings({"bootstrap_servers": "a:1, b:2,SSL://c:3 ", "tls_enabled": False})
    assert [str(each) for each in found.bootstrap_servers] == ["a:1", "b:2", "c:3"]


@pytest.mark.parametrize("bad", ["a", "a:", ":1", "a:0", "a:70000", "a:x", "::1:9092", "a b:1"])
def test_a_server_that_is_not_host_and_port_is_a_problem(bad: str) -> None:
    assert problems({"bootstrap_servers": [bad, "ok:1"]}) == [f'KP302 "{bad}" is not host:port.']


def test_addresses_in_one_element_are_to_be_parted() -> None:
    """As MSK gives them; Terraform's provider takes none of them."""
    (told,) = resolved({"bootstrap_servers": ["a:1,b:2"]}).diagnostics
    assert told.detail == '"a:1,b:2" is not host:port.'
    assert 'split(",", ...)' in told.hint


def test_an_argument_wins_over_config_over_file_over_environment(tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    file.write_text("client.id=file\nsecurity.protocol=PLAINTEXT\nbootstrap.servers=file:1\n")
    environ = {
        "KPLAN_BOOTSTRAP_SERVERS": "own:1",
        "KAFKA_BOOTSTRAP_SERVERS": "theirs:1",
        "KPLAN_COMMAND_CONFIG": str(file),
    }

    def first(arguments: Mapping[str, object] | None, environ: Mapping[str, str]) -> str:
        return str(settings(arguments, environ).bootstrap_servers[0])

    config = {"config": {"bootstrap.servers": "config:1"}}
    assert first({"bootstrap_servers": ["argument:1"], **config}, environ) == "argument:1"
    assert first(config, environ) == "config:1"
    assert first(None, environ) == "file:1"
    del environ["KPLAN_COMMAND_CONFIG"]
    assert first(None, environ) == "own:1"
    del environ["KPLAN_BOOTSTRAP_SERVERS"]
    assert first(None, environ) == "theirs:1"


def test_a_properties_file_named_on_the_command_line_wins_over_the_named_in_the_block(
    tmp_path: Path,
) -> None:
    for name in ("a", "b"):
        (tmp_path / name).write_text(f"bootstrap.servers={name}:1\n")
    block = {"properties_file": "a"}
    assert str(settings(block, folder=tmp_path).bootstrap_servers[0]) == "a:1"
    found = settings(block, folder=tmp_path, properties_file=tmp_path / "b")
    assert str(found.bootstrap_servers[0]) == "b:1"


def test_java_names_and_librdkafka_names_mean_the_same(tmp_path: Path) -> None:
    """K117-02: the keys of any other Kafka client."""
    (tmp_path / "key.pem").write_text(KEY)
    (tmp_path / "store.pem").write_text(KEY + CERTIFICATE)
    java = {
        "bootstrap.servers": "a:1",
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-256",
        "sasl.jaas.config": "org.apache.kafka.common.security.scram.ScramLoginModule required "
        'username="al\\"ice" password="pa;ss=word";',
        "ssl.truststore.type": "PEM",
        "ssl.truststore.certificates": OTHER_CERTIFICATE,
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": "store.pem",
        "request.timeout.ms": "20000",
        "ssl.endpoint.identification.algorithm": "",
    }
    librdkafka = {
        "metadata.broker.list": "a:1",
        "security.protocol": "sasl_ssl",
        "sasl.mechanisms": "SCRAM-SHA-256",
        "sasl.username": 'al"ice',
        "sasl.password": "pa;ss=word",
        "ssl.ca.pem": OTHER_CERTIFICATE,
        "ssl.certificate.pem": CERTIFICATE,
        "ssl.key.location": "key.pem",
        "socket.timeout.ms": 20000,
        "ssl.endpoint.identification.algorithm": "none",
    }
    found = settings({"config": java}, folder=tmp_path)
    assert found == settings({"config": librdkafka}, folder=tmp_path)
    assert found.sasl == ScramSha256('al"ice', "pa;ss=word")
    assert found.tls is not None
    assert not found.tls.is_host_checked
    assert found.timeouts.request_s == seconds(20)


def test_the_mechanism_follows_from_a_plain_login_module() -> None:
    login = 'a.b.PlainLoginModule required username=u password="p";'
    config = {"bootstrap.servers": "localhost:1", "sasl.jaas.config": login}
    assert settings({"config": config, "tls_enabled": False}).sasl == Plain("u", "p")


def test_a_scram_login_module_without_a_mechanism_is_a_problem() -> None:
    login = 'a.b.ScramLoginModule required username="u" password="p";'
    config = {"bootstrap.servers": "a:1", "sasl.jaas.config": login}
    assert problems({"config": config, "tls_enabled": False}) == [
        'KP302 "SCRAM" is not a SASL mechanism.'
    ]


def test_every_unknown_name_is_told_at_once_with_the_nearest_known() -> None:
    subject = SourceRange("main.tf", 3, 3, 3, 20)
    block = Block(
        {
            "bootstrap_server": ["a:1"],
            "config": {"ssl.ca.locaton": "x", "quite.else": 1, "bootstrap.servers": "a:1"},
        },
        {"bootstrap_server": subject},
    )
    found = resolve_settings(block, {"KPLAN_SASL_USER": "x"}, folder=Path())
    assert found.settings is None
    assert {(each.code, each.detail, each.hint) for each in found.diagnostics} == {
        (
            "KP301",
            'There is no argument "bootstrap_server".',
            'Did you mean "bootstrap_servers"?',
        ),
        ("KP301", 'There is no setting "ssl.ca.locaton".', 'Did you mean "ssl.ca.location"?'),
        ("KP301", 'There is no setting "quite.else".', ""),
        (
            "KP301",
            'There is no environment variable "KPLAN_SASL_USER".',
            'Did you mean "KPLAN_SASL_USERNAME"?',
        ),
    }
    assert [each.subject for each in found.diagnostics if "bootstrap_server" in each.detail] == [
        subject
    ]
    assert {each.summary for each in found.diagnostics} == {SUMMARIES["KP301"]}


def test_settings_of_producers_in_a_shared_file_are_only_warned_of(tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    file.write_text("bootstrap.servers=a:1\nacks=all\nsasl.login.class=x\n")
    found = resolved(None, {}, properties_file=file)
    assert found.settings is not None
    (warning,) = found.diagnostics
    assert (warning.code, warning.is_error, str(warning.subject)) == (
        "KP306",
        False,
        f"{file}:2:1",
    )


def test_settings_of_trust_that_cannot_be_honoured_are_refused() -> None:
    config = {"ssl.crl.location": "crl.pem", "bootstrap.servers": "a:1"}
    assert problems({"config": config}) == [
        'KP305 kplan cannot honour "ssl.crl.location" in all of its connections.'
    ]


def test_fine_tuning_goes_to_librdkafka_as_it_is() -> None:
    config = {"socket.keepalive.enable": True, "retry.backoff.ms": 50}
    found = settings({**PLAIN_BLOCK, "config": config})
    assert found.librdkafka == {"retry.backoff.ms": "50", "socket.keepalive.enable": "true"}


def test_no_name_of_a_setting_has_two_meanings() -> None:
    groups = (frozenset(KEY_SETTINGS), LIBRDKAFKA_KEYS, UNSUPPORTED_KEYS, UNUSED_KEYS)
    assert sum(len(each) for each in groups) == len(frozenset().union(*groups))


@pytest.mark.parametrize("bad", [0, -1, "0", "soon", True, 3601, "nan"], ids=repr)
def test_a_timeout_of_zero_or_less_cannot_be_expressed(bad: object) -> None:
    """Design law 9, K4-23."""
    assert problems({**PLAIN_BLOCK, "timeout": bad}) == [
        'KP302 "timeout" is a time above 0 and at most an hour.'
    ]


def test_without_a_timeout_that_of_terraforms_provider_holds() -> None:
    for arguments in (PLAIN_BLOCK, {**PLAIN_BLOCK, "timeout": None}):
        assert settings(arguments).timeouts.request_s == seconds(120)


@pytest.mark.parametrize("bad", [0, -1, 4000])
def test_a_span_of_time_is_above_zero(bad: float) -> None:
    with pytest.raises(ValueError, match="timeout"):
        seconds(bad)


@pytest.mark.parametrize("value", [5, "5", 5.0, Fraction(5)], ids=repr)
def test_connecting_never_takes_longer_than_a_request(value: object) -> None:
    found = settings({**PLAIN_BLOCK, "timeout": value}).timeouts
    assert found == Timeouts(seconds(5), seconds(5), max_read_s=seconds(5))
    assert found.read_s == seconds(5)


def test_the_connection_timeout_has_a_key_of_its_own() -> None:
    config = {"socket.connection.setup.timeout.ms": "2000"}
    assert settings({**PLAIN_BLOCK, "config": config}).timeouts.connect_s == seconds(2)


def test_an_unknown_mechanism_is_told_with_the_known_ones() -> None:
    block = {**PLAIN_BLOCK, "sasl_mechanism": "scram", "sasl_username": "a", "sasl_password": "b"}
    found = resolved(block)
    (problem,) = found.diagnostics
    assert problem.detail == '"SCRAM" is not a SASL mechanism.'
    assert problem.hint == (
        "Set sasl_mechanism to one of "
        "PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER, AWS_MSK_IAM, GSSAPI."
    )


def test_a_login_without_a_password_is_a_problem() -> None:
    assert problems({**PLAIN_BLOCK, "sasl_username": "a", "sasl_password": ""}) == [
        "KP303 No SASL password is given."
    ]


def test_the_password_may_come_from_elsewhere_than_the_name() -> None:
    found = settings({**PLAIN_BLOCK, "sasl_username": "a"}, {"KAFKA_SASL_PASSWORD": "p"})
    assert found.sasl == Plain("a", "p")


def test_a_user_name_left_in_the_environment_does_not_turn_sasl_on() -> None:
    found = settings(
        {"config": {"security.protocol": "PLAINTEXT", "bootstrap.servers": "a:1"}},
        {"KAFKA_SASL_USERNAME": "a"},
    )
    assert found.security_protocol == "PLAINTEXT"


def test_skipping_verification_can_be_said_in_both_ways() -> None:
    for given in ({"skip_tls_verify": True}, {"skip_tls_verify": "true"}):
        found = settings({"bootstrap_servers": ["a:1"], **given})
        assert found.tls is not None
        assert not found.tls.is_verified
    config = {"enable.ssl.certificate.verification": "false"}
    found = settings({"bootstrap_servers": ["a:1"], "config": config})
    assert found.tls is not None
    assert not found.tls.is_verified


def test_every_bad_value_is_told_at_once() -> None:
    assert sorted(
        problems(
            {
                "bootstrap_servers": 5,
                "tls_enabled": "perhaps",
                "timeout": 0,
                "config": {"security.protocol": "TLS"},
            }
        )
    ) == [
        'KP302 "TLS" is not a security protocol.',
        'KP302 "bootstrap_servers" is a list of host:port.',
        'KP302 "timeout" is a time above 0 and at most an hour.',
        'KP302 "tls_enabled" is true or false.',
    ]


def test_a_config_that_is_no_map_is_a_problem() -> None:
    assert problems({**PLAIN_BLOCK, "config": "x"}) == [
        'KP302 "config" is a map of setting names to values.'
    ]


def test_nothing_given_is_a_missing_server() -> None:
    assert problems() == ["KP303 No bootstrap servers are configured."]


def test_a_certificate_without_its_key_is_a_problem() -> None:
    block = {"bootstrap_servers": ["a:1"]}
    assert problems({**block, "client_cert": CERTIFICATE}) == [
        "KP303 A client certificate is set without its key."
    ]
    assert problems({**block, "client_key": KEY}) == [
        "KP303 A client key is set without its certificate."
    ]


def test_what_is_given_and_cannot_be_used_is_not_called_missing(tmp_path: Path) -> None:
    (tmp_path / "cert.pem").write_text(CERTIFICATE)
    (tmp_path / "key.pem").write_text(KEY)
    block = {"bootstrap_servers": ["a:1"], "client_cert": "cert.pem", "client_key": "key.pem"}
    assert resolved(block, folder=tmp_path).diagnostics == ()
    for name, value, told in (
        ("client_cert", "no.pem", f'"{tmp_path / "no.pem"}" cannot be read: No such file'),
        ("client_key", "no.pem", f'"{tmp_path / "no.pem"}" cannot be read: No such file'),
        ("client_cert", "key.pem", "it holds no certificate."),
        ("client_key", "cert.pem", "it holds no private key."),
    ):
        (problem,) = resolved({**block, name: value}, folder=tmp_path).diagnostics
        assert problem.code == "KP304"
        assert problem.detail.startswith(f"{name}: {told}")


def test_files_that_cannot_be_used_are_told_with_a_way_out(tmp_path: Path) -> None:
    (tmp_path / "trust.jks").write_bytes(b"\xfe\xed\xfe\xed")
    block = {"bootstrap_servers": ["a:1"], "config": {"ssl.truststore.location": "trust.jks"}}
    (problem,) = resolved(block, folder=tmp_path).diagnostics
    assert problem.code == "KP304"
    assert problem.detail.endswith('trust.jks" is not in PEM form.')
    assert "keytool" in problem.hint
    (problem,) = resolved({**PLAIN_BLOCK, "properties_file": "no"}, folder=tmp_path).diagnostics
    assert problem.detail == f'"{tmp_path / "no"}" cannot be read: No such file or directory.'
    (problem,) = resolved({"properties_file": "no"}, folder=tmp_path).diagnostics
    assert problem.code == "KP304", "servers may be in it"


@pytest.mark.parametrize("key", ["QUJD\n" * 3, "Q" * 184, "a\0b"], ids=["lines", "long", "null"])
def test_a_key_that_lost_its_first_line_is_not_shown(key: str) -> None:
    """Design law 11."""
    block = {"bootstrap_servers": ["a:1"], "client_cert": CERTIFICATE, "client_key": key}
    told = problems(block)
    assert told[-1] == (
        "KP304 client_key: the value is neither PEM text nor the path of a file that can be read."
    )
    assert key not in "".join(told)


def test_pem_that_lost_its_line_breaks_gets_them_back() -> None:
    for flat in (CERTIFICATE.replace("\n", " "), CERTIFICATE.replace("\n", "\\n")):
        found = settings({"bootstrap_servers": ["a:1"], "ca_cert": flat})
        assert found.tls is not None
        assert found.tls.ca == CERTIFICATE


@pytest.mark.parametrize("mechanism", PASSWORD_MECHANISMS, ids=lambda each: each.name)
def test_every_mechanism_keeps_its_secret(mechanism: type[Plain]) -> None:
    """Design law 11."""
    made = mechanism("alice", "hush")
    assert "hush" not in repr(made)
    assert made.principal == "User:alice"


def test_no_secret_is_in_the_repr_of_settings() -> None:
    found = settings(
        {
            "bootstrap_servers": ["a:1"],
            "client_cert": CERTIFICATE,
            "client_key": KEY,
            "client_key_passphrase": "hush1",
            "sasl_username": "a",
            "sasl_password": "hush2",
        }
    )
    assert not [word for word in ("hush", "U0VDUkVU") if word in repr(found)]


@pytest.mark.parametrize("prefix", ["", "socket."], ids=["java", "librdkafka"])
def test_buffers_and_idle_time_are_for_both_drivers(prefix: str) -> None:
    """K117-03."""
    config = {
        f"{prefix}send.buffer.bytes": 65536,
        f"{prefix}receive.buffer.bytes": "131072",
        "connections.max.idle.ms": "30000",
    }
    found = settings({**PLAIN_BLOCK, "config": config})
    assert found.sockets == SocketOptions(65536, 131072, 30.0)
    written = librdkafka_settings(found)
    assert written["socket.send.buffer.bytes"] == "65536"
    assert written["socket.receive.buffer.bytes"] == "131072"
    assert written["connections.max.idle.ms"] == "30000"


def test_a_buffer_of_minus_one_is_what_the_system_gives() -> None:
    """The default of Java clients."""
    config = {"send.buffer.bytes": "-1", "connections.max.idle.ms": "-1"}
    assert settings({**PLAIN_BLOCK, "config": config}).sockets == SocketOptions()


@pytest.mark.parametrize("bad", ["-2", "1.5", "many", 2**31, True])
def test_a_buffer_that_is_no_number_is_a_problem(bad: object) -> None:
    assert problems({**PLAIN_BLOCK, "config": {"send.buffer.bytes": bad}}) == [
        'KP302 "send.buffer.bytes" is a whole number, at most 2147483647.'
    ]
