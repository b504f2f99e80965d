"""Wait until every broker serves the applied changes (design law 10)."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from queue import Empty, SimpleQueue
from threading import Thread
from typing import TypeVar

from kplan.apply.limits import ApplyContext
from kplan.apply.progress import ApplyProgress, ChangeProgress
from kplan.kinds.base import NodeKind
from kplan.kinds.service_status import SERVICES, pending_reasons
from kplan.model.errors import ClusterError
from kplan.model.outcome import BrokerBacklog, OutcomeStatus, Visibility
from kplan.model.resource import Identity

Answer = TypeVar("Answer")

_STOP_CHECK_S = 0.5  # how long a request to stop may go unnoticed
_MIN_WAIT_S = 0.05
_BROKERS_S = 1.0  # how old the list of live brokers may be


def ask_concurrently(
    questions: Mapping[int, Callable[[], Answer]], context: ApplyContext, until: float
) -> dict[int, Answer]:
    """Query all at once; answers missing at `until`, or at a stop request, are left out.

    A request that hangs is left behind with its thread, which ends with the process. What a
    question raises is raised.
    """
    result: SimpleQueue[tuple[int, Answer] | BaseException] = SimpleQueue()

    def ask(number: int, question: Callable[[], Answer]) -> None:
        try:
            result.put((number, question()))
        except BaseException as failure:  # noqa: BLE001 - raised again by who waits for it
            result.put(failure)

    for each in questions.items():
        Thread(target=ask, args=each, name=f"look-{each[0]}", daemon=True).start()
    found: dict[int, Answer] = {}
    while len(found) < len(questions):
        left = until - context.clock.now()
        try:
            answer = result.get(timeout=min(_STOP_CHECK_S, max(left, _MIN_WAIT_S)))
        except Empty:
            if context.is_stopped() or context.clock.now() >= until:
                break
            continue
        if isinstance(answer, BaseException):
            raise answer
        found[answer[0]] = answer[1]
    return found


def wait_until_visible(progress: ApplyProgress, context: ApplyContext, deadline: float) -> None:
    """Ask every live broker for every applied change until all serve it or `visible_s` is over.

    The wait ends too when no broker has come nearer to that for `stall_s`. Marks the lines verified
    and notes the topic ids. Which brokers are alive is read again while
    the wait goes on: one that died is not waited for, one that came back is asked too. A broker
    that is alive and cannot be asked leaves what it was asked for unverified. The bound of the
    wait holds for a request that hangs too.
    """
    applied = [
        line
        for line in progress.changes.values()
        if line.status is OutcomeStatus.APPLIED and line.steps_left == 0
    ]
    if not applied:
        return
    context.watcher.on_visibility(Visibility(len(applied), len(applied)))
    begun = context.clock.now()
    until = min(deadline, begun + context.limits.visible_s)
    wait = VisibilityWait(applied, context, until)
    fewest, nearer_at = float("inf"), begun
    while True:
        wait.read_brokers()
        wait.ask_brokers()
        now = context.clock.now()
        if wait.unserved_count < fewest or _NO_BROKER[0] in wait.waiting:
            fewest, nearer_at = wait.unserved_count, now
        has_stalled = now - nearer_at >= context.limits.stall_s
        if not wait.waiting or now >= until or has_stalled or context.is_stopped():
            break
        context.wait(_pause_s(now - begun))
    wait.mark_verified()


class VisibilityWait:
    """The wait for the brokers to serve what was applied.

    Each is asked for all but what is of another node alone: N brokers are not asked N times.
    `waiting` holds the lines that each broker is still asked for; the broker is -1 where none
    answers. `silent` says of a broker why it could not be asked.
    """

    def __init__(
        self, applied: Sequence[ChangeProgress], context: ApplyContext, until: float
    ) -> None:
        self.waiting: dict[int, list[ChangeProgress]] = {}
        self._applied = list(applied)
        self._of_nodes = list(_lines_of_nodes(applied, context))
        single = {id(line) for line, _ in self._of_nodes}
        self._of_all = [line for line in applied if id(line) not in single]
        self._context = context
        self._until = until
        self._served: set[int] = set()
        self._fenced: tuple[int, ...] = ()
        self._silent: dict[int, str] = {}
        self._next_look = context.clock.now()

    @property
    def unserved_count(self) -> int:
        """Count the pending changes at each broker."""
        return sum(len(lines) for lines in self.waiting.values())

    def read_brokers(self) -> None:
        """Learn which brokers are alive, unless that was read a moment ago."""
        if self._context.clock.now() < self._next_look:
            return
        found = ask_concurrently(
            {0: partial(_read_brokers, self._context)}, self._context, self._until
        )
        brokers, self._fenced = found.get(0, (_NO_BROKER, self._fenced))
        single = {id(line) for line, _ in self._of_nodes}
        self.waiting = {
            each: [line for line in self.waiting.get(each, self._of_all) if id(line) not in single]
            for each in brokers
            if each not in self._served
        }
        for line, node in self._of_nodes:  # one that is not there is asked for by any other
            self.waiting.setdefault(node if node in brokers else brokers[0], []).append(line)
        self._drop_served()
        self._next_look = self._context.clock.now() + _BROKERS_S

    def ask_brokers(self) -> None:
        """Query every broker in parallel for the changes it did not serve yet."""
        self._silent = dict.fromkeys(self.waiting, "no answer yet")
        self._report()
        asked = {
            broker: partial(_find_unserved, broker, lines, self._silent, self._context)
            for broker, lines in self.waiting.items()
        }
        self.waiting |= ask_concurrently(asked, self._context, self._until)
        late = {id(line) for lines in self.waiting.values() for line in lines}
        self._of_nodes = [each for each in self._of_nodes if id(each[0]) in late]
        self._drop_served()
        self._report()

    def _drop_served(self) -> None:
        """Ask no broker again that serves all it was asked for."""
        self._served |= {broker for broker, left in self.waiting.items() if not left}
        self.waiting = {broker: left for broker, left in self.waiting.items() if left}

    def _report(self) -> None:
        late = {id(line) for lines in self.waiting.values() for line in lines}
        backlogs = tuple(
            BrokerBacklog(broker, tuple(each.change for each in lines), self._silent[broker])
            for broker, lines in sorted(self.waiting.items())
        )
        seen = Visibility(len(late), len(self._applied), backlogs, self._fenced)
        self._context.watcher.on_visibility(seen)

    def mark_verified(self) -> None:
        """Mark the changes that every live broker serves, and note the brokers that lag."""
        for line in self._applied:
            line.is_verified = True
            line.pending_reason = ""
        for broker, lines in sorted(self.waiting.items()):
            for line in lines:
                line.is_verified = False
                if line.change.kind in SERVICES:
                    line.pending_reason = self._silent.get(broker, "")
                    continue
                line.pending_brokers += (broker,) if broker not in _NO_BROKER else ()
        late = [each for each in self._applied if not each.is_verified and not each.pending_reason]
        for kind, members in _group_by_kind([x for x in late if x.change.kind in SERVICES]):
            changes = [each.change for each in members]
            reasons = pending_reasons(self._context.cluster, kind, changes)
            for line in members:
                line.pending_reason = reasons[line.change.identity]


def _lines_of_nodes(
    lines: Iterable[ChangeProgress], context: ApplyContext
) -> Iterator[tuple[ChangeProgress, int]]:
    """List the changes that concern one node alone, with the node: no other is asked for them."""
    for name, members in _group_by_kind(lines):
        kind = context.kind(name)
        if isinstance(kind, NodeKind):
            nodes = ((line, kind.node_of(line.change)) for line in members)
            yield from ((line, node) for line, node in nodes if node is not None)


def _pause_s(waited_s: float) -> float:
    """Look again after a tenth of the time that was waited: seldom, and hardly ever too late."""
    return min(max(waited_s / 10, 0.05), 2.0)


_NO_BROKER = (-1,)
"""There is no one to ask now: what was applied stays unverified."""


def _read_brokers(context: ApplyContext) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the ids of the brokers that have to serve the changes, and of those that are down."""
    try:
        described = context.cluster.describe()
    except ClusterError:
        return _NO_BROKER, ()
    return described.verifying_node_ids or _NO_BROKER, tuple(each.id for each in described.fenced)


def _find_unserved(
    broker: int,
    lines: Sequence[ChangeProgress],
    silent: dict[int, str],
    context: ApplyContext,
) -> list[ChangeProgress]:
    """Ask a broker for the changes; `silent` says of each broker why it could not be asked."""
    left: list[ChangeProgress] = []
    for kind, members in _group_by_kind(lines):
        served, silent[broker] = _read_served(kind, broker, members, context)
        for line in members:
            if line.change.identity in served:
                line.uid = served[line.change.identity] or line.uid
            else:
                left.append(line)
    return left


def _read_served(
    kind: str, broker: int, lines: Sequence[ChangeProgress], context: ApplyContext
) -> tuple[Mapping[Identity, str], str]:
    """Return the changes that the broker serves, with topic ids, and why it was not queried."""
    if broker < 0:
        return {}, "no broker answers"
    try:
        found = context.kind(kind).find_visible(
            context.cluster, broker, [line.change for line in lines]
        )
    except ClusterError as failure:
        return {}, failure.detail or failure.summary
    return found, ""


def _group_by_kind(lines: Iterable[ChangeProgress]) -> list[tuple[str, list[ChangeProgress]]]:
    ordered = sorted(lines, key=lambda line: line.change.kind)
    return [
        (kind, list(members))
        for kind, members in groupby(ordered, key=lambda line: line.change.kind)
    ]
