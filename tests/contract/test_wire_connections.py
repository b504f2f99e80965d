"""The wire driver's connections to real brokers: what those are told who do not get in."""

import socket
import time
from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from kplan.cluster.request import AclBinding, NewTopic
from kplan.kafka.settings.connection import (
    ClientCredentials,
    ConnectionSettings,
    Endpoint,
    Plain,
    ScramSha256,
    ScramSha512,
    Tls,
)
from kplan.kafka.wire.controller import ControllerCluster
from kplan.kafka.wire.driver import WireCluster, preflight
from kplan.model.errors import AuthError, Refusal, UnreachableError, UnreadableError
from kplan.sandbox.sandbox import Sandbox
from tests.brokers import Has
from tests.capability import DIRECT_ACCESS, KRAFT, SCRAM, TOKEN_VALIDATOR
from tests.contract.connections import settings_from, told
from tests.e2e.places import until

pytestmark = pytest.mark.broker


def test_our_principal_is_the_one_that_the_authorizer_sees(
    tls_broker: Sandbox, tmp_path: Path
) -> None:
    """An ACL for the principal that we work out from the certificate lets us in."""
    alice = settings_from(tls_broker.client_properties("alice"), tmp_path)
    grant = AclBinding(
        "CLUSTER", "kafka-cluster", "LITERAL", alice.principal, "*", "DESCRIBE", "ALLOW"
    )
    with (
        closing(WireCluster(settings_from(tls_broker.properties, tmp_path))) as admin,
        closing(WireCluster(alice)) as cluster,
    ):
        with pytest.raises(UnreadableError, match="needs DESCRIBE on CLUSTER"):
            cluster.acls()
        assert admin.create_acls([grant]) == {grant: None}
        try:
            assert grant in _eventually(cluster)
        finally:
            admin.delete_acls([grant])


@pytest.mark.needs(DIRECT_ACCESS)
def test_the_authorizer_speaks_at_controllers_too(sasl_broker: Sandbox, tmp_path: Path) -> None:
    """K919-26: whoever has no rights has none there; so has nobody who does not log in."""
    bob = settings_from(sasl_broker.client_properties("bob"), tmp_path)
    direct = _at_controllers(bob, sasl_broker)
    grant = AclBinding("TOPIC", "orders", "LITERAL", "User:bob", "*", "READ", "ALLOW")
    with closing(ControllerCluster(direct)) as cluster:
        refused = cluster.create_acls([grant])[grant]
        assert isinstance(refused, Refusal)
        assert refused.error == "CLUSTER_AUTHORIZATION_FAILED"
        assert "User:bob needs ALTER on CLUSTER" in refused.message
        with pytest.raises(UnreadableError, match="needs DESCRIBE on CLUSTER"):
            cluster.acls()
    assert isinstance(told(replace(direct, sasl=None)), AuthError)


def _at_controllers(settings: ConnectionSettings, sandbox: Sandbox) -> ConnectionSettings:
    address, _, port = sandbox.bootstrap_controllers.rpartition(":")
    at = (Endpoint(address, int(port)),)
    return replace(settings, bootstrap_servers=(), bootstrap_controllers=at, allows_direct=True)


def _eventually(cluster: WireCluster) -> frozenset[AclBinding]:
    for _ in range(100):
        try:
            return cluster.acls()
        except UnreadableError:
            time.sleep(0.05)
    return cluster.acls()


def test_acls_of_a_cluster_without_authorizer_are_unread(
    open_broker: Sandbox, tmp_path: Path
) -> None:
    """K4-51: the other kinds can be planned."""
    settings = settings_from(open_broker.properties, tmp_path)
    with closing(WireCluster(settings)) as cluster:
        with pytest.raises(UnreadableError, match="the cluster has no authorizer"):
            cluster.acls()
        assert isinstance(cluster.topics(), Mapping)


@pytest.mark.needs(SCRAM)
def test_a_wrong_password_is_told_in_a_moment(sasl: ConnectionSettings) -> None:
    """Where librdkafka says `timed out` after the whole timeout."""
    for mechanism in (Plain, ScramSha256, ScramSha512):
        error = told(replace(sasl, sasl=mechanism("admin", "wrong-secret")))
        assert isinstance(error, AuthError)
        assert f"refused the login of User:admin by {mechanism.name}: Auth" in error.detail
        assert "wrong-secret" not in f"{error.detail} {error.hint}"


@pytest.mark.needs(KRAFT, SCRAM)
def test_a_mechanism_that_is_not_offered_is_told_with_the_offer(
    sasl: ConnectionSettings, sasl_broker: Sandbox
) -> None:
    """The listener of the controller takes passwords alone."""
    by_token = replace(sasl, sasl=ClientCredentials("http://unused/", "ci", "secret"))
    error = told(_at_controllers(by_token, sasl_broker))
    assert error.detail.endswith(
        "the SASL mechanism OAUTHBEARER. It offers: PLAIN, SCRAM-SHA-256, SCRAM-SHA-512."
    )


def test_a_listener_that_wants_a_login_is_told_with_its_offer(
    sasl: ConnectionSettings, sasl_tls: ConnectionSettings, has: Has
) -> None:
    error = told(replace(sasl, sasl=None))
    assert isinstance(error, AuthError)
    offered = "PLAIN, SCRAM-SHA-256, SCRAM-SHA-512."
    if has(TOKEN_VALIDATOR):
        offered = f"OAUTHBEARER, {offered}"
    assert error.detail.endswith(f"wants a SASL login, and kplan has none. It offers: {offered}")
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
    assert "client_cert" in error.hint


def test_plaintext_at_a_tls_port_is_told(
    mtls: ConnectionSettings, sasl_tls: ConnectionSettings
) -> None:
    for settings in (mtls, sasl_tls):
        error = told(replace(settings, tls=None))
        assert isinstance(error, AuthError)
        assert error.detail.endswith("uses TLS, and TLS is disabled for this connection.")
        assert "tls_enabled = true" in error.hint


def test_tls_at_a_plaintext_port_is_told(
    plaintext: ConnectionSettings, sasl: ConnectionSettings
) -> None:
    for settings in (plaintext, sasl):
        error = told(replace(settings, tls=Tls()))
        assert isinstance(error, AuthError)
        assert error.detail.endswith("does not use TLS, and TLS is enabled here.")
        assert "tls_enabled = false" in error.hint


@pytest.mark.needs(KRAFT)
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
    assert isinstance(error, UnreachableError)
    assert error.detail == f"{dead} refused the connection: nothing listens there."
    servers = (dead, *plaintext.bootstrap_servers)
    assert preflight(replace(plaintext, bootstrap_servers=servers)).cluster_id


def test_a_write_after_the_broker_hung_up_is_carried_out_and_not_in_doubt(
    sasl_tls: ConnectionSettings,
) -> None:
    """connections.max.idle.ms: ten minutes by default, one second here."""
    with closing(WireCluster(sasl_tls)) as cluster:
        cluster.describe()
        wait_for_hang_up(cluster)
        assert cluster.create_topics([NewTopic("after-idling", 1, 1)]) == {"after-idling": None}
        wait_for_hang_up(cluster)
        assert cluster.describe().cluster_id


def wait_for_hang_up(cluster: WireCluster) -> None:
    """Wait until the broker has closed what idles: a busy one closes it late."""
    pool = cluster._gateway._pool
    idle = [each for endpoint in pool._idle.values() for each in endpoint]
    assert idle
    until(lambda: not any(each.is_usable for each in idle))


def test_every_broker_is_asked_at_its_own_address(cluster3: Sandbox, tmp_path: Path) -> None:
    with closing(WireCluster(settings_from(cluster3.properties, tmp_path))) as cluster:
        brokers = cluster.describe().brokers
        assert [each.rack for each in brokers] == ["rack-a", "rack-b", "rack-c"]
        for each in brokers:
            assert cluster.acls(broker=each.id) == cluster.acls()
            assert cluster.topics(broker=each.id).keys() == cluster.topics().keys()
        with pytest.raises(UnreachableError, match="Broker 9 is not there"):
            cluster.topics(broker=9)
