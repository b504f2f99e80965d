"""Build a plan from desired, prior and live state: the same input gives the same bytes."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from kplan.kinds.base import ResourceKind, fill_snapshot_from_state
from kplan.kinds.topic_layout import place_topics
from kplan.model.codes import SUMMARIES
from kplan.model.diagnostic import Diagnostic, Severity, sort_diagnostics
from kplan.model.plan import Action, Batch, Change, OutputChange, Plan, PlanBasis, Reason, Step
from kplan.model.resource import cluster_label
from kplan.model.state import KindSnapshot, OutputValue, OwnedObject, Snapshot
from kplan.plan.acl_order import check_acl_order, sending_groups
from kplan.plan.deletion import check_deletes, plan_deletes
from kplan.plan.desired import (
    Findings,
    check_replacements,
    object_to_replace,
    plan_resources,
    problem_diagnostic,
    unread_diagnostics,
)
from kplan.plan.digest import with_checksum
from kplan.plan.drift import find_all_drift
from kplan.plan.logger_levels import keep_logger_levels
from kplan.plan.move import Ownership, build_ownership, check_moved_providers
from kplan.plan.request import (
    PlanRequest,
    RequestSize,
    is_any_targeted,
    is_targeted,
    provider_request,
    request_size,
)


def build_batches(
    changes: Sequence[Change], kinds: Sequence[ResourceKind], max_records: int
) -> tuple[Batch, ...]:
    """Cut the changes into requests of at most `max_records` controller records, in rank order.

    The two steps of a replacement follow each other chunk by chunk, so that as little time as
    possible passes between the delete of an ACL and the add that replaces it (design law 4).
    Replacements that share a principal and resource stay in one chunk, where it has room: every
    delete of them goes before every add (KIP-4). Denies are added before Allows, and go after them.
    """
    by_name = {kind.name: kind for kind in kinds}
    groups: dict[tuple[str, tuple[Step, ...]], list[Change]] = defaultdict(list)
    for change in sorted(changes, key=lambda each: (each.kind, each.identity)):
        steps = by_name[change.kind].steps(change)
        if change.action is Action.REPLACE:
            groups[change.kind, steps].append(change)
        else:
            for step in steps:
                groups[change.kind, (step,)].append(change)
    ordered = sorted(groups.items(), key=lambda item: (item[0][1], item[0][0]))
    return tuple(
        Batch(name, step, chunk)
        for (name, steps), members in ordered
        for chunk in split_changes(by_name[name], steps, sending_groups(members), max_records)
        for step in steps
    )


def split_changes(
    kind: ResourceKind,
    steps: Sequence[Step],
    groups: Sequence[Sequence[Change]],
    max_records: int,
) -> Iterator[tuple[Change, ...]]:
    """Cut by controller records; groups are kept together unless one is larger than the limit.

    One change larger than the limit goes alone.
    """
    total = 0
    chunk: list[Change] = []
    for group in groups:
        weights = [max(kind.record_count(step, change) for step in steps) for change in group]
        fits = sum(weights) <= max_records
        if chunk and fits and total + sum(weights) > max_records:
            yield tuple(chunk)
            total, chunk = 0, []
        for change, weight in zip(group, weights, strict=True):
            if chunk and total + weight > max_records:
                yield tuple(chunk)
                total, chunk = 0, []
            total += weight
            chunk.append(change)
    if chunk:
        yield tuple(chunk)


def output_changes(request: PlanRequest) -> tuple[OutputChange, ...]:
    """Compare declared outputs with those of the state, in order of name.

    A sensitive value is not kept in the state; it counts as unchanged while it stays sensitive.
    """
    before = {name: each for name, each in request.state.outputs.items() if not each.is_null}
    after = {} if request.is_destroy else request.outputs
    unknown = {} if request.is_destroy else request.unknown_outputs
    return tuple(
        _unknown_output(name, before.get(name), is_sensitive=unknown[name])
        if name in unknown
        else _output_change(name, before.get(name), after.get(name))
        for name in sorted(before.keys() | after.keys() | unknown.keys())
    )


def _unknown_output(name: str, before: OutputValue | None, *, is_sensitive: bool) -> OutputChange:
    """Plan an output that data will give a value which is read after the changes."""
    hidden = is_sensitive or (before is not None and before.is_sensitive)
    action = Action.CREATE if before is None else Action.UPDATE
    known = None if hidden or before is None else before.value
    return OutputChange(name, action, known, None, hidden, is_unknown=True)


def _output_change(
    name: str, before: OutputValue | None, after: OutputValue | None
) -> OutputChange:
    hidden = any(each is not None and each.is_sensitive for each in (before, after))
    if after is None:
        action = Action.DELETE
    elif before is None:
        action = Action.CREATE
    elif before.is_sensitive and after.is_sensitive:
        action = Action.NO_OP
    else:
        action = Action.NO_OP if before.value == after.value else Action.UPDATE
    return OutputChange(
        name, action, None if hidden or before is None else before.value,
        None if hidden or after is None else after.value, hidden,
    )  # fmt: skip


_DISPLAYED = (
    Action.DELETE, Action.REPLACE, Action.UPDATE, Action.CREATE, Action.FORGET, Action.NO_OP,
)  # fmt: skip
_DISPLAY_ORDER = {action: at for at, action in enumerate(_DISPLAYED)}


Snapshots = Mapping[str, Snapshot]
"""What was read of each cluster, by the key of the connection to it."""


def build_plans(request: PlanRequest, snapshots: Snapshots, kinds: Sequence[ResourceKind]) -> Plan:
    """Compare configuration, state and clusters, and compute the changes in order.

    Nothing is planned from a kind that was not read in full, and nothing is deleted that the state
    does not own (design laws 2 and 3). Targets only narrow the plan. Clusters are planned in turn.
    """
    made = plan_changes(request, snapshots, kinds, request_size(request))
    drift = find_all_drift(request.state, snapshots, kinds, request.resources)
    return with_checksum(replace(made, drift=drift))


def plan_changes(
    request: PlanRequest, snapshots: Snapshots, kinds: Sequence[ResourceKind], whole: RequestSize
) -> Plan:
    """Build a plan without drift and checksum; guards count the objects of the `whole` request."""
    findings = Findings((), tuple(check_moved_providers(request)))
    for provider, snapshot in snapshots.items():
        part = provider_request(request, provider)
        seen = fill_snapshot_from_state(kinds, snapshot, part.state)
        findings += _set_provider(_plan_kinds(part, seen, kinds), provider)
        findings += Findings((), tuple(_unsupported_diagnostics(part, snapshot)))
    unanswered = [each for each in findings.unanswered if _is_wanted(request, each[0])]
    unread = _all_unread_kinds(request, snapshots) | {
        cluster_label(f"{owned.address.kind}/{owned.identity}", owned.provider): str(refusal)
        for owned, refusal in unanswered
    }
    selected = (_select_change(request, each) for each in findings.changes)
    chosen = keep_logger_levels(each for each in selected if each is not None)
    changes = tuple(sorted(chosen, key=_display_key))
    outputs = output_changes(request) if _is_fully_selected(request, findings) else ()
    batches = {
        provider: build_batches(
            [each for each in changes if each.provider == provider], kinds, request.max_records
        )
        for provider in snapshots
    }
    diagnostics = sort_diagnostics(
        [
            *(each for each in findings.diagnostics if is_asked_for(request, each)),
            *unread_diagnostics(unread),
            *check_deletes(request, changes, whole),
            *check_replacements(request, changes),
            *_unmatched_targets(request, findings),
            *(problem for each in batches.values() for problem in check_acl_order(each)),
        ]
    )
    return Plan(
        based_on=_based_on(request, snapshots),
        changes=changes,
        batches=tuple(
            replace(batch, provider=provider)
            for provider, members in batches.items()
            for batch in members
        ),
        outputs=outputs,
        diagnostics=diagnostics,
        unread=unread,
        is_complete=not (request.targets or request.only or unread),
        cluster=request.cluster,
        created_at=request.created_at,
        clusters=request.clusters,
        is_destroy=request.is_destroy,
    )


def _based_on(request: PlanRequest, snapshots: Snapshots) -> PlanBasis:
    ids = {key: each.cluster_id for key, each in snapshots.items() if key and each.cluster_id}
    own = snapshots[""].cluster_id if "" in snapshots else ""
    state = request.state
    return PlanBasis(request.config_digest, state.lineage, state.serial, own, ids)


def _set_provider(findings: Findings, provider: str) -> Findings:
    if not provider:
        return findings
    changes = tuple(replace(each, provider=provider) for each in findings.changes)
    return replace(findings, changes=changes)


def _is_selected(request: PlanRequest, change: Change) -> bool:
    """Whether filters admit a change; changes within the state are always admitted."""
    named = request.only is None or change.key in request.only
    return named and (_is_only_moved(change) or is_any_targeted(change.addresses, request.targets))


def _select_change(request: PlanRequest, change: Change) -> Change | None:
    """Return a change that filters let through; of one that also moves at least the move.

    Else the object would stay at an address that no moved block may speak of any more by the time
    it is targeted, and would be deleted from there.
    """
    if _is_selected(request, change):
        return _keep_untargeted_declarations(request, change)
    held = request.state.owned.get(change.previous) if change.previous else None
    if held is None or request.only is not None or change.after is None:
        return None
    return replace(
        change,
        identity=held.identity,
        action=Action.NO_OP,
        before=held.value,
        after=held.value,
        attributes=(),
        reason=Reason.MOVED,
        uid=held.uid,
        is_protected=held.is_protected,
        adds_first=False,
    )


def _keep_untargeted_declarations(request: PlanRequest, change: Change) -> Change:
    """Keep an object that is to be deleted at the addresses that no target names."""
    kept = [each for each in change.addresses if not is_targeted(each, request.targets)]
    if change.after is not None or not kept:
        return change
    owner = change.previous or change.address
    held = request.state.owned[owner]
    return replace(
        change,
        address=kept[0],
        action=Action.NO_OP,
        before=held.value,
        after=held.value,
        reason=Reason.DECLARATIONS if kept[0] == owner else Reason.MOVED,
        uid=held.uid,
        previous=None if kept[0] == owner else owner,
        adds_first=False,
        others=tuple(kept[1:]),
    )


def _is_wanted(request: PlanRequest, owned: OwnedObject) -> bool:
    named = request.only is None or owned.key in request.only
    return named and is_any_targeted(owned.addresses, request.targets)


def _is_only_moved(change: Change) -> bool:
    return change.action is Action.NO_OP and change.reason is Reason.MOVED


def _is_fully_selected(request: PlanRequest, findings: Findings) -> bool:
    """Whether nothing is left undone; outputs speak of all that is declared."""
    return all(
        each.action is Action.NO_OP or _is_selected(request, each) for each in findings.changes
    )


def _plan_kinds(
    request: PlanRequest, snapshot: Snapshot, kinds: Sequence[ResourceKind]
) -> Findings:
    found = Findings()
    for kind in kinds:
        if kind.name not in snapshot.readings:
            continue
        reading = snapshot.readings[kind.name]
        owners = build_ownership(request, kind, reading)
        laid, unfit = place_topics(
            owners.declared, _drop_replaced(owners, reading), snapshot.brokers
        )
        owners = replace(owners, declared=laid)
        found += Findings((), tuple(problem_diagnostic(*each) for each in unfit))
        found += Findings((), tuple(_blocked_moves(owners)))
        found += plan_resources(kind, owners, reading)
        found += plan_deletes(kind, request, owners, reading)
    return found


def _drop_replaced(owners: Ownership, reading: KindSnapshot) -> KindSnapshot:
    """Leave out objects to be replaced: their replicas are placed as those of a new object."""
    going = {
        name
        for name, each in owners.declared.items()
        if object_to_replace(each, owners, reading) is not None
    }
    if not going:
        return reading
    objects = {name: each for name, each in reading.objects.items() if name not in going}
    return replace(reading, objects=objects)


def _blocked_moves(owners: Ownership) -> Iterator[Diagnostic]:
    for owned, aim in owners.blocked_moves:
        yield Diagnostic(
            "KP237",
            Severity.WARNING,
            SUMMARIES["KP237"],
            f"{owned.address} ({owned.identity}) moves to {aim}, which owns "
            "another object. It stays where it is.",
            f"To forget one of the two: kplan state rm '{owned.address}'",
            owned.address,
        )


def _unread_kinds(request: PlanRequest, snapshot: Snapshot) -> dict[str, str]:
    """Keep the unread kinds that are needed."""
    addresses = {at for each in request.resources for at in each.addresses}
    addresses |= {at for each in request.state.owned.values() for at in each.addresses}
    asked = {each.kind for each in addresses if is_targeted(each, request.targets)}
    if request.only is not None:
        asked &= {kind for kind, *_ in request.only}
    return {kind: reason for kind, reason in sorted(snapshot.unread.items()) if kind in asked}


def _all_unread_kinds(request: PlanRequest, snapshots: Snapshots) -> dict[str, str]:
    """Name the unread kinds of all clusters: `kafka_acl on kafka.west`."""
    return {
        cluster_label(kind, provider): reason
        for provider, snapshot in snapshots.items()
        for kind, reason in _unread_kinds(provider_request(request, provider), snapshot).items()
    }


def _unsupported_diagnostics(request: PlanRequest, snapshot: Snapshot) -> Iterator[Diagnostic]:
    """Report resources of kinds that the cluster does not have (K117-21)."""
    for each in request.resources:
        if each.address.kind in snapshot.unsupported:
            yield Diagnostic(
                "KP590",
                Severity.ERROR,
                SUMMARIES["KP590"],
                snapshot.unread[each.address.kind],
                "Remove the block, or upgrade the cluster.",
                each.address,
                each.declared_at,
            )


def is_asked_for(request: PlanRequest, problem: Diagnostic) -> bool:
    """Whether a problem concerns the targets: others are not for a break-glass plan."""
    address = problem.address
    if address is None or is_targeted(address, request.targets):
        return True
    shared = (each.addresses for each in request.resources if each.others)
    return any(address in each and is_any_targeted(each, request.targets) for each in shared)


def _unmatched_targets(request: PlanRequest, findings: Findings) -> Iterator[Diagnostic]:
    """Warn about targets that fit nothing: most often a typing mistake."""
    found = [each.addresses for each in findings.changes]
    found += [each.addresses for each in request.resources]  # also where it cannot be read
    found += [each.addresses for each in request.state.owned.values()]
    found += [(each.address,) for each in findings.diagnostics if each.address is not None]
    for target in request.targets:
        if not any(is_any_targeted(each, (target,)) for each in found):
            yield Diagnostic(
                "KP236",
                Severity.WARNING,
                SUMMARIES["KP236"],
                f'No declared or owned resource fits -target "{target}".',
                "kplan state list shows the addresses that are owned.",
            )


def _display_key(change: Change) -> tuple[object, ...]:
    return (_DISPLAY_ORDER[change.action], change.address.sort_key, change.identity)
