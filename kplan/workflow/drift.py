"""Use case: tell what changed on the cluster behind kplan's back."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from kplan.config.load import Configuration
from kplan.kinds import KINDS
from kplan.model.connection import on_cluster
from kplan.model.plan import Change
from kplan.model.snapshot import Snapshot
from kplan.model.state import State
from kplan.plan.drift import drift_of_all, unmanaged
from kplan.workflow.clusters import read_clusters, unread_of_all, wanted_identities
from kplan.workflow.opened import opened
from kplan.workflow.project import Ports, Project


@dataclass(frozen=True, slots=True)
class Drifted:
    """Owned objects that are not as last applied, and what could not be told, of all clusters.

    `managed` and `unmanaged` count live objects per kind; `hidden` names owned or declared objects
    that the cluster would not show. `is_blind`: owned objects are among what could not be read.
    """

    changes: tuple[Change, ...]
    managed: Mapping[str, int]
    unmanaged: Mapping[str, int]
    unread: Mapping[str, str]
    hidden: tuple[str, ...]
    is_blind: bool
    configuration: Configuration
    state: State


def drift(project: Project, ports: Ports) -> Drifted:
    """Compare the state with the cluster; read-only by construction."""
    with opened(project, ports) as found:
        ports.progress.stage("Reading the cluster")
        wanted = wanted_identities(found.configuration, found.state)
        snapshots = read_clusters(found.clusters, wanted)
    live, foreign = _counted(found.state, snapshots)
    return Drifted(
        drift_of_all(found.state, snapshots, KINDS),
        managed={kind: live[kind] - foreign[kind] for kind in sorted(live)},
        unmanaged=dict(foreign),
        unread=unread_of_all(snapshots),
        hidden=tuple(
            sorted(
                on_cluster(name, key)
                for key, snapshot in snapshots.items()
                for reading in snapshot.readings.values()
                for name in reading.hidden
            )
        ),
        is_blind=any(
            each.address.kind in snapshots[each.provider].unread
            for each in found.state.owned.values()
        ),
        configuration=found.configuration,
        state=found.state,
    )


def _counted(state: State, snapshots: Mapping[str, Snapshot]) -> tuple[Counter[str], Counter[str]]:
    """Count live objects per kind, and those that are not owned."""
    live: Counter[str] = Counter()
    foreign: Counter[str] = Counter()
    for key, snapshot in snapshots.items():
        live.update({kind: len(each.objects) for kind, each in snapshot.readings.items()})
        foreign.update(unmanaged(state.on(key), snapshot))
    return live, foreign
