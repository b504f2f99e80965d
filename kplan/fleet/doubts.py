"""What a run does not show, and was not asked for: it may be there and hidden, or be newer.

A plan of one cluster asks it for every declared and owned object by name; a run can only have asked
for those that were declared and owned when it was taken.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace

from kplan.cluster.errors import CLIENT_INVALID, client_refusal
from kplan.fleet.rows import ASKED, CLUSTER, Row
from kplan.kinds import KINDS
from kplan.model.resource import Identity
from kplan.model.snapshot import Snapshot
from kplan.plan.request import PlanRequest, part_of

_LISTED = frozenset(kind.name for kind in KINDS if kind.is_always_read)
_TOLD = "the run did not ask for it, and its lists do not show it; take a new run"


def concerned(request: PlanRequest) -> dict[str, set[Identity]]:
    """List, by kind, what is declared or owned on the cluster of the connection without alias."""
    return _concerned(request, frozenset())


def _concerned(request: PlanRequest, only_owned: frozenset[str]) -> dict[str, set[Identity]]:
    own = part_of(request, "")
    found: dict[str, set[Identity]] = defaultdict(set)
    for resource in own.resources:
        if resource.address.kind not in only_owned:
            found[resource.address.kind].add(resource.identity)
    for owned in own.state.owned.values():
        found[owned.address.kind].add(owned.identity)
    return dict(sorted(found.items()))


def asked_by(rows: Iterable[Row]) -> Mapping[str, frozenset[Identity]]:
    """Read what a run asked a cluster for by name, and did not find."""
    told = next((row.attributes.get(ASKED, "{}") for row in rows if row.kind == CLUSTER), "{}")
    return {kind: frozenset(map(Identity, names)) for kind, names in json.loads(told).items()}


def with_doubts(
    request: PlanRequest, snapshot: Snapshot, asked: Mapping[str, frozenset[Identity]]
) -> Snapshot:
    """Take for hidden, and not for absent, what the run can say nothing about.

    That is everything that is owned, declared or both, neither found nor asked for. Topics and ACLs
    that are declared only are taken for absent: they are listed whatever is declared, and most
    often simply new.
    """
    why = client_refusal(CLIENT_INVALID, _TOLD)
    readings = dict(snapshot.readings)
    for kind, meant in _concerned(request, _LISTED).items():
        if kind in readings:
            known = {*readings[kind].objects, *readings[kind].hidden, *asked.get(kind, ())}
            doubtful = dict.fromkeys(sorted(meant - known), why)
            readings[kind] = replace(readings[kind], hidden={**readings[kind].hidden, **doubtful})
    return replace(snapshot, readings=readings)
