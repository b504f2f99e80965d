"""Carrying out a plan: its batches in their order, one outcome per change."""

from dataclasses import replace
from functools import partial
from math import inf

from kplan.apply.flight import in_turn, side_by_side
from kplan.apply.ledger import Ledger
from kplan.apply.pace import Means, never
from kplan.apply.send import send
from kplan.apply.visible import wait_until_visible
from kplan.apply.waves import Lane, waves
from kplan.model.outcome import Outcome, Status
from kplan.model.plan import Plan


def carry_out(plan: Plan, means: Means) -> tuple[Outcome, ...]:
    """Send every batch of the plan and tell what became of each change, in order of the batches.

    Batches of the same step go up to `in_flight` at a time; a step begins when the one before it
    is settled. One refused item never stops its neighbours; a stop or the deadline leaves the rest
    SKIPPED. Nothing is called applied without an answer or a look at the cluster (design law 2),
    and an applied change is verified when every broker serves it (design law 10).
    """
    ledger = Ledger.of(plan)
    deadline = means.clock.now() + means.pace.total_s
    with in_turn(means.watcher) as watcher:
        means = replace(means, watcher=watcher)
        for wave in waves(plan.batches):
            works = [partial(_carry, lane, ledger, means, deadline) for lane in wave]
            side_by_side(works, means.pace.in_flight)
        if means.pace.waits_for_visibility and not means.is_stopped():
            wait_until_visible(ledger, means, deadline)
        outcomes = ledger.outcomes()
        watcher.finished([each for each in outcomes if each.status is Status.SKIPPED])
    return outcomes


def _carry(lane: Lane, ledger: Ledger, means: Means, deadline: float) -> None:
    """Send the batches of a lane, each with what the one before it carried out.

    A lane that was begun is finished, whatever asks to stop: an ACL that was deleted for another
    one is not left missing.
    """
    todo = lane[0].changes
    for batch in lane:
        before = [ledger.line(each).steps_left for each in todo]
        send(replace(batch, changes=todo), ledger, means, deadline)
        todo = tuple(
            each
            for each, left in zip(todo, before, strict=True)
            if ledger.line(each).steps_left < left
        )
        means, deadline = replace(means, is_stopped=never), inf
