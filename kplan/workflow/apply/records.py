"""Use case: delete records, after showing what goes and asking policies."""

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
from kplan.kinds import KINDS
from kplan.kinds.codes import SUMMARIES as KIND_SUMMARIES
from kplan.model.dataclass import dataclass
from kplan.model.diagnostic import Diagnostic, Severity
from kplan.model.errors import ClusterError, ConfigError, UnreadableError
from kplan.model.outcome import OutcomeStatus
from kplan.model.record_deletion import (
    PartitionDeletion,
    PartitionDeletionOutcome,
    RecordDeletionPlan,
)
from kplan.model.refusal import Refusal
from kplan.model.resource import Identity
from kplan.model.snapshot import Snapshot
from kplan.workflow.apply.record_policy import judge_records
from kplan.workflow.apply.record_target import DeletionTarget
from kplan.workflow.open_project import OpenProject, open_project
from kplan.workflow.policy.policies import ALL, policy_refusal
from kplan.workflow.ports import PolicyOptions, Ports, Project
from kplan.workflow.snapshot import read_snapshot

SUMMARIES: Mapping[str, str] = {
    "KP461": "Offset is not in the partition",
    "KP462": "What is in the partition is not known",
}
_TOPICS = "kafka_topic"
_LEADER_PAUSE_S = 1.0
_HIDDEN = TopicUse(unread=("the topic is not there, or hidden from us",))


@dataclass(frozen=True, slots=True)
class RecordDeletionRequest:
    """What is asked for; `provider` is the key of the connection."""

    targets: tuple[DeletionTarget, ...]
    provider: str = ""
    policies: PolicyOptions = field(default_factory=PolicyOptions)


@dataclass(frozen=True, slots=True)
class RecordDeletionResult:
    """What was planned, and what became of each partition; nothing where nobody approved."""

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

    "All that is there" is what was there when the plan was made: later records stay.

    Raises:
        ConfigError: something asked for cannot be done; every such problem is told, and nothing
            is deleted.
        Unread: the topics could not be read.

    """
    with open_project(project, ports, frozenset({wanted.provider})) as found:
        cluster, snapshot = _seen(found, wanted, ports)
        plan = _planned(cluster, wanted, snapshot)
        offsets: dict[Identity, dict[int, int]] = {}
        for cut in plan.allowed:
            offsets.setdefault(Identity(cut.topic), {})[cut.partition] = cut.target
        configuration = found.configuration
        said = judge_records(offsets, (configuration, snapshot), wanted.policies, ports)
        mode = wanted.policies.mode or configuration.policy_settings.mode
        plan = replace(plan, violations=said, is_all_or_nothing=mode == ALL)
        if not approve(plan):
            return RecordDeletionResult(plan)
        ports.progress.stage("Deleting records", len(plan.allowed))
        return RecordDeletionResult(plan, _carried_out(cluster, plan, ports), is_approved=True)


def _seen(
    found: OpenProject, wanted: RecordDeletionRequest, ports: Ports
) -> tuple[Cluster, Snapshot]:
    connection = found.clusters.at(wanted.provider)
    ports.progress.stage("Reading the cluster")
    snapshot = read_snapshot(connection.cluster, connection.description, KINDS, {})
    if _TOPICS in snapshot.unread:
        raise UnreadableError(snapshot.unread[_TOPICS])
    return connection.cluster, snapshot


def _planned(
    cluster: Cluster, wanted: RecordDeletionRequest, snapshot: Snapshot
) -> RecordDeletionPlan:
    names = sorted({each.topic for each in wanted.targets})
    problems = [_internal(name) for name in names if is_internal_topic(name)]
    if problems:
        raise ConfigError(problems)
    uses = cluster.topic_use(names)
    found = [
        each for target in wanted.targets for each in _cuts(target, uses.get(target.topic, _HIDDEN))
    ]
    problems = [each for each in found if isinstance(each, Diagnostic)]
    if problems:
        raise ConfigError(problems)
    live = {name: snapshot.live_object(_TOPICS, Identity(name)) for name in names}
    ids = {name: each.uid for name, each in live.items() if each is not None}
    cuts = [each for each in found if isinstance(each, PartitionDeletion)]
    in_order = sorted(cuts, key=lambda each: (each.topic, each.partition))
    return RecordDeletionPlan(tuple(in_order), topic_ids=ids)


def _cuts(target: DeletionTarget, used: TopicUse) -> Iterator[PartitionDeletion | Diagnostic]:
    numbers = sorted(used.partitions) if target.partition is None else [target.partition]
    if not numbers:
        yield _problem("KP462", f"{target.topic}: {'; '.join(used.unread)}.")
    for number in numbers:
        yield _cut(target, number, used.partitions.get(number), used.unread)


def _cut(
    target: DeletionTarget, number: int, held: PartitionUse | None, unread: Sequence[str]
) -> PartitionDeletion | Diagnostic:
    at = f"{target.topic}:{number}"
    if held is None or held.start is None or held.end is None:
        why = "; ".join(unread) or "there is no such partition"
        return _problem("KP462", f"{at}: {why}.")
    before = held.end if target.before is None else target.before
    if before > held.end:
        detail = f"{at} ends before offset {held.end:,}, and {before:,} is behind that."
        return _problem("KP461", detail)
    return PartitionDeletion(target.topic, number, before, held.start, held.end, held.size_bytes)


_HINTS: Mapping[str, str] = {
    "KP461": "Give an offset up to the end, or end for all that is there.",
    "KP462": "Look whether it exists and has a leader, and whether kplan may describe it.",
}


def _problem(code: str, detail: str) -> Diagnostic:
    return Diagnostic(code, Severity.ERROR, SUMMARIES[code], detail, _HINTS[code])


def _internal(name: str) -> Diagnostic:
    return Diagnostic(
        "KP207",
        Severity.ERROR,
        KIND_SUMMARIES["KP207"],
        f"{name} belongs to Kafka or its tools, which empty it as they need.",
        "Leave it out.",
    )


def _carried_out(
    cluster: Cluster, plan: RecordDeletionPlan, ports: Ports
) -> tuple[PartitionDeletionOutcome, ...]:
    """Send what was granted, and tell of everything that was planned."""
    stale = _stale(cluster, plan)
    told = {each.deletion: each for each in _kept(plan, stale)}
    cuts = [each for each in plan.allowed if each.topic not in stale]
    answers = _sent(cluster, cuts)
    again = [cut for cut in cuts if _is(answers[cut], Handling.RETRY)]
    if again:  # the leader moved; each call finds the leaders anew
        ports.clock.sleep(_LEADER_PAUSE_S)
        answers |= _sent(cluster, again)
    in_doubt = {cut for cut in cuts if _is(answers[cut], Handling.IN_DOUBT)}
    uses = _uses_now(cluster, {cut.topic for cut in in_doubt})
    for cut in cuts:
        told[cut] = _outcome(cut, answers[cut], uses if cut in in_doubt else {})
    ports.progress.advance(len(cuts))
    return tuple(told[cut] for cut in plan.deletions)


def _sent(
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


def _uses_now(cluster: Cluster, names: Collection[str]) -> Mapping[str, TopicUse]:
    try:
        return cluster.topic_use(names) if names else {}
    except ClusterError:
        return {}  # what became of them stays unknown


def _is(answer: int | Refusal, what: Handling) -> bool:
    return isinstance(answer, Refusal) and handling(answer) is what


def _outcome(
    cut: PartitionDeletion, answer: int | Refusal, uses: Mapping[str, TopicUse]
) -> PartitionDeletionOutcome:
    """Return what became of a cut; where no answer came, its first offset now tells (`uses`)."""
    if not isinstance(answer, Refusal):
        return PartitionDeletionOutcome(cut, OutcomeStatus.APPLIED, answer)
    if not _is(answer, Handling.IN_DOUBT):
        return PartitionDeletionOutcome(cut, OutcomeStatus.FAILED, refusal=answer)
    held = uses.get(cut.topic, _HIDDEN).partitions.get(cut.partition, PartitionUse())
    if held.start is not None and held.start >= cut.target:
        return PartitionDeletionOutcome(cut, OutcomeStatus.APPLIED, held.start)
    return PartitionDeletionOutcome(cut, OutcomeStatus.UNKNOWN, held.start, answer)


def _stale(cluster: Cluster, plan: RecordDeletionPlan) -> Mapping[str, Refusal]:
    """Find topics that are others than those that were looked at (KIP-516)."""
    names = {each.topic for each in plan.allowed}
    now = cluster.topics(names) if names else {}
    found: dict[str, Refusal] = {}
    for name in names:
        held = now.get(name)
        if isinstance(held, Refusal):
            found[name] = held
        elif held is None or held.topic_id != plan.topic_ids.get(name, held.topic_id):
            found[name] = client_refusal(CLIENT_STALE)
    return found


def _kept(
    plan: RecordDeletionPlan, stale: Mapping[str, Refusal]
) -> Iterator[PartitionDeletionOutcome]:
    """Return of what is not sent: nothing to go, refused by a policy, or another topic by now."""
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
