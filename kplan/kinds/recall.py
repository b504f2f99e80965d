"""What only kplan knows of objects, laid over what the cluster tells of them."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from kplan.kinds.base import ResourceKind
from kplan.model.resource import Identity
from kplan.model.snapshot import Live, Snapshot
from kplan.model.state import State


def recalled(kinds: Sequence[ResourceKind], snapshot: Snapshot, state: State) -> Snapshot:
    """Complete every owned object of the snapshot from what was last applied to it.

    An id that is not told, as controllers tell none, is the one that the state knows.
    """
    by_name = {kind.name: kind for kind in kinds}
    completed: dict[str, dict[Identity, Live]] = defaultdict(dict)
    for owned in state.owned.values():
        name = owned.address.kind
        reading = snapshot.readings.get(name)
        live = reading.objects.get(owned.identity) if reading else None
        if live is None:
            continue
        value = by_name[name].recalled(live.value, owned.value)
        uid = live.uid or owned.uid
        if value is not live.value or uid != live.uid:
            completed[name][owned.identity] = replace(live, value=value, uid=uid)
    if not completed:
        return snapshot
    readings = {
        name: replace(reading, objects={**reading.objects, **completed[name]})
        if name in completed
        else reading
        for name, reading in snapshot.readings.items()
    }
    return replace(snapshot, readings=readings)
