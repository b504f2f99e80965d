"""The rights that the principal lacks for a plan, before anything is sent."""

from collections.abc import Iterator, Mapping, Sequence

from kplan.cluster.authorization import REQUIRED_OPERATIONS
from kplan.cluster.port import Cluster
from kplan.cluster.request import AuthorizedOperations
from kplan.kinds.named_config import GROUP_CONFIG
from kplan.model.diagnostic import Diagnostic, Severity
from kplan.model.errors import ClusterError
from kplan.model.plan import Action, Batch, Change, Plan
from kplan.policy.codes import POLICY_SUMMARIES

RequiredOperation = tuple[str, str]
"""An operation and the type of the resource."""

_CREATE_TOPIC: RequiredOperation = ("CREATE", "TOPIC")
_UNREPORTED_OPERATIONS = (_CREATE_TOPIC, ("ALTER_CONFIGS", "GROUP"))
"""Rights that no bit tells: brokers are asked to try."""

_MAX_NAMES = 3
"""More names than these are told by what they begin with."""


def check_rights(
    plan: Plan, cluster: Cluster, denied: Sequence[Change]
) -> Mapping[RequiredOperation, tuple[Change, ...]]:
    """Say which right is missing for which changes (K4-21, K4-34, K4-48; KIP-430).

    `denied` are the changes that brokers refused to try for want of a right. What cannot be told is
    left out.
    """
    needed = dict(_changes_by_operation(plan))
    topics = {
        change.identity
        for (_, sort), changes in needed.items()
        for change in changes
        if sort == "TOPIC" and change.action is not Action.CREATE
    }
    try:
        held = cluster.rights(sorted(topics))
    except ClusterError:
        return {}
    found = {right: _denied_changes(right, changes, held) for right, changes in needed.items()}
    for right in _UNREPORTED_OPERATIONS:
        found[right] = tuple(each for each in needed.get(right, ()) if each in denied)
    return {right: changes for right, changes in found.items() if changes}


def missing_right_diagnostics(
    missing: Mapping[RequiredOperation, tuple[Change, ...]], principal: str
) -> Iterator[Diagnostic]:
    """Return each missing right once, with the lines that need it."""
    for (operation, sort), changes in sorted(missing.items()):
        on = (
            sort
            if sort == "CLUSTER"
            else f"{sort} {_format_names(sort, [each.identity for each in changes])}"
        )
        first = changes[0]
        yield Diagnostic(
            "KP332",
            Severity.ERROR,
            POLICY_SUMMARIES["KP332"],
            f"{principal or 'The principal of this connection'} needs {operation} on {on}.",
            f"Grant it, as with: kafka-acls --add --allow-principal {principal or 'User:NAME'} "
            f"--operation {operation} {_acl_options(sort, [each.identity for each in changes])}",
            first.address,
            first.declared_at,
            related=tuple(
                (str(each.address), each.declared_at)
                for each in changes[1:_MAX_NAMES]
                if each.declared_at is not None
            ),
        )


def _changes_by_operation(plan: Plan) -> Iterator[tuple[RequiredOperation, tuple[Change, ...]]]:
    by_right: dict[RequiredOperation, dict[int, Change]] = {}
    for batch in plan.batches:
        right = _required_operation(batch)
        if right is not None:
            by_right.setdefault(right, {}).update((id(each), each) for each in batch.changes)
    for right, changes in by_right.items():
        yield right, tuple(changes.values())


def _required_operation(batch: Batch) -> RequiredOperation | None:
    if batch.kind == GROUP_CONFIG.name:
        return REQUIRED_OPERATIONS[batch.step.name][0], "GROUP"
    return REQUIRED_OPERATIONS.get(batch.step.name)


def _denied_changes(
    right: RequiredOperation, changes: Sequence[Change], held: AuthorizedOperations
) -> tuple[Change, ...]:
    operation, sort = right
    if sort == "CLUSTER":
        is_held = held.cluster is None or operation in held.cluster
        return () if is_held else tuple(changes)
    return tuple(
        each
        for each in changes
        if each.identity in held.topics and operation not in held.topics[each.identity]
    )


def _common_prefix(names: Sequence[str]) -> str:
    """Return what many names begin with, up to a dot or dash."""
    first, last = min(names), max(names)
    pairs = enumerate(zip(first, last, strict=False))
    length = next((at for at, pair in pairs if pair[0] != pair[1]), len(first))
    found = first[:length]
    return found[: max(found.rfind("."), found.rfind("-")) + 1]


def _format_names(sort: str, names: Sequence[str]) -> str:
    if len(names) <= _MAX_NAMES:
        return ", ".join(sorted(names))
    return f"{_common_prefix(names)}* ({len(names)} {sort.lower()}s)"


def _acl_options(sort: str, names: Sequence[str]) -> str:
    if sort == "CLUSTER":
        return "--cluster"
    prefix = _common_prefix(names)
    if len(names) > 1 and prefix:
        return f"--{sort.lower()} {prefix} --resource-pattern-type prefixed"
    return " ".join(f"--{sort.lower()} {name}" for name in sorted(names)[:_MAX_NAMES])
