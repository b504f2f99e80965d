"""The table of versions of Kafka in `kplan help versions`, and what makes it."""

from pathlib import Path

from tests import capability
from tests.capability import Capability
from tests.versions import PAGE, PAGE_HEADER, VERSIONS, Row, read_report, with_table

KNOWN = {
    f"{each.name} ({each.since})"
    for each in vars(capability).values()
    if isinstance(each, Capability)
}
REPORT = """<testsuites><testsuite>
<testcase name="a"/>
<testcase name="b">
<skipped message="Kafka 2.8.2 with ZooKeeper has no X (since 3.3, KIP-1)"/></testcase>
<testcase name="c"><skipped message="no network"/></testcase>
<testcase name="d"><failure message="assert"/></testcase>
</testsuite></testsuites>
"""


def rows() -> list[list[str]]:
    """Read the cells of the table on the page."""
    lines = PAGE.read_text(encoding="utf-8").partition(f"{PAGE_HEADER}\n")[2].splitlines()
    table = lines[1 : lines.index("")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table]


def test_the_table_has_the_versions_of_the_task_and_lacks_that_tests_are_skipped_for() -> None:
    told = [f"{number}+{mode.lower()}" for number, mode, *_ in rows()]
    assert told == [
        each if "+" in each else f"{each}+{'zookeeper' if each.startswith('2.') else 'kraft'}"
        for each in VERSIONS
    ]
    for *_, lacks in rows():
        assert set(lacks.split("; ")) <= KNOWN | {"nothing"}
    assert rows()[-1][-1] == "nothing"


def test_a_report_is_counted_and_a_skip_for_another_reason_is_kept_apart(tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    report.write_text(REPORT, encoding="utf-8")
    found = read_report("4.3.0", report)
    assert (found.tests, found.failed, found.skipped) == (4, 1, 2)
    assert (found.lacks, found.others) == (("X (3.3, KIP-1)",), ("no network",))


def test_the_table_of_the_page_is_replaced_and_nothing_else() -> None:
    page = f"before\n\n{PAGE_HEADER}\n|---|\n| old |\n\nafter\n"
    assert with_table(page, ["| new |"]) == (
        f"before\n\n{PAGE_HEADER}\n|---|---|---|---|\n| new |\n\nafter\n"
    )


def test_a_row_counts_what_passed() -> None:
    row = Row("2.8.2", "17", 3, 0, ("X (3.3)",), (), 1)
    assert str(row) == "| 2.8.2 | ZooKeeper | 17 | 3 | 2 | 1 | 0 | X (3.3) |"
