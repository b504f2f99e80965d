"""ACLs as narrow as what they were used for, against the authorizer."""

import random
from collections.abc import Iterable
from itertools import product

import pytest

from kplan.cluster.request import AclBinding
from kplan.policy.authorizer import AccessRequest, AclIndex
from kplan.policy.least_privilege import (
    MAX_NAMES,
    AclUse,
    common_prefix,
    narrow_acl,
)

HOST = "10.0.0.1"


def acl(
    name: str,
    operation: str = "ALL",
    *,
    pattern: str = "LITERAL",
    principal: str = "User:a",
    host: str = "*",
) -> AclBinding:
    return AclBinding("TOPIC", name, pattern, principal, host, operation, "ALLOW")


def use(operation: str, *names: str, principal: str = "User:a", host: str = HOST) -> AclUse:
    return AclUse(operation, principal, host, names)


def summary(found: Iterable[AclBinding]) -> set[tuple[str, str, str]]:
    return {(each.operation, each.pattern_type, each.resource_name) for each in found}


def test_a_wildcard_becomes_the_names_and_operations_that_were_used() -> None:
    found = narrow_acl(acl("*"), [use("READ", "orders"), use("WRITE", "audit")])
    assert summary(found) == {("READ", "LITERAL", "orders"), ("WRITE", "LITERAL", "audit")}


def test_an_operation_that_another_implies_needs_no_acl() -> None:
    """Kafka: Read, Write, Delete and Alter imply Describe."""
    uses = [use("READ", "orders"), use("DESCRIBE", "orders", "stock")]
    found = narrow_acl(acl("*"), uses)
    assert summary(found) == {("READ", "LITERAL", "orders"), ("DESCRIBE", "LITERAL", "stock")}


def test_many_names_become_their_common_prefix_up_to_a_separator() -> None:
    names = [f"shop.eu.order{number:02}" for number in range(MAX_NAMES + 1)]
    found = narrow_acl(acl("shop.", pattern="PREFIXED"), [use("READ", *names)])
    assert summary(found) == {("READ", "PREFIXED", "shop.eu.")}


@pytest.mark.parametrize(
    ("wide", "uses"),
    [
        (acl("orders", "READ"), [use("READ", "orders"), use("DESCRIBE", "orders")]),
        (acl("*", "READ"), [use("READ", *(f"{n}topic" for n in range(MAX_NAMES + 1)))]),
        (
            acl("a.", "READ", pattern="PREFIXED"),
            [use("READ", *(f"a.{n}" for n in range(MAX_NAMES + 1)))],
        ),
    ],
)
def test_an_acl_that_was_used_as_a_whole_stays(wide: AclBinding, uses: list[AclUse]) -> None:
    assert narrow_acl(wide, uses) == (wide,)


def test_hosts_are_narrowed_only_on_demand() -> None:
    uses = [use("READ", "orders", host="10.0.0.1"), use("READ", "orders", host="10.0.0.2")]
    assert narrow_acl(acl("orders", "READ"), uses) == (acl("orders", "READ"),)
    by_host = narrow_acl(acl("orders", "READ"), uses, by_host=True)
    assert {each.host for each in by_host} == {"10.0.0.1", "10.0.0.2"}


def test_everyone_becomes_the_principals_that_came() -> None:
    uses = [use("READ", "orders", principal=f"User:{name}") for name in "ab"]
    found = narrow_acl(acl("orders", "READ", principal="User:*"), uses)
    assert {each.principal for each in found} == {"User:a", "User:b"}
    crowd = [use("READ", "orders", principal=f"User:{n}") for n in range(MAX_NAMES + 1)]
    everyone = acl("orders", "READ", principal="User:*")
    assert narrow_acl(everyone, crowd) == (everyone,)


def test_an_idempotent_producer_keeps_a_topic_to_write_to() -> None:
    """Kafka asks it for Write on any topic; the log calls that topic `hardcode`."""
    asks = AclUse("WRITE", "User:a", HOST, is_any_topic=True)
    assert narrow_acl(acl("*"), [asks]) == (acl("*"),)
    assert narrow_acl(acl("*"), [asks, use("READ", "orders")]) == (acl("*"),)
    found = narrow_acl(acl("*"), [asks, use("WRITE", "orders")])
    assert summary(found) == {("WRITE", "LITERAL", "orders")}


def test_the_common_prefix_ends_with_a_separator() -> None:
    assert common_prefix("shop.orders", "shop.other") == "shop."
    assert common_prefix("orders", "other") == ""
    assert common_prefix("a-b_c1", "a-b_c2") == "a-b_"


@pytest.mark.parametrize("seed", range(60))
def test_what_was_allowed_stays_allowed_and_nothing_else_becomes_so(seed: int) -> None:
    """Issue 19, 4.1: a replay of the recommendation denies no request."""
    dice = random.Random(seed)
    names = [f"{a}{s}{n}" for a, s, n in product(("ab", "ac"), (".", "-", ""), range(5))]
    principals, hosts = ("User:a", "User:b", "User:c"), ("10.0.0.1", "10.0.0.2", "10.0.0.3")
    operations = ("READ", "WRITE", "DESCRIBE", "ALTER_CONFIGS", "DESCRIBE_CONFIGS", "DELETE")
    held = {
        AclBinding(
            "TOPIC",
            dice.choice(("*", "ab", "ab.", "a", "ab.1")),
            dice.choice(("LITERAL", "PREFIXED")),
            dice.choice((*principals, "User:*")),
            dice.choice(("*", "*", *hosts)),
            dice.choice(("ALL", "ALL", *operations)),
            dice.choice(("ALLOW", "ALLOW", "ALLOW", "DENY")),
        )
        for _ in range(6)
    }
    before = AclIndex(held)
    every = [
        AccessRequest(who, where, what, "TOPIC", name)
        for who, where, what, name in product(principals, hosts, operations, names)
    ]
    made = dice.sample(every, 200)
    history = [each for each in made if before.authorize(each).is_allowed]
    by_host = bool(seed % 2)
    after: set[AclBinding] = set()
    for each in held:
        uses = [_use(asked) for asked in history if _matches(each, asked)]
        if each.permission == "DENY":
            after.add(each)
        elif uses:
            after.update(narrow_acl(each, uses, by_host=by_host))
    narrowed = AclIndex(after)
    assert all(narrowed.authorize(each).is_allowed for each in history)
    assert not any(
        narrowed.authorize(each).is_allowed and not before.authorize(each).is_allowed
        for each in every
    )


def _matches(held: AclBinding, asked: AccessRequest) -> bool:
    return AclIndex([held]).authorize(asked).is_allowed


def _use(asked: AccessRequest) -> AclUse:
    return AclUse(asked.operation, asked.principal, asked.host, (asked.resource_name,))
