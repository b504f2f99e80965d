"""Use case: rebuild a state by matching declared with live objects."""

import uuid
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from kplan.config.load import Configuration
from kplan.model.address import Address
from kplan.model.dataclass import dataclass
from kplan.model.diagnostic import Diagnostic
from kplan.model.errors import ConfigError, StateCorruptError
from kplan.model.state import OwnedObject, Snapshot, State
from kplan.plan.drift import unmanaged_counts
from kplan.state.file import new_state
from kplan.workflow.adopt.import_ import adopt_object, merge_owned
from kplan.workflow.clusters import (
    Clusters,
    connect_clusters,
    desired_identities,
    read_clusters,
    unread_kinds,
)
from kplan.workflow.open_project import (
    check_no_journal,
    load_with_data,
    lock_state,
    read_stored_state,
)
from kplan.workflow.ports import Ports, Project
from kplan.workflow.workspaces import (
    OtherOwners,
    note_unread,
    owned_elsewhere,
    read_other_owners,
)


@dataclass(frozen=True, slots=True)
class RebuildProposal:
    """What a rebuilt state would own.

    `kept_count` counts what a whole state owns already; `missing` are declared and not on the
    cluster, `hidden` not to be seen there; `unmanaged` counts the live objects per kind that no one
    declares. `read_error` says why the state that exists cannot be read, "" where it can or there
    is none.
    """

    state: State
    adopted: tuple[OwnedObject, ...]
    kept_count: int
    missing: tuple[Address, ...]
    unmanaged: Mapping[str, int]
    unread: Mapping[str, str]
    hidden: tuple[Address, ...]
    read_error: str


def rebuild_state(
    project: Project, ports: Ports, approve: Callable[[RebuildProposal], bool]
) -> bool:
    """Propose a state for declared live objects, and write it after approval.

    A whole state is added to; a lost or damaged one is replaced. What it owned and no one declares
    any more cannot be found again this way. Nothing on the cluster is touched.

    Raises:
        ConfigError: the states of other workspaces own some of these objects.

    """
    configuration = load_with_data(project, ports)
    with lock_state(project, ports):
        before, fault = _read_prior_state(project)
        state = before or new_state(str(uuid.uuid4()))
        with connect_clusters(configuration, state, ports) as (clusters, state):
            ports.progress.stage("Reading the cluster")
            snapshots = read_clusters(clusters, desired_identities(configuration, state))
        state = clusters.record_ids(state)
        proposal = replace(_build_proposal(configuration, state, snapshots), read_error=fault)
        opened, adopted = (configuration, clusters), proposal.adopted
        _check_not_owned_elsewhere(project, opened, adopted, ports)
        if not approve(proposal):
            return False
        made = replace(proposal.state, serial=project.store.newest_serial() + 1)
        project.store.write(made)
        if before is None:
            project.store.discard_journal()  # of the state that is lost
        # By now, so that of two that end at once at least one sees the other.
        others = read_other_owners(project) if adopted else OtherOwners()
        if problems := _owned_elsewhere(others, opened, adopted):
            taken = {each.address for each in problems}
            owned = {at: each for at, each in made.owned.items() if at not in taken}
            project.store.write(replace(made, serial=made.serial + 1, owned=owned))
            raise ConfigError(problems, configuration.sources)
        return True


def _check_not_owned_elsewhere(
    project: Project,
    opened: tuple[Configuration, Clusters],
    adopted: Sequence[OwnedObject],
    ports: Ports,
) -> None:
    """Refuse to take what the states of other workspaces own, and name all of it.

    Raises:
        ConfigError: there is some.

    """
    others = read_other_owners(project) if adopted else OtherOwners()
    note_unread(others, ports)
    if problems := _owned_elsewhere(others, opened, adopted):
        raise ConfigError(problems, opened[0].sources)


def _owned_elsewhere(
    others: OtherOwners,
    opened: tuple[Configuration, Clusters],
    adopted: Sequence[OwnedObject],
) -> list[Diagnostic]:
    configuration, clusters = opened
    places = {each.address: each.declared_at for each in configuration.resources}
    return [
        replace(
            owned_elsewhere(each.address, each.identity, owner), subject=places.get(each.address)
        )
        for each in adopted
        if (owner := others.find(each.key, clusters.ids[each.provider], each.uid)) is not None
    ]


def _read_prior_state(project: Project) -> tuple[State | None, str]:
    """Return the state to add to, if there is one, or why it cannot be read."""
    try:
        state = read_stored_state(project)
    except StateCorruptError as damaged:
        return None, damaged.detail
    if state is not None:
        check_no_journal(project)
    return state, ""


def _build_proposal(
    configuration: Configuration, state: State, snapshots: Mapping[str, Snapshot]
) -> RebuildProposal:
    held = {each.key for each in state.owned.values()}
    found: list[OwnedObject] = []
    absent: list[Address] = []
    hidden: list[Address] = []
    for resource in configuration.resources:
        kind = resource.address.kind
        reading = snapshots[resource.provider].readings.get(kind)
        live = None if reading is None else reading.objects.get(resource.identity)
        if reading is not None and resource.identity in reading.hidden:
            hidden.append(resource.address)
        elif live is None:
            absent.append(resource.address)
        elif resource.key not in held and resource.address not in state.owned:
            found.append(adopt_object(resource, live))
    grown = replace(state, owned=merge_owned(state.owned, found))
    foreign: Counter[str] = Counter()
    for key, snapshot in snapshots.items():
        foreign.update(unmanaged_counts(grown.for_provider(key), snapshot))
    return RebuildProposal(
        grown,
        tuple(found),
        len(state.owned),
        tuple(absent),
        dict(foreign),
        unread_kinds(snapshots),
        tuple(hidden),
        read_error="",
    )
