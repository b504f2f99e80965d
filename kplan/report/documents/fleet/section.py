"""What a page about a fleet consists of, before it is written as HTML."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field

from kplan.model.dataclass import dataclass
from kplan.model.table import Cell, FigureTable
from kplan.report.document import Line, Tally


@dataclass(frozen=True, slots=True)
class NamedRows:
    """A table by the names of its columns."""

    table: FigureTable

    def __iter__(self) -> Iterator[Mapping[str, Cell]]:
        for row in self.table.rows:
            yield dict(zip(self.table.columns, row, strict=True))

    def sum(self, name: str) -> int:
        """Add up a column; 0 where there is no such."""
        return sum(whole_number(row.get(name)) for row in self)

    def count(self, name: str = "cluster", **like: str) -> Counter[str]:
        """Count rows by a column, those alone that have certain values."""
        counts: Counter[str] = Counter()
        for row in self:
            if all(row.get(key) == value for key, value in like.items()):
                counts[str(row[name])] += whole_number(row.get("count", 1))
        return counts


_COUNTS = "_counts"


def counts_of(name: str) -> str:
    """Name the table that counts all rows of one of which not all are shown."""
    return f"{name}{_COUNTS}"


def counted_tables(tables: Iterable[FigureTable]) -> "TablesByName":
    """Return what charts and the headline are made of: all rows, or their counts."""
    found = {each.name: NamedRows(each) for each in tables}
    whole = {name: found[counts_of(name)] for name in found if counts_of(name) in found}
    return {**found, **whole}


def is_count(table: FigureTable) -> bool:
    """Whether a table counts another, and is not shown."""
    return table.name.endswith(_COUNTS)


TablesByName = Mapping[str, NamedRows]
EMPTY_ROWS = NamedRows(FigureTable("", (), ()))


def whole_number(cell: Cell) -> int:
    """Return a number, 0 for what is none."""
    return int(cell) if isinstance(cell, int | float) else 0


@dataclass(frozen=True, slots=True)
class PageCell:
    """A cell as people read it; `key` is what it is sorted by where that is another text."""

    text: str
    key: str = ""


@dataclass(frozen=True, slots=True)
class PageTable:
    """Rows under columns; `numbers` are the places of columns of numbers.

    `count` is the number of rows as text; `hint` is the command that lists rows left out, or "".
    """

    name: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[PageCell, ...], ...]
    numbers: frozenset[int] = frozenset()
    count: str = ""
    hint: str = ""


@dataclass(frozen=True, slots=True)
class PageSeries:
    """A chart over days: for each line its value on each day; days are `2026-11-16`, in order."""

    title: str
    days: tuple[str, ...]
    lines: tuple[tuple[str, tuple[int, ...]], ...]


@dataclass(frozen=True, slots=True)
class PageSection:
    """A part of the page with a title; `anchor` names it in addresses.

    `nothing` are the titles of its tables without rows, and `missing` tells why it has none at all,
    followed by the command that makes its data.
    """

    title: str
    anchor: str
    tables: tuple[PageTable, ...] = ()
    tallies: tuple[Tally, ...] = ()
    series: tuple[PageSeries, ...] = ()
    nothing: tuple[str, ...] = ()
    missing: tuple[str, str] = ("", "")


@dataclass(frozen=True, slots=True)
class NextStep:
    """A command, and what it is for."""

    command: str
    purpose: str


@dataclass(frozen=True, slots=True)
class FleetPage:
    """The page: summary and counts, what could not be read, next steps, and the sections."""

    title: str
    lineage: str
    summary: tuple[Line, ...]
    notes: tuple[str, ...] = ()
    steps: tuple[NextStep, ...] = ()
    sections: tuple[PageSection, ...] = ()


def no_tallies(found: TablesByName) -> Iterator[Tally]:
    """Draw nothing."""
    del found
    yield from ()


def no_series(found: TablesByName) -> Iterator[PageSeries]:
    """Draw nothing."""
    del found
    yield from ()


@dataclass(frozen=True, slots=True)
class TableKind:
    """How a table of figures is shown.

    `hidden` are columns that others tell already, `step` is what to do if there are rows. `unknown`
    is the table of what was not looked at: if that has rows, no row here does not mean nothing.
    """

    name: str
    title: str
    command: str
    step: NextStep | None = None
    hidden: frozenset[str] = frozenset()
    unknown: str = ""


@dataclass(frozen=True, slots=True)
class SectionKind:
    """A section and what it is made of. One more in the list of `sections.py` is one more there.

    `tables` are shown in this order; charts may also read others, named in `data`. `missing` is the
    reason and the command to show where none of the tables was made.
    """

    title: str
    tables: tuple[TableKind, ...]
    missing: tuple[str, str]
    tallies: Callable[[TablesByName], Iterator[Tally]] = no_tallies
    series: Callable[[TablesByName], Iterator[PageSeries]] = no_series
    data: frozenset[str] = field(default_factory=frozenset)
