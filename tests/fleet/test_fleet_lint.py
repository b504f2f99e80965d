"""Redundant ACLs of a fleet, against a loop over all pairs."""

import random
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import pytest

from kplan.fleet.lint import acl_findings
from kplan.fleet.snapshot import Row
from kplan.kinds.acl import Acl
from tests.fleet.acl_rows import KIND, about, acl, row, topic

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

pytestmark = pytest.mark.spark

Make = Callable[[Sequence[Row]], "DataFrame"]
Finding = tuple[str, str, str, str]
NAMES = ("a", "ab", "abc", "b", "*", "*x", "orders.eu", "orders.us")


def name_of(found: Acl) -> str:
    return str(KIND.identify(found))


def told(found: "DataFrame") -> set[Finding]:
    rows = [tuple(each) for each in acl_findings(found).collect()]
    assert len(rows) == len(set(rows))
    return set(rows)


def test_acls_that_do_nothing_are_found_with_what_covers_them(objects: Make) -> None:
    wide, narrow = acl("ord", pattern="Prefixed"), acl("orders")
    from_one, group = acl("orders", host="10.0.0.1"), acl("go", pattern="Prefixed")
    gone, on_all = acl("gone"), acl("*", "User:*", "All")
    rows = [
        *(about("eu"), topic("orders"), row(wide), row(narrow), row(from_one), row(gone)),
        *(row(group), row(acl("orders", operation="Write"))),
        *(about("us"), topic("orders", "us"), row(on_all, "us"), row(narrow, "us")),
        row(acl("orders", permission="Deny"), "us"),
    ]
    assert told(objects(rows)) == {
        ("eu", "shadowed", name_of(narrow), name_of(wide)),
        ("eu", "shadowed", name_of(from_one), name_of(narrow)),
        ("eu", "shadowed", name_of(gone), name_of(group)),
        ("us", "shadowed", name_of(narrow), name_of(on_all)),
        ("eu", "matches_nothing", name_of(gone), ""),
        ("eu", "matches_nothing", name_of(group), ""),
    }


def test_acls_on_topics_of_kplan_itself_are_of_use(objects: Make) -> None:
    """A snapshot has no topics of kplan, so that nothing is known of them."""
    wrong = acl("__kafka_state")
    around = acl("__k", "User:other", pattern="Prefixed")
    rows = [about("eu"), topic("orders"), row(acl("__kplan_state")), row(around), row(wrong)]
    assert told(objects(rows)) == {("eu", "matches_nothing", name_of(wrong), "")}


def test_topics_that_were_not_read_and_topics_to_create_make_no_acl_idle(objects: Make) -> None:
    """As `kplan lint` has it."""
    gone, team = acl("gone"), acl("team.", operation="Create", pattern="Prefixed")
    rows = [
        *(about("eu", kinds='["kafka_acl"]'), row(gone), row(acl("gon", pattern="Prefixed"))),
        *(about("us"), row(gone, "us"), row(team, "us"), row(acl("new", operation="Create"), "us")),
    ]
    found = {each for each in told(objects(rows)) if each[1] == "matches_nothing"}
    assert found == {("us", "matches_nothing", name_of(gone), "")}


def is_covered(one: Acl, other: Acl) -> bool:
    """Whether another ACL says all that one says, and more."""
    name, wider = one.resource_name, other.resource_name
    if other.resource_pattern_type_filter == "Prefixed":
        is_around = name.startswith(wider)
    else:
        is_literal = one.resource_pattern_type_filter == "Literal"
        is_around = wider == "*" or (is_literal and wider == name)
    return (
        is_around
        and one.resource_type == other.resource_type
        and one.acl_permission_type == other.acl_permission_type
        and other.acl_principal in {one.acl_principal, "User:*"}
        and other.acl_host in {one.acl_host, "*"}
        and other.acl_operation in {one.acl_operation, "All"}
    )


def expected(cluster: str, acls: Sequence[Acl], topics: Sequence[str]) -> Iterator[Finding]:
    for one in acls:
        wider = [name_of(each) for each in acls if each != one and is_covered(one, each)]
        if wider:
            yield cluster, "shadowed", name_of(one), min(wider)
        name = one.resource_name
        is_prefix = one.resource_pattern_type_filter == "Prefixed"
        fits = any(each.startswith(name) if is_prefix else each == name for each in topics)
        if one.resource_type == "Topic" and name != "*" and not fits:
            yield cluster, "matches_nothing", name_of(one), ""


def drawn_acl(draw: random.Random) -> Acl:
    return acl(
        draw.choice(NAMES),
        draw.choice(("User:a", "User:b", "User:*")),
        draw.choice(("Read", "DescribeConfigs", "All")),
        permission=draw.choice(("Allow", "Allow", "Deny")),
        pattern=draw.choice(("Literal", "Prefixed")),
        host=draw.choice(("*", "*", "10.0.0.1")),
        sort=draw.choice(("Topic", "Topic", "TransactionalID")),
    )


def test_what_is_found_is_what_a_loop_over_all_pairs_finds(objects: Make) -> None:
    draw = random.Random(19)
    rows: list[Row] = []
    meant: set[Finding] = set()
    for number in range(40):
        cluster = f"c{number}"
        acls = list(dict.fromkeys(drawn_acl(draw) for _ in range(draw.choice((2, 8, 30)))))
        topics = draw.sample(("a", "abc", "*x", "orders.eu", "other"), 3)
        rows += [about(cluster), *(topic(each, cluster) for each in topics)]
        rows += [row(each, cluster) for each in acls]
        meant |= set(expected(cluster, acls, topics))
    assert {each[1] for each in meant} == {"shadowed", "matches_nothing"}
    assert told(objects(rows)) == meant
