"""Items whose answer settles nothing: the cluster is read, then it is decided."""

from collections.abc import Sequence

from kplan.apply.ledger import Ledger, Line, is_last, with_hint
from kplan.apply.pace import Means
from kplan.cluster.errors import Handling, handling
from kplan.model.errors import ClusterError
from kplan.model.outcome import Outcome, Status
from kplan.model.plan import Action, Batch, Change
from kplan.model.refusal import Refusal
from kplan.model.snapshot import Reading

Doubt = tuple[Change, Refusal]


def settle(
    batch: Batch, doubts: Sequence[Doubt], ledger: Ledger, means: Means
) -> tuple[Change, ...]:
    """Find out what became of items, and give back those that are worth another send.

    An item that may still come about (no answer, K4-24) is looked for until `settle_s` is over,
    sent once more, looked for again, and only then called unknown.
    """
    until = means.clock.now() + means.pace.settle_s
    attempt = 0
    open_ = list(doubts)
    while open_:
        reading = _read(batch, open_, means)
        if reading is not None:
            seen = [(each, _decided(batch, each, reading, ledger, means)) for each in open_]
            open_ = [each for each, line in seen if line is None]
            lines = [line for _, line in seen if line is not None]
            means.watcher.finished([each.outcome() for each in lines if is_last(each)])
        if not open_ or means.clock.now() >= until or means.is_stopped():
            break
        attempt += 1
        means.rest(means.pace.pause(attempt, means.jitter))
    return _worth_another(open_, ledger, means)


def _read(batch: Batch, doubts: Sequence[Doubt], means: Means) -> Reading | None:
    try:
        return means.kind(batch.kind).read(means.cluster, [change.identity for change, _ in doubts])
    except ClusterError:
        return None  # nobody answers now: look again until the time is over


def _decided(
    batch: Batch, doubt: Doubt, reading: Reading, ledger: Ledger, means: Means
) -> Line | None:
    """Give the line of an item whose fate the reading shows."""
    change, refused = doubt
    if means.kind(batch.kind).is_done(batch.step, change, reading):
        return ledger.close(change, means.clock.now(), note=_note(change, refused))
    how = handling(refused)
    is_there = change.identity in reading.objects
    waits = how is Handling.IN_DOUBT or (
        # The answer speaks of a topic that this broker has not heard of yet, or has still.
        how is Handling.COMPARE
        and (is_there is not _expects(refused) or _is_going(change, refused, reading))
    )
    if waits:
        return None
    return ledger.fail(change, means.clock.now(), Status.FAILED, _told(change, refused, reading))


def _expects(refused: Refusal) -> bool:
    """Whether the broker that refused knows the object."""
    return refused.error != "UNKNOWN_TOPIC_OR_PARTITION"


def _is_going(change: Change, refused: Refusal, reading: Reading) -> bool:
    """Whether what is to be replaced is in the way still: some clusters delete it later."""
    live = reading.objects.get(change.identity)
    is_old = live is not None and change.is_recreated and live.uid == change.uid
    return is_old and refused.error == "TOPIC_ALREADY_EXISTS"


def _note(change: Change, refused: Refusal) -> str:
    if handling(refused) is Handling.IN_DOUBT:
        return "found on the cluster"
    return "already absent" if change.action is Action.DELETE else "already as declared"


def _told(change: Change, refused: Refusal, reading: Reading) -> Refusal:
    """Say what the look at the cluster showed."""
    if handling(refused) is Handling.STALE and change.identity in reading.objects:
        return with_hint(refused, "It was created again since the plan; plan again.")
    if refused.error == "TOPIC_ALREADY_EXISTS":
        way = f"To adopt it: kplan import '{change.address}' '{change.identity}'"
        return with_hint(refused, f"It differs from what is declared. {way}")
    if refused.error == "UNKNOWN_TOPIC_OR_PARTITION":
        return with_hint(refused, "It vanished since the plan; plan again.")
    return refused


def _worth_another(doubts: Sequence[Doubt], ledger: Ledger, means: Means) -> tuple[Change, ...]:
    """Send once more what did not come about; after that it stays unknown."""
    again: list[Change] = []
    given_up: list[Outcome] = []
    for change, refused in doubts:
        if ledger.line(change).tries == 1 and not means.is_stopped():
            again.append(change)
        else:
            status = Status.UNKNOWN if handling(refused) is Handling.IN_DOUBT else Status.FAILED
            given_up.append(ledger.fail(change, means.clock.now(), status, refused).outcome())
    means.watcher.finished(given_up)
    return tuple(again)
