"""The state after an apply."""

from collections.abc import Iterable
from dataclasses import replace

from kplan.model.outcome import Outcome, OutcomeStatus
from kplan.model.plan import Plan
from kplan.model.state import OutputValue, State, owned_after


def state_after(
    state: State, plan: Plan, outcomes: Iterable[Outcome], outputs: dict[str, OutputValue]
) -> State:
    """Fold outcomes into the state: only what was applied changes ownership.

    Objects whose outcome is unknown, failed or skipped keep the entry they had; the next plan
    compares them with the cluster.
    """
    done = {
        outcome.change.key: outcome
        for outcome in outcomes
        if outcome.status is OutcomeStatus.APPLIED
    }
    settled = [
        (change, done.get(change.key))
        for change in plan.changes
        if not change.touches_cluster or change.key in done
    ]
    return replace(
        state,
        serial=state.serial + 1,
        cluster_id=plan.based_on.cluster_id or state.cluster_id,
        clusters={**state.clusters, **plan.based_on.clusters},
        owned=owned_after(state.owned, settled),
        outputs=dict(sorted(outputs.items())),
    )
