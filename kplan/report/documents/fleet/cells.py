"""Tables of a page about a fleet: figures as people read them."""

from collections.abc import Mapping, Sequence

from kplan.model.table import Cell, FigureTable
from kplan.report.documents.fleet.section import PageCell, PageTable, TableKind, whole_number
from kplan.report.documents.notation import count_text, size_text
from kplan.report.documents.table import attributes_text, number_columns

MAX_CELL = 600
"""Characters of one cell."""
_NAMES: Mapping[str, str] = {
    "group": "cluster",
    "acls": "ACLs",
    "unread_clusters": "unread",
    "bytes": "size",
    "unsized": "size unknown",
    "by": "covered by",
    "others": "other objects",
    "attributes": "what differs",
}
_WORDS: Mapping[str, str] = {
    "change": "to apply",
    "obstacle": "obstacle",
    "drift": "changed outside kplan",
    "shadowed": "covered by another",
    "matches_nothing": "matches no topic",
    "log": "in no log",
    "offsets": "no record, no group",
    "refused": "refused",
    "told": "warning",
}
_CODED_COLUMNS = frozenset({"finding", "evidence", "standing"})


def page_table(table: FigureTable, kind: TableKind, limit: int) -> PageTable:
    """Show up to `limit` rows; a column without anything in it is left out."""
    numbers = number_columns(table)
    places = range(len(table.columns))
    shown = [at for at in places if _has_values(table, at) and table.columns[at] not in kind.hidden]
    names = [table.columns[at] for at in shown]
    rows = tuple(
        tuple(_page_cell(table.columns[at], row[at]) for at in shown)
        for row in _sort_rows(table)[:limit]
    )
    is_cut = table.is_truncated or len(table.rows) > limit
    return PageTable(
        table.name,
        kind.title,
        tuple(_NAMES.get(name, name.replace("_", " ")) for name in names),
        rows,
        frozenset(place for place, at in enumerate(shown) if at in numbers),
        f"{len(table.rows):,}{' or more' if table.is_truncated else ''}",
        kind.command if is_cut else "",
    )


def _sort_rows(table: FigureTable) -> Sequence[tuple[Cell, ...]]:
    """Put the greatest clusters first."""
    if table.name != "inventory":
        return table.rows
    at = table.columns.index("topics")
    return sorted(table.rows, key=lambda row: -whole_number(row[at]))


def _has_values(table: FigureTable, at: int) -> bool:
    if table.columns[at] == "clusters" and all(row[at] == 1 for row in table.rows):
        return False  # each row is one
    return any(row[at] not in (None, "", 0) for row in table.rows)


def _page_cell(name: str, cell: Cell) -> PageCell:
    text = _cell_text(name, cell)
    if len(text) > MAX_CELL:
        text = f"{text[:MAX_CELL]}..."
    is_written = isinstance(cell, int | float) and not isinstance(cell, bool)
    return PageCell(text, str(cell) if is_written and str(cell) != text else "")


def _cell_text(name: str, cell: Cell) -> str:
    match cell:
        case None:
            return ""
        case bool():
            return str(cell).lower()
        case int() if name == "bytes":
            return size_text(cell).removeprefix("~") or count_text(cell, "byte")
        case int():
            return f"{cell:,}"
        case float() if name == "share":
            return f"{cell:g} %"
        case str() if name == "attributes":
            return attributes_text(cell)
        case str() if name in _CODED_COLUMNS:
            return _WORDS.get(cell, cell)
        case _:
            return str(cell)
