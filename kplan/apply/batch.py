"""Send one batch: retry, split, and read the cluster where a response leaves doubt."""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import field

from kplan.apply.limits import ApplyContext
from kplan.apply.progress import ApplyProgress, ChangeProgress, add_hint, is_finished
from kplan.cluster.errors import (
    CLIENT_INVALID,
    CLIENT_NOT_SENT,
    CLIENT_TIMED_OUT,
    Handling,
    client_refusal,
    handling,
    is_size_limit,
)
from kplan.cluster.request import ItemResult
from kplan.model.dataclass import dataclass
from kplan.model.errors import ClusterError, InProgress, Refusal
from kplan.model.outcome import AS_DECLARED, FOUND, Outcome, OutcomeStatus
from kplan.model.plan import Action, Batch, Change
from kplan.model.resource import Identity
from kplan.model.state import KindSnapshot

Doubt = tuple[Change, Refusal]


def settle_doubts(
    batch: Batch, doubts: Sequence[Doubt], progress: ApplyProgress, context: ApplyContext
) -> tuple[Change, ...]:
    """Find out the outcome of items, and give back those that are worth another send.

    An item that may still come about (no answer, K4-24) is looked for until `settle_s` is over,
    sent once more, looked for again, and only then called unknown.
    """
    until = context.clock.now() + context.limits.settle_s
    attempt = 0
    open_ = list(doubts)
    while open_:
        reading = _read_objects(batch, open_, context)
        if reading is not None:
            seen = [(each, _decide(batch, each, reading, progress, context)) for each in open_]
            open_ = [each for each, line in seen if line is None]
            lines = [line for _, line in seen if line is not None]
            context.watcher.on_outcomes([each.outcome() for each in lines if is_finished(each)])
        if not open_ or context.clock.now() >= until or context.is_stopped():
            break
        attempt += 1
        context.wait(context.limits.pause_s(attempt, context.jitter))
    return _retry_or_give_up(open_, progress, context)


def _read_objects(
    batch: Batch, doubts: Sequence[Doubt], context: ApplyContext
) -> KindSnapshot | None:
    try:
        return context.kind(batch.kind).read(
            context.cluster, [change.identity for change, _ in doubts]
        )
    except ClusterError:
        return None  # no one answers now: look again until the time is over


def _decide(
    batch: Batch,
    doubt: Doubt,
    reading: KindSnapshot,
    progress: ApplyProgress,
    context: ApplyContext,
) -> ChangeProgress | None:
    """Return the outcome line of an item whose result the reading shows."""
    change, refused = doubt
    if context.kind(batch.kind).is_done(batch.step, change, reading):
        note = _done_note(change, refused, progress)
        line = progress.complete_step(change, context.clock.now(), note=note)
        if change.action is Action.CREATE and (live := reading.objects.get(change.identity)):
            line.uid = live.uid  # who waits for no broker learns it nowhere else
        return line
    how = handling(refused)
    is_there = change.identity in reading.objects
    is_lagging = how is Handling.STALE and _is_planned_incarnation(change, reading)
    waits = (
        how is Handling.IN_DOUBT
        or is_lagging
        or (
            # The answer is about a topic that this broker has not heard of yet, or has still.
            how is Handling.COMPARE
            and (
                is_there is not _knows_object(refused)
                or _is_being_deleted(change, refused, reading)
            )
        )
    )
    if waits:
        return None
    return progress.fail(
        change,
        context.clock.now(),
        OutcomeStatus.FAILED,
        _explain_refusal(change, refused, reading),
    )


def _is_planned_incarnation(change: Change, reading: KindSnapshot) -> bool:
    """Whether a broker still shows the very topic that the controller has deleted already."""
    live = reading.objects.get(change.identity)
    return live is not None and bool(live.uid) and live.uid == change.uid


def _knows_object(refused: Refusal) -> bool:
    """Whether the broker that refused knows the object."""
    return refused.error != "UNKNOWN_TOPIC_OR_PARTITION"


def _is_being_deleted(change: Change, refused: Refusal, reading: KindSnapshot) -> bool:
    """Whether the object to be replaced still exists: some clusters delete it later."""
    live = reading.objects.get(change.identity)
    is_old = live is not None and change.is_recreated and live.uid == change.uid
    return is_old and refused.error == "TOPIC_ALREADY_EXISTS"


def _done_note(change: Change, refused: Refusal, progress: ApplyProgress) -> str:
    if handling(refused) is Handling.IN_DOUBT:
        return FOUND
    if change.action is Action.DELETE:
        return "already absent"
    # The answer of an earlier send was lost: it may be what made the object.
    return FOUND if progress.get(change).may_be_done else AS_DECLARED


def _explain_refusal(change: Change, refused: Refusal, reading: KindSnapshot) -> Refusal:
    """Return what reading the cluster showed."""
    if handling(refused) is Handling.STALE and change.identity in reading.objects:
        return add_hint(refused, "It was created again since the plan; plan again.")
    if refused.error == "TOPIC_ALREADY_EXISTS":
        way = f"To adopt it: kplan import '{change.address}' '{change.identity}'"
        return add_hint(refused, f"It differs from the configuration. {way}")
    if refused.error == "UNKNOWN_TOPIC_OR_PARTITION":
        return add_hint(refused, "It vanished since the plan; plan again.")
    return refused


def _retry_or_give_up(
    doubts: Sequence[Doubt], progress: ApplyProgress, context: ApplyContext
) -> tuple[Change, ...]:
    """Send once more what did not take effect; after that it stays unknown."""
    again: list[Change] = []
    given_up: list[Outcome] = []
    for change, refused in doubts:
        if progress.get(change).tries == 1 and not context.is_stopped():
            again.append(change)
        else:
            is_unknown = handling(refused) is Handling.IN_DOUBT and progress.get(change).may_be_done
            status = OutcomeStatus.UNKNOWN if is_unknown else OutcomeStatus.FAILED
            given_up.append(progress.fail(change, context.clock.now(), status, refused).outcome())
    context.watcher.on_outcomes(given_up)
    return tuple(again)


Chunk = tuple[Change, ...]


@dataclass(slots=True)
class RequestResult:
    """The items of one request, sorted by their next step.

    `outcomes` are those of the items that are done; nothing more is sent for them.
    """

    retry: list[Change] = field(default_factory=list)
    split: list[tuple[Change, Refusal]] = field(default_factory=list)
    in_doubt: list[tuple[Change, Refusal]] = field(default_factory=list)
    outcomes: list[Outcome] = field(default_factory=list)
    pause_s: float = 0.0


def send_batch(
    batch: Batch, progress: ApplyProgress, context: ApplyContext, deadline: float
) -> None:
    """Send the batch until each of its items has an outcome for this step.

    Items that are to be sent again are sent together; a request that is too large, or spoilt by
    one of its items, is halved until the refused item is alone (traps 3 and 4). So is one that
    is refused whole for what may be its size; an item that is refused alone for the same reason
    proves that it was not, also for the others.
    """
    queue: deque[Chunk] = deque([batch.changes])
    while queue:
        changes = tuple(each for each in queue.popleft() if progress.get(each).has_steps_left)
        if not changes:
            continue
        if context.is_stopped():
            return
        if context.clock.now() >= deadline and not _is_under_way(changes, progress):
            _fail_late(changes, progress, context)
            continue
        sorted_out = _send_request(batch, changes, progress, context)
        if (proof := _single_refusal(changes, progress)) is not None:
            _fail_same(queue, proof, progress, context)
        resend = settle_doubts(batch, sorted_out.in_doubt, progress, context)
        queue.extendleft(reversed(_split(changes, sorted_out.split, progress, context)))
        again = tuple(sorted_out.retry) + resend
        if again:
            context.wait(sorted_out.pause_s)
            queue.append(again)


def _fail_late(changes: Chunk, progress: ApplyProgress, context: ApplyContext) -> None:
    """Fail the items that were postponed until the deadline; items that were not sent stay so."""
    refusals = ((each, progress.get(each).refusal) for each in changes)
    context.watcher.on_outcomes(
        [_fail(each, why, progress, context) for each, why in refusals if why is not None]
    )


def _is_under_way(changes: Chunk, progress: ApplyProgress) -> bool:
    """Whether all of it was begun and only inspected: that is no sending, and has no deadline."""
    return all(progress.get(each).is_under_way for each in changes)


def _send_request(
    batch: Batch, changes: Chunk, progress: ApplyProgress, context: ApplyContext
) -> RequestResult:
    if not _is_under_way(changes, progress):
        context.watcher.on_send(batch, changes)
        progress.start(changes, context.clock.now())
    found = RequestResult()
    results = _request_results(batch, changes, context)
    if ways := [each for each in results.values() if isinstance(each, InProgress) and each.total]:
        context.watcher.on_reassignment(ways[0])
    if (alike := _common_refusal(changes, results)) is not None:
        found.split = [(change, alike) for change in changes]
        for change in changes:
            progress.defer(change, alike)
        return found
    for change in changes:
        if change.identity not in results:
            progress.get(change).may_be_done = True
            found.in_doubt.append((change, client_refusal(CLIENT_TIMED_OUT, "No answer came.")))
        elif (refused := results[change.identity]) is None:
            _complete(change, found, progress, context)
        else:
            _classify(change, refused, found, progress, context)
    context.watcher.on_outcomes(found.outcomes)
    return found


def _request_results(
    batch: Batch, changes: Chunk, context: ApplyContext
) -> Mapping[Identity, ItemResult]:
    """Send one request. What refuses the call as a whole refuses each of its items."""
    try:
        return context.kind(batch.kind).apply(context.cluster, batch.step, changes)
    except ClusterError as failure:
        # What a broker answered keeps its name: whether it passes by itself depends on that.
        refused = failure.answer or client_refusal(
            CLIENT_INVALID, f"{failure.summary}: {failure.detail}"
        )
        return dict.fromkeys((each.identity for each in changes), refused)


def _common_refusal(changes: Chunk, results: Mapping[Identity, ItemResult]) -> Refusal | None:
    """Return the one refusal of a whole request, where its code may be about the request's size."""
    met = {results.get(change.identity) for change in changes}
    refused = met.pop() if len(changes) > 1 and len(met) == 1 else None
    return refused if refused is not None and refused.error in _SIZE_ERRORS else None


_SIZE_ERRORS = frozenset(("POLICY_VIOLATION", "INVALID_REQUEST"))


def _single_refusal(changes: Chunk, progress: ApplyProgress) -> Refusal | None:
    """Return the refusal of an item that stood alone, unless it is about size all the same."""
    refused = progress.get(changes[0]).refusal
    if len(changes) > 1 or refused is None or refused.error not in _SIZE_ERRORS:
        return None
    return None if is_size_limit(refused) else refused


def _fail_same(
    queue: deque[Chunk], proof: Refusal, progress: ApplyProgress, context: ApplyContext
) -> None:
    """Fail all items whose last answer was the refusal that the single resend got."""
    lines = (progress.get(change) for chunk in queue for change in chunk)
    alike = [each.change for each in lines if each.has_steps_left and each.refusal == proof]
    context.watcher.on_outcomes([_fail(each, proof, progress, context) for each in alike])


def _classify(
    change: Change,
    refused: Refusal,
    result: RequestResult,
    progress: ApplyProgress,
    context: ApplyContext,
) -> None:
    attempts = progress.get(change).tries
    match handling(refused):
        case Handling.RETRY | Handling.THROTTLED as how if (
            # Who is throttled is reported when to come back, and may do so until the time is over.
            how is Handling.THROTTLED or attempts < context.limits.max_attempts
        ):
            result.retry.append(change)
            progress.defer(change, refused)
            pause = context.limits.pause_s(attempts, context.jitter)
            result.pause_s = max(result.pause_s, pause, refused.throttle_ms / 1000)
        case Handling.SPLIT:
            result.split.append((change, refused))
        case Handling.IN_DOUBT | Handling.COMPARE | Handling.STALE:
            progress.get(change).may_be_done |= (
                handling(refused) is Handling.IN_DOUBT and refused.error != CLIENT_NOT_SENT
            )
            result.in_doubt.append((change, refused))
        case Handling.CONVERGED:
            _complete(change, result, progress, context, note=refused.message)
        case _:
            result.outcomes.append(_fail(change, refused, progress, context))


def _split(
    changes: Chunk,
    refused: Sequence[tuple[Change, Refusal]],
    progress: ApplyProgress,
    context: ApplyContext,
) -> list[Chunk]:
    if not refused:
        return []
    if len(changes) == 1:
        context.watcher.on_outcomes([_fail(*refused[0], progress, context)])
        return []
    rest = tuple(change for change, _ in refused)
    middle = max(1, len(rest) // 2)
    return [half for half in (rest[:middle], rest[middle:]) if half]


def _complete(
    change: Change,
    result: RequestResult,
    progress: ApplyProgress,
    context: ApplyContext,
    note: str = "",
) -> None:
    line = progress.complete_step(change, context.clock.now(), note=note)
    if is_finished(line):
        result.outcomes.append(line.outcome())


def _fail(
    change: Change, refused: Refusal, progress: ApplyProgress, context: ApplyContext
) -> Outcome:
    return progress.fail(change, context.clock.now(), OutcomeStatus.FAILED, refused).outcome()
