"""Lines with their marks in the first column, as a `diff` block colours them."""

from collections.abc import Iterator, Mapping

from kplan.report.document import Item, Mark, Row, Rows, Table
from kplan.report.formats.gravity import said
from kplan.report.formats.measure import clean, columns

_SIGNS: Mapping[Mark, str] = {each: each.value for each in Mark} | {Mark.CHANGE: "!"}
"""A diff knows no `~`; its `!` stands out as that does."""


def item_lines(item: Item) -> Iterator[str]:
    """Write one change."""
    for each in item.comments:
        yield clean(said(each))
    yield from map(row_line, (*item.rows, *item.remarks))


def rows_lines(block: Rows) -> Iterator[str]:
    """Write rows, without their title."""
    yield from map(row_line, block.rows)


def table_lines(table: Table) -> Iterator[str]:
    """Write a table with its title and foot, cells aligned."""
    yield from map(row_line, table.title)
    grid = [[clean(said(cell)) for cell in row.cells] for row in table.rows]
    widths = [max(columns(cell) for cell in each) for each in zip(*grid, strict=True)]
    for row, cells in zip(table.rows, grid, strict=True):
        padded = [
            cell + " " * (width - columns(cell)) for cell, width in zip(cells, widths, strict=True)
        ]
        yield _line("  ".join(padded), row.mark, table.column)
    yield from map(row_line, table.foot)


def row_line(row: Row) -> str:
    """Write one row: its mark first, its text as far in as it stands."""
    return _line(clean(said(row.text)), row.mark, row.column)


def _line(text: str, mark: Mark, column: int) -> str:
    sign = _SIGNS[mark]
    room = " " * max(column - 2 - len(sign), 1 if sign else 0)
    return f"{sign}{room}{text}".rstrip()
