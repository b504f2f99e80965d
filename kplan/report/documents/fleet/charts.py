"""Charts of a page about a fleet: sizes by cluster, and requests by day."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from decimal import Decimal

from kplan.model.plan import Risk
from kplan.model.table import NO_OWNER
from kplan.report.document import Span, Tally, Tone
from kplan.report.documents.fleet.section import (
    EMPTY_ROWS,
    NamedRows,
    PageSeries,
    TablesByName,
    whole_number,
)

_BARS = 15
_GB = 10**9


def count_by_risk(found: TablesByName, risk: Risk) -> Counter[str]:
    """Count the pending changes of a risk by cluster."""
    counts: Counter[str] = Counter()
    for row in found.get("to_do", EMPTY_ROWS):
        if row["finding"] == "change" and row["risk"] == risk.value:
            counts[str(row["cluster"])] += whole_number(row["count"])
    return counts


def count_by_owner(found: TablesByName) -> tuple[Counter[str], Counter[str]]:
    """Count by cluster the objects that a configuration owns, and the others."""
    own, foreign = Counter[str](), Counter[str]()
    for row in found.get("owners", EMPTY_ROWS):
        counts = foreign if row["owner"] == NO_OWNER else own
        counts[str(row["group"])] += sum(
            whole_number(row[name]) for name in ("topics", "acls", "others")
        )
    return own, foreign


def inventory_tallies(found: TablesByName) -> Iterator[Tally]:
    """Draw sizes and owners by cluster, the largest first."""
    for name, title in (
        ("topics", "Topics"),
        ("acls", "ACLs"),
        ("bytes", "Data in GB, one replica of each partition"),
    ):
        rows = found.get("inventory", EMPTY_ROWS)
        unit = _GB if name == "bytes" else 1
        sums = {str(row["group"]): whole_number(row.get(name)) // unit for row in rows}
        yield tally(title, ((Span(title.split(" in ")[0], Tone.STRONG), Counter(sums)),))
    own, foreign = count_by_owner(found)
    columns = (
        (Span("a configuration", Tone.ADD), own),
        (Span("no configuration", Tone.FAINT), foreign),
    )
    yield tally("Objects by owner", columns)


def drift_tallies(found: TablesByName) -> Iterator[Tally]:
    """Draw pending changes and drift by cluster."""
    drifted = found.get("drift", EMPTY_ROWS)
    yield tally(
        "Pending changes and drift",
        (
            (Span("dangerous", Tone.REMOVE), count_by_risk(found, Risk.DANGEROUS)),
            (Span("to review", Tone.CHANGE), count_by_risk(found, Risk.REVIEW)),
            (Span("safe", Tone.ADD), count_by_risk(found, Risk.SAFE)),
            (Span("drifted", Tone.DANGER), drifted.count(finding="drift")),
            (Span("unknown", Tone.FAINT), count_by_risk(found, Risk.UNKNOWN)),
        ),
    )


def unused_topics(found: TablesByName) -> NamedRows:
    """Return the unused topics without those whose use is unknown."""
    rows = found.get("unused_topics", EMPTY_ROWS)
    known = (
        row
        for row, each in zip(rows.table.rows, rows, strict=True)
        if each.get("evidence") != "unknown"
    )
    return NamedRows(replace(rows.table, rows=tuple(known)))


def unused_tallies(found: TablesByName) -> Iterator[Tally]:
    """Draw what could go, by cluster."""
    idle = found.get("idle_acls", EMPTY_ROWS)
    yield tally(
        "What could go",
        (
            (Span("ACLs covered by others", Tone.CHANGE), idle.count(finding="shadowed")),
            (Span("ACLs without a topic", Tone.DANGER), idle.count(finding="matches_nothing")),
            (Span("ACLs not met", Tone.FAINT), found.get("unused_acls", EMPTY_ROWS).count()),
            (Span("topics", Tone.STRONG), unused_topics(found).count()),
        ),
    )


def recommendation_tallies(found: TablesByName) -> Iterator[Tally]:
    """Draw recommendations by cluster and by what they do."""
    counts: dict[str, Counter[str]] = {"remove": Counter(), "narrow": Counter()}
    for row in found.get("recommended", EMPTY_ROWS):
        counts[str(row["action"])][str(row["cluster"])] += whole_number(row["acls"])
    columns = (Span("remove", Tone.REMOVE), Span("narrow", Tone.CHANGE))
    pairs = tuple(zip(columns, counts.values(), strict=True))
    yield tally("Recommended changes of ACLs", pairs)


def cost_tallies(found: TablesByName) -> Iterator[Tally]:
    """Draw what teams cost in the latest month, in whole units of the currency."""
    rows = found.get("costs", EMPTY_ROWS)
    month = max((str(row.get("month")) for row in rows), default="")
    sums: dict[str, Decimal] = {}
    for row in rows:
        if row.get("month") == month:
            team = str(row.get("team") or row.get("owner"))
            sums[team] = sums.get(team, Decimal()) + Decimal(str(row.get("cost") or 0))
    whole = Counter({team: int(cost) for team, cost in sums.items()})
    title = f"Costs in {month}, in whole units of the currency"
    if rows.table.is_truncated:
        title += ", without those that cost least"
    yield tally(title, ((Span("costs", Tone.STRONG), whole),), "team")


def trend_tallies(found: TablesByName) -> Iterator[Tally]:
    """Draw how much of a limit is used, the fullest first."""
    for figure in ("partitions", "bytes"):
        shares: dict[bool, Counter[str]] = {True: Counter(), False: Counter()}
        for row in found.get("trends", EMPTY_ROWS):
            if row.get("figure") == figure and (limit := whole_number(row.get("limit"))):
                is_near = row.get("standing") in {"over", "near"}
                scope = "" if row.get("scope") == "cluster" else f"{row.get('scope')} "
                name = f"{scope}{row.get('name')}"
                shares[is_near][name] = 100 * whole_number(row.get("latest")) // limit
        columns = (
            (Span("met or near", Tone.DANGER), shares[True]),
            (Span("not near", Tone.STRONG), shares[False]),
        )
        title = f"Used {figure} in percent of their limit"
        yield tally(title, columns, "limit", is_summed=False)


def anomaly_tallies(found: TablesByName) -> Iterator[Tally]:
    """Draw what is new, and what rose, by cluster."""
    new, rises = Counter[str](), Counter[str]()
    for row in found.get("anomalies", EMPTY_ROWS):
        counts = new if str(row.get("finding")).startswith("new_") else rises
        counts[str(row.get("cluster"))] += whole_number(row.get("count", 1))
    columns = (Span("new", Tone.CHANGE), new), (Span("rises", Tone.DANGER), rises)
    yield tally("Anomalies", columns)


def usage_series(found: TablesByName) -> Iterator[PageSeries]:
    """Draw requests and denials over days, a line for each of the busiest clusters."""
    rows = found.get("requests_by_day", EMPTY_ROWS)
    for column, title in (("requests", "Requests per day"), ("denied", "Denied requests per day")):
        if rows.sum(column):
            yield day_series(title, rows, column)


def size_series(found: TablesByName) -> Iterator[PageSeries]:
    """Draw partitions and bytes over the days with a run, a line for each of the largest owners."""
    rows = found.get("sizes_by_day", EMPTY_ROWS)
    for column, title, unit in (
        ("partitions", "Partitions by owner", 1),
        ("bytes", "Data in GB by owner, all replicas", _GB),
    ):
        if rows.sum(column) >= unit:
            yield day_series(title, rows, column, "owner", unit)


def day_series(
    title: str, rows: NamedRows, column: str, line: str = "cluster", unit: int = 1
) -> PageSeries:
    """Draw a column over the days of `day`, a line for each value of the column `line`.

    A day without a row is 0. Values are whole units.
    """
    sums: dict[str, Counter[str]] = {}
    for row in rows:
        of_line = sums.setdefault(str(row[line]), Counter())
        of_line[str(row["day"])] += whole_number(row[column]) // unit
    days = tuple(sorted({str(row["day"]) for row in rows}))
    names = sorted(sums, key=lambda each: (-sums[each].total(), each))
    lines = tuple((name, tuple(sums[name][day] for day in days)) for name in names)
    return PageSeries(title, days, lines)


def tally(
    title: str,
    columns: Sequence[tuple[Span, Counter[str]]],
    noun: str = "cluster",
    *,
    is_summed: bool = True,
) -> Tally:
    """Draw the largest clusters, or other nouns; columns and nouns without anything are left out.

    Figures that are no amounts, such as percentages, are not summed.
    The others as one bar would be so long that no difference between the largest was seen.
    """
    used = [each for each in columns if each[1].total()]
    totals = sum((counts for _, counts in used), Counter[str]())
    names = [name for name, _ in sorted(totals.items(), key=lambda each: (-each[1], each[0]))]
    bars = [(name, tuple(counts[name] for _, counts in used)) for name in names[:_BARS]]
    if rest := names[_BARS:]:
        others = sum(totals[name] for name in rest)
        text = f"; {others:,} in {len(rest):,} smaller ones"
        title += f": {_BARS} {noun}s{text}" if is_summed else f": {_BARS} of {len(names):,} {noun}s"
    return Tally(noun, tuple(column for column, _ in used), tuple(bars), title)
