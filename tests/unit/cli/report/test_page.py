from pathlib import Path

import pytest

from kplan.cli.report.writer import write_page
from kplan.model.errors import UsageError
from tests.unit.state.state_faults import files_limited_to


def test_a_page_that_cannot_be_written_leaves_the_one_of_before(tmp_path: Path) -> None:
    page = tmp_path / "pages" / "fleet.html"
    write_page(page, "<p>Monday</p>")
    cut = pytest.raises(UsageError, match=r"fleet\.html cannot be written: File too")
    with files_limited_to(1_000), cut:
        write_page(page, "<p>Tuesday</p>" * 1_000)
    assert page.read_text() == "<p>Monday</p>"
    assert [each.name for each in page.parent.iterdir()] == ["fleet.html"]
