"""Why nothing is known of a growth."""

from datetime import date, timedelta
from typing import Any

import pytest

from kplan.fleet.insight.trends import trend_rows
from kplan.model.fleet import Limits, TrendRules

START = date(2026, 11, 1)
RULES = TrendRules(limits={("cluster", "eu"): Limits(bytes=1 << 40)})


def rows(*unsized: int) -> dict[str, dict[str, Any]]:
    """Return the rows of a cluster with so many topics of unknown size by day, by figure."""
    days = [START + timedelta(days=n) for n in range(len(unsized))]
    series = [
        {"day": day, "partitions": 3, "bytes": 700, "unsized": count}
        for day, count in zip(days, unsized, strict=True)
    ]
    given = {"scope": "cluster", "name": "eu", "start": START, "series": series}
    return {each["figure"]: each for each in trend_rows(given, RULES, days)}


@pytest.mark.parametrize(
    ("unsized", "days", "reason"),
    [
        ((1,) * 50, 0, "the size of 1 topic is unknown on 50 of 50 days with a run"),
        ((2,) * 8, 0, "the size of 2 topics is unknown on 8 of 8 days with a run"),
        ((0, 0, 1, 3), 2, "the size of up to 3 topics is unknown on 2 of 4 days with a run"),
        ((0, 0), 2, "2 of 7 days with a run are known"),
    ],
)
def test_topics_of_unknown_size_are_the_reason_that_growth_is_unknown(
    unsized: tuple[int, ...], days: int, reason: str
) -> None:
    found = rows(*unsized)["bytes"]
    assert (found["standing"], found["days"], found["because"]) == ("unknown", days, reason)


def test_days_that_are_left_say_how_bytes_grow() -> None:
    found = rows(*(0,) * 20, 1)
    assert (found["bytes"]["standing"], found["bytes"]["days"]) == ("steady", 20)
    assert found["partitions"]["days"] == 21
