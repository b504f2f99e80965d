"""Questions that are asked beside each other, and not waited for beyond a moment."""

from collections.abc import Callable, Mapping
from queue import Empty, SimpleQueue
from threading import Thread
from typing import TypeVar

from kplan.apply.pace import Means

Answer = TypeVar("Answer")

_LOOK_UP_S = 0.5  # how long a request to stop may go unnoticed
_LEAST_S = 0.05


def answers(
    questions: Mapping[int, Callable[[], Answer]], means: Means, until: float
) -> dict[int, Answer]:
    """Ask all at once; what has no answer at `until`, or when somebody asks to stop, is left out.

    A request that hangs is left behind with its thread, which ends with the process. What a
    question raises is raised.
    """
    told: SimpleQueue[tuple[int, Answer] | BaseException] = SimpleQueue()

    def ask(number: int, question: Callable[[], Answer]) -> None:
        try:
            told.put((number, question()))
        except BaseException as failure:  # noqa: BLE001 - raised again by who waits for it
            told.put(failure)

    for each in questions.items():
        Thread(target=ask, args=each, name=f"look-{each[0]}", daemon=True).start()
    found: dict[int, Answer] = {}
    while len(found) < len(questions):
        left = until - means.clock.now()
        try:
            answer = told.get(timeout=min(_LOOK_UP_S, max(left, _LEAST_S)))
        except Empty:
            if means.is_stopped() or means.clock.now() >= until:
                break
            continue
        if isinstance(answer, BaseException):
            raise answer
        found[answer[0]] = answer[1]
    return found
