"""Where the bars of a chart lie; the page draws them."""

from collections.abc import Iterator

from kplan.model.dataclass import dataclass
from kplan.report.document import Tally

WIDTH, LEFT, RIGHT, BAR, GAP = 640, 150, 60, 22, 10
_LEAST = 4.0


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of a bar: how many of what, from `x` on, `width` wide."""

    x: float
    width: float
    count: int
    name: str
    tone: str


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar with its name, `y` down from the top; `end` is where its number stands."""

    name: str
    y: int
    segments: tuple[Segment, ...]
    total: int
    end: float


@dataclass(frozen=True, slots=True)
class Chart:
    """Bars of one tally in a box `WIDTH` wide and `height` high."""

    tally: Tally
    bars: tuple[Bar, ...]
    height: int


def chart(tally: Tally) -> Chart:
    """Lay out a tally. Every number that is not 0 is seen, however small beside the others."""
    most = max((sum(counts) for _, counts in tally.bars), default=0) or 1
    bars = tuple(
        _bar(tally, name, counts, GAP + at * (BAR + GAP), most)
        for at, (name, counts) in enumerate(tally.bars)
    )
    return Chart(tally, bars, GAP + len(bars) * (BAR + GAP))


def _bar(tally: Tally, name: str, counts: tuple[int, ...], y: int, most: int) -> Bar:
    segments = tuple(_segments(tally, counts, most))
    end = segments[-1].x + segments[-1].width if segments else float(LEFT)
    return Bar(name, y, segments, sum(counts), end)


def _segments(tally: Tally, counts: tuple[int, ...], most: int) -> Iterator[Segment]:
    x = float(LEFT)
    room = WIDTH - LEFT - RIGHT - _LEAST * len(counts)
    for column, count in zip(tally.columns, counts, strict=True):
        if count:
            width = round(_LEAST + room * count / most, 1)
            yield Segment(x, width, count, column.text, column.tone.value)
            x = round(x + width, 1)
