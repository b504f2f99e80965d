"""kplan's own planner, run where the rows are: what is declared against what is live."""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kplan.fleet.clusterwise import by_cluster, only
from kplan.fleet.doubts import asked_by, concerned, with_doubts
from kplan.fleet.local import local
from kplan.fleet.rows import CLUSTER, Row, snapshot_of
from kplan.kinds import KINDS
from kplan.kinds.schema import document
from kplan.model.diagnostic import Diagnostic
from kplan.model.errors import WrongCluster
from kplan.model.plan import Action, Change
from kplan.model.snapshot import Snapshot
from kplan.plan.build import build_plan
from kplan.plan.drift import drift, unmanaged
from kplan.plan.request import PlanRequest
from kplan.policy.risk import with_risks
from kplan.state.file import check_same_cluster

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

FINDINGS = (
    "cluster string, finding string, action string, kind string, address string, identity string, "
    "reason string, attributes string, risk string, count long"
)
"""The schema. `finding` is `change` or `obstacle` (what `kplan plan` tells), `drift` or `hidden`
(what `kplan drift` tells), `managed` and `unmanaged` (`count` objects of a kind), `problem` (of a
configuration or state), or `unread`."""

ORDER = ("cluster", "finding", "kind", "address", "identity", "action", "reason")
"""How findings are shown: the same whatever order they were found in."""

_COLUMNS = tuple(each.split()[0] for each in FINDINGS.split(", "))


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is declared and owned per cluster; `problems` say why a cluster has no such thing.

    `notes` name what is declared and not looked at.
    """

    requests: Mapping[str, PlanRequest] = field(default_factory=dict)
    problems: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def clusters(self) -> tuple[str, ...]:
        """Name the clusters that have a configuration, be it a sound one or not."""
        return tuple(sorted({*self.requests, *self.problems}))

    def of(self, cluster: str) -> "Wanted":
        """Give what there is of one cluster."""
        return Wanted(only(cluster, self.requests), only(cluster, self.problems))


def plans(objects: "DataFrame", wanted: Wanted) -> "DataFrame":
    """Plan every cluster that has a configuration; the columns are FINDINGS.

    Each cluster is planned whole by one task, with the very code of `kplan plan` and `kplan drift`.
    One of which the run does not know is a problem.
    """
    from pyspark.sql import functions as F  # noqa: N812 - heavy; its customary name

    names = wanted.clusters
    found = by_cluster(objects, FINDINGS, findings, {each: wanted.of(each) for each in names})
    if not names:
        return found
    told = {"finding": "problem", "reason": "The run does not know this cluster; take a new one."}
    fields = (each.split() for each in FINDINGS.split(", ")[1:])
    rest = [
        (F.lit(told.get(name, "") if kind == "string" else None)).cast(kind).alias(name)
        for name, kind in fields
    ]
    asked = local(objects.sparkSession, [(each,) for each in names], "cluster string")
    known = objects.where(F.col("kind") == CLUSTER).select("cluster")
    return found.unionByName(asked.join(known, "cluster", "left_anti").select("cluster", *rest))


def counts(found: "DataFrame") -> "DataFrame":
    """Count findings, and the objects that they stand for: cluster, finding, count."""
    from pyspark.sql import functions as F  # noqa: N812

    meant = F.sum(F.coalesce("count", F.lit(1))).alias("count")
    counted = found.groupBy("cluster", "finding").agg(meant)
    return counted.where("count > 0").orderBy("cluster", "finding")


def coverage(found: "DataFrame") -> "DataFrame":
    """Say how much of what is live is owned: cluster, kind, managed, unmanaged."""
    from pyspark.sql import functions as F  # noqa: N812

    sorts = ("managed", "unmanaged")
    sums = (F.sum(F.when(F.col("finding") == each, F.col("count"))).alias(each) for each in sorts)
    told = found.where(F.col("finding").isin(*sorts)).groupBy("cluster", "kind").agg(*sums)
    return told.where("managed + unmanaged > 0").orderBy("cluster", "kind")


def undeclared(objects: "DataFrame", declared: Collection[str]) -> "DataFrame":
    """List the clusters that nothing can be held against: cluster, reason."""
    from pyspark.sql import functions as F  # noqa: N812

    others = objects.where((F.col("kind") == CLUSTER) & ~F.col("cluster").isin(*declared))
    reason = F.lit("fleet.hcl names no configuration of it").alias("reason")
    return others.select("cluster", reason).orderBy("cluster")


def findings(rows: Iterable[Row], wanted: Wanted) -> list[dict[str, Any]]:
    """Plan one cluster: everything that is to be told of it, each a row of FINDINGS."""
    held = list(rows)
    cluster = held[0].cluster
    if problem := wanted.problems.get(cluster):
        return [_finding(cluster, "problem", reason=problem)]
    request = wanted.requests.get(cluster)
    if request is None:
        return []
    snapshot = snapshot_of(held)
    if isinstance(snapshot, str):
        return [_finding(cluster, "unread", kind="*", reason=snapshot)]
    try:
        check_same_cluster(request.state, snapshot.cluster_id)
    except WrongCluster as failure:
        return [_finding(cluster, "problem", reason=failure.detail)]
    return list(_told(cluster, request, with_doubts(request, snapshot, asked_by(held))))


def _told(cluster: str, request: PlanRequest, snapshot: Snapshot) -> Iterator[dict[str, Any]]:
    own = request.state.on("")
    plan = with_risks(build_plan(request, snapshot, KINDS))
    for kind, reason in plan.unread.items():
        yield _finding(cluster, "unread", kind=kind, reason=reason)
    for change in plan.changes:
        if change.action is not Action.NO_OP:
            yield _change(cluster, "change", change)
    for problem in plan.diagnostics:
        if problem.is_error:
            yield _obstacle(cluster, problem)
    for change in drift(own, snapshot, KINDS):
        yield _change(cluster, "drift", change)
    yield from _hidden(cluster, request, snapshot)
    for kind, count in unmanaged(own, snapshot).items():
        live = len(snapshot.readings[kind].objects)
        yield _finding(cluster, "managed", kind=kind, count=live - count)
        yield _finding(cluster, "unmanaged", kind=kind, count=count)


def _hidden(cluster: str, request: PlanRequest, snapshot: Snapshot) -> Iterator[dict[str, Any]]:
    """Tell of what is declared or owned and cannot be seen: it may have drifted."""
    for kind, meant in concerned(request).items():
        hidden = snapshot.readings[kind].hidden if kind in snapshot.readings else {}
        for identity in sorted(meant & hidden.keys()):
            told = str(hidden[identity])
            yield _finding(cluster, "hidden", kind=kind, identity=str(identity), reason=told)


def _change(cluster: str, finding: str, change: Change) -> dict[str, Any]:
    return _finding(
        cluster,
        finding,
        action=change.action.value,
        kind=change.kind,
        address=str(change.address),
        identity=str(change.identity),
        reason=change.reason.value,
        attributes=_attributes(change),
        risk=change.risk.value,
    )


def _attributes(change: Change) -> str:
    """Write what differs as JSON `{path: [before, after]}`; what is sensitive stays out."""
    if change.before is None or change.after is None:
        whole = change.after if change.before is None else change.before
        return json.dumps({} if whole is None else _open(whole, change), sort_keys=True)
    return json.dumps(
        {
            ".".join(each.path): None if each.sensitive else [each.before, each.after]
            for each in change.attributes
        },
        sort_keys=True,
    )


def _open(value: object, change: Change) -> dict[str, Any]:
    """Write a value without what nobody may see."""
    found: dict[str, Any] = document(value)
    for *parents, name in change.sensitive:
        held: Any = found
        for each in parents:
            held = held.get(each) if isinstance(held, dict) else None
        if isinstance(held, dict):
            held.pop(name, None)
    return found


def _obstacle(cluster: str, found: Diagnostic) -> dict[str, Any]:
    address = "" if found.address is None else str(found.address)
    told = f"{found.code} {found.summary}: {found.detail}"
    return _finding(cluster, "obstacle", address=address, reason=told)


def _finding(cluster: str, finding: str, **more: Any) -> dict[str, Any]:  # noqa: ANN401
    empty: dict[str, Any] = dict.fromkeys(_COLUMNS, "")
    return {**empty, "count": None, "cluster": cluster, "finding": finding, **more}
