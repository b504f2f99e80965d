"""kplan's own planner, run where the rows are: what is declared against what is live."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kplan.fleet.rows import Row, snapshot_of
from kplan.kinds import KINDS
from kplan.kinds.schema import document
from kplan.model.diagnostic import Diagnostic
from kplan.model.plan import Action, Change, Plan
from kplan.plan.build import build_plan
from kplan.plan.drift import drift, unmanaged
from kplan.plan.request import PlanRequest

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

FINDINGS = (
    "cluster string, finding string, action string, kind string, address string, identity string, "
    "reason string, attributes string, risk string, count long"
)
"""The schema; `finding` is `change`, `drift`, `unmanaged`, `problem` or `unread`."""

_COLUMNS = tuple(each.split()[0] for each in FINDINGS.split(", "))
_ROW_COLUMNS = Row._fields


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is declared and owned per cluster; `problems` say why a cluster has no such thing."""

    requests: Mapping[str, PlanRequest] = field(default_factory=dict)
    problems: Mapping[str, str] = field(default_factory=dict)


def plans(objects: "DataFrame", wanted: Wanted) -> "DataFrame":
    """Plan every cluster of the rows that has a configuration; the columns are FINDINGS.

    Each cluster is planned whole by one task, with the very code of `kplan plan` and `kplan drift`.
    """

    def planned(table: Any) -> Any:  # noqa: ANN401 - Arrow tables, on the executor
        import pyarrow as pa  # noqa: PLC0415 - heavy

        rows = (Row(*each) for each in _tuples(table))
        found = findings(rows, wanted)
        types = [pa.string()] * (len(_COLUMNS) - 1) + [pa.int64()]
        columns = [[each[name] for each in found] for name in _COLUMNS]
        arrays = [pa.array(c, t) for c, t in zip(columns, types, strict=True)]
        return pa.Table.from_arrays(arrays, names=list(_COLUMNS))

    chosen = objects.select(*_ROW_COLUMNS)
    return chosen.groupBy("cluster").applyInArrow(planned, FINDINGS)


def _tuples(table: Any) -> Iterable[tuple[Any, ...]]:  # noqa: ANN401
    columns = [table.column(name).to_pylist() for name in _ROW_COLUMNS]
    columns[-1] = [dict(each or ()) for each in columns[-1]]
    return zip(*columns, strict=True)


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
    plan = build_plan(request, snapshot, KINDS)
    found = [_finding(cluster, "unread", kind=k, reason=r) for k, r in plan.unread.items()]
    found += [_change(cluster, "change", each) for each in _shown(plan)]
    found += [_change(cluster, "drift", each) for each in drift(request.state, snapshot, KINDS)]
    found += [_problem(cluster, each) for each in plan.diagnostics if each.is_error]
    found += [
        _finding(cluster, "unmanaged", kind=kind, count=count)
        for kind, count in unmanaged(request.state, snapshot).items()
    ]
    return found


def _shown(plan: Plan) -> list[Change]:
    return [each for each in plan.changes if each.action is not Action.NO_OP]


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
        return json.dumps({} if whole is None else document(whole), sort_keys=True)
    return json.dumps(
        {
            ".".join(each.path): None if each.sensitive else [each.before, each.after]
            for each in change.attributes
        },
        sort_keys=True,
    )


def _problem(cluster: str, found: Diagnostic) -> dict[str, Any]:
    address = "" if found.address is None else str(found.address)
    told = f"{found.code} {found.summary}: {found.detail}"
    return _finding(cluster, "problem", address=address, reason=told)


def _finding(cluster: str, finding: str, **more: Any) -> dict[str, Any]:  # noqa: ANN401
    empty: dict[str, Any] = dict.fromkeys(_COLUMNS, "")
    return {**empty, "count": None, "cluster": cluster, "finding": finding, **more}
