"""Whether a plan made earlier still fits the cluster."""

from collections.abc import Sequence

from kplan.kinds.base import ResourceKind
from kplan.model.plan import Action, Change, Plan
from kplan.model.snapshot import Snapshot


def moved_since(plan: Plan, snapshot: Snapshot, kinds: Sequence[ResourceKind]) -> tuple[str, ...]:
    """List the addresses of planned changes whose object is not what the plan saw any more."""
    by_name = {kind.name: kind for kind in kinds}
    return tuple(
        str(change.address)
        for change in plan.changes
        if change.touches_cluster and _moved(by_name[change.kind], change, snapshot)
    )


def _moved(kind: ResourceKind, change: Change, snapshot: Snapshot) -> bool:
    if kind.name in snapshot.unread:
        return True
    seen = change.identity if change.before is None else kind.identify(change.before)
    live = snapshot.live(kind.name, seen)
    if change.action is Action.CREATE:
        return live is not None
    if live is None or live.uid != change.uid:
        return True
    before, _ = kind.aligned(live.value, change.after or change.before)
    return bool(before != change.before)
