"""Guards of access: no lockout of kplan, no cluster without administrator, no surprises."""

from collections.abc import Collection, Iterator
from dataclasses import replace

from kplan.cluster.request import AclBinding
from kplan.kinds.acl import Acl, acl_binding
from kplan.model.codes import SUMMARIES
from kplan.model.dataclass import dataclass
from kplan.model.diagnostic import Diagnostic, Severity
from kplan.model.plan import Change
from kplan.policy.access_diff import AclStages
from kplan.policy.authorizer import (
    WILDCARD_HOST,
    WILDCARD_PRINCIPAL,
    AccessRequest,
    AclIndex,
    AuthorizerRules,
    grants,
)

ACCEPTABLE_CODES = frozenset({"KP441", "KP442", "KP443", "KP521"})
"""Codes that `-accept` lets through."""

CLUSTER_NAME = "kafka-cluster"
_OWN_OPERATIONS = ("ALTER", "DESCRIBE")
_MAX_NAMES = 5


@dataclass(frozen=True, slots=True)
class GuardContext:
    """What the guards inspect. `principal` is ours, "" where it is not known.

    `changes` are those of ACLs, to say which of them is to blame; `accepted_codes` are those of
    guards that let the plan through with a warning.
    """

    stages: AclStages
    rules: AuthorizerRules
    principal: str
    changes: tuple[Change, ...] = ()
    accepted_codes: frozenset[str] = frozenset()


def check_access(context: GuardContext) -> Iterator[Diagnostic]:
    """Refuse changes that lock kplan out, leave no administrator, or affect everyone."""
    yield from _lockout_problems(context)
    yield from _last_admin_problems(context)
    yield from _first_acl_problems(context)


def _lockout_problems(context: GuardContext) -> Iterator[Diagnostic]:
    """Compare kplan's own permissions on the cluster: without them nothing can be repaired."""
    if not context.principal:
        if _cluster_admins(context.stages.before, context.rules) - _cluster_admins(
            context.stages.after, context.rules
        ):
            yield Diagnostic(
                "KP445",
                Severity.WARNING,
                SUMMARIES["KP445"],
                "A principal loses ALTER on the cluster, and kplan does not know its own principal "
                "on the brokers.",
                "Make sure that it is another principal.",
            )
        return
    before, between, after = (AclIndex(side, context.rules) for side in context.stages.in_order)
    held = [each for each in _OWN_OPERATIONS if _is_allowed(before, context.principal, each)]
    lost = [each for each in held if not _is_allowed(after, context.principal, each)]
    if lost:
        yield _refusal(
            context,
            "KP441",
            f"{context.principal}, as which kplan runs, loses {' and '.join(lost)} on the cluster; "
            "kplan could not put it back.",
            "Keep an ACL that allows it. If the principal is in super.users of the brokers, name "
            'it in super_users of provider "kafka".',
            _responsible_change(context, lost[0], context.principal),
        )
    elif "ALTER" in held and not _is_allowed(between, context.principal, "ALTER"):
        yield _refusal(
            context,
            "KP441",
            f"{context.principal}, as which kplan runs, is without ALTER on the cluster once the "
            "old ACLs are deleted; the new ones could not be added any more.",
            'Set acl_order = "add_first" in provider "kafka", or keep an ACL that allows it.',
            _responsible_change(context, "ALTER", context.principal),
        )


def _last_admin_problems(context: GuardContext) -> Iterator[Diagnostic]:
    before, after = (
        _cluster_admins(each, context.rules)
        for each in (context.stages.before, context.stages.after)
    )
    if before and not after and not context.rules.super_users:
        yield _refusal(
            context,
            "KP442",
            f"{_name_list(sorted(before))} can ALTER the cluster now; afterwards only super "
            "users of the brokers can, and kplan knows none.",
            'Keep one of them, or list the super users in super_users of provider "kafka".',
            _responsible_change(context, "ALTER", *before),
        )


def _first_acl_problems(context: GuardContext) -> Iterator[Diagnostic]:
    """Find resources that get their first ACL: under allow.everyone all others lose them."""
    if context.rules.allow_everyone is False:
        return
    before, after = AclIndex(context.stages.before), AclIndex(context.stages.after)
    patterns = {
        (each.resource_type, each.resource_name, each.pattern_type)
        for each in context.stages.after - context.stages.before
    }
    first = sorted(
        f"{sort} {name}{'*' if pattern == 'PREFIXED' else ''}"
        for sort, name, pattern in patterns
        if not _is_covered(before, sort, name, pattern) and _is_covered(after, sort, name, pattern)
    )
    if not first:
        return
    detail = f"{_name_list(first)} {'has' if len(first) == 1 else 'have'} no ACL yet"
    if context.rules.allow_everyone is None:
        yield Diagnostic(
            "KP444",
            Severity.WARNING,
            SUMMARIES["KP444"],
            f"{detail}. If the brokers are set to allow.everyone.if.no.acl.found, which could not "
            "be read, everyone else loses access.",
            'Set allow_everyone_if_no_acl_found of provider "kafka" to what the brokers have.',
        )
        return
    yield _refusal(
        context,
        "KP443",
        f"{detail}, and the brokers allow everyone what has none: all others lose access.",
        "Allow everyone who uses it in the same plan.",
    )


def _is_covered(acls: AclIndex, sort: str, name: str, pattern: str) -> bool:
    held = acls.acls_on_prefix if pattern == "PREFIXED" else acls.acls_on_name
    return any(True for _ in held(sort, name))


def _is_allowed(acls: AclIndex, principal: str, operation: str) -> bool:
    """Ask for a host that no ACL names: which one ours is to the brokers cannot be known."""
    asked = AccessRequest(principal, WILDCARD_HOST, operation, "CLUSTER", CLUSTER_NAME)
    return acls.authorize(asked).is_allowed


def _cluster_admins(bindings: Collection[AclBinding], rules: AuthorizerRules) -> frozenset[str]:
    """Name who may ALTER the cluster, from any host or from one."""
    acls = AclIndex(bindings, rules)
    pairs = {(each.principal, each.host) for each in bindings if each.resource_type == "CLUSTER"}
    return frozenset(
        principal
        for principal, host in pairs
        if acls.authorize(
            AccessRequest(principal, host, "ALTER", "CLUSTER", CLUSTER_NAME)
        ).is_allowed
    )


def _responsible_change(context: GuardContext, operation: str, *principals: str) -> Change | None:
    """Find the change that takes the operation on the cluster from one of them.

    Where none does so by itself, it is any change of their ACLs on the cluster.
    """
    concerned: Change | None = None
    for change in context.changes:
        before, after = _cluster_acl(change.before), _cluster_acl(change.after)
        named = {each.principal for each in (before, after) if each is not None}
        if named & {*principals, WILDCARD_PRINCIPAL}:
            if _takes_operation(before, after, operation):
                return change
            concerned = concerned or change
    return concerned


def _takes_operation(before: AclBinding | None, after: AclBinding | None, operation: str) -> bool:
    if before is not None and before.permission == "ALLOW":
        return before.operation == "ALL" or grants(before.operation, operation)
    if after is not None and after.permission == "DENY":
        return after.operation in {"ALL", operation}
    return False


def _cluster_acl(value: object) -> AclBinding | None:
    found = acl_binding(value) if isinstance(value, Acl) else None
    return found if found is not None and found.resource_type == "CLUSTER" else None


def _refusal(
    context: GuardContext, code: str, detail: str, hint: str, change: Change | None = None
) -> Diagnostic:
    place = (None, None) if change is None else (change.address, change.declared_at)
    found = Diagnostic(
        code,
        Severity.ERROR,
        SUMMARIES[code],
        detail,
        f"{hint} To go on nevertheless: -accept={code}",
        *place,
    )
    if code in context.accepted_codes:
        return replace(found, severity=Severity.WARNING, hint="")
    return found


def _name_list(names: Collection[str]) -> str:
    shown = list(names)[:_MAX_NAMES]
    more = len(names) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")
