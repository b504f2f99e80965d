"""The narrowest ACLs that still allow what an ACL was used for."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, takewhile

from kplan.cluster.request import AclBinding
from kplan.model.dataclass import dataclass
from kplan.policy.authorizer import (
    IMPLIED_BY,
    WILDCARD_HOST,
    WILDCARD_PRINCIPAL,
    WILDCARD_RESOURCE,
)

MAX_NAMES = 10
"""Up to so many names, principals or hosts are listed one by one."""
MAX_ACLS = 20
"""So many ACLs at most take the place of one."""
LITERAL, PREFIXED = "LITERAL", "PREFIXED"
_AFTER_SEPARATOR = re.compile(r"[^._-]*$")
_WRITE = "WRITE"


@dataclass(frozen=True, slots=True)
class AclUse:
    """Allowed requests that match an ACL: one operation of one principal from one host.

    `names` are those of the resources, in order; of more than MAX_NAMES some may be left out, but
    never the first nor the last. `is_any_topic` marks the question of Kafka whether the principal
    may write to any topic at all (InitProducerId); it has no names.
    """

    operation: str
    principal: str
    host: str
    names: tuple[str, ...] = ()
    is_any_topic: bool = False


@dataclass(frozen=True, slots=True)
class _Detail:
    """Which parts of an ACL are narrowed beside its operation."""

    names: bool = True
    principals: bool = True
    hosts: bool = False


_Scope = tuple[str, str]
"""Principal and host of an ACL."""
_Pattern = tuple[str, str]
"""Pattern type and name."""


def narrow_acl(
    acl: AclBinding, uses: Sequence[AclUse], *, by_host: bool = False
) -> tuple[AclBinding, ...]:
    """Return the narrowest Allow ACLs for `uses`; the ACL itself where it cannot be narrower.

    `*` and prefixes become the names that were used, or their common prefix up to a separator;
    `All` the operations that were used, without those that others imply; `User:*` the principals.
    With `by_host` the host `*` becomes the addresses that were used. Parts with more than MAX_NAMES
    values stay as they are, and so does an ACL that would become more than MAX_ACLS.
    """
    asked = [each for each in uses if not each.is_any_topic]
    writers = {(each.principal, each.host) for each in asked if each.operation == _WRITE}
    if any((each.principal, each.host) not in writers for each in uses if each.is_any_topic):
        return (acl,)  # a producer that is idempotent, and wrote nothing yet
    finest = _Detail(hosts=by_host)
    coarser = (finest, replace(finest, hosts=False), _Detail(principals=False))
    for detail in (*coarser, _Detail(names=False, principals=False)):
        found = tuple(sorted(set(_narrower_acls(acl, asked, detail)), key=_sort_key))
        if len(found) <= MAX_ACLS:
            return found
    return (acl,)


def _sort_key(acl: AclBinding) -> tuple[str, ...]:
    return acl.principal, acl.host, acl.operation, acl.pattern_type, acl.resource_name


def _narrower_acls(
    acl: AclBinding, uses: Sequence[AclUse], detail: _Detail
) -> Iterator[AclBinding]:
    principals = detail.principals and len({each.principal for each in uses}) <= MAX_NAMES
    hosts = detail.hosts and len({each.host for each in uses}) <= MAX_NAMES
    by_scope: dict[_Scope, dict[str, list[AclUse]]] = defaultdict(lambda: defaultdict(list))
    for each in uses:
        who = each.principal if acl.principal == WILDCARD_PRINCIPAL and principals else None
        where = each.host if acl.host == WILDCARD_HOST and hosts else None
        by_scope[who or acl.principal, where or acl.host][each.operation].append(each)
    for (principal, host), by_operation in by_scope.items():
        patterns = {
            operation: _patterns(acl, found, is_wanted=detail.names)
            for operation, found in by_operation.items()
        }
        for operation, own in patterns.items():
            implying = _implying_patterns(operation, patterns)
            for kind, name in own:
                if not any(_covers(each, (kind, name)) for each in implying):
                    yield replace(
                        acl,
                        principal=principal,
                        host=host,
                        operation=operation,
                        pattern_type=kind,
                        resource_name=name,
                    )


def _patterns(acl: AclBinding, uses: Sequence[AclUse], *, is_wanted: bool) -> list[_Pattern]:
    """Return the patterns for the names of one operation."""
    own = acl.pattern_type, acl.resource_name
    is_wide = acl.pattern_type == PREFIXED or acl.resource_name == WILDCARD_RESOURCE
    names = sorted(set(chain.from_iterable(each.names for each in uses)))
    if not is_wide or not is_wanted or not names or WILDCARD_RESOURCE in names:
        return [own]  # a literal "*" would be wider
    if all(len(each.names) <= MAX_NAMES for each in uses) and len(names) <= MAX_NAMES:
        return [(LITERAL, name) for name in names]
    prefix = common_prefix(names[0], names[-1])
    known = acl.resource_name if acl.pattern_type == PREFIXED else ""
    return [(PREFIXED, prefix)] if len(prefix) > len(known) else [own]


def common_prefix(first: str, last: str) -> str:
    """Return what the names from first to last begin with, up to and with a separator."""
    pairs = takewhile(lambda pair: pair[0] == pair[1], zip(first, last, strict=False))
    return _AFTER_SEPARATOR.sub("", "".join(each for each, _ in pairs))


def _implying_patterns(
    operation: str, patterns: Mapping[str, Sequence[_Pattern]]
) -> list[_Pattern]:
    others = IMPLIED_BY.get(operation, frozenset()) - {operation}
    return [each for other in others for each in patterns.get(other, ())]


def _covers(wide: _Pattern, narrow: _Pattern) -> bool:
    kind, name = wide
    if kind == PREFIXED:
        return narrow[1].startswith(name)
    return name == WILDCARD_RESOURCE or wide == narrow
