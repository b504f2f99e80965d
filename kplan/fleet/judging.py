"""The policies of each cluster's configuration, asked about what is live there."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import TYPE_CHECKING, Any

from kplan.fleet.clusterwise import by_cluster, only
from kplan.fleet.rows import Row, snapshot_of
from kplan.kinds import KINDS
from kplan.model.address import Address
from kplan.model.plan import Action, Change
from kplan.model.policy import Policy, Violation
from kplan.model.resource import Identity
from kplan.model.snapshot import Snapshot
from kplan.policy.cluster_facts import ClusterFacts
from kplan.policy.engine import Terms, answers, in_order_of_asking
from kplan.policy.questions import Setting, questions

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

VIOLATIONS = (
    "cluster string, policy string, standing string, effect string, kind string, "
    "identity string, message string, reason string"
)
"""The schema. `standing` is `refused`, `waived` or `told`, as of a plan; `unread` and `problem` say
in `reason` why nothing was asked about a cluster, or about one kind."""


@dataclass(frozen=True, slots=True)
class Judges:
    """The policies of each cluster, the owned addresses that waivers may speak of, and the day.

    `problems` say why a cluster has no such thing.
    """

    policies: Mapping[str, tuple[Policy, ...]] = field(default_factory=dict)
    owned: Mapping[str, Mapping[tuple[str, Identity], Address]] = field(default_factory=dict)
    problems: Mapping[str, str] = field(default_factory=dict)
    today: date = date.max

    def of(self, cluster: str) -> "Judges":
        """Give what there is of one cluster."""
        owned, problems = only(cluster, self.owned), only(cluster, self.problems)
        return Judges(only(cluster, self.policies), owned, problems, self.today)


def violations(objects: "DataFrame", judges: Judges) -> "DataFrame":
    """Put everything that is live to the policies as if it were to be created: VIOLATIONS."""
    names = sorted({*judges.policies, *judges.problems})
    return by_cluster(objects, VIOLATIONS, judged, {each: judges.of(each) for each in names})


def judged(rows: Sequence[Row], judges: Judges) -> Iterator[dict[str, Any]]:
    """Judge one cluster."""
    cluster = rows[0].cluster
    if problem := judges.problems.get(cluster):
        yield _row(cluster, standing="problem", reason=problem)
    policies = judges.policies.get(cluster)
    if not policies:
        return
    snapshot = snapshot_of(rows)
    if isinstance(snapshot, str):
        yield _row(cluster, standing="unread", kind="*", reason=snapshot)
        return
    asked = in_order_of_asking(policies)
    kinds = {kind for each in asked for kind in each.head.kinds}
    for kind in sorted(kinds & snapshot.unread.keys()):
        yield _row(cluster, standing="unread", kind=kind, reason=snapshot.unread[kind])
    facts = ClusterFacts(snapshot, tuple(kind.name for kind in KINDS))
    setting, terms = Setting(snapshot, KINDS, facts, snapshot.principal), Terms(judges.today)
    for change in _all_of_it(snapshot, judges.owned.get(cluster, {})):
        for question in questions(change, setting):
            for each in answers(question, asked, terms):
                yield _told(cluster, each)


def _all_of_it(
    snapshot: Snapshot, owned: Mapping[tuple[str, Identity], Address]
) -> Iterator[Change]:
    """Take everything that is live for something that is to be created."""
    for kind, reading in sorted(snapshot.readings.items()):
        for identity, live in sorted(reading.objects.items()):
            named = owned.get((kind, identity)) or Address(kind, "live", str(identity))
            yield Change(named, kind, identity, Action.CREATE, None, live.value)


def _told(cluster: str, found: Violation) -> dict[str, Any]:
    return _row(
        cluster,
        policy=found.policy,
        standing=found.standing.value,
        effect=found.effect.value,
        kind=found.kind,
        identity=str(found.identity),
        message=found.message,
        reason=found.reason,
    )


def _row(cluster: str, **more: str) -> dict[str, Any]:
    empty = {each.split()[0]: "" for each in VIOLATIONS.split(", ")}
    return {**empty, "cluster": cluster, **more}
