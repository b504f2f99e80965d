"""Objects that would have to go from one cluster to another."""

from collections.abc import Iterator

from kplan.kinds.codes import SUMMARIES
from kplan.model.connection import connection_name
from kplan.model.diagnostic import Diagnostic, Severity
from kplan.plan.moves import moved_objects
from kplan.plan.request import PlanRequest, is_targeted


def strayed(request: PlanRequest) -> Iterator[Diagnostic]:
    """Refuse addresses whose object is owned on another cluster than it is declared on.

    To carry that out would delete the one and create the other: a topic would lose its records.
    """
    owned = request.state.owned.values()
    keys = {*(each.provider for each in request.resources), *(each.provider for each in owned)}
    if request.is_destroy or keys <= {""}:
        return
    held, _ = moved_objects(owned, dict(request.moved))
    for resource in request.resources:
        old = held.get(resource.address)
        if old is None or old.provider == resource.provider:
            continue
        if not is_targeted(resource.address, request.targets):
            continue
        before, after = (connection_name(each.provider) for each in (old, resource))
        yield Diagnostic(
            "KP243",
            Severity.ERROR,
            SUMMARIES["KP243"],
            f"{resource.address} is owned on {before} and declared on {after}; no object can go "
            "from one cluster to another.",
            "Give the new one an address of its own, so that the old one is deleted as what it is; "
            f"or let go of the old one: kplan state rm '{old.address}'",
            resource.address,
            resource.declared_at,
        )
