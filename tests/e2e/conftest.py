"""A place to work in, for every test of the installed command."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from kplan.sandbox.record import Sandbox
from tests.e2e.places import Place


@pytest.fixture
def place(tmp_path: Path, broker: Sandbox) -> Iterator[Place]:
    """Work on the broker without passwords; what is left at the end is destroyed."""
    found = Place(tmp_path, {"KPLAN_BOOTSTRAP_SERVERS": broker.bootstrap_servers})
    yield found
    if (tmp_path / "state").exists():
        found.ran("destroy", "-auto-approve")
