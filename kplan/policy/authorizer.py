"""The decisions of the StandardAuthorizer (KIP-801), without a broker."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field

from kplan.cluster.request import AclBinding
from kplan.model.dataclass import dataclass

WILDCARD_PRINCIPAL = "User:*"
"""The principal of an ACL that is about everybody, whatever their type."""

WILDCARD_HOST = "*"
WILDCARD_RESOURCE = "*"

OPERATIONS: Mapping[str, tuple[str, ...]] = {
    "TOPIC": (
        "READ", "WRITE", "CREATE", "DELETE", "ALTER", "DESCRIBE", "DESCRIBE_CONFIGS",
        "ALTER_CONFIGS",
    ),
    "GROUP": ("READ", "DELETE", "DESCRIBE", "DESCRIBE_CONFIGS", "ALTER_CONFIGS"),
    "CLUSTER": (
        "CREATE", "DELETE", "ALTER", "DESCRIBE", "CLUSTER_ACTION", "DESCRIBE_CONFIGS",
        "ALTER_CONFIGS", "IDEMPOTENT_WRITE",
    ),
    "TRANSACTIONAL_ID": ("WRITE", "DESCRIBE", "TWO_PHASE_COMMIT"),
    "DELEGATION_TOKEN": ("DESCRIBE",),
    "USER": ("CREATE_TOKENS", "DESCRIBE_TOKENS"),
}  # fmt: skip
"""What Kafka ever asks about a type of resource: AclEntry.supportedOperations, and the Delete of
the cluster, which KRaft controllers ask for DeleteTopics before that of topics (ControllerApis)."""

IMPLIED_BY: Mapping[str, frozenset[str]] = {
    "DESCRIBE": frozenset({"DESCRIBE", "READ", "WRITE", "DELETE", "ALTER"}),
    "DESCRIBE_CONFIGS": frozenset({"DESCRIBE_CONFIGS", "ALTER_CONFIGS"}),
}
"""Which Allows grant an operation beside its own; a Deny denies nothing but its own operation."""


@dataclass(frozen=True, slots=True)
class AuthorizerRules:
    """The settings of brokers beside their ACLs; None is unknown.

    `super_users` are principals that are asked for nothing. With `allow_everyone`
    (allow.everyone.if.no.acl.found) whoever asks may do anything to a resource without ACLs.
    """

    super_users: frozenset[str] | None = frozenset()
    allow_everyone: bool | None = False

    def is_super(self, principal: str) -> bool:
        """Whether the principal is known to be a super user."""
        return principal in (self.super_users or ())


@dataclass(frozen=True, slots=True)
class AccessRequest:
    """What the authorizer is asked: whether `principal`, coming from `host`, may do this."""

    principal: str
    host: str
    operation: str
    resource_type: str
    resource_name: str


@dataclass(frozen=True, slots=True)
class AuthorizationResult:
    """The answer, and the ACL that it rests on; None where it rests on the brokers' settings."""

    is_allowed: bool
    acl: AclBinding | None = None


AclsByPrincipal = dict[str, list[AclBinding]]
"""The ACLs of one pattern, by principal."""


@dataclass(slots=True)
class ResourceTypeAcls:
    """The ACLs on one type of resource, by name and by prefix; `lengths` are those of prefixes."""

    literal: dict[str, AclsByPrincipal] = field(default_factory=dict)
    prefixed: dict[str, AclsByPrincipal] = field(default_factory=dict)
    lengths: tuple[int, ...] = ()

    def acls_on_name(self, name: str) -> Iterator[AclsByPrincipal]:
        """Return the ACLs of every pattern that fits the name.

        The authorizer takes "*" for no part of a longer name that begins with "*".
        """
        if name in self.literal:
            yield self.literal[name]
        if not name.startswith(WILDCARD_RESOURCE) and WILDCARD_RESOURCE in self.literal:
            yield self.literal[WILDCARD_RESOURCE]
        yield from self._under(name)

    def acls_on_prefix(self, prefix: str) -> Iterator[AclsByPrincipal]:
        """Return the ACLs of every pattern that fits all names with the prefix."""
        if not prefix.startswith(WILDCARD_RESOURCE) and WILDCARD_RESOURCE in self.literal:
            yield self.literal[WILDCARD_RESOURCE]
        yield from self._under(prefix)

    def _under(self, name: str) -> Iterator[AclsByPrincipal]:
        for length in self.lengths:
            if length > len(name):
                return
            if (held := self.prefixed.get(name[:length])) is not None:
                yield held


class AclIndex:
    """ACLs indexed by resource: a few look-ups whatever their number."""

    def __init__(
        self, bindings: Iterable[AclBinding], rules: AuthorizerRules | None = None
    ) -> None:
        self.rules = rules or AuthorizerRules()
        self._by_type: dict[str, ResourceTypeAcls] = defaultdict(ResourceTypeAcls)
        for each in bindings:
            patterns = self._by_type[each.resource_type]
            side = patterns.prefixed if each.pattern_type == "PREFIXED" else patterns.literal
            side.setdefault(each.resource_name, {}).setdefault(each.principal, []).append(each)
        for patterns in self._by_type.values():
            patterns.lengths = tuple(sorted({len(prefix) for prefix in patterns.prefixed}))

    def acls_on_name(self, resource_type: str, name: str) -> Iterator[AclsByPrincipal]:
        """Return the ACLs of every pattern that fits the resource."""
        patterns = self._by_type.get(resource_type)
        return iter(()) if patterns is None else patterns.acls_on_name(name)

    def acls_on_prefix(self, resource_type: str, prefix: str) -> Iterator[AclsByPrincipal]:
        """Give the ACLs of every pattern that fits all names with the prefix, "" for all names."""
        patterns = self._by_type.get(resource_type)
        return iter(()) if patterns is None else patterns.acls_on_prefix(prefix)

    def has_any(self, resource_type: str, name: str) -> bool:
        """Whether the resource has an ACL, for any principal."""
        return any(True for _ in self.acls_on_name(resource_type, name))

    def authorize(self, access_request: AccessRequest) -> AuthorizationResult:
        """Return the decision of the authorizer."""
        if self.rules.is_super(access_request.principal):
            return AuthorizationResult(is_allowed=True)
        held = list(self.acls_on_name(access_request.resource_type, access_request.resource_name))
        if not held:
            return AuthorizationResult(is_allowed=bool(self.rules.allow_everyone))
        principals = dict.fromkeys((access_request.principal, WILDCARD_PRINCIPAL))
        found = [each for side in held for who in principals for each in side.get(who, ())]
        return decide_access(found, access_request.host, access_request.operation)


def decide_access(bindings: Iterable[AclBinding], host: str, operation: str) -> AuthorizationResult:
    """Evaluate the ACLs on a resource for a principal: one Deny outweighs every Allow."""
    allowed = None
    for each in bindings:
        if each.host not in {WILDCARD_HOST, host}:
            continue
        if each.permission == "DENY":
            if each.operation in {"ALL", operation}:
                return AuthorizationResult(is_allowed=False, acl=each)
        elif each.operation == "ALL" or grants(each.operation, operation):
            allowed = allowed or each
    return AuthorizationResult(allowed is not None, allowed)


def grants(allowed: str, operation: str) -> bool:
    """Whether an Allow of one operation grants another, or the same."""
    return allowed == operation or allowed in IMPLIED_BY.get(operation, ())
