"""The sandbox starts, serves and ends a real Apache Kafka."""

import pytest

from kplan.sandbox.record import Sandbox

pytestmark = pytest.mark.broker


@pytest.mark.parametrize("name", ["broker", "open_broker", "cluster3"])
def test_a_plaintext_sandbox_answers(name: str, request: pytest.FixtureRequest) -> None:
    from confluent_kafka.admin import AdminClient

    sandbox: Sandbox = request.getfixturevalue(name)
    seen = AdminClient({"bootstrap.servers": sandbox.bootstrap_servers}).list_topics(timeout=10)
    assert len(seen.brokers) == sandbox.spec.brokers
    assert seen.cluster_id == sandbox.cluster_id


def test_a_sasl_sandbox_answers(sasl_broker: Sandbox) -> None:
    from confluent_kafka.admin import AdminClient

    for user in sasl_broker.users:
        p = sasl_broker.client(user.name)
        jaas = p["sasl.jaas.config"]
        pw = jaas.split('password="')[1].split('"')[0]
        c = AdminClient(
            {
                "bootstrap.servers": p["bootstrap.servers"],
                "security.protocol": p["security.protocol"],
                "sasl.mechanism": p["sasl.mechanism"],
                "sasl.username": user.name,
                "sasl.password": pw,
            }
        )
        assert c.list_topics(timeout=10).cluster_id


def test_a_tls_sandbox_answers(tls_broker: Sandbox) -> None:
    from confluent_kafka.admin import AdminClient

    p = tls_broker.properties
    c = AdminClient(
        {
            "bootstrap.servers": p["bootstrap.servers"],
            "security.protocol": "SSL",
            "ssl.ca.location": p["ssl.truststore.location"],
            "ssl.certificate.location": p["ssl.keystore.location"],
            "ssl.key.location": p["ssl.keystore.location"],
        }
    )
    assert c.list_topics(timeout=10).cluster_id
