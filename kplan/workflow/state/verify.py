"""Use case: hold every object of the state against the cluster."""

from collections.abc import Iterator, Mapping

from kplan.kinds import KINDS
from kplan.model.address import Address
from kplan.model.dataclass import dataclass
from kplan.model.plan import Action, Change, Reason
from kplan.model.snapshot import Snapshot
from kplan.model.state import ObjectStatus, OwnedObject, State
from kplan.plan.drift import find_drift
from kplan.workflow.clusters import desired_identities, read_clusters
from kplan.workflow.open_project import open_project
from kplan.workflow.ports import Ports, Project


@dataclass(frozen=True, slots=True)
class VerificationResult:
    """The state, and how each of its objects stands. `has_journal`: an apply was interrupted."""

    state: State
    statuses: Mapping[Address, ObjectStatus]
    has_journal: bool


def verify_state(project: Project, ports: Ports) -> VerificationResult:
    """Read the state file, which proves it whole, and look for everything that it owns.

    Raises:
        StateCorrupt: the file is damaged.
        WrongCluster: it is about another cluster than the one that answers.

    """
    with open_project(project, ports) as found:
        ports.progress.stage("Reading the cluster")
        wanted = desired_identities(found.configuration, found.state)
        snapshots = read_clusters(found.clusters, wanted)
    standings = {
        address: standing
        for provider, snapshot in snapshots.items()
        for address, standing in _object_statuses(found.state.for_provider(provider), snapshot)
    }
    ordered = {address: standings[address] for address in found.state.owned}
    return VerificationResult(found.state, ordered, found.journal is not None)


def _object_statuses(state: State, snapshot: Snapshot) -> Iterator[tuple[Address, ObjectStatus]]:
    drifted = {each.address: each for each in find_drift(state, snapshot, KINDS)}
    for address, owned in state.owned.items():
        yield address, _object_status(owned, snapshot, drifted.get(address))


def _object_status(owned: OwnedObject, snapshot: Snapshot, change: Change | None) -> ObjectStatus:
    reading = snapshot.readings.get(owned.address.kind)
    if reading is None:
        return ObjectStatus.UNREAD
    if owned.identity in reading.hidden:
        return ObjectStatus.HIDDEN
    if change is None:
        return ObjectStatus.AS_APPLIED
    if change.action is Action.DELETE:
        return ObjectStatus.GONE
    return (
        ObjectStatus.RECREATED
        if change.reason is Reason.RECREATED_OUTSIDE
        else ObjectStatus.CHANGED
    )
