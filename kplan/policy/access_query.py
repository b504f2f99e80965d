"""Queries on ACLs, and regions of names in which the same ACLs apply."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace

from kplan.cluster.request import AclBinding
from kplan.model.dataclass import dataclass
from kplan.model.impact import AllowedPrincipal, DeniedPrincipal, PrincipalPermission
from kplan.policy.authorizer import (
    OPERATIONS,
    WILDCARD_HOST,
    WILDCARD_PRINCIPAL,
    WILDCARD_RESOURCE,
    AclIndex,
    AuthorizerRules,
    decide_access,
)

_MAX_CHARACTER = "\U0010ffff"
_MAX_EXAMPLES = 3


@dataclass(frozen=True, slots=True, order=True)
class Region:
    """One name, or all names with a prefix that no narrower pattern takes away ("": the rest)."""

    name: str
    is_prefix: bool = False

    @property
    def pattern(self) -> str:
        """Write it as a person would."""
        return f"{self.name}*" if self.is_prefix else self.name


class SortedNames:
    """Names in order, counted by prefix in a few steps."""

    def __init__(self, names: Iterable[str]) -> None:
        self.sorted: Sequence[str] = sorted(names)

    def prefix_range(self, prefix: str) -> tuple[int, int]:
        """Return where the names with the prefix begin and end."""
        return (
            bisect_left(self.sorted, prefix),
            bisect_left(self.sorted, prefix + _MAX_CHARACTER) if prefix else len(self.sorted),
        )

    def with_prefix(self, prefix: str) -> Sequence[str]:
        """Return the names with the prefix."""
        start, end = self.prefix_range(prefix)
        return self.sorted[start:end]

    def __contains__(self, name: object) -> bool:
        at = bisect_left(self.sorted, str(name))
        return at < len(self.sorted) and self.sorted[at] == name


NamePair = tuple[str, bool]
"""The name of a pattern, and whether it is a prefix."""


@dataclass(frozen=True, slots=True)
class PatternCover:
    """The names that any of some patterns fits, found by look-ups whatever their number."""

    literals: frozenset[str]
    prefixes: frozenset[str]
    lengths: tuple[int, ...]

    @classmethod
    def from_pairs(cls, patterns: Iterable[NamePair]) -> "PatternCover":
        """Take `(name, is_prefix)` pairs; "*" fits all names."""
        found = [
            ("", True) if each == (WILDCARD_RESOURCE, False) else each for each in set(patterns)
        ]
        prefixes = frozenset(name for name, is_prefix in found if is_prefix)
        literals = frozenset(name for name, is_prefix in found if not is_prefix)
        return cls(literals, prefixes, tuple(sorted({len(each) for each in prefixes})))

    @property
    def has_any(self) -> bool:
        """Whether there is a pattern at all."""
        return bool(self.literals or self.prefixes)

    def has_prefix_of(self, name: str) -> bool:
        """Whether one of the prefixes is one of the name, or the name itself."""
        return any(name[:size] in self.prefixes for size in self.lengths if size <= len(name))

    def widest(self) -> Iterator[NamePair]:
        """Return the patterns without those whose names another one fits as well."""
        for each in self.prefixes:
            if not any(each[:size] in self.prefixes for size in self.lengths if size < len(each)):
                yield each, True
        yield from ((each, False) for each in self.literals if not self.has_prefix_of(each))

    def covers(self, region: Region) -> bool:
        """Whether a pattern fits all names of a region."""
        is_literal = not region.is_prefix and region.name in self.literals
        return is_literal or self.has_prefix_of(region.name)


@dataclass(slots=True)
class NamePatterns:
    """Literal names and prefixes that partition all names; "*" and "" cover all of them."""

    literals: SortedNames
    prefixes: SortedNames

    @classmethod
    def from_pairs(cls, patterns: Iterable[tuple[str, bool]]) -> "NamePatterns":
        """Take `(name, is_prefix)` pairs."""
        found = set(patterns)
        return cls(
            SortedNames(
                name for name, is_prefix in found if not is_prefix and name != WILDCARD_RESOURCE
            ),
            SortedNames(name for name, is_prefix in found if is_prefix),
        )

    def regions(self, name: str, *, is_prefix: bool) -> Iterator[Region]:
        """Return the regions that a pattern is made of."""
        if not is_prefix and name != WILDCARD_RESOURCE:
            yield Region(name)
            return
        prefix = name if is_prefix else ""
        yield Region(prefix, is_prefix=True)
        for each in self.prefixes.with_prefix(prefix):
            if each != prefix:
                yield Region(each, is_prefix=True)
        for each in self.literals.with_prefix(prefix):
            yield Region(each)

    def regions_of(self, patterns: Iterable[NamePair]) -> Iterator[Region]:
        """Return the regions that any of the patterns is made of, each once."""
        for name, is_prefix in PatternCover.from_pairs(patterns).widest():
            yield from self.regions(name, is_prefix=is_prefix)

    def below(self, patterns: Iterable[NamePair]) -> Iterator[NamePair]:
        """Return the patterns whose names one of the given prefixes has."""
        for prefix, is_prefix in PatternCover.from_pairs(patterns).widest():
            if is_prefix:
                yield from ((each, True) for each in self.prefixes.with_prefix(prefix))
                yield from ((each, False) for each in self.literals.with_prefix(prefix))

    def nested_prefixes(self, prefix: str) -> Iterator[str]:
        """Return the prefixes right below a prefix: their names are not in its region."""
        last = None
        for each in self.prefixes.with_prefix(prefix):
            if each != prefix and (last is None or not each.startswith(last)):
                last = each
                yield each


@dataclass(slots=True)
class RegionCounter:
    """Live names, counted by region."""

    names: SortedNames
    patterns: NamePatterns
    _excluded: dict[str, tuple[list[tuple[int, int]], list[str]]] = field(default_factory=dict)

    def count(self, region: Region) -> int:
        """Count the live names of a region."""
        if not region.is_prefix:
            return int(region.name in self.names)
        start, end = self.names.prefix_range(region.name)
        holes, literals = self._excluded_names(region.name)
        return end - start - sum(last - first for first, last in holes) - len(literals)

    def examples(self, region: Region) -> Iterator[str]:
        """Name a few of them."""
        if not region.is_prefix:
            yield from [region.name] if region.name in self.names else ()
            return
        at, end = self.names.prefix_range(region.name)
        holes, literals = self._excluded_names(region.name)
        skips = {first: last for first, last in holes if last > first}
        found = 0
        while at < end and found < _MAX_EXAMPLES:
            if at in skips:
                at = skips[at]
                continue
            if self.names.sorted[at] not in literals:
                yield self.names.sorted[at]
                found += 1
            at += 1

    def _excluded_names(self, prefix: str) -> tuple[list[tuple[int, int]], list[str]]:
        """Find permissions that narrower patterns take away: spans of names, and single names."""
        if prefix not in self._excluded:
            holes = list(self.patterns.nested_prefixes(prefix))
            hidden = tuple(holes)
            self._excluded[prefix] = (
                [self.names.prefix_range(each) for each in holes],
                [
                    each
                    for each in self.patterns.literals.with_prefix(prefix)
                    if each in self.names and not each.startswith(hidden)
                ],
            )
        return self._excluded[prefix]


def who_can(
    operation: str,
    resource: tuple[str, str],
    bindings: Collection[AclBinding],
    rules: AuthorizerRules,
) -> tuple[AllowedPrincipal, ...]:
    """List who may do an operation on a resource, `(type, name)`, and whom a Deny leaves out.

    Read back, the list is what the authorizer says of every principal and host: someone is allowed
    where one of the permissions allows it (see `AllowedPrincipal.allows`).
    """
    acls = AclIndex(bindings, rules)
    sort, name = resource
    held = list(acls.acls_on_name(sort, name))
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
    own = {
        principal: [each for side in held for each in side.get(principal, ())] + everyones
        for principal in sorted(set().union(*held) - {WILDCARD_PRINCIPAL})
        if not rules.is_super(principal)
    }
    found = list(_holders(WILDCARD_PRINCIPAL, operation, everyones))
    found = [
        replace(each, exceptions=(*each.exceptions, *_denied_principals(each.host, operation, own)))
        for each in found
    ]
    for principal, theirs in own.items():
        found += _holders(principal, operation, theirs)
    return tuple(supers + found)


def _holders(
    principal: str, operation: str, bindings: Collection[AclBinding]
) -> Iterator[AllowedPrincipal]:
    """Give the permissions of a principal: for every host but some, or for single hosts."""
    hosts = sorted({each.host for each in bindings} - {WILDCARD_HOST})
    general = decide_access(bindings, WILDCARD_HOST, operation)
    if general.is_allowed and general.acl:
        denied = tuple(_denied_hosts(principal, hosts, operation, bindings))
        yield AllowedPrincipal(principal, WILDCARD_HOST, describe_binding(general.acl), denied)
        return
    for host in hosts:
        special = decide_access(bindings, host, operation)
        if special.is_allowed and special.acl:
            yield AllowedPrincipal(principal, host, describe_binding(special.acl))


def _denied_hosts(
    principal: str, hosts: Iterable[str], operation: str, bindings: Collection[AclBinding]
) -> Iterator[DeniedPrincipal]:
    for host in hosts:
        decision = decide_access(bindings, host, operation)
        if not decision.is_allowed and decision.acl:
            yield DeniedPrincipal(principal, host, describe_binding(decision.acl))


def _denied_principals(
    host: str, operation: str, own: Mapping[str, Collection[AclBinding]]
) -> Iterator[DeniedPrincipal]:
    """Find whom a Deny leaves out of a permission that everyone has from a host."""
    for principal, bindings in own.items():
        decision = decide_access(bindings, host, operation)
        if not decision.is_allowed and decision.acl:
            yield DeniedPrincipal(principal, decision.acl.host, describe_binding(decision.acl))
        elif host == WILDCARD_HOST:
            hosts = {each.host for each in bindings if each.principal == principal}
            yield from _denied_hosts(principal, sorted(hosts - {host}), operation, bindings)


def describe_binding(binding: AclBinding) -> str:
    """Say an ACL in a few words."""
    star = "*" if binding.pattern_type == "PREFIXED" else ""
    host = "" if binding.host == WILDCARD_HOST else f" from {binding.host}"
    return (
        f"{binding.permission} {binding.operation} on {binding.resource_type} "
        f"{binding.resource_name}{star} for {binding.principal}{host}"
    )


def principal_permissions(
    principal: str,
    bindings: Collection[AclBinding],
    rules: AuthorizerRules,
    names: Mapping[str, Collection[str]],
) -> tuple[PrincipalPermission, ...]:
    """List the operations of a principal by pattern; empty for a super user, who has all."""
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
        counter = RegionCounter(SortedNames(names.get(sort, ())), patterns)
        for region in patterns.regions("*", is_prefix=False):
            existing = counter.count(region) if sort in names else None
            for host, operations in _operations_by_host(acls, principal, sort, region).items():
                found.append(PrincipalPermission(sort, region.pattern, host, operations, existing))
    return tuple(found)


def _operations_by_host(
    acls: AclIndex, principal: str, sort: str, region: Region
) -> Mapping[str, tuple[str, ...]]:
    """Find the operations by host, where a host has others than all hosts have."""
    if region.is_prefix:
        held = acls.acls_on_prefix(sort, region.name)
    else:
        held = acls.acls_on_name(sort, region.name)
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
