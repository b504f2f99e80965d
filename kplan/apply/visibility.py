"""Wait until every broker serves what was applied (design law 10)."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import groupby
from queue import Empty, SimpleQueue
from threading import Thread
from typing import TypeVar

from kplan.apply.limits import ApplyContext
from kplan.apply.progress import ApplyProgress, ChangeProgress
from kplan.model.errors import ClusterError
from kplan.model.outcome import OutcomeStatus
from kplan.model.resource import Identity

Answer = TypeVar("Answer")

_STOP_CHECK_S = 0.5  # how long a request to stop may go unnoticed
_MIN_WAIT_S = 0.05
_BROKERS_S = 1.0  # how old the list of live brokers may be


def ask_concurrently(
    questions: Mapping[int, Callable[[], Answer]], context: ApplyContext, until: float
) -> dict[int, Answer]:
    """Ask all at once; what has no answer at `until`, or when someone asks to stop, is left out.

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
        left = until - context.clock.now()
        try:
            answer = told.get(timeout=min(_STOP_CHECK_S, max(left, _MIN_WAIT_S)))
        except Empty:
            if context.is_stopped() or context.clock.now() >= until:
                break
            continue
        if isinstance(answer, BaseException):
            raise answer
        found[answer[0]] = answer[1]
    return found


def wait_until_visible(ledger: ApplyProgress, context: ApplyContext, deadline: float) -> None:
    """Ask every live broker for every applied change until all serve it or `visible_s` is over.

    Marks the lines verified and notes the topic ids. Which brokers are alive is read again while
    the wait goes on: one that died is not waited for, one that came back is asked too. A broker
    that is alive and cannot be asked leaves what it was asked for unverified. The bound of the
    wait holds for a request that hangs too.
    """
    applied = [
        line
        for line in ledger.changes.values()
        if line.status is OutcomeStatus.APPLIED and line.steps_left == 0
    ]
    if not applied:
        return
    context.watcher.on_visibility(len(applied), len(applied))
    begun = context.clock.now()
    until = min(deadline, begun + context.limits.visible_s)
    waiting: dict[int, list[ChangeProgress]] = {}
    served: set[int] = set()
    next_look = begun
    while True:
        if context.clock.now() >= next_look:
            found = ask_concurrently({0: lambda: _read_brokers(context)}, context, until)
            brokers = found.get(0, _NO_BROKER)
            waiting = {each: waiting.get(each, applied) for each in brokers if each not in served}
            next_look = context.clock.now() + _BROKERS_S
        asked = {
            broker: partial(_find_unserved, broker, lines, context)
            for broker, lines in waiting.items()
        }
        waiting |= ask_concurrently(asked, context, until)
        served |= {broker for broker, left in waiting.items() if not left}
        waiting = {broker: left for broker, left in waiting.items() if left}
        late = {id(line) for lines in waiting.values() for line in lines}
        context.watcher.on_visibility(len(late), len(applied))
        if not waiting or context.clock.now() >= until or context.is_stopped():
            break
        context.wait(_pause_s(context.clock.now() - begun))
    for line in applied:
        line.is_verified = id(line) not in late


def _pause_s(waited_s: float) -> float:
    """Look again after a tenth of the time that was waited: seldom, and hardly ever too late."""
    return min(max(waited_s / 10, 0.05), 2.0)


_NO_BROKER = (-1,)
"""There is no one to ask now: what was applied stays unverified."""


def _read_brokers(context: ApplyContext) -> tuple[int, ...]:
    try:
        return context.cluster.describe().verifying_node_ids or _NO_BROKER
    except ClusterError:
        return _NO_BROKER


def _find_unserved(
    broker: int, lines: Sequence[ChangeProgress], context: ApplyContext
) -> list[ChangeProgress]:
    left: list[ChangeProgress] = []
    for kind, members in _group_by_kind(lines):
        served = _read_served(kind, broker, members, context)
        for line in members:
            if line.change.identity in served:
                line.uid = served[line.change.identity] or line.uid
            else:
                left.append(line)
    return left


def _read_served(
    kind: str, broker: int, lines: Sequence[ChangeProgress], context: ApplyContext
) -> Mapping[Identity, str]:
    if broker < 0:
        return {}
    try:
        return context.kind(kind).find_visible(
            context.cluster, broker, [line.change for line in lines]
        )
    except ClusterError:
        return {}


def _group_by_kind(lines: Iterable[ChangeProgress]) -> list[tuple[str, list[ChangeProgress]]]:
    ordered = sorted(lines, key=lambda line: line.change.kind)
    return [
        (kind, list(members))
        for kind, members in groupby(ordered, key=lambda line: line.change.kind)
    ]
