"""Changes for declared resources: create, update, replace, import."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Self

from kplan.cluster.errors import Handling, handling
from kplan.kinds.acl import may_overlap
from kplan.kinds.base import Problem, ResourceKind
from kplan.kinds.schema import secret_paths
from kplan.model.codes import SUMMARIES
from kplan.model.dataclass import dataclass
from kplan.model.diagnostic import Diagnostic, Severity
from kplan.model.errors import Refusal
from kplan.model.plan import Action, Change, Reason
from kplan.model.resource import Identity, Path, Resource, unread_words
from kplan.model.state import KindSnapshot, LiveObject, OwnedObject
from kplan.plan.diff import attribute_changes
from kplan.plan.move import Ownership
from kplan.plan.request import PlanRequest


def object_to_replace(
    resource: Resource, owners: Ownership, reading: KindSnapshot
) -> LiveObject | None:
    """Return the live object that the declared one replaces; None if there is none.

    An object that does not exist is created anyway. So is one whose topic id is another by now: it
    was replaced already.
    """
    asked = (owners.replaced.get(str(each)) for each in resource.addresses)
    uid = next((each for each in asked if each is not None), None)
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
    """Explain why an object cannot be replaced: only owned objects are ever deleted (law 3)."""
    renamed = owners.renamed.get(resource.address)
    owned = owners.by_identity.get(resource.identity) if renamed is None else renamed
    detail = f"{resource.address} ({resource.identity})"
    if not old.uid:
        yield Problem(
            "KP244",
            f"{detail} has no data beside its configuration: a new {kind.noun} would be the same, "
            "and it would be missing for a moment.",
            "Leave -replace out.",
        )
    elif owned is None or owned.uid not in {"", old.uid}:
        yield Problem(
            "KP244",
            f"{detail} is not what kplan applied here, and only that may be deleted.",
            "Take it over first: kplan apply without -replace.",
        )
    elif renamed is not None and resource.identity in reading.objects:
        yield Problem(
            "KP244",
            f'There is a {kind.noun} "{resource.identity}" already, which kplan does not own; '
            f"it cannot take the place of {renamed.identity}.",
            "Declare another name, or import it to another address.",
            ("name",),
        )


def check_replacements(request: PlanRequest, changes: Sequence[Change]) -> Iterator[Diagnostic]:
    """Refuse to replace undeclared objects, and to lose data without acknowledgement."""
    declared = {str(at) for each in request.resources for at in each.addresses}
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
                f"{change.address} would be deleted with all its records and created again.",
                f"To accept this: -acknowledge-data-loss='{change.address}'. On a terminal "
                "kplan apply asks for the name instead.",
                change.address,
                change.declared_at,
            )


def check_import(
    kind: ResourceKind, resource: Resource, owners: Ownership, reading: KindSnapshot
) -> Diagnostic | None:
    """Say why the object that is to be imported to a resource cannot be, if there is such a block.

    The resource says all that names the object, so the block must name the very same.
    """
    asked = (owners.imports.get(each) for each in resource.addresses)
    wanted = next((each for each in asked if each is not None), None)
    if wanted is None:
        return None
    identity = wanted.identity
    code, detail, hint = "", "", ""
    if identity != resource.identity:
        code = "KP239"
        detail = f'{resource.address} declares {kind.noun} "{resource.identity}", and '
        detail += f'"{identity}" is to be imported to it.'
        hint = "Give both the same name."
    elif (holder := owners.by_identity.get(identity)) is not None:
        code = "KP239"
        detail = f'{kind.noun} "{identity}" is owned at {holder.address} already.'
        hint = f"Remove the import block; a moved block from {holder.address} moves it."
    elif identity not in reading.objects:
        code = "KP238"
        detail = f'The cluster has no {kind.noun} "{identity}" to import to {resource.address}.'
        hint = "Remove the import block to create it."
    if not code:
        return None
    place = wanted.declared_at
    return Diagnostic(code, Severity.ERROR, SUMMARIES[code], detail, hint, resource.address, place)


@dataclass(frozen=True, slots=True)
class Findings:
    """Changes, and problems that are in their way.

    Nothing is planned for the owned objects that are `unanswered`, each with the reason: a broker
    that is down must not stop the plan of everything else.
    """

    changes: tuple[Change, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    unanswered: tuple[tuple[OwnedObject, Refusal], ...] = ()

    def __add__(self, other: Self) -> Self:
        """Put two findings together."""
        return type(self)(
            self.changes + other.changes,
            self.diagnostics + other.diagnostics,
            self.unanswered + other.unanswered,
        )


def plan_resources(kind: ResourceKind, owners: Ownership, reading: KindSnapshot) -> Findings:
    """Compare every declared resource of the kind with the owned and live objects."""
    changes: list[Change] = []
    problems: list[Diagnostic] = []
    unanswered: list[tuple[OwnedObject, Refusal]] = []
    for identity, resource in owners.declared.items():
        hidden, owned = reading.hidden.get(identity), owners.by_identity.get(identity)
        if hidden is not None and owned is not None and is_unanswered(hidden):
            unanswered.append((owned, hidden))
            continue
        faults = list(_resource_problems(kind, resource, owners, reading))
        problems += [problem_diagnostic(resource, fault) for fault in faults]
        if not faults and (fault := check_import(kind, resource, owners, reading)):
            problems.append(fault)
        elif not faults:
            live = reading.objects.get(identity)
            changes.append(_plan_resource(kind, resource, owners, (live, reading)))
    colliding = dict(_collisions(kind, changes, reading))
    problems += [
        problem_diagnostic(owners.declared[each], fault) for each, fault in colliding.items()
    ]
    return Findings(
        tuple(each for each in changes if each.identity not in colliding),
        tuple(problems),
        tuple(unanswered),
    )


def problem_diagnostic(resource: Resource, problem: Problem) -> Diagnostic:
    """Return a problem of a resource at the attribute that is to blame."""
    return Diagnostic(
        problem.code,
        Severity.WARNING if problem.is_warning else Severity.ERROR,
        SUMMARIES[problem.code],
        problem.detail,
        problem.hint,
        resource.address,
        resource.ranges.get(problem.path)
        or resource.ranges.get(problem.path[:1])
        or resource.declared_at,
    )


def hidden_problem(kind: ResourceKind, identity: Identity, refused: Refusal) -> Problem:
    """Say that nothing can be planned for an object that the principal may not see."""
    if refused.hint:  # the refusal is about this object, and says it all
        return Problem("KP233", refused.message, refused.hint)
    return Problem(
        "KP233",
        f"The cluster will not show {kind.noun} {identity} ({refused}); "
        "whether it exists is unknown.",
        "Grant DESCRIBE and DESCRIBE_CONFIGS on it to the principal kplan runs as."
        if handling(refused) is Handling.DENIED
        else "Plan again when it can be read.",
    )


def unread_diagnostics(unread: Mapping[str, str]) -> tuple[Diagnostic, ...]:
    """Warn of kinds and objects that could not be read, by reason."""
    return tuple(
        Diagnostic(
            "KP234",
            Severity.WARNING,
            SUMMARIES["KP234"],
            f"{subject} could not be read: {reason.rstrip('.')}. Nothing is planned for {pronoun}.",
            "The rest of the plan can be applied; the run will end as incomplete.",
        )
        for what, reason in unread.items()
        for subject, pronoun in (unread_words(what),)
    )


def is_unanswered(refusal: Refusal) -> bool:
    """Whether an object is not seen for want of an answer, not of a right."""
    return handling(refusal) in {Handling.IN_DOUBT, Handling.RETRY}


def _resource_problems(
    kind: ResourceKind, resource: Resource, owners: Ownership, reading: KindSnapshot
) -> Iterator[Problem]:
    """Say why nothing can be planned for the resource."""
    held = owners.by_address.get(resource.address)
    if held is not None and held.identity in owners.declared:
        held = None
    if (refusal := reading.hidden.get(resource.identity)) is not None:
        yield hidden_problem(kind, resource.identity, refusal)
    elif (
        held is not None
        and (refusal := reading.hidden.get(held.identity)) is not None
        and is_unanswered(refusal)
    ):  # the address would own another object, and no one the unseen one any more
        hint = (
            f"Give the new {kind.noun} another address, or where the old one does not come back: "
            f"kplan state rm '{held.address}'"
        )
        yield replace(hidden_problem(kind, held.identity, refusal), hint=hint)
    elif (old := object_to_replace(resource, owners, reading)) is not None:
        yield from check_replacement(kind, resource, owners, reading, old)
    elif (before := owners.renamed.get(resource.address)) and not kind.is_replaceable:
        yield Problem(
            "KP231",
            f"{resource.address} was {before.identity} and now declares {resource.identity}; "
            f"Kafka cannot rename a {kind.noun}"
            + (", and deleting the old one would lose its records." if kind.is_deletable else "."),
            "Give the new object another address and keep the old block, or forget the old one: "
            f"kplan state rm '{before.address}'"
            + (
                f". To delete its records: -replace='{resource.address}'"
                if kind.is_deletable
                else ""
            ),
            ("name",),
        )
    elif (live := reading.objects.get(resource.identity)) is not None:
        ignored = resource.lifecycle.ignore_changes
        _, after = kind.align(live.value, resource.value, ignored)
        yield from kind.check_change(live, after)


def _plan_resource(
    kind: ResourceKind,
    resource: Resource,
    owners: Ownership,
    seen: tuple[LiveObject | None, KindSnapshot],
) -> Change:
    live, reading = seen
    if (old := object_to_replace(resource, owners, reading)) is not None:
        return _replace_change(kind, resource, owners, old)
    renamed = owners.renamed.get(resource.address)
    if renamed is not None:
        before, _ = kind.align(reading.objects[renamed.identity].value, renamed.value)
        made = _build_change(kind, resource, (before, resource.value), Action.REPLACE, renamed)
        made = replace(made, is_protected=_is_protected(resource, renamed))
        own = resource.lifecycle.create_before_destroy
        asked = owners.adds_first if own is None else own
        return replace(made, adds_first=asked and may_overlap(before, resource.value))
    owned = owners.by_identity.get(resource.identity)
    if live is None:
        return _build_change(kind, resource, (None, resource.value), Action.CREATE, owned)
    pair = kind.align(live.value, resource.value, resource.lifecycle.ignore_changes)
    action = Action.NO_OP if pair[0] == pair[1] else Action.UPDATE
    made = _build_change(kind, resource, pair, action, owned, live)
    if action is Action.NO_OP and made.reason is Reason.NONE:
        made = replace(made, reason=_state_reason(made, owned, secret_paths(kind.schema)))
    is_import = owned is None and any(each in owners.imports for each in resource.addresses)
    return replace(made, reason=_IMPORT_REASONS[made.reason]) if is_import else made


def _state_reason(change: Change, owned: OwnedObject | None, secret: frozenset[Path]) -> Reason:
    """Return what an apply records in the state where nothing else changes."""
    if owned is None:
        return Reason.NONE
    if owned.is_protected is not change.is_protected:
        return Reason.PROTECTION
    if owned.sensitive | secret != change.sensitive:
        return Reason.SENSITIVITY
    return Reason.NONE if {*owned.others} == {*change.others} else Reason.DECLARATIONS


def _replace_change(
    kind: ResourceKind, resource: Resource, owners: Ownership, old: LiveObject
) -> Change:
    """Delete an object and create it again."""
    owned = owners.renamed.get(resource.address) or owners.by_identity[resource.identity]
    pair = kind.align(old.value, resource.value, resource.lifecycle.ignore_changes)
    made = _build_change(kind, resource, pair, Action.REPLACE, owned, old)
    is_protected = _is_protected(resource, owned)
    return replace(made, reason=Reason.REPLACE_OPTION, is_protected=is_protected)


def _is_protected(resource: Resource, owned: OwnedObject) -> bool:
    """Whether an object must not be deleted for its replacement; the state remembers it too."""
    return resource.lifecycle.prevent_destroy or owned.is_protected


_IMPORT_REASONS = {
    Reason.ADOPTED: Reason.IMPORTED,
    Reason.ADOPTED_AND_CHANGED: Reason.IMPORTED_AND_CHANGED,
}


def _build_change(
    kind: ResourceKind,
    resource: Resource,
    pair: tuple[object | None, object],
    action: Action,
    owned: OwnedObject | None,
    live: LiveObject | None = None,
) -> Change:
    before, after = pair
    moved = owned is not None and owned.address != resource.address
    sensitive = resource.sensitive | secret_paths(kind.schema)
    hidden = sensitive if owned is None else sensitive | owned.sensitive
    return Change(
        resource.address,
        kind.name,
        resource.identity,
        action,
        before,
        after,
        attributes=() if before is None else attribute_changes(kind, before, after, hidden),
        reason=_reason(
            action, owned, live, is_moved=moved, is_edited=_is_edited(kind, owned, after)
        ),
        uid=live.uid if live else "",
        declared_at=resource.declared_at,
        is_protected=resource.lifecycle.prevent_destroy,
        previous=owned.address if owned is not None and moved else None,
        sensitive=sensitive,
        others=resource.addresses[1:],
    )


def _is_edited(kind: ResourceKind, owned: OwnedObject | None, after: object) -> bool:
    """Whether the declaration differs from the last applied one."""
    if owned is None:
        return False
    applied, desired = kind.align(owned.value, after)
    return bool(applied != desired)


def _reason(
    action: Action,
    owned: OwnedObject | None,
    live: LiveObject | None,
    *,
    is_moved: bool,
    is_edited: bool,
) -> Reason:
    if action is Action.REPLACE:
        return Reason.IDENTITY_CHANGED
    if live is None:
        return Reason.DELETED_OUTSIDE if owned else Reason.NONE
    if owned is None:
        return Reason.ADOPTED if action is Action.NO_OP else Reason.ADOPTED_AND_CHANGED
    is_recreated = bool(owned.uid and live.uid) and owned.uid != live.uid
    if is_recreated and (action is Action.NO_OP or not is_edited):
        return Reason.RECREATED_OUTSIDE
    return Reason.MOVED if is_moved else Reason.NONE


def _collisions(
    kind: ResourceKind, changes: Sequence[Change], reading: KindSnapshot
) -> Iterator[tuple[Identity, Problem]]:
    """Check an object to be created against the live ones (K4-29)."""
    created: list[Identity] = [each.identity for each in changes if each.action is Action.CREATE]
    return kind.check_all(created, reading.objects.keys())
