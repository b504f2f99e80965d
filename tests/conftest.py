"""What every test folder shares."""

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

from kplan.sandbox.artifact import cache_folder

pytest_plugins = ["tests.brokers", "tests.registry_server", "tests.connect_worker", "tests.schemas"]

# A shared machine has slow moments: the time of one example says nothing about the code. In CI the
# examples are always the same ones, so that a red run can be run again.
settings.register_profile("kplan", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("kplan")

# The tests start many brokers and Sparks: in a CI job, too, what makes that quicker is stored.
os.environ.setdefault("KPLAN_CACHE", str(cache_folder()))

# A job in the background of a script ignores signals of its terminal, and so would all that it
# starts: kplan leaves what was ignored when it started.
for number, handler in (
    (signal.SIGINT, signal.default_int_handler),
    (signal.SIGHUP, signal.SIG_DFL),
):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, handler)


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
