"""How deep the interpreter may nest while a configuration is evaluated."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

MAX_FRAMES = 20_000
"""Python frames that evaluation may nest: a chain of about 1,500 local values."""


@contextmanager
def room_to_work() -> Iterator[None]:
    """Allow deep evaluation."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, MAX_FRAMES))
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)
