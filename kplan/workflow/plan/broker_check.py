"""Checks of a plan before it is sent: permissions, and the dry run of the brokers."""

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from kplan.cluster.authorization import REQUIRED_OPERATIONS
from kplan.cluster.errors import Handling, handling, is_policy_violation
from kplan.cluster.port import Cluster
from kplan.cluster.request import AuthorizedOperations
from kplan.kinds.base import ResolvedAttributes, ResourceKind, redact_refusal
from kplan.kinds.named_config import GROUP_CONFIG
from kplan.kinds.service_status import SERVICES
from kplan.model.codes import SUMMARIES
from kplan.model.diagnostic import Diagnostic, Severity, SourceRange, sort_diagnostics
from kplan.model.errors import ClusterError, Refusal, RefusalOrigin
from kplan.model.plan import Action, Batch, Change, ObjectKey, Plan, Step
from kplan.model.policy import Level, Operation, RuleEffect, Violation, ViolationStatus
from kplan.model.resource import Identity, Path, Resource
from kplan.workflow.clusters import Clusters
from kplan.workflow.plan.refused_validation import (
    is_unsupported,
    refusal_diagnostics,
    request_refusal,
)
from kplan.workflow.ports import Ports

RequiredOperation = tuple[str, str]
"""An operation and the type of the resource."""

_CREATE_TOPIC: RequiredOperation = ("CREATE", "TOPIC")
_DELETE_TOPIC: RequiredOperation = ("DELETE", "TOPIC")
_UNREPORTED_OPERATIONS = (_CREATE_TOPIC, ("ALTER_CONFIGS", "GROUP"))
"""Rights that no bit tells: brokers are asked to try."""

_MAX_NAMES = 3
"""More names than these are reported by what they begin with."""


def check_rights(
    plan: Plan, cluster: Cluster, denied: Sequence[Change], principal: str = ""
) -> Mapping[RequiredOperation, tuple[Change, ...]]:
    """Say which right is missing for which changes (K4-21, K4-34, K4-48; KIP-430).

    `denied` are the changes that brokers refused to try for want of a right. Unknown ones are left
    out.
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
    if found.get(_DELETE_TOPIC) and _may_delete_all_topics(cluster, principal):
        del found[_DELETE_TOPIC]
    return {right: changes for right, changes in found.items() if changes}


def _may_delete_all_topics(cluster: Cluster, principal: str) -> bool:
    """Whether an ACL allows it on the cluster: KRaft takes that too, and no bit tells of it.

    Whoever has it may list ACLs. From which host it is allowed is left to the brokers.
    """
    try:
        if "DescribeQuorum" not in cluster.versions().apis:
            return False  # with ZooKeeper only the right on the topic counts
        acls = [each for each in cluster.acls() if each.resource_type == "CLUSTER"]
    except ClusterError:
        return False
    own = [
        each
        for each in acls
        if each.principal in (principal, "User:*") and each.operation in ("DELETE", "ALL")
    ]
    return {each.permission for each in own} == {"ALLOW"}


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
        who = shlex.quote(principal or "User:NAME")  # that of a certificate may have spaces
        yield Diagnostic(
            "KP332",
            Severity.ERROR,
            SUMMARIES["KP332"],
            f"{principal or 'The principal of this connection'} needs {operation} on {on}.",
            f"Grant it, as with: kafka-acls --add --allow-principal {who} "
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
    right: RequiredOperation, changes: Sequence[Change], authorized_operations: AuthorizedOperations
) -> tuple[Change, ...]:
    operation, sort = right
    if sort == "CLUSTER":
        is_held = (
            authorized_operations.cluster is None or operation in authorized_operations.cluster
        )
        return () if is_held else tuple(changes)
    return tuple(
        each
        for each in changes
        if each.identity in authorized_operations.topics
        and operation not in authorized_operations.topics[each.identity]
    )


def _common_prefix(names: Sequence[str]) -> str:
    """Return the common beginning of many names, up to a dot or dash."""
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
        return f"--{sort.lower()} {shlex.quote(prefix)} --resource-pattern-type prefixed"
    shown = map(shlex.quote, sorted(names)[:_MAX_NAMES])
    return " ".join(f"--{sort.lower()} {name}" for name in shown)


Answer = Refusal | ResolvedAttributes

_MAX_THROTTLES = 20


def check_with_brokers(
    plan: Plan,
    clusters: Clusters,
    kinds: Sequence[ResourceKind],
    ports: Ports,
    resources: Iterable[Resource] = (),
) -> Plan:
    """Add the brokers' findings: refusals as diagnostics, their defaults as values (K117-11).

    Of `resources` the diagnostics have the places of the values that are refused.

    A broker that cannot be asked now makes a warning, not an error: the answer is unknown. What a
    policy of the broker refuses is a violation as those of kplan's own policies are, and refuses
    the one change only (K201-14).
    """
    answers = _ask(plan, clusters, kinds, ports)
    checked = _locate_values(_add_answers(plan, answers), resources)
    for key, part in plan.split_by_provider():
        connection = clusters.connections[key]
        denied = [
            each
            for each in plan.changes
            if each.provider == key
            and isinstance(said := answers.get(each.key), Refusal)
            and handling(said) is Handling.DENIED
        ]
        principal = connection.description.principal
        missing = check_rights(part, connection.cluster, denied, principal)
        checked = _add_missing_rights(checked, missing, principal)
    return checked


def fill_defaults(
    plan: Plan, clusters: Clusters, kinds: Sequence[ResourceKind], ports: Ports
) -> Plan:
    """Ask the brokers for the values that the configuration leaves to them, and nothing else."""
    answers = _ask(plan, clusters, kinds, ports)
    return plan.map_changes(lambda change: _fill_defaults(change, answers.get(change.key)))


def _ask(
    plan: Plan, clusters: Clusters, kinds: Sequence[ResourceKind], ports: Ports
) -> dict[ObjectKey, Answer]:
    by_name = {kind.name: kind for kind in kinds}
    answers: dict[ObjectKey, Answer] = {}
    for batch in plan.batches:
        cluster = clusters.connections[batch.provider].cluster
        for change, answer in _validate_batch(batch, by_name[batch.kind], cluster, ports):
            # A change of two steps is consented to when both are.
            if isinstance(answer, Refusal) or change.key not in answers:
                answers[change.key] = answer
        ports.progress.advance(len(batch.changes))
    return answers


def _add_missing_rights(
    checked: Plan, missing: Mapping[RequiredOperation, tuple[Change, ...]], principal: str
) -> Plan:
    """Return rights that are missing once each, instead of at every change that needs them."""
    if not missing:
        return checked
    lacking = {each.address for changes in missing.values() for each in changes}
    others = [
        each
        for each in checked.diagnostics
        if each.code not in {"KP241", "KP242"} or each.address not in lacking
    ]
    diagnostics = missing_right_diagnostics(missing, principal)
    return replace(checked, diagnostics=sort_diagnostics([*others, *diagnostics]))


def _validate_batch(
    batch: Batch, kind: ResourceKind, cluster: Cluster, ports: Ports
) -> Iterator[tuple[Change, Answer]]:
    queue: list[tuple[Change, ...]] = [batch.changes]
    throttles = 0
    while queue:
        changes = queue.pop()
        answers = _validate_changes(kind, cluster, batch.step, changes)
        again: list[Change] = []
        split: list[Change] = []
        for change in changes:
            answer = answers.get(change.identity)
            how = handling(answer) if isinstance(answer, Refusal) else None
            if how is Handling.SPLIT and len(changes) > 1:
                split.append(change)
            elif how is Handling.THROTTLED and throttles < _MAX_THROTTLES:
                again.append(change)
            elif answer is not None:
                yield change, answer
        middle = max(1, len(split) // 2)
        queue += [tuple(half) for half in (split[:middle], split[middle:]) if half]
        if again:
            throttles += 1
            ports.clock.sleep(max(0.1, _throttle_s(answers)))
            queue.append(tuple(again))


def _validate_changes(
    kind: ResourceKind, cluster: Cluster, step: Step, changes: Sequence[Change]
) -> Mapping[Identity, Answer]:
    try:
        return kind.validate(cluster, step, changes)
    except ClusterError as failure:
        refused = request_refusal(failure)
        return {change.identity: refused for change in changes}


_LOCATED = frozenset({"KP241", "KP532"})
"""Refusals that name the key of a config."""


def _locate_values(plan: Plan, resources: Iterable[Resource]) -> Plan:
    """Point at the value of a config that a broker refuses by its key."""
    refused = {each.address for each in plan.diagnostics if each.code in _LOCATED}
    ranges = {each.address: each.ranges for each in resources if each.address in refused}
    return replace(
        plan,
        diagnostics=tuple(
            replace(each, subject=_config_range(each.detail, ranges[each.address]) or each.subject)
            if each.code in _LOCATED and each.address in ranges
            else each
            for each in plan.diagnostics
        ),
    )


def _config_range(message: str, ranges: Mapping[Path, SourceRange]) -> SourceRange | None:
    """Find the value whose key the message names; the longest, since keys may share a prefix."""
    named = [
        path
        for path in ranges
        if path[0] == "config" and len(path) > 1 and f" {path[1]}" in message
    ]
    return ranges[max(named, key=lambda path: len(path[1]))] if named else None


def _throttle_s(answers: Mapping[Identity, Answer]) -> float:
    return max(
        (each.throttle_ms / 1000 for each in answers.values() if isinstance(each, Refusal)),
        default=0.0,
    )


def _add_answers(plan: Plan, answers: Mapping[ObjectKey, Answer]) -> Plan:
    asked = ((change, answers.get(change.key)) for change in plan.changes)
    refused = [(change, answer) for change, answer in asked if isinstance(answer, Refusal)]
    by_policy = tuple(_broker_violation(*each) for each in refused if is_policy_violation(each[1]))
    lacking = {
        each.address.kind for each in plan.diagnostics if each.code == "KP229" and each.address
    }
    others = [
        (change, said)
        for change, said in refused
        if not is_policy_violation(said) and not (is_unsupported(said) and change.kind in lacking)
    ]
    by_brokers = [each for (kind, *_), each in answers.items() if kind not in SERVICES]
    refusals = sum(isinstance(each, Refusal) for each in by_brokers)
    return replace(
        plan.map_changes(lambda change: _fill_defaults(change, answers.get(change.key))),
        diagnostics=sort_diagnostics([*plan.diagnostics, *refusal_diagnostics(others)]),
        violations=(*plan.violations, *by_policy),
        cluster={**plan.cluster, "asked": str(len(by_brokers)), "refused": str(refusals)},
    )


def _fill_defaults(change: Change, answer: Answer | None) -> Change:
    """Fill in the broker's choices for values that the configuration leaves open (K4-19)."""
    if change.action is not Action.CREATE or answer is None or isinstance(answer, Refusal):
        return change
    filled = {
        path[0]: value
        for path, value in answer.items()
        if value is not None and getattr(change.after, path[0]) is None
    }
    if not filled or getattr(change.after, "replica_assignment", None) is not None:
        return change
    notes = tuple(f"{name} = {value} is the broker's default" for name, value in filled.items())
    after = replace(change.after, **filled)  # type: ignore[type-var] # a kind's frozen dataclass
    return replace(change, after=after, notes=change.notes + notes)


_OPERATIONS = {Action.CREATE: Operation.CREATE, Action.DELETE: Operation.DELETE}


def _broker_violation(change: Change, refused: Refusal) -> Violation:
    message = redact_refusal(refused, change).message
    diagnostic = Diagnostic(
        "KP331",
        Severity.ERROR,
        SUMMARIES["KP331"],
        f"{change.identity}: {message}",
        "This is a policy of the broker; its message says what it requires.",
        change.address,
        change.declared_at,
    )
    return Violation(
        "broker",
        _OPERATIONS.get(change.action, Operation.ALTER),
        change.kind,
        change.identity,
        RuleEffect.DENY,
        Level.HARD,
        ViolationStatus.REFUSED,
        message,
        diagnostic,
        origin=RefusalOrigin.BROKER,
        provider=change.provider,
    )
