import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kplan.cli.report.writer import write_page
from kplan.model.errors import UsageError


@contextmanager
def at_most(size: int) -> Iterator[None]:
    """Let no file become larger, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_page_that_cannot_be_written_leaves_the_one_of_before(tmp_path: Path) -> None:
    page = tmp_path / "pages" / "fleet.html"
    write_page(page, "<p>Monday</p>")
    with (
        at_most(1_000),
        pytest.raises(UsageError, match=r"fleet\.html cannot be written: File too"),
    ):
        write_page(page, "<p>Tuesday</p>" * 1_000)
    assert page.read_text() == "<p>Monday</p>"
    assert [each.name for each in page.parent.iterdir()] == ["fleet.html"]
