"""The metrics of a run."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from datetime import datetime

from kplan.model.dataclass import dataclass
from kplan.model.outcome import Outcome, OutcomeStatus
from kplan.model.plan import Action, Change, Plan, Reason
from kplan.report.data import Gauge
from kplan.report.documents.drift import DriftCoverage

_DRIFT_TYPES = ("changed", "deleted", "recreated")


def run_gauges(verb: str, cluster: str, at: str, *, is_whole: bool) -> Iterator[Gauge]:
    """Return when a run ended, and whether it was complete.

    `cluster` is "" for a run that ended before it knew one.
    """
    labels = {"cluster": cluster, "verb": verb}
    ended = datetime.fromisoformat(at).timestamp()
    yield Gauge("kplan_run_timestamp_seconds", "When the last run ended.", ended, labels)
    yield Gauge("kplan_run_success", "Whether the last run was complete.", is_whole, labels)


def plan_gauges(plan: Plan, at: str) -> tuple[Gauge, ...]:
    """Count the planned changes by kind and action."""
    found = Counter((each.kind, each.action.value) for each in plan.changes)
    return (
        *(
            Gauge(
                "kplan_plan_changes",
                "Objects of the last plan by what it does to them.",
                count,
                {"cluster": plan.cluster_label, "kind": kind, "action": action},
            )
            for (kind, action), count in sorted(found.items())
        ),
        *run_gauges(
            "plan", plan.cluster_label, at, is_whole=not plan.has_errors and not plan.unread
        ),
    )


def outcome_gauges(
    cluster: str, outcomes: Sequence[Outcome], at: str, unplanned: Sequence[str] = ()
) -> tuple[Gauge, ...]:
    """Count the outcome of an apply, by status; with what is `unplanned` it is not complete."""
    statuses = [each.status for each in outcomes]
    is_whole = set(statuses) <= {OutcomeStatus.APPLIED} and not unplanned
    return (
        *(
            Gauge(
                "kplan_apply_outcomes",
                "Changes of the last apply by outcome.",
                statuses.count(each),
                {"cluster": cluster, "status": each.value},
            )
            for each in OutcomeStatus
        ),
        *run_gauges("apply", cluster, at, is_whole=is_whole),
    )


def drift_gauges(changes: Sequence[Change], coverage: DriftCoverage, at: str) -> tuple[Gauge, ...]:
    """Count drift, and how much of the cluster it is about; no drift is a 0 and not an absence."""
    kinds = sorted(coverage.managed.keys() | coverage.unmanaged.keys() | {x.kind for x in changes})
    label = coverage.cluster_label
    return (
        *_drifted_gauges(changes, kinds, label),
        *_coverage_gauges(coverage, kinds),
        Gauge(
            "kplan_ignored_objects",
            "Drifted or unmanaged objects that patterns leave out.",
            coverage.ignored,
            {"cluster": label},
        ),
        *_health_gauges(coverage),
        *run_gauges("drift", label, at, is_whole=coverage.is_complete),
    )


def _drifted_gauges(changes: Sequence[Change], kinds: Sequence[str], label: str) -> Iterator[Gauge]:
    """Count the objects of each kind by what became of them."""
    drifts = Counter((each.kind, _drift_type(each)) for each in changes)
    for kind in kinds:
        for sort in _DRIFT_TYPES:
            labels = {"cluster": label, "kind": kind, "change": sort}
            yield Gauge(
                "kplan_drift_objects",
                "Owned objects that are not as last applied.",
                drifts[kind, sort],
                labels,
            )


def _coverage_gauges(coverage: DriftCoverage, kinds: Sequence[str]) -> Iterator[Gauge]:
    """Count the live objects that kplan owns and does not own, and the kinds that are unread."""

    def gauge(name: str, description: str, count: int, kind: str) -> Gauge:
        labels = {"cluster": coverage.cluster_label, "kind": kind}
        return Gauge(name, description, count, labels)

    said = "Live objects that kplan owns."
    for kind in kinds:
        yield gauge("kplan_managed_objects", said, coverage.managed.get(kind, 0), kind)
    said = "Live objects that kplan does not own."
    for kind in kinds:
        yield gauge("kplan_unmanaged_objects", said, len(coverage.unmanaged.get(kind, ())), kind)
    for kind in sorted(coverage.unread):
        yield gauge("kplan_unread_kinds", "Kinds that could not be read.", 1, kind)


def _health_gauges(coverage: DriftCoverage) -> Iterator[Gauge]:
    """Count the partitions of owned topics that lack a leader or replicas, also where none do."""
    if coverage.health is None:
        return
    for name, description, count in (
        (
            "kplan_leaderless_partitions",
            "Partitions of owned topics without a leader.",
            sum(each.leaderless for each in coverage.health),
        ),
        (
            "kplan_under_replicated_partitions",
            "Partitions of owned topics with fewer in-sync replicas than replicas.",
            sum(each.under_replicated for each in coverage.health),
        ),
        (
            "kplan_unhealthy_topics",
            "Owned topics with partitions without a leader or under-replicated.",
            len(coverage.unhealthy),
        ),
    ):
        yield Gauge(name, description, count, {"cluster": coverage.cluster_label})


def _drift_type(change: Change) -> str:
    if change.action is Action.DELETE:
        return "deleted"
    return "recreated" if change.reason is Reason.RECREATED_OUTSIDE else "changed"


@dataclass(frozen=True, slots=True)
class ReconcileCounts:
    """What a service has done so far: rounds by result (led, standby, failed), and changes.

    `left` are those of the last round that it led; `is_leader` says that it led the last round.
    """

    rounds: Mapping[str, int] = field(default_factory=dict)
    is_leader: bool = False
    applied: int = 0
    failed: int = 0
    left: int = 0


def reconcile_gauges(counts: ReconcileCounts, at: str) -> tuple[Gauge, ...]:
    """Return the metrics of a service that reconciles; `at` is the end of its last round."""
    changes = {"applied": counts.applied, "failed": counts.failed}
    ended = datetime.fromisoformat(at).timestamp()
    return (
        *(
            Gauge(
                "kplan_reconcile_rounds",
                "Rounds since the start, by result.",
                counts.rounds.get(result, 0),
                {"result": result},
            )
            for result in ("led", "standby", "failed")
        ),
        *(
            Gauge(
                "kplan_reconcile_changes",
                "Changes since the start, by outcome.",
                count,
                {"outcome": outcome},
            )
            for outcome, count in changes.items()
        ),
        Gauge("kplan_reconcile_left", "Changes that wait for a person.", counts.left, {}),
        Gauge(
            "kplan_reconcile_leader",
            "Whether this instance led the last round.",
            counts.is_leader,
            {},
        ),
        Gauge("kplan_reconcile_timestamp_seconds", "When the last round ended.", ended, {}),
    )
