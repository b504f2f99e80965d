"""Who may do something, and what somebody may do."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping

from kplan.cluster.specs import AclBinding
from kplan.model.access import Holder, Holding
from kplan.policy.access import ANY_HOST, EVERYONE, OPERATIONS, Acls, Rules, decision
from kplan.policy.access_regions import Census, Names, Patterns, Region


def who_can(
    operation: str, resource: tuple[str, str], bindings: Collection[AclBinding], rules: Rules
) -> tuple[Holder, ...]:
    """List who may do an operation on a resource, `(type, name)`.

    Whoever has no ACL of their own there fares as everyone does.
    """
    acls = Acls(bindings, rules)
    sort, name = resource
    held = list(acls.matching(sort, name))
    supers = [Holder(each, ANY_HOST, "a super user") for each in sorted(rules.super_users or ())]
    if not held:
        free = [Holder(EVERYONE, ANY_HOST, "no ACL is on it, and brokers allow everyone then")]
        return tuple([*supers, *free] if rules.allow_everyone else supers)
    everyones = [each for side in held for each in side.get(EVERYONE, ())]
    found: list[Holder] = []
    for principal in sorted({EVERYONE}.union(*held)):
        own = [each for side in held for each in side.get(principal, ())]
        found += _holders(principal, operation, own if principal == EVERYONE else own + everyones)
    return tuple(supers + [each for each in found if not rules.is_super(each.principal)])


def _holders(principal: str, operation: str, bindings: Collection[AclBinding]) -> Iterator[Holder]:
    general = decision(bindings, ANY_HOST, operation)
    if general.is_allowed and general.because:
        yield Holder(principal, ANY_HOST, words(general.because))
    for host in sorted({each.host for each in bindings} - {ANY_HOST}):
        special = decision(bindings, host, operation)
        if special.is_allowed is general.is_allowed:
            continue
        if special.is_allowed and special.because:
            yield Holder(principal, host, words(special.because))
        elif special.because:
            yield Holder(principal, host, f"not from there: {words(special.because)}")


def words(binding: AclBinding) -> str:
    """Say an ACL in a few words."""
    star = "*" if binding.pattern_type == "PREFIXED" else ""
    host = "" if binding.host == ANY_HOST else f" from {binding.host}"
    return (
        f"{binding.permission} {binding.operation} on {binding.resource_type} "
        f"{binding.resource_name}{star} for {binding.principal}{host}"
    )


def holdings(
    principal: str,
    bindings: Collection[AclBinding],
    rules: Rules,
    names: Mapping[str, Collection[str]],
) -> tuple[Holding, ...]:
    """List what a principal may do, by pattern; empty for a super user, who may do all."""
    if rules.is_super(principal):
        return ()
    mine = [each for each in bindings if each.principal in {principal, EVERYONE}]
    acls = Acls(mine, rules)
    found: list[Holding] = []
    for sort in sorted({each.resource_type for each in mine} & OPERATIONS.keys()):
        patterns = Patterns.of(
            (each.resource_name, each.pattern_type == "PREFIXED")
            for each in mine
            if each.resource_type == sort
        )
        census = Census(Names(names.get(sort, ())), patterns)
        for region in patterns.regions("*", is_prefix=False):
            existing = census.count(region) if sort in names else None
            for host, operations in _allowed(acls, principal, sort, region).items():
                found.append(Holding(sort, region.pattern, host, operations, existing))
    return tuple(found)


def _allowed(
    acls: Acls, principal: str, sort: str, region: Region
) -> Mapping[str, tuple[str, ...]]:
    """Find the operations by host, where a host has others than all hosts have."""
    if region.is_prefix:
        held = acls.matching_prefix(sort, region.name)
    else:
        held = acls.matching(sort, region.name)
    mine = [
        each
        for side in held
        for who in dict.fromkeys((principal, EVERYONE))
        for each in side.get(who, ())
    ]
    found: dict[str, list[str]] = defaultdict(list)
    for host in sorted({ANY_HOST}.union(each.host for each in mine)):
        found[host] = [op for op in OPERATIONS[sort] if decision(mine, host, op).is_allowed]
    return {
        host: tuple(operations)
        for host, operations in found.items()
        if (operations and host == ANY_HOST) or (host != ANY_HOST and operations != found[ANY_HOST])
    }
