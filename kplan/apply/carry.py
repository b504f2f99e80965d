"""Carrying out a plan: its batches in their order, one outcome per change."""

from kplan.apply.ledger import Ledger
from kplan.apply.pace import Means
from kplan.apply.send import send
from kplan.apply.visible import wait_until_visible
from kplan.model.outcome import Outcome, Status
from kplan.model.plan import Plan


def carry_out(plan: Plan, means: Means) -> tuple[Outcome, ...]:
    """Send every batch of the plan and tell what became of each change, in order of the batches.

    One refused item never stops its neighbours; a stop or the deadline leaves the rest SKIPPED.
    Nothing is called applied without an answer or a look at the cluster (design law 2), and an
    applied change is verified when every broker serves it (design law 10).
    """
    ledger = Ledger.of(plan)
    deadline = means.clock.now() + means.pace.total_s
    for batch in plan.batches:
        if means.is_stopped() or means.clock.now() >= deadline:
            break
        send(batch, ledger, means, deadline)
    if means.pace.waits_for_visibility and not means.is_stopped():
        wait_until_visible(ledger, means, deadline)
    outcomes = ledger.outcomes()
    for outcome in outcomes:
        if outcome.status is Status.SKIPPED:
            means.watcher.finished(outcome)
    return outcomes
