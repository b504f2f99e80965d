"""Reading the cluster once it serves what was applied before."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping

from kplan.apply.pace import Pace
from kplan.config.load import Configuration
from kplan.kinds import KINDS
from kplan.model.resource import Identity
from kplan.model.snapshot import Snapshot
from kplan.model.state import Owned, State
from kplan.workflow.opened import Opened
from kplan.workflow.project import Ports
from kplan.workflow.snapshot import read_snapshot

_PAUSE_S = 0.5


def settled_snapshot(found: Opened, pace: Pace, ports: Ports) -> Snapshot:
    """Read the cluster, again and again while it does not show what the state calls pending.

    An acknowledged change may take seconds to be seen (trap 2); a plan made meanwhile would
    propose it once more. After `settle_s` what is there is what counts.
    """
    wanted = wanted_identities(found.configuration, found.state)
    until = ports.clock.now() + pace.settle_s
    while True:
        snapshot = read_snapshot(found.cluster, found.description, KINDS, wanted)
        late = list(_late(found.state, snapshot))
        if not late or ports.clock.now() >= until or ports.is_stopped():
            return snapshot
        ports.progress.note(f"Waiting for {len(late)} applied changes to become visible")
        ports.clock.sleep(_PAUSE_S)


def wanted_identities(
    configuration: Configuration, state: State
) -> Mapping[str, Collection[Identity]]:
    """List what is declared or owned, by kind: these are asked for by name."""
    wanted: dict[str, set[Identity]] = defaultdict(set)
    for resource in configuration.resources:
        wanted[resource.address.kind].add(resource.identity)
    for owned in state.owned.values():
        wanted[owned.address.kind].add(owned.identity)
    return wanted


def _late(state: State, snapshot: Snapshot) -> Iterator[Owned]:
    kinds = {kind.name: kind for kind in KINDS}
    for owned in state.owned.values():
        name = owned.address.kind
        if not owned.is_pending or name not in snapshot.readings:
            continue
        live = snapshot.live(name, owned.identity)
        if live is None:
            yield owned
        else:
            seen, applied = kinds[name].aligned(live.value, owned.value)
            if seen != applied:
                yield owned
