"""Use case: show changes made outside kplan."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from kplan.cluster.request import TopicDescription
from kplan.config.load import Configuration
from kplan.kinds import KINDS
from kplan.model.dataclass import dataclass
from kplan.model.errors import StateError
from kplan.model.plan import Change
from kplan.model.resource import Identity, cluster_label, connection_name
from kplan.model.state import Snapshot, State
from kplan.model.table import TopicHealth
from kplan.plan.drift import (
    IgnorePattern,
    filter_drift,
    find_all_drift,
    managed_counts,
    unmanaged_objects,
)
from kplan.report.documents.drift import DriftCoverage
from kplan.workflow.clusters import Clusters, desired_identities, read_clusters, unread_kinds
from kplan.workflow.open_project import OpenProject, open_project
from kplan.workflow.plan.refresh import leave_out_sent, settle_state
from kplan.workflow.ports import Ports, Project

TOPIC = "kafka_topic"


@dataclass(frozen=True, slots=True)
class DriftResult:
    """Owned objects that differ from their last applied form, and unread parts, of all clusters.

    `managed_counts` counts live objects per kind, `unmanaged` names them; `hidden_objects` names,
    by kind, owned or declared objects that a cluster would not show. `ignored` counts what patterns
    left out. With `has_unread_owned` owned objects are among what could not be read. `health` is
    that of the owned topics, None where it was not asked for.
    """

    changes: tuple[Change, ...]
    managed_counts: Mapping[str, int]
    unmanaged: Mapping[str, tuple[Identity, ...]]
    unread: Mapping[str, str]
    hidden_objects: Mapping[str, tuple[str, ...]]
    has_unread_owned: bool
    configuration: Configuration
    state: State
    cluster: Mapping[str, str]
    ignored_count: int = 0
    health: tuple[TopicHealth, ...] | None = None

    @property
    def hidden(self) -> tuple[str, ...]:
        """Names of all hidden objects."""
        return tuple(sorted(name for names in self.hidden_objects.values() for name in names))

    @property
    def is_certain(self) -> bool:
        """Whether all that is owned could be compared."""
        return not (self.has_unread_owned or self.hidden)

    @property
    def unhealthy_topics(self) -> tuple[TopicHealth, ...]:
        """Owned topics with partitions that lack a leader or replicas, as far as was asked."""
        return tuple(each for each in self.health or () if not each.is_healthy)


def detect_drift(
    project: Project,
    ports: Ports,
    ignored: Sequence[IgnorePattern] = (),
    *,
    with_health: bool = False,
) -> DriftResult:
    """Compare the state with the cluster; read-only by construction.

    `with_health` looks at the partitions of the owned topics too: one more request a cluster.

    Raises:
        StateError: there is no state, so nothing could ever have drifted.

    """
    with open_project(project, ports) as opened:
        _check_has_state(project, opened)
        ports.progress.stage("Reading the cluster")
        wanted = desired_identities(opened.configuration, opened.state, opened.journal)
        snapshots = read_clusters(opened.clusters, wanted)
        found = replace(opened, state=settle_state(opened, snapshots))
        health = tuple(_topic_health(found)) if with_health else None
    managed, others = _count_objects(found.state, snapshots)
    drift = leave_out_sent(find_all_drift(found.state, snapshots, KINDS), found.journal)
    left = filter_drift(drift, others, ignored)
    return DriftResult(
        tuple(_add_locations(left.changes, found.configuration)),
        managed_counts=dict(sorted(managed.items())),
        unmanaged=left.unmanaged,
        unread=unread_kinds(snapshots),
        hidden_objects=_hidden_objects(snapshots),
        has_unread_owned=any(
            each.address.kind in snapshots[each.provider].unread
            for each in found.state.owned.values()
        ),
        configuration=found.configuration,
        state=found.state,
        cluster=_cluster_facts(found.clusters),
        ignored_count=left.ignored_count,
        health=health,
    )


def _hidden_objects(snapshots: Mapping[str, Snapshot]) -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {}
    for key, snapshot in snapshots.items():
        for kind, reading in snapshot.readings.items():
            if reading.hidden:
                found.setdefault(kind, []).extend(
                    cluster_label(each, key) for each in reading.hidden
                )
    return {kind: tuple(sorted(found[kind])) for kind in sorted(found)}


def drift_coverage(found: DriftResult, *, lists: bool) -> DriftCoverage:
    """Return which part of the clusters was compared; with `lists` unmanaged objects by name."""
    applied = found.state.applied_plans
    return DriftCoverage(
        found.managed_counts,
        found.unmanaged,
        found.unread,
        found.hidden_objects,
        found.cluster["id"],
        found.ignored_count,
        applied[-1] if applied else None,
        found.state.serial,
        lists,
        found.health,
        found.cluster.get("name", ""),
    )


def _cluster_facts(clusters: Clusters) -> Mapping[str, str]:
    """Name all clusters together by their ids, and as people do where one has a name or alias."""
    names = [
        each.name or (connection_name(key) if key else "")
        for key, each in clusters.connections.items()
    ]
    known = {"name": ", ".join(names)} if all(names) else {}
    return {"id": ", ".join(clusters.ids.values()), **known}


def _check_has_state(project: Project, found: OpenProject) -> None:
    if found.state.serial or found.state.owned or found.journal is not None:
        return
    raise StateError(
        f"There is no state in {project.store.location}: kplan owns nothing here, and drift is "
        "found in what kplan owns.",
        "If nothing was applied yet: kplan apply. If the state is lost: kplan state rebuild.",
    )


def _topic_health(project: OpenProject) -> Iterator[TopicHealth]:
    """Return the health of every owned topic that is live, cluster by cluster."""
    for key, connection in project.clusters.connections.items():
        owned = project.state.for_provider(key).owned.values()
        names = sorted(str(each.identity) for each in owned if each.address.kind == TOPIC)
        for name, found in (connection.cluster.topics(names) if names else {}).items():
            if isinstance(found, TopicDescription):
                down = {broker for brokers in found.offline for broker in brokers}
                yield TopicHealth(
                    cluster_label(name, key),
                    len(found.assignment),
                    found.leaderless,
                    found.under_replicated,
                    tuple(sorted(down)),
                )


def _add_locations(changes: Sequence[Change], configuration: Configuration) -> Iterator[Change]:
    """Say where each is declared, if it still is."""
    places = {
        each.address: each.declared_at
        for one in configuration.resources
        for each in one.declarations
    }
    for each in changes:
        yield replace(each, declared_at=places.get(each.address))


def _count_objects(
    state: State, snapshots: Mapping[str, Snapshot]
) -> tuple[Counter[str], dict[str, tuple[Identity, ...]]]:
    """Count live objects per kind that are owned, and name those that are not."""
    managed: Counter[str] = Counter()
    others: dict[str, tuple[Identity, ...]] = {}
    for key, snapshot in snapshots.items():
        own = state.for_provider(key)
        managed.update(managed_counts(own, snapshot))
        for kind, names in unmanaged_objects(own, snapshot).items():
            others[kind] = (*others.get(kind, ()), *names)
    return managed, others
