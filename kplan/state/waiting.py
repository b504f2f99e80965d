"""Waiting for a lock that somebody else holds, and showing life while it is ours."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain, repeat
from typing import TypeVar

from kplan.model.dataclass import dataclass
from kplan.model.errors import StateLockedError
from kplan.state.holder import Holder

HEARTBEAT_S = 10.0
_PAUSES_S = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 4.0, 8.0)
_LONGEST_PAUSE_S = 16.0

Held = TypeVar("Held")


@dataclass(frozen=True, slots=True)
class Lock:
    """A lock that is held. `replaced` is the dead holder it was taken over from."""

    holder: Holder
    replaced: Holder | None = None


@dataclass(frozen=True, slots=True)
class LockStatus:
    """`is_held` and no `holder`: somebody holds it and left no readable note."""

    is_held: bool
    holder: Holder | None = None
    is_dead: bool = False


@dataclass(frozen=True, slots=True)
class Taken:
    """Somebody has it: `who` says so in a sentence, `way` what can be done about it."""

    by: Holder | None
    who: str
    way: str


def taken_by(holder: Holder, note: str = "") -> Taken:
    """Describe a lock whose holder is known."""
    return Taken(
        holder,
        f"Held by {holder}. Lock id: {holder.id}.{note}",
        "Wait for it with -lock-timeout=60s; if that run is over for certain: "
        f"kplan force-unlock {holder.id}",
    )


def lost(now: Holder | None) -> StateLockedError:
    """Refuse to go on in a run whose lock was taken away; `now` holds it since."""
    whose = f"it is held by {now}" if now else "nobody holds it"
    return StateLockedError(
        f"The lock was taken away from this run; {whose}.",
        "Somebody ran kplan force-unlock. See what stands now: kplan plan",
    )


def acquired(
    attempt: Callable[[], Held | Taken], timeout_s: float, waiting: Callable[[Holder], None]
) -> Held:
    """Try for up to `timeout_s` (0: once); `waiting` is told once of each holder waited for.

    Raises:
        StateLocked: somebody still has it.

    """
    deadline = time.monotonic() + timeout_s
    pauses = chain(_PAUSES_S, repeat(_LONGEST_PAUSE_S))
    told: set[str] = set()
    while isinstance(found := attempt(), Taken):
        left = deadline - time.monotonic()
        if left <= 0:
            waited = f" Waited {timeout_s:g} s." if timeout_s > 0 else ""
            raise StateLockedError(f"{found.who}{waited}", found.way)
        if found.by is not None and found.by.id not in told:
            told.add(found.by.id)
            waiting(found.by)
        time.sleep(min(next(pauses), left))
    return found


@contextmanager
def beating(beat: Callable[[], None], every_s: float) -> Iterator[None]:
    """Call `beat` again and again in a thread of its own."""
    ended = threading.Event()

    def go_on() -> None:
        while not ended.wait(every_s):
            beat()

    thread = threading.Thread(target=go_on, name="lock heartbeat", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
