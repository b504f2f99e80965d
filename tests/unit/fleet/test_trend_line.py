"""Straight lines through daily figures, and when they meet a limit."""

from datetime import date, timedelta
from fractions import Fraction

import pytest

from kplan.fleet.insight.trend_line import fit_line, forecast

START = date(2026, 11, 1)
RULES = (7, 30)


def daily(*values: int, step: int = 1) -> list[tuple[date, int]]:
    return [(START + timedelta(days=n * step), value) for n, value in enumerate(values)]


def test_a_line_is_fitted_exactly_where_days_are_missing() -> None:
    line = fit_line(daily(10, 16, 22, step=3))
    assert (line.per_day, line.fit, line.error) == (Fraction(2), 1.0, 0.0)


def test_the_slope_its_error_and_its_fit_are_those_of_textbooks() -> None:
    line = fit_line(daily(1, 3, 2, 5))
    assert line.per_day == Fraction(11, 10)
    assert line.fit == pytest.approx(0.6914, abs=1e-4)
    assert line.error == pytest.approx(0.51962, abs=1e-5)


@pytest.mark.parametrize(
    ("values", "limit", "standing", "day"),
    [
        (range(10, 20), 22, "near", date(2026, 11, 13)),
        (range(10, 20), 100, "later", date(2027, 1, 30)),
        (range(10, 20), 10**6, "steady", None),
        (range(20, 10, -1), 100, "steady", None),
        ([5] * 10, 6, "steady", None),
        ([10, 14, 9, 15, 8, 13, 11, 12, 9, 13], 20, "steady", None),  # no more than chance
        ([1, 2, 3], 10, "unknown", None),
        ([], 10, "unknown", None),
        ([9, 3, 9, 9], 9, "over", date(2026, 11, 3)),
        ([9, 9], 9, "over", date(2026, 11, 1)),
        (range(10, 20), None, "", None),
    ],
)
def test_a_limit_is_met_on_a_day_or_not_at_all(
    values: list[int], limit: int | None, standing: str, day: date | None
) -> None:
    _, found = forecast(daily(*values), limit, RULES)
    assert (found.standing, found.limit_day) == (standing, day)
