"""One page about a fleet: what is wrong first, then what is there, then what could go."""

from collections.abc import Iterator, Mapping, Sequence

from kplan.model.plan import Risk
from kplan.model.table import Figures, FigureTable
from kplan.report.document import Line, line
from kplan.report.documents.fleet.cells import page_table
from kplan.report.documents.fleet.charts import count_by_owner, count_by_risk, unused_topics
from kplan.report.documents.fleet.section import (
    EMPTY_ROWS,
    FleetPage,
    NamedRows,
    NextStep,
    PageSection,
    SectionKind,
    TableKind,
    TablesByName,
    counted_tables,
    is_count,
)
from kplan.report.documents.fleet.sections import SECTIONS
from kplan.report.documents.notation import count_text, size_text

MAX_ROWS = 1_000
"""Rows that a page shows of a table."""
MAX_BYTES = 4_000_000
"""Of the cells of a page, about: one that has more shows fewer rows of each table."""
_CELL_BYTES = 12
"""What HTML adds to a cell."""


def fleet_page(figures: Figures, kinds: Sequence[SectionKind] = SECTIONS) -> FleetPage:
    """Show problems first, then each section. A table that no section knows is in the last one."""
    shown = [each for each in figures.tables if not is_count(each)]
    found = {each.name: NamedRows(each) for each in shown}
    counted = counted_tables(figures.tables)
    known = {name for kind in kinds for name in _table_names(kind)}
    others = tuple(
        TableKind(each.name, _table_title(each), "kplan fleet report")
        for each in shown
        if each.name not in known
    )
    limit = _row_limit(shown)
    more = (SectionKind("Other", others, ("", "")),) if others else ()
    sections = (_section(kind, found, counted, limit) for kind in (*kinds, *more))
    return FleetPage(
        figures.title,
        ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in figures.lineage.items()),
        tuple(_summary(counted)),
        figures.all_notes,
        tuple(_next_steps(kinds, found)),
        tuple(sections),
    )


def _table_names(kind: SectionKind) -> frozenset[str]:
    return kind.data | {each.name for each in kind.tables}


def _row_limit(tables: Sequence[FigureTable]) -> int:
    """Return how many rows of each table a page has room for."""
    limit = MAX_ROWS
    while limit > 1 and sum(_size_bytes(each, limit) for each in tables) > MAX_BYTES:
        limit //= 2
    return limit


def _size_bytes(table: FigureTable, limit: int) -> int:
    return sum(len(str(cell)) + _CELL_BYTES for row in table.rows[:limit] for cell in row)


def _section(
    kind: SectionKind, found: TablesByName, counted: TablesByName, limit: int
) -> PageSection:
    made = [(each, found[each.name].table) for each in kind.tables if each.name in found]
    return PageSection(
        kind.title,
        kind.title.lower().replace(" ", "-"),
        tuple(page_table(table, each, limit) for each, table in made if table.rows),
        tuple(each for each in kind.tallies(counted) if each.bars),
        tuple(each for each in kind.series(found) if each.days),
        tuple(
            _lowercase_title(each.title)
            for each, table in made
            if not table.rows and not found.get(each.unknown, EMPTY_ROWS).table.rows
        ),
        ("", "") if made else kind.missing,
    )


def _table_title(table: FigureTable) -> str:
    return table.name.replace("_", " ").capitalize()


def _lowercase_title(title: str) -> str:
    """Write a title within a sentence: `drift and problems`, `ACLs without effect`."""
    return title if title[1:2].isupper() else f"{title[:1].lower()}{title[1:]}"


def _next_steps(kinds: Sequence[SectionKind], found: TablesByName) -> Iterator[NextStep]:
    """List the next steps, each once."""
    steps: Mapping[NextStep, None] = dict.fromkeys(
        each.step
        for kind in kinds
        for each in kind.tables
        if each.step is not None and found.get(each.name, EMPTY_ROWS).table.rows
    )
    yield from steps


def _summary(found: TablesByName) -> Iterator[Line]:
    clusters = found.get("inventory", EMPTY_ROWS)
    undeclared = found.get("undeclared", EMPTY_ROWS).count().total()
    where = count_text(undeclared, "cluster")
    unknown = f"No problems found, but drift is unknown in {where}."
    nothing = unknown if undeclared else "No problems found that kplan checks."
    problems = ", ".join(_problems(found))
    yield line(problems or nothing)
    yield line(
        ", ".join(
            (
                count_text(clusters.sum("clusters"), "cluster"),
                count_text(clusters.sum("topics"), "topic"),
                count_text(clusters.sum("partitions"), "partition"),
                count_text(clusters.sum("acls"), "ACL"),
                *filter(None, [size_text(clusters.sum("bytes"))]),
            )
        )
    )
    if undeclared and problems:
        yield line(f"Drift is unknown in {where}")
    own, foreign = (counts.total() for counts in count_by_owner(found))
    if foreign:
        share = 100 * foreign / (own + foreign)
        text = f"{count_text(foreign, 'object')} ({share:.0f} %) without an owner"
        yield line(text)
    unused = unused_topics(found)
    if unused.table.rows:
        held = size_text(unused.sum("bytes"))
        text = f"{_row_count(unused, 'topic')} unused"
        yield line(f"{text}, {held}" if held else text)


def _problems(found: TablesByName) -> Iterator[str]:
    """Count what is wrong; the rest of a table that was cut is told as more."""
    drifted = found.get("drift", EMPTY_ROWS)
    unhealthy = found.get("unhealthy", EMPTY_ROWS)
    for count, noun, table in (
        (found.get("inventory", EMPTY_ROWS).sum("unread_clusters"), "cluster", EMPTY_ROWS),
        (unhealthy.count().total(), "unhealthy topic", unhealthy),
        (drifted.count(finding="drift").total(), "drifted object", drifted),
        (drifted.count(finding="problem").total(), "problem", drifted),
        (count_by_risk(found, Risk.DANGEROUS).total(), "dangerous change", EMPTY_ROWS),
        (
            found.get("violations", EMPTY_ROWS).count("standing")["refused"],
            "policy violation",
            found.get("violations", EMPTY_ROWS),
        ),
    ):
        more = " or more" if table.table.is_truncated else ""
        if count:
            text = count_text(count, noun)
            yield f"{text} not read" if noun == "cluster" else f"{text}{more}"


def _row_count(rows: NamedRows, noun: str) -> str:
    more = " or more" if rows.table.is_truncated else ""
    return f"{count_text(rows.count().total(), noun)}{more}"
