"""The straight line through daily figures, and the day on which it meets a limit."""

from collections.abc import Sequence
from datetime import date, timedelta
from fractions import Fraction
from math import sqrt

from kplan.model.dataclass import dataclass

UNKNOWN, OVER, NEAR, LATER, STEADY = "unknown", "over", "near", "later", "steady"
HORIZON_DAYS = 3_650
"""A limit that is met later than in ten years is not met for what anybody can say."""
_MIN_T = 2.0
"""A slope of less than so many standard errors may be none at all (95 %)."""
_MIN_POINTS = 3
DailyFigure = tuple[date, int]


@dataclass(frozen=True, slots=True)
class Line:
    """A slope by day, its standard error, and how much of the differences it explains (R²)."""

    per_day: Fraction
    error: float
    fit: float

    @property
    def is_growth(self) -> bool:
        """Whether the figures grow, and not by chance."""
        return self.per_day > 0 and float(self.per_day) >= _MIN_T * self.error


@dataclass(frozen=True, slots=True)
class Forecast:
    """When a limit is met. `limit_day` is None where it is not, or that is unknown."""

    standing: str
    limit_day: date | None
    because: str


def fit_line(figures: Sequence[DailyFigure]) -> Line:
    """Fit by least squares, exactly; in: figures of at least three different days, in order."""
    days = [each.toordinal() - figures[0][0].toordinal() for each, _ in figures]
    values = [value for _, value in figures]
    count, day_sum, value_sum = len(days), sum(days), sum(values)
    spread = count * sum(each * each for each in days) - day_sum**2
    together = count * sum(map(int.__mul__, days, values)) - day_sum * value_sum
    height = count * sum(each * each for each in values) - value_sum**2
    slope = Fraction(together, spread)
    if not height:
        return Line(slope, 0.0, 1.0)
    fit = float(Fraction(together**2, spread * height))
    # Standard error of the slope: the part that is not explained, over the spread of days.
    rest = float(Fraction(height, spread) - slope**2)
    return Line(slope, sqrt(max(0.0, rest) / (count - 2)), fit)


def forecast(
    figures: Sequence[DailyFigure], limit: int | None, rules: tuple[int, int]
) -> tuple[Line | None, Forecast]:
    """Say when the figures meet a limit, with the line that says so.

    In: figures by day; `rules` are the fewest days there must be, and the days ahead that are near.
    """
    min_days, warn_days = rules
    is_short = len(figures) < max(min_days, _MIN_POINTS)
    line = None if is_short else fit_line(figures)
    if limit is not None and figures and figures[-1][1] >= limit:
        since = _met_since(figures, limit)
        return line, Forecast(OVER, since, f"{figures[-1][1]:,} of {limit:,}")
    if line is None:
        detail = f"{len(figures)} of {max(min_days, _MIN_POINTS)} days with a run are known"
        return None, Forecast(UNKNOWN, None, detail)
    if limit is None:
        return line, Forecast("", None, "")
    return line, _forecast(figures[-1], line, limit, warn_days)


def _forecast(latest: DailyFigure, line: Line, limit: int, warn_days: int) -> Forecast:
    left = limit - latest[1]
    if not line.is_growth:
        return Forecast(STEADY, None, f"{left:,} left, and no growth beyond chance")
    days = -(-left // line.per_day)
    if days > HORIZON_DAYS:
        return Forecast(STEADY, None, f"{left:,} left, enough for ten years")
    standing = NEAR if days <= warn_days else LATER
    detail = f"{left:,} left at {float(line.per_day):,.1f} a day: {days:,} days"
    return Forecast(standing, latest[0] + timedelta(days=days), detail)


def _met_since(figures: Sequence[DailyFigure], limit: int) -> date:
    """Return the first day of the last time in which the limit was met throughout."""
    since = figures[-1][0]
    for day, value in reversed(figures):
        if value < limit:
            break
        since = day
    return since
