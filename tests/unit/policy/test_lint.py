"""What is odd about ACLs: the server takes every one of these (trap 13)."""

from collections.abc import Collection

import pytest

from kplan.cluster.request import AclBinding
from kplan.model.diagnostic import SourceRange
from kplan.policy.lint import AclInventory, Declaration, lint_acls
from tests.unit.policy.test_access_diff import binding
from tests.values import address

READER, WRITER = binding("READ"), binding("WRITE")


def found(
    acls: Collection[AclBinding], topics: Collection[str] = ("orders",), principal: str = ""
) -> list[tuple[str, str]]:
    estate = AclInventory(frozenset(acls), frozenset(topics), principal=principal)
    return [(each.code, each.detail) for each in lint_acls(estate)]


def codes(
    acls: Collection[AclBinding], topics: Collection[str] = ("orders",), **given: str
) -> list[str]:
    return [code for code, _ in found(acls, topics, **given)]


def test_nothing_is_odd_about_a_reader_and_a_writer() -> None:
    assert found([READER, WRITER]) == []


@pytest.mark.parametrize(
    "odd",
    [
        binding("READ", "kafka-cluster", resource_type="CLUSTER"),
        binding("CREATE", "app", resource_type="GROUP"),
        binding(principal="Group:x"),
        binding(principal="user:x"),
        binding(host="10.0.0.0/8"),
        binding(host=""),
        binding(name="no name"),
        binding("ALTER", "kafka-cluster", resource_type="CLUSTER", pattern_type="PREFIXED"),
    ],
)
def test_each_nonsense_that_the_server_accepts_is_told(odd: AclBinding) -> None:
    """S14: each nonsense ACL of trap 13."""
    assert "KP401" in codes([odd, READER, WRITER])


def test_a_twin_is_told_once_with_both() -> None:
    twin = binding("READ", "orders", principal="User:alice", pattern_type="PREFIXED")
    same = [detail for code, detail in found([READER, WRITER, twin]) if code in {"KP402", "KP403"}]
    assert len(same) == 1
    assert "ALLOW READ on TOPIC orders for User:alice adds nothing to" in same[0]


@pytest.mark.parametrize(
    "wide",
    [
        binding("ALL"),
        binding("READ", "*"),
        binding("READ", "ord", pattern_type="PREFIXED"),
        binding("READ", principal="User:*"),
    ],
)
def test_an_acl_in_the_shadow_of_a_wider_one_is_told(wide: AclBinding) -> None:
    assert "KP403" in codes([READER, WRITER, wide])


def test_describe_is_granted_by_read_and_denied_by_nothing_else() -> None:
    assert "KP403" in codes([READER, WRITER, binding("DESCRIBE")])
    denies = [binding("READ", permission="DENY"), binding("DESCRIBE", permission="DENY")]
    assert "KP403" not in codes(denies)


def test_an_acl_for_one_host_does_not_shadow_one_for_all() -> None:
    assert codes([READER, WRITER, binding("READ", host="10.0.0.1")]) == ["KP403"]
    near = binding("READ", host="10.0.0.1")
    only = [each for code, each in found([READER, WRITER, near]) if code == "KP403"]
    assert only[0].startswith("ALLOW READ on TOPIC orders for User:alice from 10.0.0.1")


def test_a_deny_that_voids_an_allow_is_told() -> None:
    deny = binding("ALL", "ord", pattern_type="PREFIXED", principal="User:*", permission="DENY")
    assert codes([READER, WRITER, deny]).count("KP404") == 2


def test_an_acl_without_a_topic_is_told_with_a_near_one() -> None:
    ((code, detail),) = found([READER, WRITER, binding("READ", "order")])
    assert code == "KP405"
    assert "; there is orders" in detail


def test_an_acl_on_a_topic_of_kplan_itself_is_of_use() -> None:
    """A snapshot has no topics of kplan, so that nothing is known of them."""
    on_state = binding("READ", "__kplan_state", principal="User:ci")
    for name in ("__kplan_", "__", "__kplan_sta"):
        around = binding("READ", name, principal="User:other", pattern_type="PREFIXED")
        assert codes([READER, WRITER, on_state, around]) == []
    other = binding("READ", "__kafka_state", principal="User:ci")
    assert codes([READER, WRITER, other]) == ["KP405"]


def test_nobody_needs_access_to_an_internal_topic() -> None:
    described = binding("DESCRIBE", "__transaction_state")
    topics = ["orders", "__transaction_state"]
    assert codes([READER, WRITER, described], topics) == []


def test_an_acl_to_create_topics_needs_none_yet() -> None:
    maker = binding("CREATE", "team.", pattern_type="PREFIXED")
    assert codes([READER, WRITER, maker]) == []


def test_a_topic_without_reader_or_writer_is_told() -> None:
    assert codes([WRITER]) == ["KP406"]
    assert codes([READER]) == ["KP407"]
    assert codes([READER, WRITER], ["orders", "free"]) == [], "no ACL is meant for it"


def test_a_declared_topic_without_any_acl_is_told_where_others_have_some() -> None:
    """Issue 7, item 5: a topic without reader or writer, at its line."""
    at = Declaration(address("kafka_topic.free"), SourceRange("main.tf", 3, 1, 3, 9))
    topics = frozenset({"orders", "free"})
    for acls, told in (({READER, WRITER}, ["KP406", "KP407"]), (set[AclBinding](), [])):
        estate = AclInventory(frozenset(acls), topics, topic_declarations={"free": at})
        found = lint_acls(estate)
        assert [each.code for each in found] == told
        assert {each.subject for each in found} <= {at.at}


def test_a_star_at_the_end_of_a_name_is_no_wildcard() -> None:
    assert "KP408" in codes([READER, WRITER, binding("READ", "pay.*")])


def test_the_way_out_of_a_star_names_what_is_to_be_changed() -> None:
    literal, prefix = (
        next(
            each for each in lint_acls(AclInventory(frozenset({acl}), None)) if each.code == "KP408"
        )
        for acl in (binding("READ", "pay.*"), binding("READ", "pay.*", pattern_type="PREFIXED"))
    )
    assert 'resource_name = "pay." and resource_pattern_type_filter = "Prefixed"' in literal.hint
    assert '"pay.*" is a prefix that ends in a star' in prefix.detail
    assert 'resource_name = "pay.".' in prefix.hint


def test_a_principal_of_another_shape_than_logins_get_is_told() -> None:
    certificate = binding("READ", principal="User:CN=app,O=shop")
    assert codes([READER, WRITER, certificate], principal="User:kplan") == ["KP409"]
    assert codes([certificate, binding("WRITE", principal="User:CN=app,O=shop")],
                 principal="User:CN=kplan") == []  # fmt: skip


def test_what_is_declared_is_told_with_its_place_and_what_is_live_with_its_words() -> None:
    at = SourceRange("main.tf", 7, 1, 7, 9)
    declared = binding("READ", "gone")
    estate = AclInventory(
        frozenset({declared, binding("READ", "lost")}),
        frozenset(),
        {declared: Declaration(address("kafka_acl.a"), at)},
    )
    first, second = (each for each in lint_acls(estate) if each.code == "KP405")
    places = {str(each.address): each.subject for each in (first, second)}
    assert places == {"kafka_acl.a": at, "None": None}
    assert "live, not declared here" in first.detail + second.detail
