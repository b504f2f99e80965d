"""Deletes and forgets of objects that are no longer declared, and the guards against them."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from kplan.cluster.setting_keys import ROOT_LOGGER
from kplan.kinds.acl import Acl
from kplan.kinds.base import ResourceKind
from kplan.kinds.logger import Logger
from kplan.kinds.schema import secret_paths
from kplan.model.address import Address
from kplan.model.codes import SUMMARIES
from kplan.model.diagnostic import Diagnostic, Severity
from kplan.model.errors import Refusal
from kplan.model.plan import Action, Change, Reason
from kplan.model.state import KindSnapshot, LiveObject, OwnedObject
from kplan.plan.desired import Findings, hidden_problem, is_unanswered
from kplan.plan.move import Ownership
from kplan.plan.request import (
    DeclaredBlocks,
    PlanRequest,
    RequestSize,
    address_names,
    block_name,
    declared_blocks,
    is_removed,
)


def plan_deletes(
    kind: ResourceKind, request: PlanRequest, owners: Ownership, reading: KindSnapshot
) -> Findings:
    """Delete owned objects that are no longer declared, and forget those not ours any more.

    Only the very incarnation that the state knows is deleted: a topic that was created again
    outside of kplan is someone else's (design law 3, K4-36). What is hidden can only be forgotten.
    """
    replaced = {each.identity for each in owners.renamed.values()}
    changes: list[Change] = []
    problems: list[Diagnostic] = []
    unanswered: list[tuple[OwnedObject, Refusal]] = []
    blocks: DeclaredBlocks | None = None
    places = {at for each in owners.declared.values() for at in each.addresses}
    for address, owned in owners.by_address.items():
        if owned.identity in owners.declared or owned.identity in replaced:
            continue
        hidden = reading.hidden.get(owned.identity)
        is_kept = hidden is not None and is_removed(request, (address, *owned.others))
        if hidden is not None and not is_kept:
            if is_unanswered(hidden):
                unanswered.append((owned, hidden))
                continue
            problem = hidden_problem(kind, owned.identity, hidden)
            problems.append(_error(problem.code, problem.detail, problem.hint, address=address))
            continue
        live = reading.objects.get(owned.identity)
        blocks = declared_blocks(request) if blocks is None else blocks
        change = _delete_change(kind, request, address, owned, live)
        if address not in places:  # else the instance is there, and declares another object
            change = _note_block(change, blocks)
        changes.append(replace(change, reason=Reason.REMOVED) if is_kept else change)
    return Findings(tuple(changes), tuple(problems), tuple(unanswered))


def _delete_change(
    kind: ResourceKind,
    request: PlanRequest,
    address: Address,
    owned: OwnedObject,
    live: LiveObject | None,
) -> Change:
    before = owned.value if live is None else kind.align(live.value, owned.value)[0]
    action, reason = _delete_action(request, (address, *owned.others), owned, live)
    if action is Action.DELETE and not _is_deletable(kind, before):
        action = Action.FORGET
        reason = Reason.DESTROY_KEPT if reason is Reason.DESTROY else Reason.NOT_DELETABLE
    return Change(
        address,
        kind.name,
        owned.identity,
        action,
        before,
        None,
        reason=reason,
        uid=(live.uid or owned.uid) if live else "",
        sensitive=owned.sensitive | secret_paths(kind.schema),
        is_protected=owned.is_protected,
        previous=owned.address if owned.address != address else None,
        adds_first=bool(request.adds_first) and isinstance(before, Acl),
        was_declared_at=owned.declared_at,
        others=owned.others,
    )


def _is_deletable(kind: ResourceKind, value: object) -> bool:
    is_root = isinstance(value, Logger) and value.logger == ROOT_LOGGER
    return kind.is_deletable and not is_root


def _note_block(change: Change, blocks: DeclaredBlocks) -> Change:
    """Say of an object whose block is still there why that does not declare it."""
    found = blocks.get(block_name(change.address))
    if found is None or change.reason is not Reason.NOT_DECLARED:
        return change
    if change.address.is_deposed:  # it has lost its instance to another object
        return change
    is_alike = type(found[0].key) is type(change.address.key)
    return replace(change, reason=Reason.INSTANCE_GONE if is_alike else Reason.WRONG_REPETITION)


def _delete_action(
    request: PlanRequest,
    addresses: Sequence[Address],
    owned: OwnedObject,
    live: LiveObject | None,
) -> tuple[Action, Reason]:
    if live is None:
        return Action.FORGET, Reason.ALREADY_DELETED
    if owned.uid and live.uid and live.uid != owned.uid:
        return Action.FORGET, Reason.RECREATED_OUTSIDE
    if is_removed(request, addresses):
        return Action.FORGET, Reason.REMOVED
    return Action.DELETE, Reason.DESTROY if request.is_destroy else Reason.NOT_DECLARED


def check_deletes(
    request: PlanRequest, changes: Sequence[Change], whole: RequestSize
) -> Iterator[Diagnostic]:
    """Refuse to delete protected objects, too many, or all because nothing is declared.

    `whole` is the size of the request of which this one may be a part.
    """
    blocks: DeclaredBlocks | None = None
    for change in changes:
        if change.is_protected and change.action in {Action.DELETE, Action.REPLACE}:
            blocks = declared_blocks(request) if blocks is None else blocks
            yield _protection_problem(request, change, blocks)
        if change.kind == _KIND_WITH_UID and not change.uid and _deletes(change):
            yield Diagnostic(
                "KP545",
                Severity.WARNING,
                SUMMARIES["KP545"],
                f"The cluster shows no topic id of {change.identity}. Right before the request "
                "kplan compares its partitions, replicas and configs with the plan; a topic that "
                "was created again with the same ones is not told apart.",
                "Let no other tool create the topic meanwhile. Kafka has topic ids since 2.8.",
                change.address,
                change.declared_at,
            )
    if not whole.declared and not request.is_destroy and (lost := _undeclared_count(request)):
        yield _error(
            "KP235",
            f"The configuration declares no resource, and the state owns {lost}; "
            "this looks like a lost configuration.",
            "Run kplan destroy to delete everything, or check the folder.",
        )
    deletes = sum(1 for each in changes if _deletes(each))
    most = _max_deletes(request, whole.owned)
    if most is not None and deletes > most:
        is_given = request.max_deletes is not None
        why = "" if is_given else f" of the {whole.owned} that kplan owns here"
        what = "1 object" if deletes == 1 else f"{deletes} objects"
        yield _error(
            "KP240",
            f"{what} would be deleted, and at most {most}{why} may be.",
            "Review the deletes; a higher -max-deletes allows them.",
        )


_INSTANCE_REASONS = frozenset({Reason.INSTANCE_GONE, Reason.WRONG_REPETITION})


def _protection_problem(request: PlanRequest, change: Change, blocks: DeclaredBlocks) -> Diagnostic:
    """Explain a protection: each instance has that of its last apply.

    What the block says by now of other instances may not be so for this one: it can depend on the
    key.
    """
    detail = f"{change.address} ({change.identity}) was declared with prevent_destroy"
    hint = "Declare it with prevent_destroy = false, apply,"
    if request.is_destroy:
        return _error("KP232", f"{detail}.", f"{hint} then destroy it.", change)
    if change.action is Action.REPLACE:  # its identity may be that of the new object
        detail = f"The object of {change.address} was declared with prevent_destroy."
        hint = "Declare it as it was, with prevent_destroy = false, apply, and then replace it."
        return _error("KP232", detail, hint, change)
    if change.reason not in _INSTANCE_REASONS:
        kept = "; it is no longer declared, and the state keeps this protection"
        return _error("KP232", f"{detail}{kept}.", f"{hint} and then remove it.", change)
    _, block = blocks[block_name(change.address)]
    key = change.address.key
    back = "Declare this instance again"
    if change.reason is Reason.WRONG_REPETITION:
        gone = "its block no longer declares this instance"
    elif isinstance(key, int):
        gone, back = f"the index {key} is out of range for count", "Raise count again"
    else:
        gone, back = f'the key "{key}" is no longer in for_each', "Put the key back"
    loosened = "" if not block.lifecycle.prevent_destroy else " set prevent_destroy = false,"
    problem = _error(
        "KP232",
        f"{detail}, and {gone}. The state keeps the protection that was last applied to this "
        "instance.",
        f"{back},{loosened} apply, and then remove it.",
        change,
    )
    return replace(problem, subject=block.declared_at)


_KIND_WITH_UID = "kafka_topic"


def _deletes(change: Change) -> bool:
    return change.action is Action.DELETE or change.is_recreated


def _undeclared_count(request: PlanRequest) -> int:
    """Count owned objects that are not mentioned, not even in a `removed` block."""
    removed = set(request.removed)
    return sum(1 for each in request.state.owned if not address_names(each) & removed)


_MIN_OWNED, _MAX_DELETE_PERCENT, _DEFAULT_MAX_DELETES = 10, 30, 10
"""Where nothing is said, of 10 objects and more 30 % may be deleted at once, and 10 at most."""


def _max_deletes(request: PlanRequest, owned: int) -> int | None:
    """Return the requested limit, or the default one; an approved plan has none."""
    if request.max_deletes is not None:
        return request.max_deletes
    if request.is_destroy or request.only is not None or owned < _MIN_OWNED:
        return None
    return min(_DEFAULT_MAX_DELETES, owned * _MAX_DELETE_PERCENT // 100)


def _error(
    code: str, detail: str, hint: str, change: Change | None = None, address: Address | None = None
) -> Diagnostic:
    place = (address, None) if change is None else (change.address, change.declared_at)
    return Diagnostic(code, Severity.ERROR, SUMMARIES[code], detail, hint, *place)
