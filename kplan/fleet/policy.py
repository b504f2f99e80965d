"""Policy findings of every cluster, made inside Spark tasks."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from datetime import date
from typing import TYPE_CHECKING, Any

from kplan.fleet.dataframe import map_clusters, pack, select_cluster
from kplan.fleet.snapshot import Row, snapshot_from_rows
from kplan.kinds import KINDS
from kplan.model.address import Address
from kplan.model.dataclass import dataclass
from kplan.model.plan import Action, Change
from kplan.model.policy import Policy, Violation
from kplan.model.resource import Identity
from kplan.model.state import Snapshot
from kplan.policy.engine import (
    EvaluationOptions,
    QuestionContext,
    evaluate_question,
    questions,
    sort_policies,
)
from kplan.policy.facts import ClusterFacts

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

VIOLATION_SCHEMA = (
    "cluster string, policy string, standing string, effect string, kind string, "
    "identity string, message string, reason string"
)
"""The schema. `standing` is `refused`, `waived` or `told`, as of a plan; `unread` and `problem` say
in `reason` why nothing was asked about a cluster, or about one kind."""


@dataclass(frozen=True, slots=True)
class FleetPolicies:
    """The policies of each cluster, the owned addresses that waivers may speak of, and the day.

    `problems` say why a cluster has no such thing.
    """

    policies: Mapping[str, tuple[Policy, ...]] = field(default_factory=dict)
    owned: Mapping[str, Mapping[tuple[str, Identity], Address]] = field(default_factory=dict)
    problems: Mapping[str, str] = field(default_factory=dict)
    today: date = date.max

    def for_cluster(self, cluster: str) -> "FleetPolicies":
        """Return the rows of one cluster."""
        owned, problems = (
            select_cluster(cluster, self.owned),
            select_cluster(cluster, self.problems),
        )
        return FleetPolicies(select_cluster(cluster, self.policies), owned, problems, self.today)


def check_policies(objects: "DataFrame", judges: FleetPolicies) -> "DataFrame":
    """Put everything that is live to the policies as if it were to be created: VIOLATIONS."""
    names = sorted({*judges.policies, *judges.problems})
    packed = {each: pack(judges.for_cluster(each)) for each in names}
    return map_clusters(objects, VIOLATION_SCHEMA, check_cluster, packed)


def check_cluster(rows: Sequence[Row], judges: FleetPolicies) -> Iterator[dict[str, Any]]:
    """Judge one cluster."""
    cluster = rows[0].cluster
    if problem := judges.problems.get(cluster):
        yield _row(cluster, standing="problem", reason=problem)
    policies = judges.policies.get(cluster)
    if not policies:
        return
    snapshot = snapshot_from_rows(rows)
    if isinstance(snapshot, str):
        yield _row(cluster, standing="unread", kind="*", reason=snapshot)
        return
    asked = sort_policies(policies)
    kinds = {kind for each in asked for kind in each.header.kinds}
    for kind in sorted(kinds & snapshot.unread.keys()):
        yield _row(cluster, standing="unread", kind=kind, reason=snapshot.unread[kind])
    facts = ClusterFacts(snapshot, tuple(kind.name for kind in KINDS))
    setting, terms = (
        QuestionContext(snapshot, KINDS, facts, snapshot.principal),
        EvaluationOptions(judges.today),
    )
    for change in _live_changes(snapshot, judges.owned.get(cluster, {})):
        for question in questions(change, setting):
            for each in evaluate_question(question, asked, terms):
                yield _violation_row(cluster, each)


def _live_changes(
    snapshot: Snapshot, owned: Mapping[tuple[str, Identity], Address]
) -> Iterator[Change]:
    """Take everything that is live for something that is to be created."""
    for kind, reading in sorted(snapshot.readings.items()):
        for identity, live in sorted(reading.objects.items()):
            named = owned.get((kind, identity)) or Address(kind, "live", str(identity))
            yield Change(named, kind, identity, Action.CREATE, None, live.value)


def _violation_row(cluster: str, violation: Violation) -> dict[str, Any]:
    return _row(
        cluster,
        policy=violation.policy,
        standing=violation.standing.value,
        effect=violation.effect.value,
        kind=violation.kind,
        identity=str(violation.identity),
        message=violation.message,
        reason=violation.reason,
    )


def _row(cluster: str, **more: str) -> dict[str, Any]:
    empty = {each.split()[0]: "" for each in VIOLATION_SCHEMA.split(", ")}
    return {**empty, "cluster": cluster, **more}
