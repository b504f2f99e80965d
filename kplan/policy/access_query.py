"""Queries on ACLs: who can do an operation, and what a principal can do."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping

from kplan.cluster.request import AclBinding
from kplan.model.impact import AllowedPrincipal, PrincipalPermission
from kplan.policy.access_region import NamePatterns, Region, RegionCounter, SortedNames
from kplan.policy.authorizer import (
    OPERATIONS,
    WILDCARD_HOST,
    WILDCARD_PRINCIPAL,
    AclIndex,
    AuthorizerRules,
    decide_access,
)


def who_can(
    operation: str,
    resource: tuple[str, str],
    bindings: Collection[AclBinding],
    rules: AuthorizerRules,
) -> tuple[AllowedPrincipal, ...]:
    """List who may do an operation on a resource, `(type, name)`.

    Whoever has no ACL of their own there fares as everyone does.
    """
    acls = AclIndex(bindings, rules)
    sort, name = resource
    held = list(acls.matching(sort, name))
    supers = [
        AllowedPrincipal(each, WILDCARD_HOST, "a super user")
        for each in sorted(rules.super_users or ())
    ]
    if not held:
        free = [
            AllowedPrincipal(
                WILDCARD_PRINCIPAL,
                WILDCARD_HOST,
                "no ACL is on it, and brokers allow everyone then",
            )
        ]
        return tuple([*supers, *free] if rules.allow_everyone else supers)
    everyones = [each for side in held for each in side.get(WILDCARD_PRINCIPAL, ())]
    found: list[AllowedPrincipal] = []
    for principal in sorted({WILDCARD_PRINCIPAL}.union(*held)):
        own = [each for side in held for each in side.get(principal, ())]
        found += _holders(
            principal, operation, own if principal == WILDCARD_PRINCIPAL else own + everyones
        )
    return tuple(supers + [each for each in found if not rules.is_super(each.principal)])


def _holders(
    principal: str, operation: str, bindings: Collection[AclBinding]
) -> Iterator[AllowedPrincipal]:
    general = decide_access(bindings, WILDCARD_HOST, operation)
    if general.is_allowed and general.acl:
        yield AllowedPrincipal(principal, WILDCARD_HOST, describe_binding(general.acl))
    for host in sorted({each.host for each in bindings} - {WILDCARD_HOST}):
        special = decide_access(bindings, host, operation)
        if special.is_allowed is general.is_allowed:
            continue
        if special.is_allowed and special.acl:
            yield AllowedPrincipal(principal, host, describe_binding(special.acl))
        elif special.acl:
            yield AllowedPrincipal(
                principal, host, f"not from there: {describe_binding(special.acl)}"
            )


def describe_binding(binding: AclBinding) -> str:
    """Say an ACL in a few words."""
    star = "*" if binding.pattern_type == "PREFIXED" else ""
    host = "" if binding.host == WILDCARD_HOST else f" from {binding.host}"
    return (
        f"{binding.permission} {binding.operation} on {binding.resource_type} "
        f"{binding.resource_name}{star} for {binding.principal}{host}"
    )


def holdings(
    principal: str,
    bindings: Collection[AclBinding],
    rules: AuthorizerRules,
    names: Mapping[str, Collection[str]],
) -> tuple[PrincipalPermission, ...]:
    """List what a principal may do, by pattern; empty for a super user, who may do all."""
    if rules.is_super(principal):
        return ()
    mine = [each for each in bindings if each.principal in {principal, WILDCARD_PRINCIPAL}]
    acls = AclIndex(mine, rules)
    found: list[PrincipalPermission] = []
    for sort in sorted({each.resource_type for each in mine} & OPERATIONS.keys()):
        patterns = NamePatterns.from_pairs(
            (each.resource_name, each.pattern_type == "PREFIXED")
            for each in mine
            if each.resource_type == sort
        )
        census = RegionCounter(SortedNames(names.get(sort, ())), patterns)
        for region in patterns.regions("*", is_prefix=False):
            existing = census.count(region) if sort in names else None
            for host, operations in _operations_by_host(acls, principal, sort, region).items():
                found.append(PrincipalPermission(sort, region.pattern, host, operations, existing))
    return tuple(found)


def _operations_by_host(
    acls: AclIndex, principal: str, sort: str, region: Region
) -> Mapping[str, tuple[str, ...]]:
    """Find the operations by host, where a host has others than all hosts have."""
    if region.is_prefix:
        held = acls.matching_prefix(sort, region.name)
    else:
        held = acls.matching(sort, region.name)
    mine = [
        each
        for side in held
        for who in dict.fromkeys((principal, WILDCARD_PRINCIPAL))
        for each in side.get(who, ())
    ]
    found: dict[str, list[str]] = defaultdict(list)
    for host in sorted({WILDCARD_HOST}.union(each.host for each in mine)):
        found[host] = [op for op in OPERATIONS[sort] if decide_access(mine, host, op).is_allowed]
    return {
        host: tuple(operations)
        for host, operations in found.items()
        if (operations and host == WILDCARD_HOST)
        or (host != WILDCARD_HOST and operations != found[WILDCARD_HOST])
    }
