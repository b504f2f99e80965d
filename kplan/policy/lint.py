"""Lint of ACLs: ones that have no effect, hide each other, or match no topic."""

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import field

from kplan.cluster.request import AclBinding
from kplan.cluster.topic import KPLAN_PREFIX, is_internal_topic, is_own
from kplan.kinds.acl import AclKind, acl_from_binding
from kplan.model.address import Address
from kplan.model.codes import SUMMARIES
from kplan.model.dataclass import dataclass
from kplan.model.diagnostic import Diagnostic, Severity, SourceRange, sort_diagnostics
from kplan.policy.access_query import SortedNames, describe_binding
from kplan.policy.authorizer import WILDCARD_HOST, WILDCARD_PRINCIPAL, AclIndex, grants

_DISTINGUISHED = re.compile(r"User:[A-Za-z]+=.+")


@dataclass(frozen=True, slots=True)
class Declaration:
    """Where an ACL or a topic is declared."""

    address: Address
    at: SourceRange


@dataclass(frozen=True, slots=True)
class AclInventory:
    """All ACLs, and the topics, None where they could not be listed.

    `declarations` shows where ACLs are declared, `topic_declarations` topics; others are live only.
    `principal` is our own, "" where it is not known: its shape is that which logins get.
    """

    acls: frozenset[AclBinding]
    topics: frozenset[str] | None
    declarations: Mapping[AclBinding, Declaration] = field(default_factory=dict)
    topic_declarations: Mapping[str, Declaration] = field(default_factory=dict)
    principal: str = ""


def lint_acls(inventory: AclInventory) -> tuple[Diagnostic, ...]:
    """Find everything."""
    found: list[Diagnostic] = []
    index = AclIndex(inventory.acls)
    for each in sorted(inventory.acls):
        found += _lint_acl(inventory, each)
        found += _lint_overlap(inventory, index, each)
    if inventory.topics is not None:
        found += _acls_without_topic(inventory, inventory.topics)
        found += _topics_without_access(inventory, inventory.topics)
    return sort_diagnostics(found)


def _lint_acl(inventory: AclInventory, acl: AclBinding) -> Iterator[Diagnostic]:
    """Find problems of an ACL by itself."""
    if acl not in inventory.declarations:  # declared ACLs are reported when they are checked
        for problem in AclKind().check(acl_from_binding(acl)):
            yield _warning(inventory, acl, "KP401", problem.detail, problem.hint)
    if acl.resource_name.endswith("*") and acl.resource_name != "*":
        is_prefix, begin = acl.pattern_type == "PREFIXED", acl.resource_name.rstrip("*")
        what = "a prefix that ends in a star" if is_prefix else "a literal name with a star"
        pattern = "" if is_prefix else ' and resource_pattern_type_filter = "Prefixed"'
        yield _warning(
            inventory,
            acl,
            "KP408",
            f'"{acl.resource_name}" is {what}: it matches only names that have the star, too.',
            f'For all names that begin so: resource_name = "{begin}"{pattern}.',
        )
    yield from _lint_principal(inventory, acl)


def _lint_principal(inventory: AclInventory, acl: AclBinding) -> Iterator[Diagnostic]:
    """Compare with the principals that logins get: all distinguished names, or none."""
    if not inventory.principal.startswith("User:") or not acl.principal.startswith("User:"):
        return
    if acl.principal == WILDCARD_PRINCIPAL or inventory.principal == "User:ANONYMOUS":
        return
    ours, theirs = (
        bool(_DISTINGUISHED.fullmatch(each)) for each in (inventory.principal, acl.principal)
    )
    if theirs and not ours:
        detail = "a distinguished name, and the one kplan has from this cluster is a plain name"
    elif ours and not theirs:
        detail = "a plain name, and the one kplan has from this cluster is a distinguished name"
    else:
        return
    yield _warning(
        inventory,
        acl,
        "KP409",
        f"{acl.principal} is {detail} ({inventory.principal}).",
        "Compare with ssl.principal.mapping.rules of the listener this user comes by.",
    )


def _lint_overlap(
    inventory: AclInventory, index: AclIndex, acl: AclBinding
) -> Iterator[Diagnostic]:
    """Find ACLs that make another one needless, or void."""
    wider = [each for each in _overlapping_acls(index, acl) if each != acl]
    denies = [
        each
        for each in wider
        if each.permission == "DENY" and each.operation in {"ALL", acl.operation}
    ]
    if acl.permission == "ALLOW":
        for each in denies[:1]:
            yield _warning(
                inventory,
                acl,
                "KP404",
                f"{describe_binding(acl)} is void under {describe_binding(each)}: "
                "a Deny always wins.",
                "Delete one of the two.",
                each,
            )
    same = [
        each for each in wider if each.permission == acl.permission and _covers_operation(each, acl)
    ]
    for each in same[:1]:
        is_twin = _covers_operation(acl, each) and any(
            other == acl for other in _overlapping_acls(index, each)
        )
        if is_twin and each < acl:
            continue  # told once for the two
        yield _warning(
            inventory,
            acl,
            "KP402" if is_twin else "KP403",
            f"{describe_binding(acl)} adds nothing to {describe_binding(each)}.",
            "Delete it, unless the wider one is to go.",
            each,
        )


def _covers_operation(wide: AclBinding, narrow: AclBinding) -> bool:
    if wide.operation in {"ALL", narrow.operation}:
        return True
    is_allow = narrow.permission == "ALLOW"
    return is_allow and narrow.operation != "ALL" and grants(wide.operation, narrow.operation)


def _overlapping_acls(index: AclIndex, acl: AclBinding) -> Iterator[AclBinding]:
    """Return the ACLs on all names and hosts of this one that speak of its principal."""
    if acl.pattern_type == "PREFIXED":
        held = index.acls_on_prefix(acl.resource_type, acl.resource_name)
    else:
        held = index.acls_on_name(acl.resource_type, acl.resource_name)
    if acl.resource_name == "*" and acl.pattern_type == "LITERAL":
        held = index.acls_on_prefix(acl.resource_type, "")
    for side in held:
        for who in dict.fromkeys((acl.principal, WILDCARD_PRINCIPAL)):
            for each in side.get(who, ()):
                if each.host in {WILDCARD_HOST, acl.host}:
                    yield each


def _acls_without_topic(inventory: AclInventory, topics: frozenset[str]) -> Iterator[Diagnostic]:
    names = SortedNames(topics)
    for acl in sorted(inventory.acls):
        if acl.resource_type != "TOPIC" or acl.resource_name == "*":
            continue
        if acl.pattern_type == "PREFIXED":
            start, end = names.prefix_range(acl.resource_name)
            is_around_own = KPLAN_PREFIX.startswith(acl.resource_name)
            has_topic = end > start or acl.operation == "CREATE" or is_around_own
        else:
            has_topic = acl.resource_name in topics or acl.operation == "CREATE"
        # Topics of kplan itself, such as that of the state, are never in a snapshot.
        if not has_topic and not is_own(acl.resource_name):
            yield _warning(
                inventory,
                acl,
                "KP405",
                f"{describe_binding(acl)}: this topic does not exist"
                f"{_closest_topic(acl.resource_name, names)}.",
                "Correct the name, or delete the ACL if the topic was deleted.",
            )


def _closest_topic(name: str, names: SortedNames) -> str:
    at = bisect_left(names.sorted, name)
    near = [each for each in names.sorted[max(0, at - 1) : at + 1] if each[:3] == name[:3]]
    return f"; there is {near[0]}" if near else ""


def _topics_without_access(inventory: AclInventory, topics: frozenset[str]) -> Iterator[Diagnostic]:
    """Find topics that no principal may read or write although ACLs exist on them or on others."""
    index = AclIndex(inventory.acls)
    has_acls = any(each.resource_type == "TOPIC" for each in inventory.acls)
    for topic in sorted(topics):
        if is_internal_topic(topic):
            continue  # only brokers read and write it
        held = [each for side in index.acls_on_name("TOPIC", topic) for each in side.values()]
        bindings = [each for group in held for each in group if each.permission == "ALLOW"]
        if not bindings and not (has_acls and topic in inventory.topic_declarations):
            continue
        for code, operation in (("KP406", "READ"), ("KP407", "WRITE")):
            if not any(each.operation in {"ALL", operation} for each in bindings):
                place = inventory.topic_declarations.get(topic)
                yield Diagnostic(
                    code,
                    Severity.WARNING,
                    SUMMARIES[code],
                    f'No ACL allows anybody to {operation} the topic "{topic}".',
                    "A super user may still; if none is meant to, this is fine.",
                    place.address if place else None,
                    place.at if place else None,
                )


def _warning(
    inventory: AclInventory,
    acl: AclBinding,
    code: str,
    detail: str,
    hint: str,
    other: AclBinding | None = None,
) -> Diagnostic:
    place = inventory.declarations.get(acl)
    beside = inventory.declarations.get(other) if other else None
    found = (
        detail
        if place
        else f"{detail.rstrip('.')} (live, not declared here: {describe_binding(acl)})."
    )
    return Diagnostic(
        code,
        Severity.WARNING,
        SUMMARIES[code],
        found,
        hint,
        place.address if place else None,
        place.at if place else None,
        (("the other one", beside.at),) if beside else (),
    )
