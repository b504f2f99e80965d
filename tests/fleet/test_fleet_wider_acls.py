"""New ACLs that a wider one of their principal covers are not recommended beside it."""

from typing import TYPE_CHECKING

import pytest

from kplan.fleet.dataframe import inline_few
from kplan.fleet.recommend import new_acl_rows
from kplan.fleet.wider_acls import replace_covered_acls
from tests.fleet.acl_rows import KIND, about, acl, row
from tests.fleet.test_fleet_recommend import (
    Make,
    random_fleet,
    recommend_acls,
    replay_of,
    seen,
    told,
    usage,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def test_an_acl_that_a_new_or_kept_one_of_its_principal_covers_does_not_come(
    spark: "SparkSession", objects: Make
) -> None:
    operations = ("Describe", "Read", "Write")
    ci = [acl("pay", "User:ci", each, pattern="Prefixed") for each in operations]
    wide, kept = acl("pay", "User:b", "Describe", pattern="Prefixed"), acl("pay-1", "User:b")
    alone = acl("pay", "User:c", "Describe", pattern="Prefixed")
    held = [*ci, wide, kept, alone]
    found = objects([about("eu"), *map(row, held)])
    uses = [("User:ci", each.upper()) for each in operations]
    uses += [("User:b", "READ"), ("User:b", "DESCRIBE"), ("User:c", "DESCRIBE")]
    history = usage(spark, [("eu", who, "h", what, "pay-1") for who, what in uses])
    made = recommend_acls(found, history, seen(spark, {"eu": held}))
    made = inline_few(replace_covered_acls(made, found))
    new = {
        str(KIND.identify(acl("pay-1", who, operation)))
        for who, operation in (("User:ci", "Read"), ("User:ci", "Write"), ("User:c", "Describe"))
    }
    assert {each.identity for each in new_acl_rows(made, found).collect()} == new
    instead = {name: each[:2] for name, each in told(made, found).items()}
    reads = str(KIND.identify(acl("pay-1", "User:ci")))
    assert instead[str(KIND.identify(ci[0]))] == ("narrow", reads)
    assert instead[str(KIND.identify(wide))] == ("remove", str(KIND.identify(kept)))
    assert replay_of(made, found, history).collect() == []


def test_what_covers_others_allows_what_they_would(spark: "SparkSession", objects: Make) -> None:
    found, history, first = random_fleet(spark, objects)
    made = recommend_acls(found, history, first)
    fewer = inline_few(replace_covered_acls(made, found))
    assert 0 < new_acl_rows(fewer, found).count() < new_acl_rows(made, found).count()
    assert replay_of(fewer, found, history).collect() == []
