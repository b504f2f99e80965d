"""ACLs on the cluster in memory: what Apache Kafka 4.3 was measured to answer."""

from dataclasses import replace

import pytest

from kplan.cluster.memory.cluster import MemoryCluster
from kplan.cluster.request import AclBinding
from kplan.model.errors import UnreadableError

READ = AclBinding("TOPIC", "orders", "LITERAL", "User:a", "*", "READ", "ALLOW")
CLUSTER = AclBinding("CLUSTER", "kafka-cluster", "LITERAL", "User:a", "*", "ALTER", "ALLOW")


def named(number: int) -> AclBinding:
    return replace(READ, resource_name=f"topic-{number}")


def test_an_acl_is_added_listed_and_deleted() -> None:
    cluster = MemoryCluster()
    assert cluster.create_acls([READ, CLUSTER]) == {READ: None, CLUSTER: None}
    assert cluster.acls() == {READ, CLUSTER}
    assert cluster.delete_acls([READ]) == {READ: None}
    assert cluster.acls() == {CLUSTER}


def test_adding_a_present_acl_and_deleting_an_absent_one_succeed() -> None:
    cluster = MemoryCluster()
    cluster.seed(acls=[READ])
    assert cluster.create_acls([READ]) == {READ: None}
    assert cluster.delete_acls([CLUSTER]) == {CLUSTER: None}


@pytest.mark.parametrize(
    ("bad", "wanted"),
    [
        (replace(READ, principal="nocolon"), "INVALID_REQUEST"),
        (replace(READ, resource_name=""), "INVALID_REQUEST"),
        (replace(CLUSTER, resource_name="mine"), "INVALID_REQUEST"),
        (replace(READ, operation="DANCE"), "CLIENT_INVALID"),
        (replace(READ, operation="ANY"), "CLIENT_INVALID"),
        (replace(READ, permission="ANY"), "CLIENT_INVALID"),
        (replace(READ, pattern_type="MATCH"), "CLIENT_INVALID"),
        (replace(READ, resource_type="ANY"), "CLIENT_INVALID"),
    ],
)
def test_a_bad_acl_fails_alone(bad: AclBinding, wanted: str) -> None:
    """Trap 3: words of filters never reach the broker, where they spoil the whole batch."""
    cluster = MemoryCluster()
    answers = cluster.create_acls([READ, bad])
    assert answers[READ] is None
    refused = answers[bad]
    assert refused is not None
    assert refused.error == wanted
    assert cluster.acls() == {READ}


def test_nonsense_that_kafka_stores_is_stored() -> None:
    """Trap 13."""
    cluster = MemoryCluster()
    nonsense = [
        replace(CLUSTER, operation="READ"),
        replace(CLUSTER, pattern_type="PREFIXED"),
        replace(READ, principal="user:x"),
        replace(READ, host="10.0.0.0/8"),
        replace(READ, host=""),
        replace(READ, resource_name="a/b"),
    ]
    assert set(cluster.create_acls(nonsense).values()) == {None}
    assert cluster.acls() == set(nonsense)


def test_no_acl_is_deleted_by_a_pattern() -> None:
    """K4-46: a wildcard filter could wipe ACLs that are wanted."""
    cluster = MemoryCluster()
    cluster.seed(acls=[READ])
    pattern = replace(READ, operation="ANY")
    refused = cluster.delete_acls([pattern])[pattern]
    assert refused is not None
    assert refused.error == "CLIENT_INVALID"
    assert cluster.acls() == {READ}


def test_ten_thousand_new_acls_pass_and_one_more_fails_the_request() -> None:
    cluster = MemoryCluster()
    bindings = [named(each) for each in range(10_001)]
    assert {each.error if each else "" for each in cluster.create_acls(bindings).values()} == {
        "POLICY_VIOLATION"
    }
    assert set(cluster.create_acls(bindings[1:]).values()) == {None}
    assert set(cluster.create_acls(bindings).values()) == {None}, "only new ones count"


def test_deleting_more_than_ten_thousand_acls_fails_the_request() -> None:
    """Trap 4."""
    cluster = MemoryCluster()
    bindings = [named(each) for each in range(10_001)]
    cluster.seed(acls=bindings[:10_000])
    cluster.seed(acls=bindings[10_000:])
    refused = {each.error if each else "" for each in cluster.delete_acls(bindings).values()}
    assert refused == {"INVALID_REQUEST"}
    assert len(cluster.acls()) == 10_001


def test_without_authorizer_there_are_no_acls_to_speak_of() -> None:
    """K4-51."""
    cluster = MemoryCluster()
    cluster.disable_authorizer()
    with pytest.raises(UnreadableError, match="SECURITY_DISABLED"):
        cluster.acls()
    for write in (cluster.create_acls, cluster.delete_acls):
        refused = write([READ])[READ]
        assert refused is not None
        assert (refused.error, refused.code) == ("SECURITY_DISABLED", 54)


def test_without_rights_on_the_cluster_acls_are_neither_read_nor_written() -> None:
    """K4-41, K4-48."""
    cluster = MemoryCluster()
    cluster.deny_operation("DESCRIBE", "CLUSTER")
    cluster.deny_operation("ALTER", "CLUSTER")
    with pytest.raises(UnreadableError, match="CLUSTER_AUTHORIZATION_FAILED"):
        cluster.acls()
    for write in (cluster.create_acls, cluster.delete_acls):
        refused = write([READ])[READ]
        assert refused is not None
        assert (refused.error, refused.code) == ("CLUSTER_AUTHORIZATION_FAILED", 31)
    assert cluster.connect_as().acls() == frozenset()
