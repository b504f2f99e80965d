"""The page about a fleet in a real browser: at the width of a desk and of a phone."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from kplan.model.table import Cell, Figures, FigureTable
from kplan.report.views import figures_html
from tests.browser import Page, browser, install_chromium

DESK, PHONE = 1280, 390
EVIL = "<img src=x onerror=document.title='caught'>"
CLUSTERS = [f"prod-{place}-{n:02}" for place in ("eu", "us") for n in range(50)]
TABLE = "document.getElementById('table-unused_topics')"
FIRST_CELLS = f"[...{TABLE}.querySelectorAll('tbody tr')].map((row) => row.cells[1].textContent)"
DRAWN = """[...document.querySelectorAll('figure')].map((figure) => {
  const canvas = figure.querySelector('canvas');
  if (!canvas) return figure.querySelectorAll('svg rect').length;
  const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
  return data.filter((value, at) => at % 4 === 3 && value > 0).length;
})"""
SETTLED = "new Promise((end) => requestAnimationFrame(() => requestAnimationFrame(end)))"


def table(name: str, columns: str, *rows: tuple[Cell, ...], cut: bool = False) -> FigureTable:
    return FigureTable(name, tuple(columns.split()), rows, is_truncated=cut)


def large_fleet() -> Figures:
    """100 clusters, tables that are cut, 90 days of requests, and a hostile name."""
    days = [f"2026-{month:02}-{day:02}" for month in (8, 9, 10) for day in range(1, 31)]
    topics = [(CLUSTERS[n % 100], f"old.{n:04}", "log", n * 1000) for n in range(1_000)]
    return Figures(
        f"Kafka fleet, {len(CLUSTERS)} clusters",
        (
            table(
                "inventory",
                "group clusters unread_clusters topics partitions acls bytes",
                *((name, 1, 0, 5_000 + at, 9, 8, 10**12) for at, name in enumerate(CLUSTERS)),
            ),
            table("drift", "cluster finding identity reason", (CLUSTERS[0], "drift", EVIL, EVIL)),
            table("unused_topics", "cluster topic evidence bytes", *topics, cut=True),
            table("used", "cluster principal", *((name, EVIL) for name in CLUSTERS)),
            table(
                "requests_by_day",
                "day cluster requests denied",
                *((day, name, at * 7, at) for at, day in enumerate(days) for name in CLUSTERS[:6]),
            ),
            table(
                "sizes_by_day",
                "day owner partitions bytes",
                *(
                    (day, name, 5_000 + at * 7, 10**12 + at * 10**9)
                    for at, day in enumerate(days)
                    for name in (*CLUSTERS[:6], EVIL)
                ),
            ),
        ),
        {"run": "monday"},
        (EVIL,),
    )


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("page") / "fleet.html"
    file.write_text(figures_html(large_fleet()), encoding="utf-8")
    return file


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    folder = install_chromium()
    if folder is None:
        pytest.skip("headless Chromium cannot be had: npm is missing or reaches no registry")
    with browser(folder, tmp_path_factory.mktemp("browser")) as found:
        yield found


@pytest.mark.parametrize("width", [DESK, PHONE])
@pytest.mark.parametrize("is_dark", [False, True], ids=["light", "dark"])
def test_a_fleet_of_a_hundred_clusters_is_drawn_at_any_width_and_in_any_light(
    tab: Page, page_file: Path, tmp_path: Path, width: int, *, is_dark: bool
) -> None:
    before = len(tab.requests)
    tab.show(page_file, width, is_dark=is_dark)
    tab.run(SETTLED)
    drawn = tab.run(DRAWN)
    assert len(drawn) == 9
    assert all(drawn)
    assert tab.run("document.documentElement.scrollWidth") == width
    lightness = tab.run("getComputedStyle(document.body).backgroundColor")
    assert (lightness == "rgb(255, 255, 255)") is not is_dark
    assert tab.run("document.title") == "Kafka fleet, 100 clusters"
    assert tab.requests[before:] == [page_file.as_uri()]
    assert tab.complaints == []
    tab.save_picture(tmp_path / "page.png")
    assert (tmp_path / "page.png").stat().st_size > 10_000


def type_words(tab: Page, field: str, words: str) -> None:
    tab.run(f"{field}.value = '{words}'")
    tab.run(f"{field}.dispatchEvent(new Event('input'))")


def test_a_table_is_sorted_filtered_and_turned_over(tab: Page, page_file: Path) -> None:
    tab.show(page_file, DESK)
    names = tab.run(FIRST_CELLS)
    assert names == [f"old.{n:04}" for n in range(50)]
    tab.run(f"[...{TABLE}.querySelectorAll('th button')].at(-1).click()")
    assert tab.run(FIRST_CELLS)[:2] == ["old.0999", "old.0998"], "by size, not by its text"
    tab.run(f"[...{TABLE}.querySelectorAll('th button')].at(-1).click()")
    assert tab.run(FIRST_CELLS)[0] == "old.0000"
    press = f"[...{TABLE}.querySelectorAll('.tools button')]"
    tab.run(f"{press}.at(1).click()")
    assert tab.run(FIRST_CELLS)[0] == "old.0050"
    assert tab.run(f"{TABLE}.querySelector('output').textContent") == "51 to 100 of 1,000 rows"
    type_words(tab, f"{TABLE}.querySelector('input')", "OLD.00 us-07")
    assert tab.run(FIRST_CELLS) == ["old.0057"]
    type_words(tab, "document.getElementById('words')", "eu")
    assert tab.run(FIRST_CELLS) == []
    assert tab.run("document.querySelectorAll('#table-inventory tbody tr').length") == 50
    assert tab.complaints == []


def test_the_switch_changes_colours_and_charts(tab: Page, page_file: Path) -> None:
    tab.show(page_file, DESK)
    ground = "getComputedStyle(document.body).backgroundColor"
    line = "document.querySelector('.u-legend .u-series:nth-child(2) .u-marker').style.borderColor"
    before = (tab.run(ground), tab.run(line))
    tab.run("document.getElementById('theme').click()")
    after = (tab.run(ground), tab.run(line))
    assert before[0] == "rgb(255, 255, 255)"
    assert after[0] == "rgb(13, 17, 23)"
    assert before[1] != after[1], (before, after)
    assert tab.run("document.getElementById('theme').textContent") == "Light"
    tab.run("document.getElementById('theme').click()")
    assert tab.run(ground) == "rgb(255, 255, 255)"
    assert all(tab.run(DRAWN))
