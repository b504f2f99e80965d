"""Applied means visible: waiting until every broker serves what was applied (design law 10)."""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import groupby

from kplan.apply.asking import answers
from kplan.apply.ledger import Ledger, Line
from kplan.apply.pace import Means
from kplan.model.errors import ClusterError
from kplan.model.outcome import Status
from kplan.model.resource import Identity


def wait_until_visible(ledger: Ledger, means: Means, deadline: float) -> None:
    """Ask every broker for every applied change until all serve it or `visible_s` is over.

    Marks the lines verified and notes the topic ids. A broker that cannot be asked leaves what it
    was asked for unverified; the wait goes on, within its bound, which holds for a request that
    hangs too.
    """
    applied = [
        line
        for line in ledger.lines.values()
        if line.status is Status.APPLIED and line.steps_left == 0
    ]
    if not applied:
        return
    means.watcher.settling(len(applied), len(applied))
    until = min(deadline, means.clock.now() + means.pace.visible_s)
    begun = means.clock.now()
    brokers = answers({0: lambda: _brokers(means)}, means, until).get(0, _NOBODY)
    waiting = {broker: list(applied) for broker in brokers}
    while True:
        asked = {
            broker: partial(_not_served, broker, lines, means) for broker, lines in waiting.items()
        }
        waiting |= answers(asked, means, until)
        waiting = {broker: left for broker, left in waiting.items() if left}
        late = {id(line) for lines in waiting.values() for line in lines}
        means.watcher.settling(len(late), len(applied))
        if not waiting or means.clock.now() >= until or means.is_stopped():
            break
        means.rest(_pause_s(means.clock.now() - begun))
    for line in applied:
        line.is_verified = id(line) not in late


def _pause_s(waited_s: float) -> float:
    """Look again after a tenth of the time that was waited: seldom, and hardly ever too late."""
    return min(max(waited_s / 10, 0.05), 2.0)


_NOBODY = (-1,)
"""There is nobody to ask now: what was applied stays unverified."""


def _brokers(means: Means) -> tuple[int, ...]:
    try:
        return means.cluster.describe().witnesses or _NOBODY
    except ClusterError:
        return _NOBODY


def _not_served(broker: int, lines: Sequence[Line], means: Means) -> list[Line]:
    left: list[Line] = []
    for kind, members in _by_kind(lines):
        served = _served(kind, broker, members, means)
        for line in members:
            if line.change.identity in served:
                line.uid = served[line.change.identity] or line.uid
            else:
                left.append(line)
    return left


def _served(kind: str, broker: int, lines: Sequence[Line], means: Means) -> Mapping[Identity, str]:
    if broker < 0:
        return {}
    try:
        return means.kind(kind).served(means.cluster, broker, [line.change for line in lines])
    except ClusterError:
        return {}


def _by_kind(lines: Iterable[Line]) -> list[tuple[str, list[Line]]]:
    ordered = sorted(lines, key=lambda line: line.change.kind)
    return [
        (kind, list(members))
        for kind, members in groupby(ordered, key=lambda line: line.change.kind)
    ]
