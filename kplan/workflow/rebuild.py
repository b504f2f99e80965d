"""Use case: make a state anew by matching what is declared against what is live."""

import uuid
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, replace

from kplan.config.load import Configuration
from kplan.kinds import KINDS
from kplan.model.address import Address
from kplan.model.errors import StateCorrupt
from kplan.model.snapshot import Snapshot
from kplan.model.state import Owned, State
from kplan.plan.drift import unmanaged
from kplan.state.file import check_same_cluster, new_state
from kplan.workflow.adoption import adopted, together
from kplan.workflow.opened import check_no_journal, loaded, lock, stored
from kplan.workflow.project import Ports, Project
from kplan.workflow.settled import wanted_identities
from kplan.workflow.snapshot import read_snapshot


@dataclass(frozen=True, slots=True)
class Proposal:
    """What a rebuilt state would own.

    `kept` counts what a whole state owns already; `absent` are declared and not on the cluster, or
    not to be seen there; `unmanaged` counts the live objects per kind that nobody declares.
    `fault` says why the state that is there cannot be read, "" where it can or there is none.
    """

    state: State
    adopted: tuple[Owned, ...]
    kept: int
    absent: tuple[Address, ...]
    unmanaged: Mapping[str, int]
    unread: Mapping[str, str]
    fault: str


def rebuild(project: Project, ports: Ports, approve: Callable[[Proposal], bool]) -> bool:
    """Propose a state for what is declared and live, and write it if that is approved.

    A whole state is added to; a lost or damaged one is replaced. What it owned and nobody declares
    any more cannot be found again this way. Nothing on the cluster is touched.
    """
    configuration = loaded(project)
    with lock(project, ports):
        before, fault = _before(project)
        state = before or new_state(str(uuid.uuid4()))
        with closing(ports.connect(configuration)) as cluster:
            description = cluster.describe()
            check_same_cluster(state, description.cluster_id)
            ports.progress.stage("Reading the cluster")
            wanted = wanted_identities(configuration, state)
            snapshot = read_snapshot(cluster, description, KINDS, wanted)
        proposal = replace(_proposal(configuration, state, snapshot), fault=fault)
        if not approve(proposal):
            return False
        project.store.write(replace(proposal.state, serial=project.store.newest_serial() + 1))
        if before is None:
            project.store.discard_journal()  # of the state that is lost
        return True


def _before(project: Project) -> tuple[State | None, str]:
    """Give the state to add to, if there is one, or why it cannot be read."""
    try:
        state = stored(project)
    except StateCorrupt as damaged:
        return None, damaged.detail
    if state is not None:
        check_no_journal(project)
    return state, ""


def _proposal(configuration: Configuration, state: State, snapshot: Snapshot) -> Proposal:
    held = {(each.address.kind, each.identity) for each in state.owned.values()}
    found: list[Owned] = []
    absent: list[Address] = []
    for resource in configuration.resources:
        kind = resource.address.kind
        reading = snapshot.readings.get(kind)
        live = None if reading is None else reading.objects.get(resource.identity)
        if live is None:
            absent.append(resource.address)
        elif (kind, resource.identity) not in held and resource.address not in state.owned:
            found.append(adopted(resource, live))
    grown = replace(state, cluster_id=snapshot.cluster_id, owned=together(state.owned, found))
    return Proposal(
        grown,
        tuple(found),
        len(state.owned),
        tuple(absent),
        unmanaged(grown, snapshot),
        snapshot.unread,
        fault="",
    )
