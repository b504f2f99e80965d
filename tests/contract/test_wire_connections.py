"""The wire driver's connections to real brokers: who gets in, and what the others are told."""

import socket
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from kplan.cluster.specs import AclBinding, NewTopic
from kplan.kafka.auth import Plain, ScramSha256, ScramSha512
from kplan.kafka.librdkafka import librdkafka_settings
from kplan.kafka.resolve import connection_settings
from kplan.kafka.settings import ConnectionSettings, Endpoint, Timeouts, Tls, seconds
from kplan.kafka.wire.driver import WireCluster, preflight
from kplan.model.errors import AuthError, ClusterError, Unreachable, Unread
from kplan.sandbox.properties import text
from kplan.sandbox.record import Sandbox
from kplan.sandbox.spec import SandboxSpec, Security

pytestmark = pytest.mark.broker

SandboxOf = Callable[[SandboxSpec], Sandbox]


def settings_of(properties: Mapping[str, str], folder: Path) -> ConnectionSettings:
    """Read the settings from a properties file, as a user would have them."""
    file = folder / "client.properties"
    file.write_text(text(properties))
    found = connection_settings(None, {}, folder=folder, properties_file=file)
    assert found.diagnostics == ()
    assert found.settings is not None
    return replace(found.settings, timeouts=Timeouts(seconds(5), seconds(20)))


def told(settings: ConnectionSettings, *, within_s: float = 2.0) -> ClusterError:
    """Give the error of a preflight, which must come soon (1 s; a loaded machine gets more)."""
    begun = time.monotonic()
    with pytest.raises(ClusterError) as caught:
        preflight(settings)
    assert time.monotonic() - begun < within_s
    return caught.value


@pytest.fixture
def plaintext(broker: Sandbox, tmp_path: Path) -> ConnectionSettings:
    return settings_of(broker.properties, tmp_path)


@pytest.fixture
def sasl(sasl_broker: Sandbox, tmp_path: Path) -> ConnectionSettings:
    return settings_of(sasl_broker.properties, tmp_path)


@pytest.fixture
def mtls(tls_broker: Sandbox, tmp_path: Path) -> ConnectionSettings:
    return settings_of(tls_broker.properties, tmp_path)


@pytest.fixture(scope="session")
def sasl_tls_broker(sandbox_of: SandboxOf) -> Sandbox:
    """One node with SASL inside TLS: `admin` with the password `secret`; hangs up after 1 s."""
    login = "org.apache.kafka.common.security.plain.PlainLoginModule required"
    users = 'username="admin" password="secret" user_admin="secret"'
    return sandbox_of(
        SandboxSpec(
            security=Security.TLS,
            server_properties={
                "listener.security.protocol.map": "CLIENT:SASL_SSL,CONTROLLER:SSL",
                "listener.name.client.ssl.client.auth": "none",
                "listener.name.client.plain.sasl.jaas.config": f"{login} {users};",
                "sasl.enabled.mechanisms": "PLAIN",
                "sasl.mechanism.inter.broker.protocol": "PLAIN",
                "authorizer.class.name": "",
                "connections.max.idle.ms": "1000",
            },
        )
    )


@pytest.fixture
def sasl_tls(sasl_tls_broker: Sandbox, tmp_path: Path) -> ConnectionSettings:
    mine = {"security.protocol": "SASL_SSL"}
    settings = settings_of({**sasl_tls_broker.properties, **mine, **LOGIN}, tmp_path)
    assert settings.tls is not None
    return replace(settings, tls=Tls(ca=settings.tls.ca))


LOGIN = {"sasl.mechanism": "PLAIN", "sasl.username": "admin", "sasl.password": "secret"}


@pytest.fixture(params=["plaintext", "sasl", "mtls", "sasl_tls"])
def any_settings(request: pytest.FixtureRequest) -> ConnectionSettings:
    settings: ConnectionSettings = request.getfixturevalue(request.param)
    return settings


def test_both_drivers_connect_with_the_same_settings(any_settings: ConnectionSettings) -> None:
    """Main job: PLAINTEXT, TLS, SASL PLAIN and SCRAM; one value serves both drivers."""
    from confluent_kafka.admin import AdminClient

    description = preflight(any_settings)
    client = AdminClient({**librdkafka_settings(any_settings), "log_level": 0})
    seen = client.describe_cluster(request_timeout=20).result()
    assert seen.cluster_id == description.cluster_id
    assert [(each.id, each.port) for each in description.brokers] == [
        (each.id, each.port) for each in seen.nodes
    ]
    assert description.version


@pytest.mark.parametrize("user", ["admin", "alice", "bob", "ci"])
def test_every_sasl_mechanism_logs_in(sasl_broker: Sandbox, tmp_path: Path, user: str) -> None:
    settings = settings_of(sasl_broker.client(user), tmp_path)
    assert preflight(settings).principal == f"User:{user}"
    assert settings.sasl is not None
    for mechanism in (Plain, ScramSha256, ScramSha512):
        same = mechanism(user, settings.sasl.password)
        assert preflight(replace(settings, sasl=same)).principal == f"User:{user}"


def test_our_principal_is_the_one_that_the_authorizer_sees(
    tls_broker: Sandbox, tmp_path: Path
) -> None:
    """An ACL for the principal that we work out from the certificate lets us in."""
    alice = settings_of(tls_broker.client("alice"), tmp_path)
    grant = AclBinding(
        "CLUSTER", "kafka-cluster", "LITERAL", alice.principal, "*", "DESCRIBE", "ALLOW"
    )
    with (
        closing(WireCluster(settings_of(tls_broker.properties, tmp_path))) as admin,
        closing(WireCluster(alice)) as cluster,
    ):
        with pytest.raises(Unread, match="needs DESCRIBE on CLUSTER"):
            cluster.acls()
        assert admin.create_acls([grant]) == {grant: None}
        try:
            assert grant in _eventually(cluster)
        finally:
            admin.delete_acls([grant])


def _eventually(cluster: WireCluster) -> frozenset[AclBinding]:
    for _ in range(100):
        try:
            return cluster.acls()
        except Unread:
            time.sleep(0.05)
    return cluster.acls()


def test_acls_of_a_cluster_without_authorizer_are_unread(
    open_broker: Sandbox, tmp_path: Path
) -> None:
    """K4-51: the other kinds can be planned."""
    settings = settings_of(open_broker.properties, tmp_path)
    with closing(WireCluster(settings)) as cluster:
        with pytest.raises(Unread, match="the cluster has no authorizer"):
            cluster.acls()
        assert isinstance(cluster.topics(), Mapping)


def test_a_wrong_password_is_told_in_a_moment(sasl: ConnectionSettings) -> None:
    """Where librdkafka says `timed out` after the whole timeout."""
    for mechanism in (Plain, ScramSha256, ScramSha512):
        error = told(replace(sasl, sasl=mechanism("admin", "wrong-secret")))
        assert isinstance(error, AuthError)
        assert f"refused the login of User:admin by {mechanism.name}: Auth" in error.detail
        assert "wrong-secret" not in f"{error.detail} {error.hint}"


def test_a_mechanism_that_is_not_offered_is_told_with_the_offer(
    sasl_tls: ConnectionSettings,
) -> None:
    error = told(replace(sasl_tls, sasl=ScramSha512("admin", "secret")))
    assert error.detail.endswith("the SASL mechanism SCRAM-SHA-512. It offers: PLAIN.")


def test_a_listener_that_wants_a_login_is_told_with_its_offer(
    sasl: ConnectionSettings, sasl_tls: ConnectionSettings
) -> None:
    error = told(replace(sasl, sasl=None))
    assert isinstance(error, AuthError)
    assert error.detail.endswith(
        "wants a SASL login, and kplan has none. It offers: PLAIN, SCRAM-SHA-256, SCRAM-SHA-512."
    )
    assert "wants a SASL login" in told(replace(sasl_tls, sasl=None)).detail


def test_a_listener_that_takes_no_login_is_told(plaintext: ConnectionSettings) -> None:
    error = told(replace(plaintext, sasl=Plain("a", "b")))
    assert isinstance(error, AuthError)
    assert error.detail.endswith("takes no SASL login.")


def test_a_foreign_authority_is_told(
    mtls: ConnectionSettings, sasl_tls: ConnectionSettings
) -> None:
    assert mtls.tls is not None
    for settings, tls in ((mtls, replace(mtls.tls, ca="")), (sasl_tls, Tls())):
        error = told(replace(settings, tls=tls))
        assert isinstance(error, AuthError)
        assert "is not trusted (CERTIFICATE_VERIFY_FAILED" in error.detail


def test_a_certificate_for_another_name_is_told_and_can_be_accepted(
    mtls: ConnectionSettings,
) -> None:
    # Another way to write 127.0.0.1, and not what the certificate says.
    port = mtls.bootstrap_servers[0].port
    elsewhere = replace(mtls, bootstrap_servers=(Endpoint("127.1", port),))
    assert mtls.tls is not None
    error = told(elsewhere)
    assert isinstance(error, AuthError)
    assert "is for another name (CERTIFICATE_VERIFY_FAILED" in error.detail
    assert preflight(replace(elsewhere, tls=replace(mtls.tls, is_host_checked=False))).cluster_id


def test_without_verification_any_authority_will_do(sasl_tls: ConnectionSettings) -> None:
    assert preflight(replace(sasl_tls, tls=Tls(is_verified=False))).cluster_id


def test_a_missing_client_certificate_is_told(mtls: ConnectionSettings) -> None:
    assert mtls.tls is not None
    error = told(replace(mtls, tls=Tls(ca=mtls.tls.ca)))
    assert isinstance(error, AuthError)
    assert "certificate" in error.detail
    assert "client_cert" in error.hint


def test_plaintext_at_a_tls_port_is_told(
    mtls: ConnectionSettings, sasl_tls: ConnectionSettings
) -> None:
    for settings in (mtls, sasl_tls):
        error = told(replace(settings, tls=None))
        assert isinstance(error, AuthError)
        assert error.detail.endswith("speaks TLS, and kplan was told not to.")
        assert "tls_enabled = true" in error.hint


def test_tls_at_a_plaintext_port_is_told(
    plaintext: ConnectionSettings, sasl: ConnectionSettings
) -> None:
    for settings in (plaintext, sasl):
        error = told(replace(settings, tls=Tls()))
        assert isinstance(error, AuthError)
        assert error.detail.endswith("does not speak TLS, and kplan was told to.")
        assert "tls_enabled = false" in error.hint


def test_a_controller_given_as_a_broker_is_told(broker: Sandbox) -> None:
    """K919-05."""
    host, _, port = broker.bootstrap_controllers.partition(":")
    error = told(ConnectionSettings((Endpoint(host, int(port)),)))
    assert error.detail == f"{broker.bootstrap_controllers} is a controller, not a broker."


@pytest.fixture
def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
    return port


def test_a_refused_connection_is_told_and_the_next_server_asked(
    plaintext: ConnectionSettings, free_port: int
) -> None:
    dead = Endpoint("127.0.0.1", free_port)
    error = told(ConnectionSettings((dead,)))
    assert isinstance(error, Unreachable)
    assert error.detail == f"{dead} refused the connection: nothing listens there."
    servers = (dead, *plaintext.bootstrap_servers)
    assert preflight(replace(plaintext, bootstrap_servers=servers)).cluster_id


def test_a_write_after_the_broker_hung_up_is_carried_out_and_not_in_doubt(
    sasl_tls: ConnectionSettings,
) -> None:
    """connections.max.idle.ms: ten minutes by default, one second here."""
    with closing(WireCluster(sasl_tls)) as cluster:
        cluster.describe()
        time.sleep(3)
        assert cluster.create_topics([NewTopic("after-idling", 1, 1)]) == {"after-idling": None}
        time.sleep(3)
        assert cluster.describe().cluster_id


def test_every_broker_is_asked_at_its_own_address(cluster3: Sandbox, tmp_path: Path) -> None:
    with closing(WireCluster(settings_of(cluster3.properties, tmp_path))) as cluster:
        brokers = cluster.describe().brokers
        assert [each.rack for each in brokers] == ["rack-a", "rack-b", "rack-c"]
        for each in brokers:
            assert cluster.acls(broker=each.id) == cluster.acls()
            assert cluster.topics(broker=each.id).keys() == cluster.topics().keys()
        with pytest.raises(Unreachable, match="Broker 9 is not there"):
            cluster.topics(broker=9)
