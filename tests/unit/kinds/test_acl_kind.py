"""ACLs between a declaration, a cluster and a plan."""

from dataclasses import replace

import pytest

from kplan.cluster.memory import controller
from kplan.cluster.memory.cluster import MemoryCluster
from kplan.cluster.request import AclBinding
from kplan.kinds import acl as words
from kplan.kinds.acl import (
    ADD_STEP,
    DELETE_STEP,
    REPLACE_ADD,
    REPLACE_DELETE,
    Acl,
    AclKind,
)
from kplan.kinds.acl_rules import APPLICABLE_OPERATIONS
from kplan.model.codes import SUMMARIES
from kplan.model.errors import UnreadableError
from kplan.model.plan import Action, Change
from kplan.model.state import KindSnapshot, LiveObject
from tests.values import acl, address

KIND = AclKind()
READ = AclBinding("TOPIC", "orders", "LITERAL", "User:app", "*", "READ", "ALLOW")


def change(before: Acl | None, after: Acl | None) -> Change:
    action = Action.CREATE if before is None else Action.DELETE if after is None else Action.REPLACE
    value = after or before
    assert value is not None
    return Change(address("kafka_acl.a"), KIND.name, KIND.identify(value), action, before, after)


def found(value: Acl) -> list[tuple[str, tuple[str, ...], bool]]:
    problems = list(KIND.check(value))
    assert all(each.code in SUMMARIES for each in problems)
    return [(each.code, each.path, each.is_warning) for each in problems]


# Words and names.


def test_the_words_of_kafka_and_of_the_provider_name_the_same_things() -> None:
    assert words.RESOURCE_TYPES.keys() == controller.RESOURCE_TYPES
    assert words.OPERATIONS.keys() == controller.OPERATIONS
    assert words.PATTERN_TYPES.keys() == controller.PATTERN_TYPES
    assert words.PERMISSIONS.keys() == controller.PERMISSIONS
    assert APPLICABLE_OPERATIONS.keys() == set(words.RESOURCE_TYPES.values())
    assert set().union(*APPLICABLE_OPERATIONS.values()) == set(words.OPERATIONS.values())


@pytest.mark.parametrize("kafka_word", sorted(controller.OPERATIONS))
@pytest.mark.parametrize("resource_type", sorted(controller.RESOURCE_TYPES))
def test_every_acl_survives_the_way_there_and_back(resource_type: str, kafka_word: str) -> None:
    cluster = MemoryCluster()
    name = "kafka-cluster" if resource_type == "CLUSTER" else "x"
    binding = AclBinding(resource_type, name, "PREFIXED", "User:a", "10.0.0.1", kafka_word, "DENY")
    cluster.seed(acls=[binding])
    ((identity, held),) = KIND.read(cluster, []).objects.items()
    value = held.value
    assert isinstance(value, Acl)
    KIND.apply(cluster, DELETE_STEP, [change(value, None)])
    assert cluster.acls() == frozenset()
    assert KIND.apply(cluster, ADD_STEP, [change(None, value)]) == {identity: None}
    assert cluster.acls() == {binding}


def test_an_acl_is_named_by_its_seven_parts_without_ambiguity() -> None:
    assert KIND.identify(acl()) == "User:app|*|Read|Allow|Topic|orders|Literal"
    odd = acl("User:a|b", "c\\")
    assert KIND.identify(odd) == "User:a\\|b|*|Read|Allow|Topic|c\\\\|Literal"
    assert KIND.identify(acl("User:a|*", "x")) != KIND.identify(acl("User:a", "x", acl_host="*|*"))


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ({"resource_type": "topic"}, "Topic"),
        ({"resource_type": "TRANSACTIONAL_ID"}, "TransactionalID"),
        ({"resource_type": "TransactionalId"}, "TransactionalID"),
        ({"acl_operation": "describe_configs"}, "DescribeConfigs"),
        ({"acl_permission_type": "ALLOW"}, "Allow"),
        ({"resource_pattern_type_filter": "prefixed"}, "Prefixed"),
        ({"acl_operation": "dance"}, "dance"),
    ],
)
def test_words_are_spelled_as_the_provider_does(given: dict[str, str], wanted: str) -> None:
    (name,) = given
    assert getattr(KIND.normalize(acl(**given)), name) == wanted


def test_an_acl_that_is_spelled_so_is_not_made_again() -> None:
    value = acl()
    assert KIND.normalize(value) is value


# Rules.


@pytest.mark.parametrize(
    "value",
    [
        acl(),
        acl(name="*"),
        acl(name=".", resource_pattern_type_filter="Prefixed"),
        acl(acl_host="10.0.0.1"),
        acl(acl_host="::1"),
        acl("User:CN=a,O=b"),
        acl("User:*"),
        acl(name="kafka-cluster", resource_type="Cluster", acl_operation="Alter"),
        acl(name="kafka-cluster", resource_type="Cluster", acl_operation="Delete"),
        acl(name="User:x", resource_type="User", acl_operation="CreateTokens"),
        acl(name="tx", resource_type="TransactionalID", acl_operation="TwoPhaseCommit"),
    ],
)
def test_a_good_acl_has_no_problem(value: Acl) -> None:
    assert found(value) == []


@pytest.mark.parametrize(
    ("value", "code", "path"),
    [
        (acl(acl_operation="Any"), "KP221", ("acl_operation",)),
        (acl(resource_pattern_type_filter="Match"), "KP221", ("resource_pattern_type_filter",)),
        (acl(resource_type="Any"), "KP221", ("resource_type",)),
        (acl(acl_permission_type="Maybe"), "KP221", ("acl_permission_type",)),
        (acl(name=""), "KP221", ("resource_name",)),
        (
            acl(name="mine", resource_type="Cluster", acl_operation="Alter"),
            "KP221",
            ("resource_name",),
        ),
        (acl("app"), "KP223", ("acl_principal",)),
        (acl(""), "KP223", ("acl_principal",)),
        (acl("User:"), "KP223", ("acl_principal",)),
        (acl(acl_host=""), "KP221", ("acl_host",)),
    ],
)
def test_what_would_fail_or_spoil_a_batch_is_an_error(
    value: Acl, code: str, path: tuple[str, ...]
) -> None:
    """Trap 3."""
    assert found(value) == [(code, path, False)]


@pytest.mark.parametrize(
    ("principal", "meant"),
    [("app", "User:app"), (":app", "User:app"), ("User:", "User:name"), ("", "User:name")],
)
def test_a_principal_without_a_type_or_a_name_is_written_out(principal: str, meant: str) -> None:
    assert [each.hint for each in KIND.check(acl(principal))] == [f'Write it as "{meant}".']


@pytest.mark.parametrize(
    ("value", "code", "path"),
    [
        (acl(name="a/b"), "KP222", ("resource_name",)),
        (acl(name="."), "KP222", ("resource_name",)),
        (acl(name="*", resource_pattern_type_filter="Prefixed"), "KP222", ("resource_name",)),
        (
            acl(
                name="kafka-cluster",
                resource_type="Cluster",
                acl_operation="Alter",
                resource_pattern_type_filter="Prefixed",
            ),
            "KP222",
            ("resource_name",),
        ),
        (acl(name="g", resource_type="Group", acl_operation="Create"), "KP222", ("acl_operation",)),
        (acl("Group:x"), "KP223", ("acl_principal",)),
        (acl(acl_host="10.0.0.0/8"), "KP222", ("acl_host",)),
    ],
)
def test_nonsense_that_kafka_stores_is_a_warning(
    value: Acl, code: str, path: tuple[str, ...]
) -> None:
    """Trap 13."""
    assert found(value) == [(code, path, True)]


def test_a_near_miss_is_named_and_else_the_words_are_listed() -> None:
    (near,) = KIND.check(acl(acl_operation="Reed"))
    assert near.hint == 'Did you mean "Read"?'
    (far,) = KIND.check(acl(acl_permission_type="xyz"))
    assert far.hint == "Use one of: Allow, Deny."


def test_acls_stand_beside_each_other_and_may_all_be_replaced() -> None:
    one, two = acl(), acl(acl_operation="Write")
    assert list(KIND.check_all([KIND.identify(one), KIND.identify(two)])) == []
    assert list(KIND.check_change(LiveObject(one), two)) == []
    assert KIND.align(one, two) == (one, two)
    assert KIND.is_replaceable


# Reading and sending.


def test_all_acls_are_read_in_one_request() -> None:
    cluster = MemoryCluster()
    cluster.seed(acls=[READ])
    value = acl()
    assert KIND.read(cluster, [KIND.identify(value)]) == KindSnapshot(
        {KIND.identify(value): LiveObject(value)}
    )
    assert len(cluster.calls) == 1


def test_a_refused_list_is_unread_and_never_empty() -> None:
    """P3: an ACL listing without permission must not plan "create everything"."""
    cluster = MemoryCluster()
    cluster.deny_operation("DESCRIBE", "CLUSTER")
    with pytest.raises(UnreadableError):
        KIND.read(cluster, [])


def test_a_replacement_deletes_the_old_acl_and_adds_the_new_one() -> None:
    cluster = MemoryCluster()
    cluster.seed(acls=[READ])
    swap = change(acl(), acl(acl_operation="Write"))
    assert KIND.apply(cluster, REPLACE_DELETE, [swap]) == {swap.identity: None}
    assert cluster.acls() == frozenset()
    assert KIND.apply(cluster, REPLACE_ADD, [swap]) == {swap.identity: None}
    assert cluster.acls() == {replace(READ, operation="WRITE")}


def test_answers_are_matched_by_acl_and_a_missing_one_stays_missing() -> None:
    cluster = MemoryCluster()
    good, bad, silent = change(None, acl()), change(None, acl("bad")), change(None, acl("User:s"))
    cluster.omit_items(on=replace(READ, principal="User:s"))
    answers = KIND.apply(cluster, ADD_STEP, [bad, silent, good])
    assert {name: each.error if each else None for name, each in answers.items()} == {
        good.identity: None,
        bad.identity: "INVALID_REQUEST",
    }


def test_kafka_cannot_be_asked_whether_it_would_take_an_acl() -> None:
    """K4o-16."""
    cluster = MemoryCluster()
    assert KIND.validate(cluster, ADD_STEP, [change(None, acl())]) == {}
    assert cluster.calls == []


def test_a_delete_weighs_more_than_an_add() -> None:
    """Trap 5: 9,000 records make at most 500 exact filters."""
    one = change(acl(), acl(acl_operation="Write"))
    assert [
        KIND.record_count(step, one)
        for step in (DELETE_STEP, REPLACE_DELETE, REPLACE_ADD, ADD_STEP)
    ] == [18, 18, 9, 9]


def test_a_step_is_done_when_the_acl_is_there_or_gone() -> None:
    old, new = acl(), acl(acl_operation="Write")
    swap = change(old, new)
    before, after = (
        KindSnapshot({KIND.identify(old): LiveObject(old)}),
        KindSnapshot({KIND.identify(new): LiveObject(new)}),
    )
    assert not KIND.is_done(REPLACE_DELETE, swap, before)
    assert KIND.is_done(REPLACE_DELETE, swap, after)
    assert not KIND.is_done(REPLACE_ADD, swap, before)
    assert KIND.is_done(REPLACE_ADD, swap, after)


def test_an_acl_is_served_when_the_broker_lists_it_and_no_more_lists_the_old_one() -> None:
    """K4-49."""
    cluster = MemoryCluster()
    cluster.seed(acls=[READ])
    swap, gone = change(acl(), acl(acl_operation="Write")), change(acl("User:x"), None)
    assert KIND.find_visible(cluster, 1, [swap, gone]) == {gone.identity: ""}
    KIND.apply(cluster, REPLACE_ADD, [swap])
    assert KIND.find_visible(cluster, 1, [swap, gone]) == {gone.identity: ""}
    KIND.apply(cluster, REPLACE_DELETE, [swap])
    assert KIND.find_visible(cluster, 1, [swap, gone]) == {swap.identity: "", gone.identity: ""}
