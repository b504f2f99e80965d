"""Apply a plan: its batches in their order, up to a few at a time, one outcome per change."""

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import groupby
from queue import SimpleQueue

from kplan.apply.batch import send_batch
from kplan.apply.limits import ApplyContext, Watcher, never_stop
from kplan.apply.progress import ApplyProgress
from kplan.apply.visibility import wait_until_visible
from kplan.kinds.acl import Acl
from kplan.model.errors import InProgress
from kplan.model.outcome import Outcome, OutcomeStatus, Visibility
from kplan.model.plan import Action, Batch, Change, Plan


class ApplyEnded(BaseException):
    """Stops work whose result is no longer needed before it sends another request."""


class SerializedWatcher:
    """Lets one thread at a time call a watcher, and none once the apply is over."""

    def __init__(self, watcher: Watcher) -> None:
        self._watcher = watcher
        self._lock = threading.Lock()
        self._is_over = False

    def on_send(self, batch: Batch, changes: Sequence[Change]) -> None:
        """Report changes that are about to be sent; raises ApplyEnded if they must not be."""
        with self._lock:
            if self._is_over:
                raise ApplyEnded
            self._watcher.on_send(batch, changes)

    def on_outcomes(self, outcomes: Sequence[Outcome]) -> None:
        """Report the outcome of changes."""
        with self._lock:
            if not self._is_over:
                self._watcher.on_outcomes(outcomes)

    def on_visibility(self, visibility: Visibility) -> None:
        """Report the brokers that do not serve the applied changes yet."""
        with self._lock:
            if not self._is_over:
                self._watcher.on_visibility(visibility)

    def on_verified(self, outcomes: Sequence[Outcome]) -> None:
        """Report which applied changes every broker serves."""
        with self._lock:
            if not self._is_over:
                self._watcher.on_verified(outcomes)

    def on_reassignment(self, progress: InProgress) -> None:
        """Report how many partitions are not where they are to be yet."""
        with self._lock:
            if not self._is_over:
                self._watcher.on_reassignment(progress)

    def close(self) -> None:
        """Be silent from now on."""
        with self._lock:
            self._is_over = True


@contextmanager
def serialize_watcher(watcher: Watcher) -> Iterator[SerializedWatcher]:
    """Lend a watcher to threads; those that outlive it, as after a second signal, send no more.

    What they had in flight has no outcome then: the journal shows that it was sent.
    """
    turns = SerializedWatcher(watcher)
    try:
        yield turns
    finally:
        turns.close()


def run_concurrently(works: Iterable[Callable[[], None]], width: int) -> None:
    """Do pieces of work, up to `width` at a time, until all are done or one fails.

    One that fails lets the others come to their end, begins none after them, and is raised. An
    exception that strikes the caller itself is not kept waiting: the threads are left behind.
    """
    waiting = deque(works)
    if width == 1 or len(waiting) == 1:
        for work in waiting:
            work()
        return
    ended: SimpleQueue[BaseException | None] = SimpleQueue()

    def run() -> None:
        failure: BaseException | None = None
        try:
            while (work := _next_work(waiting)) is not None:
                work()
        except BaseException as struck:  # noqa: BLE001 - raised again by who waits for it
            waiting.clear()
            failure = struck
        ended.put(failure)

    width = min(width, len(waiting))
    for number in range(width):
        threading.Thread(target=run, name=f"apply-{number}", daemon=True).start()
    failures = [each for _ in range(width) if (each := ended.get()) is not None]
    if failures:
        raise failures[0]


def _next_work(waiting: deque[Callable[[], None]]) -> Callable[[], None] | None:
    """Take the next piece; another thread may have been quicker."""
    try:
        return waiting.popleft()
    except IndexError:
        return None


BatchChain = tuple[Batch, ...]
"""Batches that go one after the other: a delete, and the create of what replaces it."""


def concurrent_chains(batches: Sequence[Batch]) -> Iterator[tuple[BatchChain, ...]]:
    """Cut batches, in their order, into waves of chains that take the same steps.

    A wave begins when the one before it is settled; its chains touch different objects. ACLs that
    deny and ACLs that allow are sent in the order of the plan, not at a time.
    """
    for _, wave in groupby(_batch_chains(batches), key=_chain_steps):
        yield tuple(wave)


def _batch_chains(batches: Sequence[Batch]) -> Iterator[BatchChain]:
    chain: BatchChain = ()
    for batch in batches:
        if chain and not _is_replaced_by(chain[-1], batch):
            yield chain
            chain = ()
        chain += (batch,)
    if chain:
        yield chain


def _is_replaced_by(before: Batch, batch: Batch) -> bool:
    """Whether both are steps of the same replacements.

    Between them the object is missing, or one exists that no state owns. Any other change may stop
    between its steps: the object is there, and the next plan has the rest.
    """
    return (
        before.kind == batch.kind
        and before.changes == batch.changes
        and all(each.action is Action.REPLACE for each in batch.changes)
    )


def _chain_steps(chain: BatchChain) -> tuple[object, ...]:
    permissions = _permissions(chain[0]) if len(chain) == 1 else frozenset[str]()
    return chain[0].kind, tuple(batch.step for batch in chain), permissions


def _permissions(batch: Batch) -> frozenset[str]:
    """Return the permission types of the ACLs of a batch: Allow, Deny, both or none."""
    values = (each.after or each.before for each in batch.changes)
    return frozenset(each.acl_permission_type for each in values if isinstance(each, Acl))


def apply_plan(plan: Plan, context: ApplyContext) -> tuple[Outcome, ...]:
    """Send every batch of the plan and report the outcome of each change, in order of the batches.

    Batches of the same step go up to `in_flight` at a time; a step begins when the one before it
    is settled. One refused item never stops its neighbours; a stop or the deadline leaves the rest
    SKIPPED. Nothing is called applied without an answer or a read of the cluster (design law 2),
    and an applied change is verified when every broker serves it (design law 10).
    """
    progress = ApplyProgress.from_plan(plan)
    deadline = context.clock.now() + context.limits.total_s
    with serialize_watcher(context.watcher) as watcher:
        context = replace(context, watcher=watcher)
        for wave in concurrent_chains(plan.batches):
            works = [partial(_send_chain, chain, progress, context, deadline) for chain in wave]
            run_concurrently(works, context.limits.in_flight)
        if context.limits.waits_for_visibility and not context.is_stopped():
            wait_until_visible(progress, context, deadline)
        outcomes = progress.outcomes()
        watcher.on_verified([each for each in outcomes if each.is_verified])
        watcher.on_outcomes([each for each in outcomes if each.status is OutcomeStatus.SKIPPED])
    return outcomes


def _send_chain(
    chain: BatchChain, progress: ApplyProgress, context: ApplyContext, deadline: float
) -> None:
    """Send the batches of a chain, each with the changes that the previous one applied.

    A replacement that was begun is finished, whatever asks to stop: an ACL that was deleted for
    another one is not left missing. What is postponed for good ends it after the time of a whole
    apply.
    """
    todo = chain[0].changes
    for batch in chain:
        before = [progress.get(each).steps_left for each in todo]
        send_batch(replace(batch, changes=todo), progress, context, deadline)
        todo = tuple(
            each
            for each, left in zip(todo, before, strict=True)
            if progress.get(each).steps_left < left
        )
        context = replace(context, is_stopped=never_stop)
        deadline = max(deadline, context.clock.now() + context.limits.total_s)
