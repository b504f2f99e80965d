"""ACLs, rights, and no authorizer: the same on every implementation of the `Cluster` port."""

from collections.abc import Callable

import pytest

from kplan.cluster.memory.controller import OPERATIONS, RESOURCE_TYPES
from kplan.cluster.port import Cluster
from kplan.cluster.request import ConfigAlteration, NewPartitions, NewTopic, TopicPreview, TopicRef
from kplan.model.errors import Refusal, UnreadableError
from tests.brokers import Has
from tests.capability import ERROR_CODES, KRAFT, RECORD_LIMIT, TWO_PHASE_COMMIT, USER_ACLS
from tests.contract.clusters import (
    acl,
    alike,
    described,
    errors,
    listed,
    made,
    own_acls,
    own_config,
    soon,
)

Lacking = Callable[..., Cluster]

# Rights.


def test_what_we_may_do_is_told_for_the_cluster_and_for_each_topic(
    guarded: Cluster, lacking: Lacking, prefix: str
) -> None:
    """S23, KIP-430: the bits that brokers add to their answers."""
    name = f"{prefix}t"
    made(guarded, NewTopic(name, 1, 1))
    cluster = lacking(("DELETE", "TOPIC"), ("ALTER", "CLUSTER"), ("CREATE", "TOPIC"))
    found = cluster.rights([name, f"{prefix}absent"])
    assert found.cluster is not None
    assert not {"ALTER", "CREATE"} & found.cluster
    assert "DESCRIBE" in found.cluster
    assert set(found.topics) == {name}
    assert {"ALTER", "ALTER_CONFIGS", "DESCRIBE", "DESCRIBE_CONFIGS"} <= found.topics[name]
    assert not {"CREATE", "DELETE"} & found.topics[name]


def test_a_super_user_may_do_everything(guarded: Cluster, prefix: str) -> None:
    name = f"{prefix}t"
    made(guarded, NewTopic(name, 1, 1))
    found = guarded.rights([name])
    assert found.cluster is not None
    assert {"ALTER", "ALTER_CONFIGS", "CREATE", "DESCRIBE"} <= found.cluster
    assert {"ALTER", "ALTER_CONFIGS", "CREATE", "DELETE"} <= found.topics[name]


def test_without_an_authorizer_we_may_do_everything(
    open_cluster_without_acls: Cluster,
) -> None:
    found = open_cluster_without_acls.rights([])
    assert found.cluster is not None
    assert {"ALTER", "CREATE"} <= found.cluster


# ACLs.


OF_USERS = frozenset({"USER", "CREATE_TOKENS", "DESCRIBE_TOKENS"})


def test_acls_of_every_sort_are_added_listed_and_deleted(
    cluster: Cluster, prefix: str, has: Has
) -> None:
    """K4-42, K4-44, K4-46, P4."""
    newer = frozenset() if has(USER_ACLS) else OF_USERS
    newer |= frozenset() if has(TWO_PHASE_COMMIT) else {"TWO_PHASE_COMMIT"}
    every = [
        acl(
            prefix,
            resource_type=resource_type,
            resource_name="kafka-cluster" if resource_type == "CLUSTER" else f"{prefix}x",
            operation=operation,
            pattern_type=("LITERAL", "PREFIXED")[len(operation) % 2],
            permission=("ALLOW", "DENY")[len(resource_type) % 2],
            host=("*", "10.0.0.1")[len(operation) % 2],
        )
        for resource_type in sorted(RESOURCE_TYPES - newer)
        for operation in sorted(OPERATIONS - newer)
    ]
    assert own_acls(cluster, prefix) == set()
    assert cluster.create_acls(every) == dict.fromkeys(every)
    soon(lambda: own_acls(cluster, prefix) == set(every))
    assert cluster.acls(broker=1) == cluster.acls()
    gone, stay = every[::2], every[1::2]
    assert cluster.delete_acls(gone) == dict.fromkeys(gone)
    soon(lambda: own_acls(cluster, prefix) == set(stay))


def test_adding_a_present_acl_and_deleting_an_absent_one_succeed(
    cluster: Cluster, prefix: str
) -> None:
    read = acl(prefix)
    assert cluster.create_acls([read]) == {read: None}
    assert cluster.create_acls([read]) == {read: None}
    assert cluster.delete_acls([read]) == {read: None}
    assert cluster.delete_acls([read]) == {read: None}
    soon(lambda: own_acls(cluster, prefix) == set())


def test_a_bad_acl_fails_alone(cluster: Cluster, prefix: str, has: Has) -> None:
    """Trap 3, P9: also one with a word of filters, which spoils the whole batch on the wire."""
    good = [acl(prefix), acl(prefix, operation="WRITE"), acl(prefix, host="10.0.0.0/8")]
    bad = {
        acl(prefix, principal=f"{prefix}nocolon"): "INVALID_REQUEST",
        acl(prefix, resource_name=""): "INVALID_REQUEST",
        acl(prefix, resource_type="CLUSTER"): "INVALID_REQUEST",
        acl(prefix, operation="ANY"): "CLIENT_INVALID",
        acl(prefix, pattern_type="MATCH"): "CLIENT_INVALID",
        acl(prefix, permission="ANY"): "CLIENT_INVALID",
        acl(prefix, resource_type="ANY"): "CLIENT_INVALID",
    }
    answers = cluster.create_acls([*good, *bad])
    refusals = {each: answer.error for each, answer in answers.items() if answer}
    assert alike(refusals, bad, exact=has(ERROR_CODES))
    soon(lambda: own_acls(cluster, prefix) == set(good))
    pattern = acl(prefix, operation="ANY")
    refused = cluster.delete_acls([pattern, good[0]])
    assert refused[good[0]] is None
    assert errors({"pattern": refused[pattern]}) == {"pattern": "CLIENT_INVALID"}
    soon(lambda: own_acls(cluster, prefix) == set(good[1:]))


@pytest.mark.needs(RECORD_LIMIT)
@pytest.mark.parametrize("kind", ["memory", pytest.param("wire", marks=pytest.mark.broker)])
def test_ten_thousand_and_one_acls_in_a_request_fail_it_whole(
    cluster: Cluster, prefix: str
) -> None:
    """Trap 4. Routed is the same request, and one keeps the broker busy for many seconds."""
    many = [acl(prefix, resource_name=f"{prefix}{each}") for each in range(10_001)]

    def messages() -> set[str]:
        return {each.message if each else "" for each in cluster.create_acls(many).values()}

    # A busy controller may not answer in time: then nobody knows yet what it says.
    soon(lambda: messages() == {"Unable to perform excessively large batch operation."})
    assert own_acls(cluster, prefix) == set()


# Rights, and no authorizer at all.


def test_a_topic_without_a_right_on_it_is_hidden(
    guarded: Cluster, lacking: Lacking, prefix: str
) -> None:
    """K4-34, K117-15: 29 by name, and absent from the list."""
    name = f"{prefix}secret"
    made(guarded, NewTopic(name, 1, 1))
    us = lacking(
        ("DESCRIBE", "TOPIC"),
        ("DELETE", "TOPIC"),
        ("ALTER", "TOPIC"),
        ("CREATE", "TOPIC"),
        ("DESCRIBE_CONFIGS", "TOPIC"),
        ("ALTER_CONFIGS", "TOPIC"),
    )
    denied = {name: "TOPIC_AUTHORIZATION_FAILED"}
    soon(lambda: errors(us.topic_configs([name])) == denied)
    assert errors(us.topics([name])) == denied
    assert listed(us, prefix) == []
    assert errors(us.preview_topics([NewTopic(name, 1, 1)])) == denied
    assert errors(us.create_topics([NewTopic(name, 1, 1)])) == denied
    assert errors(us.create_partitions([NewPartitions(name, 2)])) == denied
    assert errors(us.alter_topic_configs([ConfigAlteration(name, {"segment.ms": "7"})])) == denied
    assert errors(us.delete_topics([TopicRef(name)])) == denied
    by_id = TopicRef(name, described(guarded, name).topic_id)
    assert errors(us.delete_topics([by_id])) == denied
    assert own_config(guarded, name) == {}


def test_a_missing_right_stops_what_needs_it_and_nothing_else(
    guarded: Cluster, lacking: Lacking, prefix: str
) -> None:
    """K4-21, K4-27, K4-48. ALTER_CONFIGS would imply DESCRIBE_CONFIGS."""
    name, new = f"{prefix}orders", f"{prefix}new"
    made(guarded, NewTopic(name, 1, 1))
    us = lacking(
        ("DELETE", "TOPIC"),
        ("DESCRIBE_CONFIGS", "TOPIC"),
        ("ALTER_CONFIGS", "TOPIC"),
        ("ALTER", "CLUSTER"),
    )
    soon(lambda: listed(us, prefix) == [name])
    soon(lambda: us.preview_topics([NewTopic(new, 1, 1)]) == {new: TopicPreview()})
    answers = {
        "DELETE": us.delete_topics([TopicRef(name)]),
        "ALTER_CONFIGS": us.alter_topic_configs([ConfigAlteration(name, {"segment.ms": "7"})]),
        "DESCRIBE_CONFIGS": us.topic_configs([name]),
    }
    for operation, answer in answers.items():
        told = answer[name]
        assert isinstance(told, Refusal)
        assert told.error == "TOPIC_AUTHORIZATION_FAILED"
        assert told.message == f"Principal User:alice needs {operation} on TOPIC {name}."
    assert errors(us.create_partitions([NewPartitions(name, 2)])) == {name: "ok"}
    assert us.acls() == guarded.acls()
    for write in (us.create_acls, us.delete_acls):
        (refused,) = write([acl(prefix)]).values()
        assert refused is not None
        assert refused.error == "CLUSTER_AUTHORIZATION_FAILED"
        assert refused.message == "Principal User:alice needs ALTER on CLUSTER.", "trap 14"


@pytest.mark.needs(KRAFT)
@pytest.mark.parametrize("kind", [pytest.param("wire", marks=pytest.mark.broker)])
def test_who_may_delete_the_cluster_may_delete_every_topic(
    guarded: Cluster, lacking: Lacking, prefix: str
) -> None:
    """AclEntry.supportedOperations does not have it: ControllerApis asks it for DeleteTopics."""
    name = f"{prefix}orders"
    made(guarded, NewTopic(name, 1, 1))
    us = lacking(("DELETE", "TOPIC"))
    assert errors(us.delete_topics([TopicRef(name)])) == {name: "TOPIC_AUTHORIZATION_FAILED"}
    grant = acl(
        prefix,
        principal="User:alice",
        operation="DELETE",
        resource_type="CLUSTER",
        resource_name="kafka-cluster",
    )
    assert guarded.create_acls([grant]) == {grant: None}
    try:
        soon(lambda: errors(us.delete_topics([TopicRef(name)])) == {name: "ok"})
    finally:
        guarded.delete_acls([grant])


def test_a_list_of_acls_without_the_right_to_it_is_unread(lacking: Lacking) -> None:
    """K4-41, P3: never an empty list."""
    us = lacking(("DESCRIBE", "CLUSTER"), ("ALTER", "CLUSTER"))  # ALTER implies DESCRIBE
    with pytest.raises(UnreadableError, match="User:alice needs DESCRIBE on CLUSTER"):
        us.acls()


def test_without_authorizer_topics_work_and_acls_do_not(
    open_cluster_without_acls: Cluster, prefix: str
) -> None:
    """K4-51."""
    cluster = open_cluster_without_acls
    with pytest.raises(UnreadableError):
        cluster.acls()
    for write in (cluster.create_acls, cluster.delete_acls):
        (refused,) = write([acl(prefix)]).values()
        assert refused is not None
        assert (refused.error, refused.code) == ("SECURITY_DISABLED", 54)
    made(cluster, NewTopic(f"{prefix}orders", 1, 1))
    assert errors(cluster.delete_topics([TopicRef(f"{prefix}orders")])) == {f"{prefix}orders": "ok"}
