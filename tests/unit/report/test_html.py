"""The HTML page: one file, whole without network and without its script, and safe to open."""

import base64
import hashlib
import json
import re
import typing
from html.parser import HTMLParser

from kplan.report import document
from kplan.report.document import (
    Document,
    Excerpt,
    Item,
    Mark,
    Paragraph,
    Problem,
    Row,
    Rows,
    Snippet,
    Span,
    Table,
    TableRow,
    Tally,
    Tone,
    Totals,
    line,
)
from kplan.report.formats import html as page
from kplan.report.formats.html import LEFT, RIGHT, WIDTH, chart_layout, render_html

EVIL = '</pre><script>alert("x")</script><img src=x onerror=y>'
ITEM = Item(
    f"kafka_topic.{EVIL}",
    (line(f"# {EVIL}"),),
    (Row(line(EVIL), Mark.REMOVE),),
    (Row(line(Span("DANGEROUS", Tone.DANGER), EVIL), Mark.ALARM),),
    mark=Mark.REMOVE,
)
EVERY_BLOCK = Document(
    (
        document.Heading(line("Cluster ", EVIL)),
        Paragraph(EVIL, Tone.WARNING),
        Rows((Row(line(EVIL), Mark.CHANGE),), title=line("Outputs")),
        Rows((Row(line("legend")),), is_legend=True),
        ITEM,
        Table((TableRow((line(EVIL),), Mark.ADD),), title=(Row(line(EVIL)),)),
        Table((TableRow((line("ok"), line("1"))),), columns=("outcome", EVIL)),
        Problem(
            Tone.ERROR, "Error", EVIL, "KP1", EVIL, (Excerpt(EVIL, Snippet(1, EVIL, 2, 5)),),
            (EVIL,), EVIL, EVIL,
        ),
        Totals((line("Plan: ", EVIL),)),
    ),
    title=EVIL,
    tallies=(Tally("kind", (Span("create", Tone.ADD),), ((EVIL, (3,)),)),),
)  # fmt: skip


class Reader(HTMLParser):
    """Gathers tags, and checks that they are closed in order."""

    VOID = frozenset({"meta", "input"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def read(text: str) -> Reader:
    reader = Reader()
    reader.feed(text)
    reader.close()
    assert reader.open == []
    return reader


def test_the_page_has_a_place_for_every_block() -> None:
    names = {each.__name__ for each in typing.get_args(document.Block)}
    template = (page._TEMPLATES / "page.html.j2").read_text()
    in_head = {"Heading", "Paragraph", "Totals"}
    assert {
        name for name in names if f"macro {name}(block, is_open, is_few, links)" in template
    } == (names - in_head)


def test_whatever_is_quoted_stays_text() -> None:
    text = render_html(EVERY_BLOCK)
    reader = read(text)
    assert "<script>alert" not in text
    assert "<img" not in text
    assert [tag for tag, _ in reader.tags].count("script") == 1
    assert not [name for _, attrs in reader.tags for name in attrs if name.startswith("on")]
    assert "legend" not in text


def test_nothing_is_loaded_and_nothing_but_its_own_script_may_run() -> None:
    text = render_html(EVERY_BLOCK)
    reader = read(text)
    assert not [attrs for _, attrs in reader.tags if {"src", "href"} & attrs.keys()]
    assert "url(" not in text
    assert "@import" not in text
    (policy,) = [attrs["content"] for _, attrs in reader.tags if "http-equiv" in attrs]
    for tag in ("script", "style"):
        (inside,) = re.findall(rf"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in (policy or "")
    assert (policy or "").startswith("default-src 'none'")


def test_a_reader_who_does_not_see_is_told_the_same() -> None:
    text = render_html(EVERY_BLOCK)
    reader = read(text)
    tags = [tag for tag, _ in reader.tags]
    assert ("html", {"lang": "en"}) in reader.tags
    assert tags.count("h1") == 1
    assert {"header", "main", "footer"} <= set(tags)
    for _, attrs in reader.tags:
        if attrs.get("aria-hidden") != "true" and "m" in (attrs.get("class") or "").split():
            raise AssertionError(attrs)
    assert text.count('<span class="sr">remove:</span>') == text.count(
        'aria-hidden="true">-</span>'
    )
    labels = {attrs["for"] for tag, attrs in reader.tags if tag == "label" and "for" in attrs}
    assert "words" in labels
    assert "<th scope=" in text


def test_light_dark_print_and_no_script_are_provided_for() -> None:
    text = render_html(EVERY_BLOCK)
    assert "color-scheme: light dark" in text
    assert "light-dark(" in text
    assert "@media print" in text
    assert '<form id="filter" role="search" hidden>' in text


def test_a_long_list_is_closed_but_for_what_is_grave() -> None:
    quiet = tuple(Item(f"kafka_topic.n{each}", (), mark=Mark.ADD) for each in range(30))
    found = [
        attrs for tag, attrs in read(render_html(Document((ITEM, *quiet)))).tags if tag == "details"
    ]
    assert [each["data-mark"] for each in found if "open" in each] == ["remove"]
    assert len(found) == 31


def test_of_a_long_list_what_is_seen_is_laid_out_and_all_of_it_is_printed() -> None:
    """5,000 items, Chromium: to clear the filter took 16 s, and takes 0.2 s."""
    screen, _, paper = render_html(EVERY_BLOCK).partition("@media print")
    assert ".item { content-visibility: auto;" in screen
    assert ".grid[data-mark] { content-visibility: auto;" in screen
    assert ".item, .grid[data-mark] { content-visibility: visible; }" in paper


def test_every_number_of_a_chart_is_seen_and_none_leaves_it() -> None:
    tally = Tally(
        "kind",
        (Span("create", Tone.ADD), Span("destroy", Tone.REMOVE)),
        (("kafka_acl", (10_000, 1)), ("kafka_topic", (0, 2))),
    )
    first, second = chart_layout(tally).bars
    assert [each.count for each in first.segments] == [10_000, 1]
    assert [each.count for each in second.segments] == [2]
    assert all(each.width >= 4 for bar in (first, second) for each in bar.segments)
    assert LEFT < second.end < first.end <= WIDTH - RIGHT
    assert first.segments[1].x == first.segments[0].x + first.segments[0].width


def test_nothing_to_say_is_no_page() -> None:
    assert render_html(Document(())) == ""


def test_of_very_many_changes_only_those_in_sight_are_marked_up() -> None:
    """7,000 changes were 284,000 elements in 14 MB; the script colours what comes into sight."""
    rows = (Row(line('name = "<b>"'), Mark.ADD, column=6), Row(line("}"), column=4))
    quiet = tuple(
        Item(f"kafka_topic.n{each}", (line("# is new"),), rows, mark=Mark.ADD)
        for each in range(600)
    )
    text = render_html(Document((ITEM, *quiet)))
    spans = [attrs for tag, attrs in read(text).tags if tag == "span"]
    assert len(spans) < 3 * 600
    bare = '<pre class="bare">\n# is new\n    + name = &#34;&lt;b&gt;&#34;\n    }\n</pre>'
    assert text.count(bare) == 600
    assert '<span class="row remove">' in text  # what is grave is open, and marked up
    assert 'class="bare"' not in render_html(Document((ITEM, *quiet[:400])))
    odd = Item("kafka_topic.odd", (), (Row(line("- text"), column=4),), mark=Mark.ADD)
    assert '<span class="row none">    - text' in render_html(Document((odd, *quiet)))
    signs = json.loads(dict(read(text).tags)["main"]["data-signs"] or "")
    assert signs["-/+"] == ["replace", "replace:"]


def test_a_part_of_thousands_is_cut_and_names_the_report_that_has_all() -> None:
    items = tuple(Item(f"kafka_topic.n{each}", (), mark=Mark.ADD) for each in range(1_200))
    rows = tuple(TableRow((line(f"acl {each}"),), Mark.ADD) for each in range(1_100))
    text = render_html(Document((*items, Table(rows)), title="plan"))
    assert text.count('<details class="item') == 1_000
    assert "kafka_topic.n999<" in text
    assert "kafka_topic.n1000<" not in text
    assert "acl 999" in text
    assert "acl 1000" not in text
    assert "<small>1,200</small>" in text
    assert "200 more are not shown" in text
    assert "100 more are not shown" in text
    assert "-report=json=FILE" in text
