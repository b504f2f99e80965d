"""Amounts of money: exact, and rounded once."""

from datetime import date
from decimal import Decimal

from kplan.fleet.insight.costs import first_of_month, price_row, price_text
from kplan.model.fleet import Prices

PRICES = Prices(Decimal("0.1"), Decimal("0.02"), Decimal("0.3"))
USED = {
    "month": "2026-02", "cluster": "eu", "team": "", "owner": "a", "topics": 1, "partitions": 3,
    "replicas": 9, "bytes": 1, "unsized": 0, "byte_days": str(7 << 30), "partition_days": "28",
    "requests": 10**7,
}  # fmt: skip


def test_a_month_has_the_days_of_the_calendar() -> None:
    found = price_row(USED, PRICES)
    assert (found["gib_months"], found["storage_cost"]) == ("0.2500", "0.0250")
    assert (found["partition_months"], found["partition_cost"]) == ("1.0000", "0.0200")
    assert found["request_cost"] == "3.0000"
    leap = price_row({**USED, "month": "2028-02"}, PRICES)
    assert (leap["gib_months"], leap["storage_cost"]) == ("0.2414", "0.0241")


def test_what_is_not_known_or_not_charged_has_no_amount() -> None:
    found = price_row({**USED, "byte_days": None, "requests": None}, Prices(Decimal(1)))
    assert [found[each] for each in ("gib_months", "storage_cost", "request_cost")] == [None] * 3
    assert (found["partition_months"], found["partition_cost"]) == ("1.0000", None)


def test_amounts_are_rounded_half_to_even() -> None:
    halves = [price_text(each, 100_000, Decimal(1)) for each in (5, 15, 25)]
    assert halves == ["0.0000", "0.0002", "0.0002"]
    assert price_text(1, 3, Decimal("0.0005")) == "0.0002"
    assert price_text(10**19 + 1, 10_000, Decimal(1)) == f"{10**15}.0001"


def test_months_go_back_over_the_turn_of_the_year() -> None:
    day = date(2026, 2, 28)
    found = [first_of_month(day, each) for each in (0, 1, 2, 14)]
    assert found == [
        date(2026, 2, 1), date(2026, 1, 1), date(2025, 12, 1), date(2024, 12, 1),
    ]  # fmt: skip
