"""Every requirement row of Kafka's administration is shown by a test, or says why not."""

import pytest

from tests.docs.requirement_rows import OTHERWISE, OUT_OF_SCOPE, ROWS, cited, shown_by, table

FOUND = shown_by()


@pytest.mark.parametrize("row", [each for each in ROWS if each not in OUT_OF_SCOPE])
def test_a_row_is_cited_by_a_test(row: str) -> None:
    assert FOUND.get(row), f"no test says that it shows {row}"


def test_rows_that_are_out_of_scope_are_rows_that_no_test_shows() -> None:
    assert OUT_OF_SCOPE.keys() <= set(ROWS)
    assert not OUT_OF_SCOPE.keys() & FOUND.keys()
    assert OTHERWISE.keys() <= FOUND.keys()


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("K4o-08: as it is.", ["K4o-08"]),
        (
            "K919-01, 06, 12..14, S24..S26.",
            ["K919-01", "K919-06", "K919-12", "K919-13", "K919-14", "S24", "S25", "S26"],
        ),
        ("K4o-08 to K4o-10", ["K4o-08", "K4o-09", "K4o-10"]),
        ("K117-20, K117-21 and S02", ["K117-20", "K117-21", "S02"]),
        ("KS01, S1 and K4o-1", []),
    ],
)
def test_rows_are_cited_one_by_one_or_as_ranges(text: str, rows: list[str]) -> None:
    assert list(cited(text)) == rows


def test_the_table_has_a_line_for_every_row() -> None:
    lines = table().splitlines()
    assert len(lines) == len(ROWS) + 2
    assert not [line for line in lines if "NOTHING" in line]
