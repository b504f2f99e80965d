"""One batch: sent, answered, sent again where that helps, looked up where no answer came."""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from kplan.apply.ledger import Ledger, is_last
from kplan.apply.pace import Means
from kplan.apply.settle import settle
from kplan.cluster.errors import (
    CLIENT_INVALID,
    CLIENT_TIMED_OUT,
    Handling,
    client_refusal,
    handling,
    is_size_limit,
)
from kplan.cluster.specs import Verdict
from kplan.model.errors import ClusterError
from kplan.model.outcome import Outcome, Status
from kplan.model.plan import Batch, Change
from kplan.model.refusal import Refusal, UnderWay
from kplan.model.resource import Identity

Chunk = tuple[Change, ...]


@dataclass(slots=True)
class Answers:
    """The items of one request, sorted by what is to be done with them next.

    Nothing is to be done for those of the `told`: these are their outcomes.
    """

    again: list[Change] = field(default_factory=list)
    smaller: list[tuple[Change, Refusal]] = field(default_factory=list)
    doubtful: list[tuple[Change, Refusal]] = field(default_factory=list)
    told: list[Outcome] = field(default_factory=list)
    pause_s: float = 0.0


def send(batch: Batch, ledger: Ledger, means: Means, deadline: float) -> None:
    """Send the batch until each of its items has an outcome for this step.

    Items that ask for patience are sent again together; a request that is too large, or spoilt by
    one of its items, is halved until the guilty item stands alone (traps 3 and 4). So is one that
    is refused whole for what may be its size; an item that is refused alone for the same reason
    proves that it was not, and speaks for all of them.
    """
    queue: deque[Chunk] = deque([batch.changes])
    while queue:
        changes = tuple(each for each in queue.popleft() if ledger.line(each).is_open)
        if not changes:
            continue
        if means.is_stopped():
            return
        if means.clock.now() >= deadline and not _goes_on(changes, ledger):
            _out_of_time(changes, ledger, means)
            continue
        sorted_out = _ask(batch, changes, ledger, means)
        if (proof := _proof(changes, ledger)) is not None:
            _all_failed(queue, proof, ledger, means)
        resend = settle(batch, sorted_out.doubtful, ledger, means)
        queue.extendleft(reversed(_halves(changes, sorted_out.smaller, ledger, means)))
        again = tuple(sorted_out.again) + resend
        if again:
            means.rest(sorted_out.pause_s)
            queue.append(again)


def _out_of_time(changes: Chunk, ledger: Ledger, means: Means) -> None:
    """Fail what was put off until the time was over; what was not sent yet stays so."""
    refusals = ((each, ledger.line(each).refusal) for each in changes)
    means.watcher.finished(
        [_failed(each, why, ledger, means) for each, why in refusals if why is not None]
    )


def _goes_on(changes: Chunk, ledger: Ledger) -> bool:
    """Whether all of it was begun and only looked at: that is no sending, and has no deadline."""
    return all(ledger.line(each).is_under_way for each in changes)


def _ask(batch: Batch, changes: Chunk, ledger: Ledger, means: Means) -> Answers:
    if not _goes_on(changes, ledger):
        means.watcher.sending(batch, changes)
        ledger.start(changes, means.clock.now())
    found = Answers()
    verdicts = _verdicts(batch, changes, means)
    if ways := [each for each in verdicts.values() if isinstance(each, UnderWay) and each.total]:
        means.watcher.moving(ways[0].left, ways[0].total)
    if (alike := _alike(changes, verdicts)) is not None:
        found.smaller = [(change, alike) for change in changes]
        for change in changes:
            ledger.put_off(change, alike)
        return found
    for change in changes:
        if change.identity not in verdicts:
            found.doubtful.append((change, client_refusal(CLIENT_TIMED_OUT, "No answer came.")))
        elif (refused := verdicts[change.identity]) is None:
            _done(change, found, ledger, means)
        else:
            _sort(change, refused, found, ledger, means)
    means.watcher.finished(found.told)
    return found


def _verdicts(batch: Batch, changes: Chunk, means: Means) -> Mapping[Identity, Verdict]:
    """Send one request. What refuses the call as a whole refuses each of its items."""
    try:
        return means.kind(batch.kind).apply(means.cluster, batch.step, changes)
    except ClusterError as failure:
        refused = client_refusal(CLIENT_INVALID, f"{failure.summary}: {failure.detail}")
        return dict.fromkeys((each.identity for each in changes), refused)


def _alike(changes: Chunk, verdicts: Mapping[Identity, Verdict]) -> Refusal | None:
    """Give the one refusal of a whole request, where its code may speak of the request's size."""
    met = {verdicts.get(change.identity) for change in changes}
    refused = met.pop() if len(changes) > 1 and len(met) == 1 else None
    return refused if refused is not None and refused.error in _MAY_BE_SIZE else None


_MAY_BE_SIZE = frozenset(("POLICY_VIOLATION", "INVALID_REQUEST"))


def _proof(changes: Chunk, ledger: Ledger) -> Refusal | None:
    """Give the refusal of an item that stood alone, unless it speaks of size all the same."""
    refused = ledger.line(changes[0]).refusal
    if len(changes) > 1 or refused is None or refused.error not in _MAY_BE_SIZE:
        return None
    return None if is_size_limit(refused) else refused


def _all_failed(queue: deque[Chunk], proof: Refusal, ledger: Ledger, means: Means) -> None:
    """Fail all items whose last answer was the one that the proof got alone."""
    lines = (ledger.line(change) for chunk in queue for change in chunk)
    alike = [each.change for each in lines if each.is_open and each.refusal == proof]
    means.watcher.finished([_failed(each, proof, ledger, means) for each in alike])


def _sort(change: Change, refused: Refusal, found: Answers, ledger: Ledger, means: Means) -> None:
    attempts = ledger.line(change).tries
    match handling(refused):
        case Handling.RETRY | Handling.THROTTLED as how if (
            # Who is throttled is told when to come back, and may do so until the time is over.
            how is Handling.THROTTLED or attempts < means.pace.max_attempts
        ):
            found.again.append(change)
            ledger.put_off(change, refused)
            pause = means.pace.pause(attempts, means.jitter)
            found.pause_s = max(found.pause_s, pause, refused.throttle_ms / 1000)
        case Handling.SPLIT:
            found.smaller.append((change, refused))
        case Handling.IN_DOUBT | Handling.COMPARE | Handling.STALE:
            found.doubtful.append((change, refused))
        case Handling.CONVERGED:
            _done(change, found, ledger, means, note=refused.message)
        case _:
            found.told.append(_failed(change, refused, ledger, means))


def _halves(
    changes: Chunk, refused: Sequence[tuple[Change, Refusal]], ledger: Ledger, means: Means
) -> list[Chunk]:
    if not refused:
        return []
    if len(changes) == 1:
        means.watcher.finished([_failed(*refused[0], ledger, means)])
        return []
    rest = tuple(change for change, _ in refused)
    middle = max(1, len(rest) // 2)
    return [half for half in (rest[:middle], rest[middle:]) if half]


def _done(change: Change, found: Answers, ledger: Ledger, means: Means, note: str = "") -> None:
    line = ledger.close(change, means.clock.now(), note=note)
    if is_last(line):
        found.told.append(line.outcome())


def _failed(change: Change, refused: Refusal, ledger: Ledger, means: Means) -> Outcome:
    return ledger.fail(change, means.clock.now(), Status.FAILED, refused).outcome()
