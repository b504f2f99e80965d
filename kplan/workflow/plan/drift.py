"""Use case: show changes made outside kplan."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
from kplan.report.documents.notation import count_text
from kplan.state.journal import Journal
from kplan.workflow.clusters import Clusters, desired_identities, read_clusters, unread_kinds
from kplan.workflow.open_project import (
    OpenProject,
    interruption_note,
    open_project,
    read_stored_state,
)
from kplan.workflow.plan.refresh import leave_out_sent, settle_journal
from kplan.workflow.ports import Ports, Project

TOPIC = "kafka_topic"
NO_STATE_HINT = (
    "If nothing was applied yet: kplan apply. If the state is lost: kplan state rebuild."
)


@dataclass(frozen=True, slots=True)
class DriftResult:
    """Owned objects that differ from their last applied form, and unread parts, of all clusters.

    `managed_counts` counts live objects per kind, `unmanaged` names them; `hidden_objects` names,
    by kind, owned or declared objects that a cluster would not show. `ignored_count` counts what
    patterns left out. With `has_unread_owned` owned objects are among what could not be read.
    `health` is that of the owned topics, None where it was not asked for.
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
    """Compare the state with the cluster; read-only by construction, so nothing is locked.

    What an apply changes that runs meanwhile is not compared, with a note. `with_health` looks at
    the partitions of the owned topics too: one more request a cluster.

    Raises:
        StateError: there is no state, so nothing could ever have drifted.

    """
    for _ in range(_MAX_COMPARISONS):
        found = _compare(project, ports, ignored, with_health=with_health)
        if found is not None:
            return found
        ports.progress.note("The state was written meanwhile. Comparing again.")
    raise StateError(
        "Other runs wrote the state each time that it was compared.",
        "Run kplan drift again when they have ended; kplan lock status shows them.",
    )


_MAX_COMPARISONS = 5


def _compare(
    project: Project, ports: Ports, ignored: Sequence[IgnorePattern], *, with_health: bool
) -> DriftResult | None:
    """Compare once; None where the state was written while the cluster was read."""
    with open_project(project, ports, locks=False) as opened:
        _check_has_state(project, opened)
        ports.progress.stage("Reading the cluster")
        wanted = desired_identities(opened.configuration, opened.state, opened.journal)
        snapshots = read_clusters(opened.clusters, wanted)
        journal = project.store.read_journal()
        if _has_moved_on(project, opened, journal):
            return None
        running = _running_apply(project, opened, journal, ports)
        found = settle_journal(opened, snapshots)
        health = tuple(_topic_health(found)) if with_health else None
    managed, others = _count_objects(found.state, snapshots)
    differences = find_all_drift(found.state, snapshots, KINDS, found.configuration.resources)
    drift = leave_out_sent(differences, found.journal)
    drift, others = running.leave_out(drift, others)
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


def _has_moved_on(project: Project, opened: OpenProject, journal: Journal | None) -> bool:
    """Whether the state was written since it was read, but by the apply of this very journal."""
    began, serial = opened.journal, opened.state.serial
    before = serial if began is None else began.header.from_serial
    if journal is not None:
        return journal.header.from_serial != before
    now = read_stored_state(project)
    return began is not None or (0 if now is None else now.serial) != before


@dataclass(frozen=True, slots=True)
class _RunningApply:
    """What an apply changes while the cluster is compared; how far it is, is not known."""

    changes: tuple[Change, ...] = ()

    def leave_out(
        self, drift: Iterable[Change], others: Mapping[str, tuple[Identity, ...]]
    ) -> tuple[tuple[Change, ...], Mapping[str, tuple[Identity, ...]]]:
        """Leave its objects out of what was found, and of those that kplan does not manage."""
        if not self.changes:
            return tuple(drift), others
        keys = {each.key for each in self.changes}
        places = {at for each in self.changes for at in (each.address, each.previous)}
        names = {(each.kind, each.identity) for each in self.changes}
        left = (each for each in drift if each.key not in keys and each.address not in places)
        unmanaged = {
            kind: tuple(each for each in found if (kind, each) not in names)
            for kind, found in others.items()
        }
        return tuple(left), unmanaged


def _running_apply(
    project: Project, opened: OpenProject, journal: Journal | None, ports: Ports
) -> _RunningApply:
    """Find out whether the apply of a journal runs or was interrupted, and tell which."""
    if journal is None:
        return _RunningApply()
    journal = journal.with_connections(opened.connection_names)
    if journal == opened.journal and not project.store.lock_status().is_held:
        ports.progress.note(interruption_note(journal, len(journal.unsettled_keys)))
        return _RunningApply()
    count = count_text(len(journal.changes), "object")
    ports.progress.note(f"An apply has not ended. The {count} that it changes: not compared.")
    return _RunningApply(journal.changes)


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
        NO_STATE_HINT,
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
) -> tuple[Counter[str], Mapping[str, tuple[Identity, ...]]]:
    """Count live objects per kind that are owned, and name those that are not."""
    managed: Counter[str] = Counter()
    others: dict[str, tuple[Identity, ...]] = {}
    for key, snapshot in snapshots.items():
        own = state.for_provider(key)
        managed.update(managed_counts(own, snapshot))
        for kind, names in unmanaged_objects(own, snapshot).items():
            others[kind] = (*others.get(kind, ()), *names)
    return managed, others
