"""Use case: delete records; plan, policies, outcome per partition."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace

from kplan.cluster.errors import (
    CLIENT_DISCONNECTED,
    CLIENT_STALE,
    CLIENT_TIMED_OUT,
    Handling,
    client_refusal,
    handling,
)
from kplan.cluster.port import Cluster
from kplan.cluster.topic import is_internal_topic
from kplan.cluster.usage import PartitionUse, TopicUse
from kplan.config.load import Configuration
from kplan.kinds import KINDS
from kplan.model.codes import SUMMARIES
from kplan.model.dataclass import dataclass
from kplan.model.diagnostic import Diagnostic, Severity, has_errors
from kplan.model.errors import ClusterError, ConfigError, Refusal, UnreadableError
from kplan.model.outcome import (
    OutcomeStatus,
    PartitionDeletion,
    PartitionDeletionOutcome,
    RecordDeletionPlan,
)
from kplan.model.policy import Violation
from kplan.model.resource import Identity
from kplan.model.state import Snapshot
from kplan.policy.engine import (
    EvaluationOptions,
    QuestionContext,
    evaluate_question,
    records_question,
    sort_policies,
    unused_overrides,
)
from kplan.workflow.apply.record_target import DeletionTarget
from kplan.workflow.open_project import OpenProject, open_project
from kplan.workflow.policy.policy import MODE_ALL, cluster_facts, open_policies, policy_refusal
from kplan.workflow.ports import PolicyOptions, Ports, Project
from kplan.workflow.snapshot import read_snapshot

RecordOffsets = Mapping[Identity, Mapping[int, int]]
"""The first offset that stays, by topic and partition."""


def check_record_policies(
    offsets: RecordOffsets,
    seen: tuple[Configuration, Snapshot, Cluster],
    options: PolicyOptions,
    ports: Ports,
) -> tuple[Violation, ...]:
    """Ask every policy that decides `delete_records`, topic by topic (K201-12).

    Raises:
        ConfigError: a policy that was asked for cannot be used.

    """
    configuration, snapshot, cluster = seen
    terms = EvaluationOptions(ports.now().date(), options.overrides)
    setting = QuestionContext(
        snapshot,
        KINDS,
        cluster_facts(snapshot, cluster),
        options.principal or snapshot.principal,
        ports.ci,
    )
    with open_policies(configuration, options) as found:
        problems = (*found.diagnostics, *unused_overrides(found.policies, terms))
        if has_errors(problems):
            raise ConfigError(problems, {**configuration.sources, **found.sources})
        asked = sort_policies(found.policies)
        return tuple(
            said
            for topic in sorted(offsets)
            for said in evaluate_question(
                records_question(topic, offsets[topic], setting), asked, terms
            )
        )


_TOPICS = "kafka_topic"
_LEADER_PAUSE_S = 1.0
_HIDDEN_TOPIC = TopicUse(unread=("the topic does not exist, or the principal cannot see it",))


@dataclass(frozen=True, slots=True)
class RecordDeletionRequest:
    """The request; `provider` is the key of the connection."""

    targets: tuple[DeletionTarget, ...]
    provider: str = ""
    policies: PolicyOptions = field(default_factory=PolicyOptions)


@dataclass(frozen=True, slots=True)
class RecordDeletionResult:
    """The plan, and the outcome of each partition; empty if it was not approved."""

    plan: RecordDeletionPlan
    outcomes: tuple[PartitionDeletionOutcome, ...] = ()
    is_approved: bool = False


def delete_records(
    project: Project,
    wanted: RecordDeletionRequest,
    ports: Ports,
    approve: Callable[[RecordDeletionPlan], bool],
) -> RecordDeletionResult:
    """Plan, have the plan approved, and delete at the leader of each partition.

    "All that exists" is what was there when the plan was made: later records stay.

    Raises:
        ConfigError: something asked for cannot be done; every such problem is reported, and nothing
            is deleted.
        UnreadableError: the topics could not be read.

    """
    with open_project(project, ports, frozenset({wanted.provider})) as found:
        cluster, snapshot = _read_live_topics(found, wanted, ports)
        plan = _plan_deletion(cluster, wanted, snapshot)
        offsets: dict[Identity, dict[int, int]] = {}
        for cut in plan.allowed_deletions:
            offsets.setdefault(Identity(cut.topic), {})[cut.partition] = cut.target
        configuration = found.configuration
        seen = (configuration, snapshot, cluster)
        said = check_record_policies(offsets, seen, wanted.policies, ports)
        mode = wanted.policies.mode or configuration.policy_settings.mode
        plan = replace(plan, violations=said, is_all_or_nothing=mode == MODE_ALL)
        if not approve(plan):
            return RecordDeletionResult(plan)
        ports.progress.stage("Deleting records", len(plan.allowed_deletions))
        return RecordDeletionResult(plan, _execute_deletion(cluster, plan, ports), is_approved=True)


def _read_live_topics(
    project: OpenProject, wanted: RecordDeletionRequest, ports: Ports
) -> tuple[Cluster, Snapshot]:
    connection = project.clusters.connection(wanted.provider)
    ports.progress.stage("Reading the cluster")
    names = [Identity(each.topic) for each in wanted.targets]
    snapshot = read_snapshot(
        connection.cluster, connection.description, KINDS, {_TOPICS: frozenset(names)}
    )
    if _TOPICS in snapshot.unread:
        raise UnreadableError(snapshot.unread[_TOPICS])
    return connection.cluster, snapshot


def _plan_deletion(
    cluster: Cluster, wanted: RecordDeletionRequest, snapshot: Snapshot
) -> RecordDeletionPlan:
    names = sorted({each.topic for each in wanted.targets})
    problems = [_internal_topic_diagnostic(name) for name in names if is_internal_topic(name)]
    if problems:
        raise ConfigError(problems)
    uses = cluster.topic_use(names)
    found = [
        each
        for target in wanted.targets
        for each in _partition_deletions(target, uses.get(target.topic, _HIDDEN_TOPIC))
    ]
    problems = [each for each in found if isinstance(each, Diagnostic)]
    if problems:
        raise ConfigError(problems)
    live = {name: snapshot.live_object(_TOPICS, Identity(name)) for name in names}
    ids = {name: each.uid for name, each in live.items() if each is not None}
    cuts = [each for each in found if isinstance(each, PartitionDeletion)]
    in_order = sorted(cuts, key=lambda each: (each.topic, each.partition))
    return RecordDeletionPlan(tuple(in_order), topic_ids=ids)


def _partition_deletions(
    target: DeletionTarget, used: TopicUse
) -> Iterator[PartitionDeletion | Diagnostic]:
    numbers = sorted(used.partitions) if target.partition is None else [target.partition]
    if not numbers:
        yield _deletion_diagnostic("KP462", f"{target.topic}: {'; '.join(used.unread)}.")
    for number in numbers:
        yield _partition_deletion(target, number, used.partitions.get(number), used.unread)


def _partition_deletion(
    target: DeletionTarget, number: int, partition_use: PartitionUse | None, unread: Sequence[str]
) -> PartitionDeletion | Diagnostic:
    at = f"{target.topic}:{number}"
    if partition_use is None or partition_use.start is None or partition_use.end is None:
        why = "; ".join(unread) or "the partition does not exist"
        return _deletion_diagnostic("KP462", f"{at}: {why}.")
    before = partition_use.end if target.before_offset is None else target.before_offset
    if before > partition_use.end:
        detail = f"{at} ends before offset {partition_use.end:,}, and {before:,} is behind that."
        return _deletion_diagnostic("KP461", detail)
    return PartitionDeletion(
        target.topic,
        number,
        before,
        partition_use.start,
        partition_use.end,
        partition_use.size_bytes,
    )


_HINTS: Mapping[str, str] = {
    "KP461": "Use an offset up to the end, or end for all current records.",
    "KP462": "Look whether it exists and has a leader, and whether kplan may describe it.",
}


def _deletion_diagnostic(code: str, detail: str) -> Diagnostic:
    return Diagnostic(code, Severity.ERROR, SUMMARIES[code], detail, _HINTS[code])


def _internal_topic_diagnostic(name: str) -> Diagnostic:
    return Diagnostic(
        "KP207",
        Severity.ERROR,
        SUMMARIES["KP207"],
        f"{name} belongs to Kafka or its tools, which empty it as they need.",
        "Leave it out.",
    )


def _execute_deletion(
    cluster: Cluster, plan: RecordDeletionPlan, ports: Ports
) -> tuple[PartitionDeletionOutcome, ...]:
    """Send the approved deletions, and report all planned ones."""
    stale = _find_stale_topics(cluster, plan)
    values = {each.deletion: each for each in _unsent_outcomes(plan, stale)}
    cuts = [each for each in plan.allowed_deletions if each.topic not in stale]
    answers = _send_deletions(cluster, cuts)
    again = [cut for cut in cuts if _has_handling(answers[cut], Handling.RETRY)]
    if again:  # the leader moved; each call finds the leaders again
        ports.clock.sleep(_LEADER_PAUSE_S)
        answers |= _send_deletions(cluster, again)
    in_doubt = {cut for cut in cuts if _has_handling(answers[cut], Handling.IN_DOUBT)}
    uses = _read_topic_use(cluster, {cut.topic for cut in in_doubt})
    for cut in cuts:
        values[cut] = _deletion_outcome(cut, answers[cut], uses if cut in in_doubt else {})
    ports.progress.advance(len(cuts))
    return tuple(values[cut] for cut in plan.deletions)


def _send_deletions(
    cluster: Cluster, cuts: Iterable[PartitionDeletion]
) -> dict[PartitionDeletion, int | Refusal]:
    asked = {(each.topic, each.partition): each for each in cuts}
    if not asked:
        return {}
    try:
        found = cluster.delete_records({key: each.target for key, each in asked.items()})
    except ClusterError as failure:
        lost = client_refusal(CLIENT_DISCONNECTED, failure.detail)
        return dict.fromkeys(asked.values(), lost)
    silent = client_refusal(CLIENT_TIMED_OUT)
    return {each: found.get(key, silent) for key, each in asked.items()}


def _read_topic_use(cluster: Cluster, names: Collection[str]) -> Mapping[str, TopicUse]:
    try:
        return cluster.topic_use(names) if names else {}
    except ClusterError:
        return {}  # the outcome of them stays unknown


def _has_handling(answer: int | Refusal, what: Handling) -> bool:
    return isinstance(answer, Refusal) and handling(answer) is what


def _deletion_outcome(
    cut: PartitionDeletion, answer: int | Refusal, uses: Mapping[str, TopicUse]
) -> PartitionDeletionOutcome:
    """Return the outcome of a deletion; without an answer, from the first offset (`uses`)."""
    if not isinstance(answer, Refusal):
        return PartitionDeletionOutcome(cut, OutcomeStatus.APPLIED, answer)
    if not _has_handling(answer, Handling.IN_DOUBT):
        return PartitionDeletionOutcome(cut, OutcomeStatus.FAILED, refusal=answer)
    held = uses.get(cut.topic, _HIDDEN_TOPIC).partitions.get(cut.partition, PartitionUse())
    if held.start is not None and held.start >= cut.target:
        return PartitionDeletionOutcome(cut, OutcomeStatus.APPLIED, held.start)
    return PartitionDeletionOutcome(cut, OutcomeStatus.UNKNOWN, held.start, answer)


def _find_stale_topics(cluster: Cluster, plan: RecordDeletionPlan) -> Mapping[str, Refusal]:
    """Find topics that are others than those that were inspected (KIP-516)."""
    names = {each.topic for each in plan.allowed_deletions}
    now = cluster.topics(names) if names else {}
    found: dict[str, Refusal] = {}
    for name in names:
        held = now.get(name)
        if isinstance(held, Refusal):
            found[name] = held
        elif held is None or held.topic_id != plan.topic_ids.get(name, held.topic_id):
            found[name] = client_refusal(CLIENT_STALE)
    return found


def _unsent_outcomes(
    plan: RecordDeletionPlan, stale: Mapping[str, Refusal]
) -> Iterator[PartitionDeletionOutcome]:
    """Return items not to send: nothing to delete, refused by policy, or another topic by now."""
    refused = plan.refusals
    for cut in plan.deletions:
        if cut.topic in refused:
            yield PartitionDeletionOutcome(
                cut, OutcomeStatus.FAILED, cut.start, policy_refusal(refused[cut.topic])
            )
        elif plan.is_all_or_nothing and refused:
            yield PartitionDeletionOutcome(cut, OutcomeStatus.SKIPPED, cut.start)
        elif not cut.records:
            yield PartitionDeletionOutcome(cut, OutcomeStatus.APPLIED, cut.start)
        elif cut.topic in stale:
            yield PartitionDeletionOutcome(cut, OutcomeStatus.FAILED, refusal=stale[cut.topic])
