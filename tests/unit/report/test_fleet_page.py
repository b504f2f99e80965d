"""The page about a fleet: what is wrong first, then what is there, then what could go."""

import html
import json
import re
from dataclasses import replace
from decimal import Decimal

import pytest

from kplan.model.table import Cell, Figures, FigureTable
from kplan.report.document import Tally
from kplan.report.documents.fleet.page import MAX_BYTES, MAX_ROWS, fleet_page
from kplan.report.documents.fleet.section import FleetPage, SectionKind, TableKind
from kplan.report.documents.fleet.sections import SECTIONS
from kplan.report.format import PLAIN_STYLE, Format
from kplan.report.render import FormatOptions, render_report
from kplan.report.subject import figures_report
from kplan.report.views import figures_html, figures_json, figures_text

LINEAGE = {"run": "monday", "read_at": "2026-11-16T06:00:00+00:00", "kplan_version": "1.0"}


def table(name: str, columns: str, *rows: tuple[Cell, ...]) -> FigureTable:
    return FigureTable(name, tuple(columns.split()), rows)


def inventory(*clusters: tuple[str, int, int]) -> FigureTable:
    columns = "group clusters unread_clusters topics partitions acls bytes"
    rows = [
        (name, 1, unread, topics, topics * 3, 7, 5 * 10**9) for name, topics, unread in clusters
    ]
    return table("inventory", columns, *rows)


def page(*tables: FigureTable, notes: tuple[str, ...] = ()) -> str:
    written = figures_html(Figures("Kafka fleet", tables, LINEAGE, notes))
    return re.sub(r"\s+", " ", re.sub(r"<style>.*?</style>|<script>.*?</script>", "", written))


def tallies(made: FleetPage) -> list[Tally]:
    return [each for section in made.sections for each in section.tallies]


def test_what_is_wrong_is_said_before_anything_is_counted() -> None:
    drift = table("drift", "cluster finding identity", ("eu", "drift", "a"), ("eu", "drift", "b"))
    to_do = table("to_do", "cluster finding risk count", ("us", "change", "dangerous", 3))
    found = page(inventory(("eu", 1200, 0), ("us", 1, 1)), drift, to_do, notes=("us is down",))
    assert found.index("<strong>Drift and problems") < found.index("<strong>Inventory")
    assert found.rindex(">eu<") < found.rindex(">us<"), "the greatest is first"
    wrong = found.index("1 cluster not read, 2 drifted objects, 3 dangerous changes")
    assert wrong < found.index("2 clusters, 1,201 topics, 3,603 partitions, 14 ACLs")
    assert found.index("us is down") < found.index("<svg")
    assert "run monday, read at 2026-11-16" in found


def test_costs_limits_and_anomalies_are_drawn() -> None:
    costs = table(
        "costs",
        "month team owner cost",
        ("2026-10", "shop", "a", Decimal(900)),
        ("2026-11", "shop", "a", Decimal("12.7500")),
        ("2026-11", "shop", "b", None),
        ("2026-11", "shop", "d", Decimal("0.5")),
        ("2026-11", "", "c", Decimal("3.2")),
    )
    trends = table(
        "trends",
        "scope name figure standing latest limit",
        ("cluster", "eu", "partitions", "near", 38, 40),
        ("team", "shop", "partitions", "steady", 1, 4),
        ("team", "shop", "bytes", "", 9, None),
    )
    kinds = (("eu", "new_host"), ("eu", "denials_rise"), ("us", "new_principal"))
    found = tallies(
        fleet_page(Figures("", (costs, trends, table("anomalies", "cluster finding", *kinds))))
    )
    drawn = {each.title: each for each in found if each.bars}
    assert drawn["Costs in 2026-11, in whole units of the currency"].bars == (
        ("shop", (13,)),
        ("c", (3,)),
    )
    limits = drawn["Used partitions in percent of their limit"]
    assert limits.bars == (("eu", (95, 0)), ("team shop", (0, 25)))
    assert "Used bytes in percent of their limit" not in drawn
    assert drawn["Anomalies"].bars == (("eu", (1, 1)), ("us", (1, 0)))


def test_anomalies_of_a_table_that_is_cut_are_counted_by_rows() -> None:
    """What counts all rows has one for each sort."""
    counts = table("anomalies_counts", "cluster finding count", ("eu", "new_host", 1_200),
                   ("eu", "denials_rise", 3), ("eu", "new_principal", 40))  # fmt: skip
    shown = replace(table("anomalies", "cluster finding", ("eu", "new_host")), is_truncated=True)
    found = tallies(fleet_page(Figures("", (shown, counts))))
    assert [each.bars for each in found if each.title == "Anomalies"] == [(("eu", (1_240, 3)),)]


def test_percentages_of_limits_that_are_not_drawn_are_not_summed() -> None:
    rows = (("cluster", f"c{n}", "partitions", "steady", n + 1, 100) for n in range(20))
    trends = table("trends", "scope name figure standing latest limit", *rows)
    titles = [each.title for each in tallies(fleet_page(Figures("", (trends,)))) if each.bars]
    assert titles == ["Used partitions in percent of their limit: 15 of 20 limits"]


def test_sizes_of_owners_are_drawn_over_the_days_with_a_run() -> None:
    row = ("2026-11-01", "pay", 4, 3 * 10**12)
    large = table("sizes_by_day", "day owner partitions bytes", row)
    series = [one for each in fleet_page(Figures("", (large,))).sections for one in each.series]
    assert series[1].lines == (("pay", (3_000,)),), "in GB"
    rows = (
        ("2026-11-01", "pay", 4, 0),
        ("2026-11-01", "shop", 9, 0),
        ("2026-11-08", "shop", 12, 0),
    )
    sizes = table("sizes_by_day", "day owner partitions bytes", *rows)
    (drawn,) = (one for each in fleet_page(Figures("", (sizes,))).sections for one in each.series)
    assert drawn.title == "Partitions by owner", "no size is known, so none is drawn"
    assert drawn.days == ("2026-11-01", "2026-11-08")
    assert drawn.lines == (("shop", (9, 12)), ("pay", (4, 0)))
    assert "data-series" in page(sizes)


def test_a_fleet_without_a_fault_is_told_so() -> None:
    found = page(inventory(("eu", 1, 0)), table("drift", "cluster finding identity"))
    assert "No problems found that kplan checks." in found
    assert "Nothing found: drift and problems." in found
    assert "No authorizer log was ingested" in found
    assert "found: ACLs without effect." in page(inventory(("eu", 1, 0)), table("idle_acls", "by"))


def test_each_thing_has_a_chart_of_its_own_with_the_greatest_first() -> None:
    document = fleet_page(Figures("", (inventory(*((f"c{n:02}", n, 0) for n in range(1, 31))),)))
    topics = next(each for each in tallies(document) if each.title.startswith("Topics"))
    assert topics.bars[0] == ("c30", (30,))
    assert topics.title == "Topics: 15 clusters; 120 in 15 smaller ones"
    assert len(topics.bars) == 15


def test_figures_are_written_for_people_and_set_to_the_right() -> None:
    columns = "cluster topic evidence bytes records"
    unused = table("unused_topics", columns, ("eu", "old<1>", "log", 3 * 2**30, 0))
    found = page(inventory(("eu", 12345, 0)), unused)
    assert "<td>in no log</td>" in found
    assert '<td class="number" data-key="12345">12,345</td>' in found
    assert f'<td class="number" data-key="{3 * 2**30}">3 GiB</td>' in found
    assert "1 topic unused, 3 GiB" in found
    assert "old&lt;1&gt;" in found
    assert ">records</th>" not in found, "a column that says nothing is left out"


def test_what_nobody_owns_is_counted_and_drawn() -> None:
    owners = table(
        "owners",
        "group owner topics acls others share",
        ("eu", "eu", 5, 3, 1, 90.0),
        ("eu", "(no owner)", 1, 0, 0, 10.0),
    )
    found = page(inventory(("eu", 6, 0)), owners)
    assert "1 object (10 %) without an owner" in found
    assert '<td class="number" data-key="90.0">90 %</td>' in found
    made = tallies(fleet_page(Figures("", (owners,))))
    (chart,) = (each for each in made if each.title == "Objects by owner")
    assert chart.bars == (("eu", (9, 1)),)


def test_a_text_names_what_nothing_was_found_of() -> None:
    """A table that is left out could be one that nobody looked at."""
    shadowed = table("findings", "cluster", ("eu",))
    tables = (shadowed, table("violations", "cluster"), table("unread", "cluster"))
    told = figures_text(Figures("Lint", tables), PLAIN_STYLE)
    assert "Nothing found: violations." in told
    assert "Nothing was found.\n" in figures_text(Figures("Lint", tables[1:]), PLAIN_STYLE)


def test_a_fleet_of_which_little_is_declared_is_not_said_to_be_as_it_should() -> None:
    others = table("undeclared", "cluster reason", ("us", "none"), ("ap", "none"))
    found = page(inventory(("eu", 1, 0), ("us", 1, 0), ("ap", 1, 0)), others)
    assert "No problems found, but drift is unknown in 2 clusters." in found
    assert "Clusters with unknown drift" in found


def test_what_was_not_judged_is_not_said_to_be_nothing() -> None:
    anomalies = table("anomalies", "cluster finding")
    assert "Nothing found: what is new in the logs, and rises." in page(anomalies)
    found = page(anomalies, table("left_out", "cluster reason", ("eu", "its log has 1 days")))
    assert "Nothing found" not in found
    assert "Clusters with unknown anomalies" in found
    assert "its log has 1 days" in found


def test_charts_and_the_headline_are_made_of_all_rows() -> None:
    """What counts a table that was cut is drawn instead of it, and not shown."""
    cut = [
        table("inventory", "group clusters topics bytes", ("c0", 1, 5, 0)),
        table("drift", "cluster finding identity", ("c0", "drift", "a")),
        table("unhealthy", "cluster topic", ("c0", "a")),
        table("unused_topics", "cluster topic evidence bytes", ("c0", "a", "log", 1)),
        table("costs", "month team owner cost", ("2026-11", "a", "", Decimal(9))),
    ]
    counts = [
        table("inventory_counts", "group count clusters topics", ("c0", 1, 1, 5), ("c1", 1, 1, 7)),
        table("drift_counts", "cluster finding count", ("c0", "drift", 3), ("c1", "drift", 4)),
        table("unhealthy_counts", "cluster count", ("c0", 2), ("c1", 1)),
        table(
            "unused_topics_counts",
            "cluster evidence count bytes",
            ("c0", "log", 2, 2**30),
            ("c1", "log", 1000, 2**30),
            ("c1", "unknown", 5, 2**40),
        ),
        table(
            "costs_counts",
            "month team count cost",
            ("2026-11", "a", 1, Decimal(9)),
            ("2026-11", "b", 1, Decimal(8)),
        ),
    ]
    tables = (*(replace(each, is_truncated=True) for each in cut), *counts)
    found = page(*tables)
    assert "3 unhealthy topics, 7 drifted objects" in found
    assert "2 clusters, 12 topics" in found
    assert "1,002 topics unused, 2 GiB" in found
    assert "1 or more" in found, "of tables"
    assert "counts" not in found
    drawn = {each.title: each.bars for each in tallies(fleet_page(Figures("", tables)))}
    assert drawn["Topics"] == (("c1", (7,)), ("c0", (5,)))
    assert drawn["Pending changes and drift"] == (("c1", (4,)), ("c0", (3,)))
    assert drawn["What could go"] == (("c1", (1000,)), ("c0", (2,)))
    assert drawn["Costs in 2026-11, in whole units of the currency"] == (("a", (9,)), ("b", (8,)))


def test_a_topic_of_unknown_use_is_not_counted_as_unused() -> None:
    rows = (("eu", "old", "log", 2**30), ("eu", "hidden", "unknown", 2**40))
    topics = table("unused_topics", "cluster topic evidence bytes", *rows)
    assert "1 topic unused, 1 GiB" in page(inventory(("eu", 2, 0)), topics)
    made = fleet_page(Figures("", (topics,)))
    assert [each.bars for each in tallies(made)] == [(("eu", (1,)),)]


def test_each_finding_has_a_next_step() -> None:
    acls = table("unused_acls", "cluster identity principal", ("eu", "User:x|*|Read", "User:x"))
    topics = table("unused_topics", "cluster topic", ("eu", "old"))
    found = page(inventory(("eu", 1, 0)), acls, topics)
    assert found.index("Next steps") < found.index("<strong>Inventory")
    assert found.count("kplan fleet audit usage -removed=DIR") == 1
    assert "User:x|*|Read" not in found, "its parts are told"
    assert "Next steps" not in page(inventory(("eu", 1, 0)))


ATTRIBUTES = {
    '{"config.retention.ms": ["1", "2"], "partitions": [3, null]}': (
        "config.retention.ms: 1 -> 2, partitions: 3 -> null"
    ),
    '{"password": null}': "password: (sensitive)",
    '{"config": {}, "name": "a", "partitions": 6, "placement": null}': "name: a, partitions: 6",
}


@pytest.mark.parametrize("told", ATTRIBUTES)
def test_what_differs_is_written_for_people(told: str) -> None:
    findings = table("drift", "cluster finding attributes", ("eu", "drift", told))
    made = Figures("Drift", (findings,))
    assert ATTRIBUTES[told] in figures_text(made, PLAIN_STYLE)
    assert html.escape(ATTRIBUTES[told]) in page(findings)


def test_a_text_sets_numbers_to_the_right_and_leaves_out_what_says_nothing() -> None:
    found = table("largest", "topic replicas bytes", ("orders", 5, None), ("a", 12345, None))
    told = figures_text(Figures("Largest", (found,)), PLAIN_STYLE)
    assert "    topic   replicas\n    orders         5\n    a          12345\n" in told


def test_a_text_says_once_what_could_not_be_read() -> None:
    unread = table("unread", "cluster kind reason", ("eu", "*", "nobody answers"))
    tables = (inventory(("eu", 1, 1)), unread)
    told = figures_text(
        Figures("X", tables, notes=("eu could not be read: nobody answers",)), PLAIN_STYLE
    )
    assert told.count("nobody answers") == 1


def test_amounts_keep_their_digits_and_are_numbers_to_people() -> None:
    found = table("costs", "owner cost", ("a", Decimal("1.0000")), ("b", None))
    figures = Figures("Costs", (found,))
    assert "    owner    cost\n    a      1.0000\n    b\n" in figures_text(figures, PLAIN_STYLE)
    (row, _) = json.loads(figures_json(figures))["tables"]["costs"]["rows"]
    assert row == {"owner": "a", "cost": "1.0000"}
    assert "1.0000" in page(found)
    told = figures_report(figures, "2026-11-22T00:00:00Z")
    assert '"cost":"1.0000"' in render_report(told, Format.NDJSON, FormatOptions())


EVIL = "</table><script>alert(1)</script><img src=x onerror=alert(2)>'\"&"


def test_names_of_users_stay_text_wherever_they_are() -> None:
    """Topics, principals, clusters and reasons are written by others."""
    rows = [table(each.name, "cluster topic principal", (EVIL,) * 3) for each in all_tables()]
    charts = [
        table("requests_by_day", "day cluster requests denied", ("2026-11-16", EVIL, 5, 1)),
        table("to_do", "cluster finding risk count", (EVIL, "change", "safe", 3)),
        table("idle_acls", "cluster finding identity by", (EVIL, "shadowed", EVIL, EVIL)),
        table("recommended", "cluster action acls", (EVIL, "remove", 3)),
        inventory((EVIL, 5, 1)),
    ]
    shown = {each.name: each for each in rows} | {each.name: each for each in charts}
    shown |= {"owners": table("owners", "group owner topics acls others", (EVIL, EVIL, 1, 1, 1))}
    shown |= {"drift": table("drift", "cluster finding identity", (EVIL, "drift", EVIL))}
    shown |= {"violations": table("violations", "standing message", ("refused", EVIL))}
    shown |= {"unused_topics": table("unused_topics", "cluster bytes", (EVIL, 1))}
    figures = Figures(EVIL, tuple(shown.values()), {EVIL: EVIL}, (EVIL,))
    written = figures_html(figures)
    outside = re.sub(r"(?s)<style>.*?</style>|<script>.*?</script>", "", written)
    assert "<script" not in outside
    assert "<img" not in outside
    assert outside.count("&lt;/table&gt;&lt;script&gt;alert(1)") > len(shown)
    assert written.count("<script>") == 1


def all_tables() -> list[TableKind]:
    return [each for kind in SECTIONS for each in kind.tables]


def test_a_page_is_whole_by_itself_and_carries_the_licence_of_its_library() -> None:
    written = figures_html(Figures("Kafka fleet", (inventory(("eu", 1, 0)),)))
    assert "default-src 'none'" in written
    assert not re.search(r"<(link|img|iframe)|\ssrc=|@import|url\(", written)
    addresses = re.findall(r'href="([^"]*)"', written)
    assert addresses
    assert all(each.startswith("#") for each in addresses)
    assert "uPlot 1.6.32" in written
    assert "Permission is hereby granted, free of charge" in written


def test_a_section_without_data_names_the_command_that_makes_it() -> None:
    found = page(inventory(("eu", 1, 0)))
    for kind in SECTIONS:
        assert f"<h2>{kind.title}</h2>" in found
    assert found.count("No authorizer log was ingested") == 4
    assert "<code>kplan fleet audit ingest</code>" in found
    assert "No authorizer log" not in page(
        *(table(name, "cluster") for name in ("used", "unheard", "recommended", "anomalies"))
    )


def test_of_a_long_table_the_first_rows_are_shown_and_the_command_that_writes_the_rest() -> None:
    rows = [("eu", f"old.{n}", "log") for n in range(MAX_ROWS + 5)]
    found = page(table("unused_topics", "cluster topic evidence", *rows))
    assert f"old.{MAX_ROWS - 1}<" in found
    assert f"old.{MAX_ROWS}<" not in found
    assert "The first 1,000 rows. <code>kplan fleet audit usage -output=FILE.csv</code>" in found


def test_a_fleet_of_any_size_makes_a_page_that_a_browser_opens() -> None:
    text = "x" * 100
    rows = [tuple(f"{text}{n}" for _ in range(8)) for n in range(MAX_ROWS)]
    columns = " ".join(f"c{n}" for n in range(8))
    tables = [table(each.name, columns, *rows) for each in all_tables() if each.name in MANY]
    assert len(figures_html(Figures("Kafka fleet", tuple(tables)))) < 1.5 * MAX_BYTES


MANY = {"who_can", "broad_acls", "denials", "used", "recommendations", "unheard", "health"}


def test_one_more_section_is_one_more_in_the_list() -> None:
    bills = SectionKind("Bills", (TableKind("bills", "By owner", "kplan fleet costs"),), ("", ""))
    found = table("bills", "owner price", ("shop", 5))
    made = fleet_page(Figures("", (found,)), (*SECTIONS, bills))
    assert made.sections[-1].tables[0].title == "By owner"
    assert fleet_page(Figures("", (found,))).sections[-1].title == "Other", "nothing is lost"


def test_days_without_requests_of_a_cluster_are_zero() -> None:
    rows = (("2026-11-16", "eu", 5, 0), ("2026-11-17", "us", 7, 2))
    found = fleet_page(
        Figures("", (table("requests_by_day", "day cluster requests denied", *rows),))
    )
    requests, denied = next(each.series for each in found.sections if each.series)
    assert requests.days == ("2026-11-16", "2026-11-17")
    assert requests.lines == (("us", (0, 7)), ("eu", (5, 0)))
    assert dict(denied.lines)["us"] == (0, 2)
