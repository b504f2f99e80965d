"""What the authorizer says, held against Kafka's own."""

import json

import pytest

from kplan.cluster.request import AclBinding
from kplan.policy.authorizer import AccessRequest, AclIndex, AuthorizerRules
from tests.unit.policy.oracle.authorizer import ANSWERS, cases, ours


def binding(operation: str = "READ", name: str = "orders", **given: str) -> AclBinding:
    parts = {
        "resource_type": "TOPIC",
        "resource_name": name,
        "pattern_type": "LITERAL",
        "principal": "User:alice",
        "host": "*",
        "operation": operation,
        "permission": "ALLOW",
    }
    return AclBinding(**{**parts, **given})


def may(acls: AclIndex, operation: str, name: str = "orders", who: str = "User:alice") -> bool:
    return acls.authorize(AccessRequest(who, "10.0.0.1", operation, "TOPIC", name)).is_allowed


def test_thousands_of_random_requests_are_answered_as_kafkas_authorizer_answers_them() -> None:
    """S12: the answers of StandardAuthorizer of Kafka 4.3.0, as `oracle/authorizer.py` got them."""
    known = json.loads(ANSWERS.read_text())
    given = list(cases(known["seed"]))
    assert len(given) == len(known["answers"])
    different = [
        (request, case)
        for case, row in zip(given, known["answers"], strict=True)
        for request, said, answer in zip(case.requests, row, ours(case), strict=True)
        if (said == "1") is not answer
    ]
    assert different == []
    assert 2_000 < "".join(known["answers"]).count("1") < 8_000


@pytest.mark.parametrize("operation", ["READ", "WRITE", "DELETE", "ALTER", "DESCRIBE", "ALL"])
def test_what_may_be_used_may_be_seen(operation: str) -> None:
    assert may(AclIndex([binding(operation)]), "DESCRIBE")


def test_a_deny_takes_its_own_operation_only() -> None:
    acls = AclIndex([binding("ALL"), binding("READ", permission="DENY")])
    assert not may(acls, "READ")
    assert may(acls, "DESCRIBE")
    assert may(acls, "WRITE")


def test_a_verdict_names_the_acl_it_rests_on() -> None:
    deny = binding("ALL", "ord", pattern_type="PREFIXED", principal="User:*", permission="DENY")
    acls = AclIndex([binding(), deny])
    asked = AccessRequest("User:alice", "10.0.0.1", "READ", "TOPIC", "orders")
    assert acls.authorize(asked).acl == deny


def test_everyone_may_do_all_where_no_acl_is_if_the_brokers_are_set_so() -> None:
    acls = AclIndex([binding(principal="User:bob")], AuthorizerRules(allow_everyone=True))
    assert may(acls, "WRITE", "payments")
    assert not may(acls, "WRITE", "orders")


def test_what_could_not_be_read_of_the_brokers_grants_nothing() -> None:
    acls = AclIndex([], AuthorizerRules(super_users=None, allow_everyone=None))
    assert not may(acls, "READ")
