"""Who may do something, and what somebody may do."""

from kplan.policy.access_query import principal_permissions, who_can
from kplan.policy.authorizer import WILDCARD_PRINCIPAL, AclIndex, AuthorizerRules
from tests.unit.policy.oracle.authorizer import cases
from tests.unit.policy.test_access_diff import binding

ORDERS = ("TOPIC", "orders")


def test_everyone_who_may_is_named_with_the_acl_that_says_so() -> None:
    acls = [
        binding("READ"),
        binding("ALL", "ord", pattern_type="PREFIXED", principal="User:bob"),
        binding("ALL", principal="User:eve"),
        binding("READ", principal="User:eve", permission="DENY"),
        binding("WRITE", principal="User:dan"),
    ]
    found = who_can("READ", ORDERS, acls, AuthorizerRules())
    assert [(each.principal, each.because) for each in found] == [
        ("User:alice", "ALLOW READ on TOPIC orders for User:alice"),
        ("User:bob", "ALLOW ALL on TOPIC ord* for User:bob"),
    ]


def test_hosts_that_fare_otherwise_are_told_apart() -> None:
    acls = [
        binding("READ", principal=WILDCARD_PRINCIPAL),
        binding("READ", permission="DENY", host="10.0.0.9", principal=WILDCARD_PRINCIPAL),
        binding("READ", "other", host="10.0.0.1"),
    ]
    found = who_can("READ", ORDERS, acls, AuthorizerRules())
    (everyone,) = found
    assert (everyone.principal, everyone.host) == (WILDCARD_PRINCIPAL, "*")
    (denied,) = everyone.exceptions
    assert (denied.principal, denied.host) == (WILDCARD_PRINCIPAL, "10.0.0.9")
    assert denied.because.startswith("DENY READ")
    (only,) = who_can("READ", ("TOPIC", "other"), acls[2:], AuthorizerRules())
    assert only.host == "10.0.0.1"


def test_a_permission_for_everyone_names_whom_a_deny_leaves_out() -> None:
    """An audit must not read that bob may write."""
    acls = [
        binding("READ", principal=WILDCARD_PRINCIPAL),
        binding("READ", permission="DENY", principal="User:bob"),
        binding("READ", permission="DENY", principal="User:eve", host="10.0.0.9"),
    ]
    everyone, eve = who_can("READ", ORDERS, acls, AuthorizerRules())
    assert [(each.principal, each.host) for each in everyone.exceptions] == [
        ("User:bob", "*"),
        ("User:eve", "10.0.0.9"),
    ]
    assert (eve.principal, eve.host) == ("User:eve", "*")
    assert everyone.allows("User:dan", "10.0.0.9")
    assert not everyone.allows("User:bob", "10.0.0.1")


def test_the_list_read_back_is_what_the_authorizer_says() -> None:
    """2,400 random questions; the authorizer is held against Kafka's own elsewhere."""
    allowed = 0
    for case in cases(seed=20261123, count=60):
        acls = AclIndex(case.acls, case.rules)
        for asked in case.requests:
            resource = (asked.resource_type, asked.resource_name)
            listed = who_can(asked.operation, resource, case.acls, case.rules)
            answer = any(each.allows(asked.principal, asked.host) for each in listed)
            assert answer is acls.authorize(asked).is_allowed, (asked, listed)
            allowed += answer
    assert 300 < allowed < 2_000


def test_super_users_may_and_everyone_where_nothing_is_said() -> None:
    rules = AuthorizerRules(frozenset({"User:root"}), allow_everyone=True)
    assert [each.principal for each in who_can("READ", ORDERS, [], rules)] == [
        "User:root",
        WILDCARD_PRINCIPAL,
    ]
    (only,) = who_can("READ", ORDERS, [binding("WRITE", principal="User:root")], rules)
    assert (only.principal, only.because) == ("User:root", "a super user")


def test_what_somebody_may_do_is_told_by_pattern_with_live_names() -> None:
    acls = [
        binding("READ", "pay.", pattern_type="PREFIXED"),
        binding("WRITE", "pay.in"),
        binding("READ", "pay.in", permission="DENY"),
        binding("READ", "app", resource_type="GROUP"),
        binding("DESCRIBE", "*", principal=WILDCARD_PRINCIPAL),
    ]
    found = principal_permissions(
        "User:alice", acls, AuthorizerRules(), {"TOPIC": ["pay.in", "pay.out", "x"]}
    )
    assert [(each.pattern, each.operations, each.existing) for each in found] == [
        ("app", ("READ", "DESCRIBE"), None),
        ("*", ("DESCRIBE",), 1),
        ("pay.*", ("READ", "DESCRIBE"), 1),
        ("pay.in", ("WRITE", "DESCRIBE"), 1),
    ]
    assert (
        principal_permissions("User:alice", acls, AuthorizerRules(frozenset({"User:alice"})), {})
        == ()
    )
