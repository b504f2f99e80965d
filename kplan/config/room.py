"""Settings of the interpreter while a configuration is worked out."""

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager

MAX_FRAMES = 20_000
"""Python frames that evaluation may nest: a chain of about 1,500 local values."""


@contextmanager
def room_to_work() -> Iterator[None]:
    """Allow deep evaluation, and keep the garbage collector away from what is only being built.

    The latter saves a quarter of the time. Afterwards all that was made counts as old (freeze and
    unfreeze), so that the collector does not go through it at once.
    """
    limit, was_enabled = sys.getrecursionlimit(), gc.isenabled()
    sys.setrecursionlimit(max(limit, MAX_FRAMES))
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.unfreeze()
        if was_enabled:
            gc.enable()
        sys.setrecursionlimit(limit)
