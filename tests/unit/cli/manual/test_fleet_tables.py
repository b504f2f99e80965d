"""The page about the stored tables of a fleet says what their columns mean, and no others."""

import pytest

from kplan.cli.manual.fleet_tables import _PAGES, fleet_tables_page, table_schemas


@pytest.mark.parametrize("table", table_schemas())
def test_each_column_of_a_table_has_its_type_and_meaning(table: str) -> None:
    page, section = _PAGES[table], fleet_tables_page().partition(f"## {table}\n")[2]
    section = section.partition("\n## ")[0]
    columns = dict(each.split(" ", 1) for each in table_schemas()[table].split(", "))
    assert page.meanings.keys() == columns.keys()
    for name, kind in columns.items():
        assert f"| `{name}` | {kind} | {page.meanings[name]} |" in section
    assert f"- Key: {page.key}" in section
    assert f"- Partitions: {page.layout}" in section


def test_the_page_describes_every_stored_table() -> None:
    assert _PAGES.keys() == table_schemas().keys()
