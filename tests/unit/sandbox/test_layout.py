"""The nodes of a sandbox and the settings each is started with."""

from pathlib import Path

import pytest

from kplan.model.errors import SandboxError
from kplan.sandbox.launch import make_credentials
from kplan.sandbox.layout import (
    Node,
    Role,
    SandboxSpec,
    Security,
    bootstrap_controllers,
    bootstrap_servers,
    check_spec,
    initial_controllers,
    make_nodes,
    port_count,
    server_properties,
)

FOLDER = Path("/sandbox/node-1")


def laid_out(spec: SandboxSpec) -> tuple[Node, ...]:
    return make_nodes(spec, tuple(range(20_001, 20_001 + port_count(spec))))


def properties_of(number: int, spec: SandboxSpec) -> dict[str, str]:
    all_nodes = laid_out(spec)
    node = next(each for each in all_nodes if each.id == number)
    made = make_credentials(spec.security, FOLDER)
    return dict(server_properties(node, all_nodes, spec, made, FOLDER))


def test_one_broker_is_its_own_controller() -> None:
    (node,) = laid_out(SandboxSpec())
    assert node.roles == (Role.BROKER, Role.CONTROLLER)
    assert node.rack is None
    assert properties_of(1, SandboxSpec())["process.roles"] == "broker,controller"


def test_three_brokers_get_racks_and_three_controllers_of_their_own() -> None:
    """S30."""
    all_nodes = laid_out(SandboxSpec(brokers=3))
    assert [(node.id, node.rack) for node in all_nodes] == [
        (1, "rack-a"),
        (2, "rack-b"),
        (3, "rack-c"),
        (101, None),
        (102, None),
        (103, None),
    ]
    assert {node.roles for node in all_nodes[:3]} == {(Role.BROKER,)}
    assert {node.roles for node in all_nodes[3:]} == {(Role.CONTROLLER,)}


def test_a_number_of_controllers_is_taken_as_given() -> None:
    assert [node.id for node in laid_out(SandboxSpec(controllers=2))] == [1, 101, 102]
    combined = laid_out(SandboxSpec(brokers=3, controllers=0))
    assert all(node.roles == (Role.BROKER, Role.CONTROLLER) for node in combined)


def test_every_port_is_used_once() -> None:
    for spec in (SandboxSpec(), SandboxSpec(brokers=3), SandboxSpec(brokers=3, controllers=0)):
        used = [(node.broker_port, node.controller_port) for node in laid_out(spec)]
        assert sorted(port for pair in used for port in pair if port) == list(
            range(20_001, 20_001 + port_count(spec))
        )


def test_clients_and_controllers_have_their_addresses_on_loopback() -> None:
    all_nodes = laid_out(SandboxSpec(brokers=3, controllers=1))
    assert bootstrap_servers(all_nodes) == "127.0.0.1:20001,127.0.0.1:20002,127.0.0.1:20003"
    assert bootstrap_controllers(all_nodes) == "127.0.0.1:20004"


def test_a_broker_listens_for_clients_only_when_controllers_are_apart() -> None:
    spec = SandboxSpec(brokers=3)
    assert properties_of(2, spec)["listeners"] == "CLIENT://127.0.0.1:20002"
    assert properties_of(102, spec)["listeners"] == "CONTROLLER://127.0.0.1:20005"
    assert "inter.broker.listener.name" not in properties_of(102, spec)
    assert properties_of(2, spec)["controller.quorum.voters"] == (
        "101@127.0.0.1:20004,102@127.0.0.1:20005,103@127.0.0.1:20006"
    )


def test_voters_that_may_change_are_in_the_storage_and_not_in_the_settings() -> None:
    """KIP-853: nodes are told whom to ask, and controllers are formatted with who votes."""
    spec = SandboxSpec(brokers=1, controllers=2, dynamic_quorum=True)
    for number in (1, 101):
        settings = properties_of(number, spec)
        assert "controller.quorum.voters" not in settings
        assert settings["controller.quorum.bootstrap.servers"] == "127.0.0.1:20002,127.0.0.1:20003"
    directories = {1: "A" * 22, 101: "B" * 22, 102: "C" * 22}
    assert initial_controllers(laid_out(spec), directories) == (
        f"101@127.0.0.1:20002:{'B' * 22},102@127.0.0.1:20003:{'C' * 22}"
    )


def test_without_security_everyone_is_the_super_user_of_a_real_authorizer() -> None:
    """ACLs can be managed, and none is needed to work."""
    settings = properties_of(1, SandboxSpec())
    assert settings["authorizer.class.name"].endswith("StandardAuthorizer")
    assert settings["super.users"] == "User:ANONYMOUS"


def test_the_authorizer_can_be_left_out() -> None:
    settings = properties_of(1, SandboxSpec(authorizer=False))
    assert not {"authorizer.class.name", "super.users"} & set(settings)


def test_internal_topics_fit_the_number_of_brokers() -> None:
    one, three = properties_of(1, SandboxSpec()), properties_of(1, SandboxSpec(brokers=3))
    for key in ("offsets.topic.replication.factor", "transaction.state.log.replication.factor"):
        assert (one[key], three[key]) == ("1", "3")


def test_own_settings_have_the_last_word() -> None:
    spec = SandboxSpec(server_properties={"super.users": "User:root", "num.partitions": "7"})
    settings = properties_of(1, spec)
    assert (settings["super.users"], settings["num.partitions"]) == ("User:root", "7")


def test_sasl_serves_all_mechanisms_on_both_listeners() -> None:
    settings = properties_of(1, SandboxSpec(security=Security.SASL))
    assert settings["listener.security.protocol.map"] == (
        "CLIENT:SASL_PLAINTEXT,CONTROLLER:SASL_PLAINTEXT"
    )
    assert settings["super.users"] == "User:admin;User:broker"
    for listener in ("client", "controller"):
        for mechanism in ("plain", "scram-sha-256", "scram-sha-512"):
            assert f"listener.name.{listener}.{mechanism}.sasl.jaas.config" in settings


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        (SandboxSpec(brokers=0), "1 to 9 brokers, not 0"),
        (SandboxSpec(brokers=10), "1 to 9 brokers, not 10"),
        (SandboxSpec(controllers=-1), "0 to 9 controllers, not -1"),
        (SandboxSpec(controllers=10), "0 to 9 controllers, not 10"),
        (SandboxSpec(kafka_version="2.7.2"), "Kafka 2.7.2 cannot be started"),
        (SandboxSpec(zookeeper=True), "has no ZooKeeper mode"),
        (SandboxSpec(kafka_version="2.8.2", controllers=1), "no controllers of its own"),
        (SandboxSpec(kafka_version="4.0.0/../../x"), "cannot be started"),
        (SandboxSpec(heap_mb=64), "64 MiB is too small"),
        (SandboxSpec(class_path=(Path("my.jar"),)), "my.jar is not"),
    ],
)
def test_what_cannot_be_started_is_refused_before_anything_is_done(
    spec: SandboxSpec, told: str
) -> None:
    with pytest.raises(SandboxError, match=told):
        check_spec(spec)


@pytest.mark.parametrize("version", ["3.9.1", "4.0.0", "4.3.0"])
def test_supported_versions_pass(version: str) -> None:
    check_spec(SandboxSpec(kafka_version=version, class_path=(Path("/policies"),)))


def test_an_older_kafka_has_zookeeper_as_its_last_node() -> None:
    """Kafka 2.8 always, a 3.x where it is asked for; brokers find it, and no controller is told."""
    spec = SandboxSpec(brokers=2, kafka_version="2.8.2")
    all_nodes = laid_out(spec)
    assert [(node.id, node.roles) for node in all_nodes] == [
        (1, (Role.BROKER,)),
        (2, (Role.BROKER,)),
        (101, (Role.ZOOKEEPER,)),
    ]
    assert bootstrap_controllers(all_nodes) == ""
    found = properties_of(1, spec)
    assert found["zookeeper.connect"] == f"127.0.0.1:{all_nodes[-1].zookeeper_port}"
    assert found["authorizer.class.name"] == "kafka.security.authorizer.AclAuthorizer"
    assert "process.roles" not in found
    assert properties_of(101, spec)["clientPort"] == str(all_nodes[-1].zookeeper_port)
    assert laid_out(SandboxSpec(kafka_version="3.9.1", zookeeper=True))[-1].zookeeper_port
    assert not laid_out(SandboxSpec(kafka_version="3.9.1"))[-1].zookeeper_port


def test_kraft_has_scram_users_since_3_5() -> None:
    """KIP-900: before, all users of a sandbox log in by PLAIN."""
    assert not SandboxSpec(kafka_version="3.4.1").has_scram
    assert SandboxSpec(kafka_version="3.5.2").has_scram
    assert SandboxSpec(kafka_version="2.8.2").has_scram
    made = make_credentials(Security.SASL, FOLDER, has_scram=False)
    assert {each.client["sasl.mechanism"] for each in made.users} == {"PLAIN"}
    assert made.scram == ()
