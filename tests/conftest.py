"""What every test folder shares."""

from collections.abc import Callable
from pathlib import Path

import pytest

pytest_plugins = ["tests.brokers"]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Offer to write what golden tests expect."""
    parser.addoption("--update-golden", action="store_true", help="write the golden files anew")


@pytest.fixture
def golden(pytestconfig: pytest.Config) -> Callable[[Path, str], None]:
    """Compare a text with a file; "" is no file. With --update-golden write the file instead."""
    is_update = bool(pytestconfig.getoption("--update-golden"))

    def check(path: Path, text: str) -> None:
        if is_update:
            path.write_text(text) if text else path.unlink(missing_ok=True)
        assert (path.read_text() if path.exists() else "") == text

    return check
