"""Tables of figures over many clusters."""

import json
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from kplan.model.table import Cell, Figures, FigureTable
from kplan.report.data import Data
from kplan.report.document import (
    Block,
    Document,
    Heading,
    Paragraph,
    Row,
    Span,
    Table,
    TableRow,
    Tally,
    Tone,
    faint_span,
    line,
    strong_span,
)
from kplan.report.documents.notation import shorten

_NOTE_ONLY_TABLES = frozenset({"unread"})
"""Tables of which the notes tell all."""
_LINE_LENGTH = 300
"""Characters of a line of a log that are shown: one without an end may be as long as its file."""


def figures_document(figures: Figures) -> Document:
    """Show the tables, notes, and the source of the figures."""
    blocks: list[Block] = [Heading(line(strong_span(figures.title)))]
    blocks += [
        _table(each) for each in figures.tables if each.rows and each.name not in _NOTE_ONLY_TABLES
    ]
    empty = [each.name.replace("_", " ") for each in figures.tables if not each.rows]
    if len(empty) == len(figures.tables):
        blocks.append(Paragraph("Nothing was found."))
    elif nothing := [each for each in empty if each not in _NOTE_ONLY_TABLES]:
        blocks.append(Paragraph(f"Nothing found: {', '.join(nothing)}.", Tone.FAINT))
    blocks += [Paragraph(f"Note: {each}", Tone.WARNING) for each in figures.all_notes]
    if figures.lineage:
        detail = ", ".join(f"{name} {value}" for name, value in figures.lineage.items())
        blocks.append(Paragraph(f"From: {detail}", Tone.FAINT))
    tallies = tuple(_tally(each) for each in figures.tables if each.name == "inventory")
    return Document(tuple(blocks), figures.title, tallies)


def _tally(table: FigureTable) -> Tally:
    """Make a chart of topics and ACLs per group."""
    group, topics, acls = (table.columns.index(name) for name in ("group", "topics", "acls"))
    bars = tuple(
        (str(row[group]), tuple(int(str(row[at] or 0)) for at in (topics, acls)))
        for row in table.rows
    )
    return Tally("cluster", (Span("topics", Tone.ADD), Span("ACLs", Tone.CHANGE)), bars)


def _table(table: FigureTable) -> Table:
    """Show rows; empty columns are left out."""
    foot = (Row(line(faint_span("There are more rows; -limit or -output shows them."))),)
    shown = [
        at
        for at in range(len(table.columns))
        if any(row[at] not in (None, "") for row in table.rows)
    ]
    numbers = number_columns(table)
    return Table(
        tuple(
            TableRow(tuple(line(_cell_text(table.columns[at], row[at])) for at in shown))
            for row in table.rows
        ),
        tuple(table.columns[at] for at in shown),
        title=(Row(line(strong_span(table.name)), column=0),),
        footer=foot if table.is_truncated else (),
        numbers=frozenset(place for place, at in enumerate(shown) if at in numbers),
    )


def attributes_text(text: str) -> str:
    """Write JSON findings of a fleet for people: `partitions: 3 -> 6`.

    That is an object as a whole, or `{path: [before, after]}`; null means what is sensitive.
    """
    found: dict[str, Any] = json.loads(text or "{}")
    if all(
        each is None or (isinstance(each, list) and len(each) == _PAIR_LENGTH)
        for each in found.values()
    ):
        return ", ".join(
            f"{name}: {'(sensitive)' if both is None else ' -> '.join(map(_value_text, both))}"
            for name, both in found.items()
        )
    given = {name: value for name, value in found.items() if value not in (None, "", [], {})}
    return ", ".join(f"{name}: {_value_text(value)}" for name, value in given.items())


_PAIR_LENGTH = 2


def _value_text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True)


def number_columns(table: FigureTable) -> frozenset[int]:
    """Return the positions of numeric columns."""
    places = range(len(table.columns)) if table.rows else ()
    return frozenset(at for at in places if all(_is_number(row[at]) for row in table.rows))


def _is_number(cell: Cell) -> bool:
    return cell is None or (isinstance(cell, int | float | Decimal) and not isinstance(cell, bool))


def _cell_text(name: str, cell: Cell) -> str:
    match cell:
        case None:
            return ""
        case str() if name == "attributes":
            return attributes_text(cell)
        case str() if name == "line":
            return shorten(cell, _LINE_LENGTH)
        case bool():
            return str(cell).lower()
        case tuple():
            return ", ".join(map(str, cell))
        case _:
            return str(cell)


def figures_data(figures: Figures) -> Data:
    """Write the same as data: every row an object under its columns."""
    return {
        "title": figures.title,
        "lineage": dict(figures.lineage),
        "notes": list(figures.all_notes),
        "tables": {
            each.name: {
                "is_cut": each.is_truncated,
                "rows": [row_data(each.columns, row) for row in each.rows],
            }
            for each in figures.tables
        },
    }


def row_data(columns: Sequence[str], row: Sequence[Cell]) -> dict[str, Data]:
    """Write a row as data, under its columns."""
    return {
        name: str(cell) if isinstance(cell, Decimal) else cell
        for name, cell in zip(columns, row, strict=True)
    }
