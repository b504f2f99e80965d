"""Use case: reassign partitions: plan, approval, moves and their outcomes."""

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import field, replace
from pathlib import Path

from kplan.apply.apply import apply_plan
from kplan.apply.limits import ApplyContext, Limits, Watcher
from kplan.cluster.port import Cluster
from kplan.cluster.topology import Replicas
from kplan.cluster.usage import TopicPartition
from kplan.config.load import Configuration
from kplan.kinds import KINDS
from kplan.kinds.reassignment import ReassignmentLimits
from kplan.kinds.topic import TopicKind
from kplan.kinds.topic_rules import THROTTLED_REPLICAS, Topic
from kplan.model.address import Address
from kplan.model.dataclass import dataclass
from kplan.model.errors import UnreadableError, UsageError
from kplan.model.outcome import Outcome
from kplan.model.plan import Action, Change, Plan, PlanBasis
from kplan.model.resource import Identity
from kplan.model.state import LiveObject, Snapshot
from kplan.model.table import Figures
from kplan.plan.build import build_batches
from kplan.plan.diff import attribute_changes
from kplan.plan.request import MAX_RECORDS
from kplan.policy.risk import add_risks
from kplan.workflow.clusters import Connection
from kplan.workflow.moves.assignment_file import read_assignment
from kplan.workflow.moves.brokers import Reassignments, ReassignmentSource
from kplan.workflow.moves.progress import describe_moves, moved_partitions
from kplan.workflow.moves.target_check import check_move_targets
from kplan.workflow.moves.throttle import kinds_with_limits, remove_leftovers
from kplan.workflow.moves.transfer import add_moves
from kplan.workflow.open_project import OpenProject, open_project
from kplan.workflow.policy.policy import PolicyInput, apply_policies, report_refused
from kplan.workflow.ports import PolicyOptions, Ports, Project
from kplan.workflow.snapshot import read_snapshot

_TOPICS = TopicKind.name
TopicAssignments = Mapping[str, Mapping[int, Replicas]]


@dataclass(frozen=True, slots=True)
class ReassignRequest:
    """The request; `provider` is the key of the connection, `is_preview` a dry run.

    `source` says where replicas are to be, once the cluster is known.
    """

    source: ReassignmentSource
    provider: str = ""
    is_preview: bool = False
    policies: PolicyOptions = field(default_factory=PolicyOptions)
    limits: ReassignmentLimits = field(default_factory=ReassignmentLimits)


@dataclass(frozen=True, slots=True)
class ReassignResult:
    """The plan, and the outcome of each topic; empty without approval.

    `moved` counts the partitions that have moved, and those that were to move; 0 if unknown.
    `figures` show the brokers before and after, where the request computes where replicas go.
    """

    plan: Plan
    configuration: Configuration
    outcomes: tuple[Outcome, ...] = ()
    is_approved: bool = False
    figures: Figures | None = None
    moved: tuple[int, int] = (0, 0)


def assignment_source(path: Path) -> ReassignmentSource:
    """Return the assignment of a file, whatever the cluster is like; raises UsageError."""
    targets = read_assignment(path)
    return lambda *_: Reassignments(targets)


def reassign_replicas(
    project: Project,
    wanted: ReassignRequest,
    ports: Ports,
    approve: Callable[[ReassignResult], bool],
    watcher: Watcher,
) -> ReassignResult:
    """Plan, ask for approval, and move; ongoing moves are waited for.

    Raises:
        UsageError: the targets name what does not exist, or cannot be computed.
        UnreadableError: the topics could not be read.

    """
    with open_project(project, ports, frozenset({wanted.provider})) as found:
        connection = found.clusters.connection(wanted.provider)
        ports.progress.stage("Reading the cluster")
        source = wanted.source(connection, found.configuration, wanted.provider)
        plan, configuration = _plan_with_policies(found, connection, source.targets, wanted, ports)
        if not (plan.changes or wanted.is_preview):
            topics = {name for name, _ in source.targets}
            remove_leftovers(connection, topics | source.throttled, ports)
        proposal = ReassignResult(plan, configuration, figures=source.figures)
        if plan.has_errors or not plan.batches or not approve(proposal):
            return proposal
        outcomes = _move_replicas(connection.cluster, plan, wanted.limits, ports, watcher)
        remove_leftovers(connection, source.throttled, ports)  # of a run that was killed
        counts = moved_partitions(connection.cluster, [each.change for each in outcomes]).values()
        sums = sum(done for done, _ in counts), sum(total for _, total in counts)
        return replace(proposal, outcomes=outcomes, is_approved=True, moved=sums)


def _plan_with_policies(
    project: OpenProject,
    connection: Connection,
    targets: Mapping[TopicPartition, Replicas],
    wanted: ReassignRequest,
    ports: Ports,
) -> tuple[Plan, Configuration]:
    """Read the topics, plan where their replicas go, and check that with all rules."""
    cluster = connection.cluster
    asked = list(dict.fromkeys(Identity(name) for name, _ in targets))
    snapshot = read_snapshot(cluster, connection.description, KINDS, {_TOPICS: asked})
    planned = add_risks(_plan_reassignment(project, targets, snapshot, wanted))
    plan = add_moves(check_move_targets(planned, project.clusters), project.clusters)
    policy_input = PolicyInput(
        project.configuration, {wanted.provider: snapshot}, {wanted.provider: cluster}
    )
    return apply_policies(plan, policy_input, wanted.policies, ports)


def _move_replicas(
    cluster: Cluster, plan: Plan, limits: ReassignmentLimits, ports: Ports, watcher: Watcher
) -> tuple[Outcome, ...]:
    """Apply the plan; what policies refused of it is reported among the outcomes."""
    ports.progress.stage("Moving replicas", sum(len(each.changes) for each in plan.batches))
    context = ApplyContext(
        cluster,
        kinds_with_limits(limits),
        ports.clock,
        watcher,
        Limits(),
        is_stopped=ports.is_stopped,
    )
    moved = describe_moves(cluster, apply_plan(plan, context), limits)
    return (*moved, *report_refused(plan, watcher))


def _plan_reassignment(
    project: OpenProject,
    targets: Mapping[TopicPartition, Replicas],
    snapshot: Snapshot,
    wanted: ReassignRequest,
) -> Plan:
    if _TOPICS in snapshot.unread:
        raise UnreadableError(snapshot.unread[_TOPICS])
    rows: dict[str, dict[int, Replicas]] = defaultdict(dict)
    for (name, number), replicas in targets.items():
        rows[name][number] = replicas
    _check_assignment(rows, snapshot)
    owners = {each.key: each.address for each in project.state.owned.values()}
    changes: list[Change] = []
    for name in sorted(rows):
        live = snapshot.live_object(_TOPICS, Identity(name))
        assert live is not None  # noqa: S101 - checked above
        address = owners.get((_TOPICS, Identity(name), wanted.provider))
        changes += _topic_changes(address or Address(_TOPICS, "reassign", name), live, rows[name])
    changes = [replace(each, provider=wanted.provider) for each in changes]
    based_on = PlanBasis("", project.state.lineage, project.state.serial, snapshot.cluster_id)
    made = (
        replace(each, provider=wanted.provider)
        for each in build_batches(changes, KINDS, MAX_RECORDS)
    )
    cluster = {"id": snapshot.cluster_id, "principal": snapshot.principal}
    return Plan(based_on, tuple(changes), tuple(made), cluster=cluster)


def _check_assignment(rows: TopicAssignments, snapshot: Snapshot) -> None:
    """Name everything that does not exist, at once."""
    brokers = {each.id for each in snapshot.brokers}
    faults: list[str] = []
    for name, wanted in sorted(rows.items()):
        live = snapshot.live_object(_TOPICS, Identity(name))
        if live is None:
            faults.append(f"topic {name} does not exist, or the principal cannot see it")
            continue
        held: Topic = live.value  # type: ignore[assignment] # a Reading of topics holds them
        current = {each for row in held.replica_assignment or () for each in row}
        for number, replicas in sorted(wanted.items()):
            if number >= (held.partitions or 0):
                faults.append(f"{name} has no partition {number}")
            faults += [
                f"{name}:{number} names broker {each}, which does not exist"
                for each in replicas
                if each not in brokers | current
            ]
    if faults:
        raise UsageError(f"{'; '.join(faults)}."[:2000])


def _topic_changes(
    address: Address, live: LiveObject, rows: Mapping[int, Replicas]
) -> list[Change]:
    held: Topic = live.value  # type: ignore[assignment] # as above
    current = list(held.replica_assignment or ())
    target = [rows.get(number, replicas) for number, replicas in enumerate(current)]
    if target == current:
        return []
    # Throttles of the moves before this one are not declared: they must not be put back after it.
    config = {key: each for key, each in held.config.items() if key not in THROTTLED_REPLICAS}
    before = replace(held, moving_to=None, config=config)
    after = replace(
        before, replica_assignment=tuple(target), replication_factor=len(target[0]) or None
    )
    name = Identity(held.name)
    found = attribute_changes(TopicKind(), before, after)
    return [Change(address, _TOPICS, name, Action.UPDATE, before, after, found, uid=live.uid)]
