"""Addresses are written and read as Terraform does."""

import pytest

from kplan.model.address import Address


@pytest.mark.parametrize(
    "text",
    [
        "kafka_topic.orders",
        "kafka_topic.orders[0]",
        'kafka_topic.orders["eu"]',
        'kafka_topic.orders["a\\"b"]',
        'kafka_topic.orders["a]b.c"]',
        'module.pay["eu"].module.in[2].kafka_acl.r["x"]',
    ],
)
def test_an_address_is_read_back_as_it_was_written(text: str) -> None:
    assert str(Address.parse(text)) == text


@pytest.mark.parametrize(
    "text", ["", "orders", "kafka_topic.", "kafka_topic.a[b]", "a.b c", "a.b["]
)
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a resource address"):
        Address.parse(text)


def test_numeric_keys_are_ordered_as_numbers() -> None:
    addresses = [Address("k", "n", key) for key in (10, 9, 0)]
    assert [each.key for each in sorted(addresses, key=lambda each: each.sort_key)] == [0, 9, 10]
