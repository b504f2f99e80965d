"""One page about a fleet: inventory, problems, and unused objects."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from kplan.model.dataclass import dataclass
from kplan.model.plan import Risk
from kplan.model.table import NO_OWNER, Cell, Figures, FigureTable
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
    Totals,
    faint_span,
    line,
    strong_span,
)
from kplan.report.documents.notation import count_text, size_text
from kplan.report.documents.table import attributes_text, number_columns

_BARS = 15
_GB = 10**9
_TITLES: Mapping[str, str] = {
    "drift": "Drift and problems",
    "violations": "Policy violations",
    "to_do": "Pending changes",
    "inventory": "Inventory",
    "largest": "Largest topics",
    "owners": "Owners",
    "idle_acls": "ACLs without effect",
    "unused_acls": "ACLs that no logged request used",
    "unused_topics": "Unused topics",
    "unheard": "Clusters with unknown ACL use",
    "undeclared": "Clusters with unknown drift",
}
"""In the order in which they are shown: what is wrong comes first."""
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
_REDUNDANT_COLUMNS: Mapping[str, frozenset[str]] = {"unused_acls": frozenset({"identity"})}
"""Columns whose parts have columns of their own."""
_WORDS: Mapping[str, str] = {
    "change": "to apply",
    "obstacle": "obstacle",
    "drift": "changed outside kplan",
    "shadowed": "covered by another",
    "matches_nothing": "matches no topic",
    "log": "in no log",
    "offsets": "no record, no group",
}
TablesByName = Mapping[str, "_NamedRows"]


@dataclass(frozen=True, slots=True)
class _NamedRows:
    """A table by the names of its columns."""

    table: FigureTable

    def __iter__(self) -> Iterator[Mapping[str, Cell]]:
        for row in self.table.rows:
            yield dict(zip(self.table.columns, row, strict=True))

    def sum(self, name: str) -> int:
        """Add up a column; 0 where there is no such."""
        return sum(_number(row.get(name)) for row in self)

    def count(self, name: str = "cluster", **like: str) -> Counter[str]:
        """Count rows by a column, those alone that have certain values."""
        return Counter(
            str(row[name]) for row in self if all(row.get(k) == v for k, v in like.items())
        )


def fleet_page(figures: Figures) -> Document:
    """Show problems first, then charts, then lists."""
    by_name = {each.name: _NamedRows(each) for each in figures.tables}
    places = {name: place for place, name in enumerate(_TITLES)}
    tables = sorted(figures.tables, key=lambda each: places.get(each.name, len(places)))
    blocks: list[Block] = [
        Heading(line(_lineage_text(figures.lineage))),
        Totals(tuple(_verdict(by_name))),
    ]
    blocks += [Paragraph(each, Tone.WARNING) for each in figures.notes]
    blocks += _next_steps(by_name)
    blocks += [_page_table(each) for each in tables if each.rows]
    nothing = [_lowercase_title(_title(each)) for each in tables if not each.rows]
    if nothing:
        blocks.append(Paragraph(f"Nothing found: {'; '.join(nothing)}.", Tone.FAINT))
    if "unused_topics" not in by_name:
        detail = (
            "No authorizer log was ingested, so unused topics are unknown "
            "(kplan fleet audit ingest)."
        )
        blocks.append(Paragraph(detail, Tone.FAINT))
    return Document(
        tuple(blocks), figures.title, tuple(each for each in _charts(by_name) if each.bars)
    )


def _lineage_text(lineage: Mapping[str, str]) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in lineage.items())


def _verdict(name: TablesByName) -> Iterator[tuple[Span, ...]]:
    clusters = name.get("inventory", _EMPTY_ROWS)
    unread, drifted = clusters.sum("unread_clusters"), name.get("drift", _EMPTY_ROWS)
    dangerous = _by_risk(name, Risk.DANGEROUS).total()
    problems = [
        f"{count_text(unread, 'cluster')} not read" if unread else "",
        _nonzero_count_text(drifted.count(finding="drift").total(), "drifted object"),
        _nonzero_count_text(drifted.count(finding="problem").total(), "problem"),
        _nonzero_count_text(dangerous, "dangerous change"),
        _nonzero_count_text(
            len(name.get("violations", _EMPTY_ROWS).table.rows), "policy violation"
        ),
    ]
    undeclared = len(name.get("undeclared", _EMPTY_ROWS).table.rows)
    compared = clusters.sum("clusters") - undeclared
    sound = f"in {count_text(compared, 'cluster')}, and {undeclared:,} not read"
    nothing = f"No problems found {sound if undeclared else 'that kplan checks'}."
    yield line(", ".join(filter(None, problems)) or nothing)
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
    if undeclared:
        told = count_text(undeclared, "cluster")
        yield line(f"{told} without a configuration: drift is unknown")
    own, foreign = (counts.total() for counts in _by_owner(name))
    if foreign:
        share = 100 * foreign / (own + foreign)
        told = f"{count_text(foreign, 'object')} ({share:.0f} %) without an owner"
        yield line(told)
    unused = name.get("unused_topics", _EMPTY_ROWS)
    if unused.table.rows:
        held = size_text(unused.sum("bytes"))
        told = f"{count_text(len(unused.table.rows), 'topic')} unused"
        yield line(f"{told}, {held}" if held else told)


_NEXT_STEPS: Mapping[str, tuple[str, str]] = {
    "drift": ("Show objects that were changed outside kplan", "kplan fleet drift"),
    "violations": ("Show policy violations", "kplan fleet lint"),
    "to_do": ("Review each change before it is applied", "kplan fleet plan"),
    "idle_acls": ("Take out ACLs without effect", "kplan fleet lint"),
    "unused_topics": (
        "Write HCL that removes unused objects",
        "kplan fleet audit usage -removed=DIR",
    ),
    "unused_acls": (
        "Write HCL that removes unused objects",
        "kplan fleet audit usage -removed=DIR",
    ),
    "unheard": ("Let brokers log allowed requests, and configure the logs", "kplan help fleets"),
    "undeclared": ("Declare the existing objects", "kplan import -all -generate-config=FILE"),
}
"""What to do about each table with rows, and the command that begins it."""


def _next_steps(found: TablesByName) -> Iterator[Block]:
    """List the next steps, each once."""
    steps = dict.fromkeys(
        step for name, step in _NEXT_STEPS.items() if found.get(name, _EMPTY_ROWS).table.rows
    )
    if steps:
        rows = tuple(TableRow((line(strong_span(command)), line(told))) for told, command in steps)
        title = (Row(line(strong_span("Next steps")), column=0),)
        yield Table(rows, ("command", "what for"), title=title)


def _nonzero_count_text(count: int, noun: str) -> str:
    return count_text(count, noun) if count else ""


def _by_risk(name: TablesByName, risk: Risk) -> Counter[str]:
    counts: Counter[str] = Counter()
    for row in name.get("to_do", _EMPTY_ROWS):
        if row["finding"] == "change" and row["risk"] == risk.value:
            counts[str(row["cluster"])] += _number(row["count"])
    return counts


def _by_owner(found: TablesByName) -> tuple[Counter[str], Counter[str]]:
    """Count by cluster the objects that a configuration owns, and the others."""
    own, foreign = Counter[str](), Counter[str]()
    for row in found.get("owners", _EMPTY_ROWS):
        counts = foreign if row["owner"] == NO_OWNER else own
        counts[str(row["group"])] += sum(
            _number(row[name]) for name in ("topics", "acls", "others")
        )
    return own, foreign


# ---- charts


def _charts(found: TablesByName) -> Iterator[Tally]:
    """Draw sizes, problems and unused objects; each by cluster, largest first."""
    for name, title, tone in (
        ("topics", "Topics", Tone.STRONG),
        ("acls", "ACLs", Tone.STRONG),
        ("bytes", "Data in GB, one replica of each partition", Tone.STRONG),
    ):
        rows = found.get("inventory", _EMPTY_ROWS)
        unit = _GB if name == "bytes" else 1
        sums = {str(row["group"]): _number(row.get(name)) // unit for row in rows}
        yield _tally(title, ((Span(title.split(" in ")[0], tone), Counter(sums)),))
    own, foreign = _by_owner(found)
    yield _tally(
        "Objects by owner",
        ((Span("a configuration", Tone.ADD), own), (Span("nobody", Tone.FAINT), foreign)),
    )
    drifted = found.get("drift", _EMPTY_ROWS)
    yield _tally(
        "Pending changes",
        (
            (Span("dangerous", Tone.REMOVE), _by_risk(found, Risk.DANGEROUS)),
            (Span("to review", Tone.CHANGE), _by_risk(found, Risk.REVIEW)),
            (Span("safe", Tone.ADD), _by_risk(found, Risk.SAFE)),
            (Span("drifted", Tone.DANGER), drifted.count(finding="drift")),
            (Span("unknown", Tone.FAINT), _by_risk(found, Risk.UNKNOWN)),
        ),
    )
    idle = found.get("idle_acls", _EMPTY_ROWS)
    yield _tally(
        "What could go",
        (
            (Span("ACLs covered by others", Tone.CHANGE), idle.count(finding="shadowed")),
            (Span("ACLs without a topic", Tone.DANGER), idle.count(finding="matches_nothing")),
            (Span("ACLs not met", Tone.FAINT), found.get("unused_acls", _EMPTY_ROWS).count()),
            (Span("topics", Tone.STRONG), found.get("unused_topics", _EMPTY_ROWS).count()),
        ),
    )


def _tally(title: str, columns: Sequence[tuple[Span, Counter[str]]]) -> Tally:
    """Leave out columns and clusters without anything, and put small clusters together."""
    used = [each for each in columns if each[1].total()]
    totals = sum((counts for _, counts in used), Counter[str]())
    names = [name for name, _ in sorted(totals.items(), key=lambda each: (-each[1], each[0]))]
    bars = [(name, tuple(counts[name] for _, counts in used)) for name in names[:_BARS]]
    if rest := names[_BARS:]:
        others = tuple(sum(counts[name] for name in rest) for _, counts in used)
        bars.append((f"{len(rest):,} others", others))
    return Tally("cluster", tuple(column for column, _ in used), tuple(bars), title)


# ---- tables


def _title(table: FigureTable) -> str:
    return _TITLES.get(table.name, table.name.replace("_", " ").capitalize())


def _lowercase_title(title: str) -> str:
    """Write a title within a sentence: `drift and problems`, `ACLs without effect`."""
    return title if title[1:2].isupper() else f"{title[:1].lower()}{title[1:]}"


def _page_table(table: FigureTable) -> Table:
    """List rows as people read them; a column without anything in it says nothing."""
    numbers = number_columns(table)
    twice = _REDUNDANT_COLUMNS.get(table.name, frozenset())
    told = [at for at, name in enumerate(table.columns) if _has_values(table, at, name)]
    shown = [at for at in told if table.columns[at] not in twice]
    names = [table.columns[at] for at in shown]
    rows = (
        TableRow(tuple(line(_cell_text(table.columns[at], row[at])) for at in shown))
        for row in _sort_rows(table)
    )
    count = f"{len(table.rows):,}{' or more' if table.is_truncated else ''}"
    foot = (Row(line(faint_span("There are more rows; -limit shows them."))),)
    return Table(
        tuple(rows),
        tuple(_NAMES.get(name, name.replace("_", " ")) for name in names),
        title=(Row(line(strong_span(_title(table)), faint_span(f" {count}")), column=0),),
        footer=foot if table.is_truncated else (),
        numbers=frozenset(place for place, at in enumerate(shown) if at in numbers),
    )


def _sort_rows(table: FigureTable) -> Sequence[tuple[Cell, ...]]:
    """Put the greatest clusters first."""
    if table.name != "inventory":
        return table.rows
    at = table.columns.index("topics")
    return sorted(table.rows, key=lambda row: -_number(row[at]))


def _has_values(table: FigureTable, at: int, name: str) -> bool:
    if name == "clusters" and all(row[at] == 1 for row in table.rows):
        return False  # each row is one
    return any(row[at] not in (None, "", 0) for row in table.rows)


def _number(cell: Cell) -> int:
    return int(cell) if isinstance(cell, int | float) else 0


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
        case str() if name in {"finding", "evidence"}:
            return _WORDS.get(cell, cell)
        case _:
            return str(cell)


_EMPTY_ROWS = _NamedRows(FigureTable("", (), ()))
