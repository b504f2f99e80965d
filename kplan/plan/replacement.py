"""Objects that `-replace` deletes and creates anew."""

from collections.abc import Iterator, Sequence

from kplan.kinds.base import Problem, ResourceKind
from kplan.kinds.codes import SUMMARIES
from kplan.model.diagnostic import Diagnostic, Severity
from kplan.model.plan import Change
from kplan.model.resource import Resource
from kplan.model.snapshot import KindSnapshot, LiveObject
from kplan.plan.ownership import Ownership
from kplan.plan.request import PlanRequest


def object_to_replace(
    resource: Resource, owners: Ownership, reading: KindSnapshot
) -> LiveObject | None:
    """Return the live object that is to be replaced by what is declared; None where none is.

    What is not there is created as it would be anyway. So is what was meant in another incarnation:
    then it was replaced already.
    """
    uid = owners.replaced.get(str(resource.address))
    renamed = owners.renamed.get(resource.address)
    held = resource.identity if renamed is None else renamed.identity
    old = reading.objects.get(held)
    return old if old is not None and uid in {"", old.uid} else None


def check_replacement(
    kind: ResourceKind,
    resource: Resource,
    owners: Ownership,
    reading: KindSnapshot,
    old: LiveObject,
) -> Iterator[Problem]:
    """Say why an object cannot be replaced: only what the state owns is ever deleted (law 3)."""
    renamed = owners.renamed.get(resource.address)
    owned = owners.by_identity.get(resource.identity) if renamed is None else renamed
    told = f"{resource.address} ({resource.identity})"
    if not old.uid:
        yield Problem(
            "KP244",
            f"{told} holds nothing but what is declared: a new {kind.noun} would be the same, and "
            "it would be missed for a moment.",
            "Leave -replace out.",
        )
    elif owned is None or owned.uid not in {"", old.uid}:
        yield Problem(
            "KP244",
            f"{told} is not what kplan applied here, and only that may be deleted.",
            "Take it over first: kplan apply without -replace.",
        )
    elif renamed is not None and resource.identity in reading.objects:
        yield Problem(
            "KP244",
            f'There is a {kind.noun} "{resource.identity}" already, which kplan does not own; '
            f"it cannot take the place of {renamed.identity}.",
            "Declare another name, or import it to an address of its own.",
            ("name",),
        )


def check_replacements(request: PlanRequest, changes: Sequence[Change]) -> Iterator[Diagnostic]:
    """Refuse to replace what is not declared, and to lose data that nobody gave up."""
    declared = {str(each.address) for each in request.resources}
    for address in sorted(request.replaced.keys() - declared):
        yield Diagnostic(
            "KP244",
            Severity.ERROR,
            SUMMARIES["KP244"],
            f"No resource is declared at {address}.",
            "Give the address of one instance, its key included: kplan state list shows those "
            "that are owned.",
        )
    for change in changes:
        if change.is_recreated and str(change.address) not in request.acknowledged:
            yield Diagnostic(
                "KP247",
                Severity.ERROR,
                SUMMARIES["KP247"],
                f"{change.address} is to be deleted with all that it holds, and created anew.",
                f"Where that is meant: -acknowledge-data-loss='{change.address}'. On a terminal "
                "kplan apply asks for its name instead.",
                change.address,
                change.declared_at,
            )
