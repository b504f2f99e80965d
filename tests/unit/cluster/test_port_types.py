"""The port speaks kplan's own words."""

import inspect
import typing
from collections.abc import Iterator

import pytest

from kplan.cluster.port import Cluster

METHODS = sorted(
    name for name, _ in inspect.getmembers(Cluster, inspect.isfunction) if not name.startswith("_")
)
OURS = ("kplan.cluster.", "kplan.model.", "builtins", "collections.abc", "types", "typing")


def parts(hint: object) -> Iterator[object]:
    """List a type and all that it is made of."""
    yield hint
    for each in typing.get_args(hint):
        yield from parts(each)


@pytest.mark.parametrize("name", METHODS)
def test_no_type_of_a_library_crosses_the_port(name: str) -> None:
    """K117-07: what carries a request can be replaced, and nobody sees it."""
    hints = typing.get_type_hints(getattr(Cluster, name))
    rooms = {
        each.__module__ for hint in hints.values() for each in parts(hint) if isinstance(each, type)
    }
    assert not [room for room in rooms if not room.startswith(OURS)]
