"""Use case: tell what changed on the cluster behind kplan's back."""

from collections.abc import Mapping
from dataclasses import dataclass

from kplan.config.load import Configuration
from kplan.kinds import KINDS
from kplan.model.plan import Change
from kplan.model.state import State
from kplan.plan.drift import drift as drifted
from kplan.plan.drift import unmanaged
from kplan.workflow.opened import opened
from kplan.workflow.project import Ports, Project
from kplan.workflow.settled import wanted_identities
from kplan.workflow.snapshot import read_snapshot


@dataclass(frozen=True, slots=True)
class Drifted:
    """Owned objects that are not as last applied, and what could not be told.

    `managed` and `unmanaged` count live objects per kind; `hidden` names owned or declared objects
    that the cluster would not show.
    """

    changes: tuple[Change, ...]
    managed: Mapping[str, int]
    unmanaged: Mapping[str, int]
    unread: Mapping[str, str]
    hidden: tuple[str, ...]
    configuration: Configuration
    state: State
    cluster: Mapping[str, str]


def drift(project: Project, ports: Ports) -> Drifted:
    """Compare the state with the cluster; read-only by construction."""
    with opened(project, ports) as found:
        ports.progress.stage("Reading the cluster")
        wanted = wanted_identities(found.configuration, found.state)
        snapshot = read_snapshot(found.cluster, found.description, KINDS, wanted)
    foreign = unmanaged(found.state, snapshot)
    return Drifted(
        drifted(found.state, snapshot, KINDS),
        managed={
            kind: len(reading.objects) - foreign[kind]
            for kind, reading in sorted(snapshot.readings.items())
        },
        unmanaged=foreign,
        unread=snapshot.unread,
        hidden=tuple(
            sorted(name for reading in snapshot.readings.values() for name in reading.hidden)
        ),
        configuration=found.configuration,
        state=found.state,
        cluster={
            "id": found.description.cluster_id,
            "principal": found.description.principal,
            "version": found.description.version,
        },
    )
