"""Plans and drift of every cluster, made inside Spark tasks."""

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

from kplan.cluster.errors import CLIENT_INVALID, client_refusal
from kplan.fleet.dataframe import create_dataframe, map_clusters, pack
from kplan.fleet.inventory import is_manageable
from kplan.fleet.snapshot import (
    ABSENT_NAMES,
    CLUSTER,
    HIDDEN,
    KINDS_READ,
    Row,
    snapshot_from_rows,
)
from kplan.kinds import KINDS
from kplan.kinds.schema import to_document
from kplan.model.dataclass import dataclass
from kplan.model.diagnostic import Diagnostic
from kplan.model.errors import WrongClusterError
from kplan.model.plan import Action, Change
from kplan.model.resource import Identity, Resource
from kplan.model.state import LiveObject, Snapshot
from kplan.plan.build import plan_changes
from kplan.plan.compact import (
    NO_PLACE,
    CompactRequest,
    compact_request,
    is_found_as_declared,
)
from kplan.plan.drift import find_drift, managed_counts, unmanaged_counts
from kplan.plan.equal import drop_equal_objects
from kplan.plan.request import PlanRequest, provider_request
from kplan.policy.risk import add_risks
from kplan.state.file import check_same_cluster

_ALWAYS_READ = frozenset(kind.name for kind in KINDS if kind.is_always_read)
_NOT_REQUESTED = "the run did not read it; take a new run"
EqualObjects = Mapping[str, Collection[Identity]]
"""By kind the names of objects that are surely live as declared, and owned as that or not."""
_EQUAL = LiveObject(None)
_NO_CONFIGURATION = "fleet.hcl names no configuration of it"
_NO_STATE = "no state: nothing could be compared"


def expected_objects(request: PlanRequest) -> dict[str, set[Identity]]:
    """List, by kind, the objects declared or owned on the cluster of the default connection."""
    return _expected_objects(request, frozenset())


def _expected_objects(request: PlanRequest, only_owned: frozenset[str]) -> dict[str, set[Identity]]:
    own = provider_request(request, "")
    found: dict[str, set[Identity]] = defaultdict(set)
    for resource in own.resources:
        if resource.address.kind not in only_owned:
            found[resource.address.kind].add(resource.identity)
    for owned in own.state.owned.values():
        found[owned.address.kind].add(owned.identity)
    return dict(sorted(found.items()))


def absent_names(rows: Iterable[Row]) -> Mapping[str, frozenset[Identity]]:
    """Read the names that a run requested from a cluster and did not find."""
    found = next(
        (row.attributes.get(ABSENT_NAMES, "{}") for row in rows if row.kind == CLUSTER), "{}"
    )
    return {kind: frozenset(map(Identity, names)) for kind, names in json.loads(found).items()}


def hide_unknown_objects(
    request: PlanRequest, snapshot: Snapshot, asked: Mapping[str, frozenset[Identity]]
) -> Snapshot:
    """Treat objects that the run could not see as hidden, not as absent.

    That is everything that is owned, declared or both, neither found nor asked for. Topics and ACLs
    that are declared only are taken for absent: they are listed whatever is declared, and most
    often simply new.
    """
    why = client_refusal(CLIENT_INVALID, _NOT_REQUESTED)
    readings = dict(snapshot.readings)
    for kind, meant in _expected_objects(request, _ALWAYS_READ).items():
        if kind in readings:
            known = {*readings[kind].objects, *readings[kind].hidden, *asked.get(kind, ())}
            doubtful = dict.fromkeys(sorted(meant - known), why)
            readings[kind] = replace(readings[kind], hidden={**readings[kind].hidden, **doubtful})
    return replace(snapshot, readings=readings)


if TYPE_CHECKING:
    from pyspark.sql import DataFrame

FINDING_SCHEMA = (
    "cluster string, finding string, action string, kind string, address string, identity string, "
    "reason string, attributes string, risk string, count long"
)
"""The schema. `finding` is `change` or `obstacle` (what `kplan plan` tells), `drift` or `hidden`
(what `kplan drift` tells), `managed` and `unmanaged` (`count` objects of a kind), `undeclared` (an
object in no state, and not declared), `problem` (of a configuration or state), or `unread`."""

FINDING_ORDER = ("cluster", "finding", "kind", "address", "identity", "action", "reason")
"""How findings are shown: the same whatever order they were found in."""

_FINDING_COLUMNS = tuple(each.split()[0] for each in FINDING_SCHEMA.split(", "))


@dataclass(frozen=True, slots=True)
class ClusterPlanRequest:
    """What a task has to know of one cluster; without a request there is a problem.

    Where it `lists_undeclared` each object in no state, and not declared, is a finding.
    """

    request: CompactRequest | None
    problem: str = ""
    lists_undeclared: bool = False


@dataclass(frozen=True, slots=True)
class PackedRequest:
    """What is declared and owned on one cluster, as its task unpacks it: a `ClusterPlanRequest`.

    The objects of a large fleet take gigabytes, and a twentieth of that when they are packed.
    """

    packed: bytes
    has_state: bool


def pack_request(request: PlanRequest, *, lists_undeclared: bool = False) -> PackedRequest:
    """Pack what is on the default connection, without places in files."""
    found = ClusterPlanRequest(_compact_request(request), lists_undeclared=lists_undeclared)
    return PackedRequest(pack(found), request.state.serial > 0)


@dataclass(frozen=True, slots=True)
class FleetPlanRequest:
    """What is declared and owned per cluster; `problems` say why a cluster has no such thing.

    `notes` name what is declared and not read.
    """

    requests: Mapping[str, PackedRequest] = field(default_factory=dict)
    problems: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def clusters(self) -> tuple[str, ...]:
        """Name the clusters that have a configuration, be it a sound one or not."""
        return tuple(sorted({*self.requests, *self.problems}))

    @property
    def stateless(self) -> tuple[str, ...]:
        """Name the clusters that have no state yet: it was never written."""
        return tuple(sorted(name for name, each in self.requests.items() if not each.has_state))

    def for_cluster(self, cluster: str) -> bytes:
        """Return what a task has to know of one cluster, packed."""
        if cluster in self.requests:
            return self.requests[cluster].packed
        return pack(ClusterPlanRequest(None, self.problems.get(cluster, "")))


def _compact_request(request: PlanRequest) -> CompactRequest:
    """Leave out places in files, and what is on other connections: few bytes are sent."""
    found = compact_request(provider_request(request, ""))
    resources = tuple(map(_without_place, found.rest.resources))
    return replace(found, rest=replace(found.rest, resources=resources))


def _without_place(found: Resource) -> Resource:
    others = tuple(map(_without_place, found.others))
    return Resource(
        found.address, found.identity, found.value, NO_PLACE, found.lifecycle,
        sensitive=found.sensitive, provider=found.provider, others=others,
    )  # fmt: skip


def plan_clusters(objects: "DataFrame", wanted: FleetPlanRequest) -> "DataFrame":
    """Plan every cluster that has a configuration; the columns are FINDINGS.

    Each cluster is planned whole by one task, with the very code of `kplan plan` and `kplan drift`.
    One of which the run does not know is a problem.
    """
    from pyspark.sql import functions as F  # noqa: N812 - heavy; its customary name

    names = wanted.clusters
    packed = {each: wanted.for_cluster(each) for each in names}
    found = map_clusters(objects, FINDING_SCHEMA, plan_cluster, packed)
    if not names:
        return found
    values = {"finding": "problem", "reason": "The run does not know this cluster; take a new one."}
    fields = (each.split() for each in FINDING_SCHEMA.split(", ")[1:])
    rest = [
        (F.lit(values.get(name, "") if kind == "string" else None)).cast(kind).alias(name)
        for name, kind in fields
    ]
    asked = create_dataframe(objects.sparkSession, [(each,) for each in names], "cluster string")
    known = objects.where(F.col("kind") == CLUSTER).select("cluster")
    return found.unionByName(asked.join(known, "cluster", "left_anti").select("cluster", *rest))


def finding_counts(data_frame: "DataFrame") -> "DataFrame":
    """Count findings, and the objects that they mean: cluster, finding, count."""
    from pyspark.sql import functions as F  # noqa: N812

    meant = F.sum(F.coalesce("count", F.lit(1))).alias("count")
    counted = data_frame.groupBy("cluster", "finding").agg(meant)
    return counted.where("count > 0").orderBy("cluster", "finding")


def coverage(data_frame: "DataFrame") -> "DataFrame":
    """Count how much of the live objects is owned: cluster, kind, managed, unmanaged."""
    from pyspark.sql import functions as F  # noqa: N812

    sorts = ("managed", "unmanaged")
    sums = (F.sum(F.when(F.col("finding") == each, F.col("count"))).alias(each) for each in sorts)
    rows = data_frame.where(F.col("finding").isin(*sorts)).groupBy("cluster", "kind").agg(*sums)
    return rows.where("managed + unmanaged > 0").orderBy("cluster", "kind")


def undeclared_clusters(
    objects: "DataFrame", declared: Collection[str], stateless: Collection[str] = ()
) -> "DataFrame":
    """List the clusters that nothing can be compared with: cluster, reason.

    `stateless` are those that have a configuration, and no state that could be compared.
    """
    from pyspark.sql import functions as F  # noqa: N812

    is_stateless = F.col("cluster").isin(*stateless)
    others = objects.where(
        (F.col("kind") == CLUSTER) & (~F.col("cluster").isin(*declared) | is_stateless)
    )
    reason = F.when(is_stateless, F.lit(_NO_STATE)).otherwise(F.lit(_NO_CONFIGURATION))
    return others.select("cluster", reason.alias("reason")).orderBy("cluster")


def undeclared_objects(data_frame: "DataFrame") -> "DataFrame":
    """List the objects in no state, and not declared; in: findings.

    Out: cluster, kind, identity. What every cluster has of itself is left out.
    """
    names = ["cluster", "kind", "identity"]
    found = data_frame.where("finding = 'undeclared'").where(is_manageable())
    return found.select(*names).orderBy(*names)


def plan_cluster(rows: Iterable[Row], wanted: ClusterPlanRequest) -> list[dict[str, Any]]:
    """Plan one cluster: everything that is to be reported of it, each a row of FINDINGS."""
    held = list(rows)
    cluster, compact = held[0].cluster, wanted.request
    if wanted.problem or compact is None:
        return [_finding(cluster, "problem", reason=wanted.problem)] if wanted.problem else []
    equal = _equal_objects(held, compact)
    others = (row for row in held if row.identity not in equal.get(row.kind, ()))
    snapshot = snapshot_from_rows(others)
    if isinstance(snapshot, str):
        return [_finding(cluster, "unread", kind="*", reason=snapshot)]
    try:
        check_same_cluster(compact.rest.state, snapshot.cluster_id)
    except WrongClusterError as failure:
        return [_finding(cluster, "problem", reason=failure.detail)]
    found = list(_plan_findings(cluster, compact, (snapshot, equal), absent_names(held)))
    return [*found, *_undeclared_findings(held, compact)] if wanted.lists_undeclared else found


def _equal_objects(rows: Sequence[Row], compact: CompactRequest) -> EqualObjects:
    """Find the objects that need no look of their kind: their documents are as declared."""
    about = next((row.attributes for row in rows if row.kind == CLUSTER), {})
    hidden = {(row.attributes["kind"], row.identity) for row in rows if row.kind == HIDDEN}
    kinds = set(json.loads(about.get(KINDS_READ, "[]")))
    plain = {kind: each for kind, each in compact.plain.items() if kind in kinds}
    equal: dict[str, set[Identity]] = {kind: set() for kind in plain}
    for row in rows:
        identity = Identity(row.identity)
        found = plain[row.kind].get(identity) if row.kind in plain else None
        if found is None or row.value is None or (row.kind, row.identity) in hidden:
            continue
        if is_found_as_declared(row.kind, found, json.loads(row.value), row.uid):
            equal[row.kind].add(identity)
    return equal


def _plan_findings(
    cluster: str,
    compact: CompactRequest,
    seen: tuple[Snapshot, EqualObjects],
    asked: Mapping[str, frozenset[Identity]],
) -> Iterator[dict[str, Any]]:
    """Plan what is not as declared; what is counts, and is told of in no other way."""
    equal = seen[1]
    differing = compact.expand(equal)
    snapshot = _with_names(*seen)
    part = drop_equal_objects(differing, snapshot, KINDS)
    snapshot = hide_unknown_objects(part, snapshot, asked)
    plan = add_risks(plan_changes(part, {"": snapshot}, KINDS, compact.size))
    for kind, reason in plan.unread.items():
        yield _finding(cluster, "unread", kind=kind, reason=reason)
    for change in plan.changes:
        if change.action is not Action.NO_OP:
            yield _change_finding(cluster, "change", change)
    for problem in plan.diagnostics:
        if problem.is_error:
            yield _obstacle_finding(cluster, problem)
    for change in find_drift(part.state, snapshot, KINDS):
        yield _change_finding(cluster, "drift", change)
    yield from _hidden_findings(cluster, part, snapshot)
    managed = managed_counts(differing.state, snapshot)
    for kind, count in unmanaged_counts(differing.state, snapshot).items():
        owned = compact.owned_count(kind, equal.get(kind, ()))
        yield _finding(cluster, "managed", kind=kind, count=managed[kind] + owned)
        yield _finding(cluster, "unmanaged", kind=kind, count=count - owned)


def _with_names(snapshot: Snapshot, equal: EqualObjects) -> Snapshot:
    """Add the equal objects: their names count, and their values are of no concern."""
    there = {
        kind: replace(each, objects={**each.objects, **dict.fromkeys(equal[kind], _EQUAL)})
        for kind, each in snapshot.readings.items()
        if kind in equal
    }
    return replace(snapshot, readings={**snapshot.readings, **there})


def _hidden_findings(
    cluster: str, request: PlanRequest, snapshot: Snapshot
) -> Iterator[dict[str, Any]]:
    """Return the declared or owned objects that cannot be seen: they may have drifted."""
    for kind, meant in expected_objects(request).items():
        hidden = snapshot.readings[kind].hidden if kind in snapshot.readings else {}
        for identity in sorted(meant & hidden.keys()):
            text = str(hidden[identity])
            yield _finding(cluster, "hidden", kind=kind, identity=str(identity), reason=text)


def _undeclared_findings(rows: Iterable[Row], compact: CompactRequest) -> Iterator[dict[str, Any]]:
    """Return what is in no state, and not declared."""
    rest = expected_objects(compact.rest)
    for row in rows:
        known = rest.get(row.kind, ()), compact.plain.get(row.kind, ())
        if not any(Identity(row.identity) in each for each in known):
            yield _finding(row.cluster, "undeclared", kind=row.kind, identity=row.identity)


def _change_finding(cluster: str, finding: str, change: Change) -> dict[str, Any]:
    return _finding(
        cluster,
        finding,
        action=change.action.value,
        kind=change.kind,
        address=str(change.address),
        identity=str(change.identity),
        reason=change.reason.value,
        attributes=_attributes_json(change),
        risk=change.risk.value,
    )


def _attributes_json(change: Change) -> str:
    """Write the differences as JSON `{path: [before, after]}`; sensitive values are left out."""
    if change.before is None or change.after is None:
        whole = change.after if change.before is None else change.before
        return json.dumps({} if whole is None else _public_document(whole, change), sort_keys=True)
    return json.dumps(
        {
            ".".join(each.path): None if each.sensitive else [each.before, each.after]
            for each in change.attributes
        },
        sort_keys=True,
    )


def _public_document(value: object, change: Change) -> dict[str, Any]:
    """Write a value without its sensitive parts."""
    found: dict[str, Any] = to_document(value)
    for *parents, name in change.sensitive:
        held: Any = found
        for each in parents:
            held = held.get(each) if isinstance(held, dict) else None
        if isinstance(held, dict):
            held.pop(name, None)
    return found


def _obstacle_finding(cluster: str, diagnostic: Diagnostic) -> dict[str, Any]:
    address = "" if diagnostic.address is None else str(diagnostic.address)
    detail = f"{diagnostic.code} {diagnostic.summary}: {diagnostic.detail}"
    return _finding(cluster, "obstacle", address=address, reason=detail)


def _finding(cluster: str, finding: str, **more: Any) -> dict[str, Any]:  # noqa: ANN401
    empty: dict[str, Any] = dict.fromkeys(_FINDING_COLUMNS, "")
    return {**empty, "count": None, "cluster": cluster, "finding": finding, **more}
