"""The one table of Kafka's errors, and Kafka's rules for names."""

import pytest

from kplan.cluster.errors import (
    CLIENT_INVALID,
    ERRORS,
    Handling,
    client_refusal,
    handling,
    is_policy_violation,
    is_size_limit,
    refusal,
)
from kplan.cluster.topic import is_internal_topic, name_collision_key, topic_name_fault
from kplan.model.errors import RefusalOrigin


def test_every_row_stands_under_its_own_name_and_number() -> None:
    codes = [row.code for row in ERRORS.values()]
    assert len(set(codes)) == len(codes)
    assert all(row.meaning.endswith(".") for row in ERRORS.values())


def test_a_refusal_carries_kafkas_name_and_the_brokers_words() -> None:
    found = refusal(37, "Topic already has 3 partition(s).")
    assert (found.error, found.code, found.origin) == (
        "INVALID_PARTITIONS",
        37,
        RefusalOrigin.BROKER,
    )
    assert str(found) == "INVALID_PARTITIONS: Topic already has 3 partition(s)."


def test_a_refusal_without_words_borrows_those_of_the_table() -> None:
    """K4o-03."""
    assert refusal(3).message == ERRORS["UNKNOWN_TOPIC_OR_PARTITION"].meaning


def test_a_code_that_the_table_lacks_keeps_its_number_and_its_name() -> None:
    assert refusal(999).error == "ERROR_999"
    assert refusal(127, name="UNKNOWN_SUBSCRIPTION_ID").error == "UNKNOWN_SUBSCRIPTION_ID"
    assert handling(refusal(999)) is Handling.REJECTED


def test_what_the_client_refused_is_marked_as_such() -> None:
    found = client_refusal(CLIENT_INVALID, "Nothing was sent.")
    assert (found.origin, handling(found)) == (RefusalOrigin.CLIENT, Handling.REJECTED)


@pytest.mark.parametrize(
    ("code", "message", "wanted"),
    [
        (44, "Unable to perform excessively large batch operation.", Handling.SPLIT),
        (44, "Excessively large number of partitions per request.", Handling.SPLIT),
        (44, "No topic may be called foo.", Handling.REJECTED),
        (42, "Cannot remove more than 10000 acls in a single delete operation.", Handling.SPLIT),
        (42, "Duplicate topic name.", Handling.REJECTED),
        (-1, None, Handling.SPLIT),
        (89, None, Handling.THROTTLED),
        (100, None, Handling.STALE),
        (7, None, Handling.IN_DOUBT),
        (31, None, Handling.DENIED),
        (84, None, Handling.CONVERGED),
    ],
)
def test_a_limit_of_size_is_told_apart_from_a_policy(
    code: int, message: str | None, wanted: Handling
) -> None:
    """Trap 4, K201-14."""
    assert handling(refusal(code, message)) is wanted


def test_only_words_about_size_speak_of_a_limit() -> None:
    assert is_size_limit(refusal(44, "EXCESSIVELY LARGE"))
    assert not is_size_limit(refusal(44, "too small"))


@pytest.mark.parametrize(
    "message",
    [
        "too many partitions: 60, at most 50 are allowed",
        "retention.ms is larger than the maximum of 10000",
        "Topics have at most 10,000 partitions here.",
    ],
)
def test_a_policy_that_speaks_of_numbers_is_no_limit_of_a_request(message: str) -> None:
    """Taken for one, it was told as no policy, and blocked the whole plan."""
    refused = refusal(44, message)
    assert is_policy_violation(refused)
    assert handling(refused) is Handling.REJECTED


@pytest.mark.parametrize("name", ["a", "A.b_c-9", "x" * 249, "...", "__consumer_offsets"])
def test_a_good_topic_name_has_no_fault(name: str) -> None:
    assert topic_name_fault(name) == ""


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("", "it is empty"),
        (".", 'it is "."'),
        ("..", 'it is ".."'),
        ("x" * 250, "it has 250 characters; at most 249 are allowed"),
        ("a/b c/", "it contains ' ' '/'"),
        ("grüße", "it contains 'ß' 'ü'"),
        ("a\n", r"it contains '\n'"),
    ],
)
def test_a_bad_topic_name_is_told_with_what_is_bad(name: str, fault: str) -> None:
    """K4-29."""
    assert topic_name_fault(name).startswith(fault)


def test_dots_and_underscores_are_the_same_to_metrics() -> None:
    assert name_collision_key("a.b_c") == name_collision_key("a_b.c")
    assert is_internal_topic("__x")
    assert not is_internal_topic("_x")
