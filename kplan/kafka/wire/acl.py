"""ACLs: DescribeAcls, CreateAcls, DeleteAcls (KIP-140, KIP-290)."""

from collections.abc import Mapping, Sequence

from kplan.cluster.authorization import missing_operation_message
from kplan.cluster.request import AclBinding, ItemResult
from kplan.kafka.settings.connection import Endpoint
from kplan.kafka.wire import messages
from kplan.kafka.wire.gateway import Gateway
from kplan.kafka.wire.messages import Message, broker_refusal, invalid_refusal, item_result
from kplan.model.errors import Refusal, UnreadableError

RESOURCE_TYPES = {
    2: "TOPIC",
    3: "GROUP",
    4: "CLUSTER",
    5: "TRANSACTIONAL_ID",
    6: "DELEGATION_TOKEN",
    7: "USER",
}
_INVALID_REQUEST = 42
PATTERN_TYPES = {3: "LITERAL", 4: "PREFIXED"}
OPERATIONS = {
    2: "ALL",
    3: "READ",
    4: "WRITE",
    5: "CREATE",
    6: "DELETE",
    7: "ALTER",
    8: "DESCRIBE",
    9: "CLUSTER_ACTION",
    10: "DESCRIBE_CONFIGS",
    11: "ALTER_CONFIGS",
    12: "IDEMPOTENT_WRITE",
    13: "CREATE_TOKENS",
    14: "DESCRIBE_TOKENS",
    15: "TWO_PHASE_COMMIT",
}
PERMISSIONS = {2: "DENY", 3: "ALLOW"}
# Kafka's numbers (AclOperation, ResourceType, PatternType, AclPermissionType). UNKNOWN, ANY and
# MATCH are left out: they belong in filters, and one of them in an ACL spoils its whole batch.

_ANY = 1
_CLUSTER_AUTHORIZATION_FAILED = 31
_SECURITY_DISABLED = 54


def read_acls(gateway: Gateway, at: Endpoint | None, principal: str) -> frozenset[AclBinding]:
    """List all ACLs; `principal` is how the authorizer sees us.

    Raises:
        UnreadableError: no right to, or no authorizer.

    """
    request = messages.DESCRIBE_ACLS.request(
        resource_type_filter=_ANY,
        resource_name_filter=None,
        pattern_type_filter=_ANY,
        principal_filter=None,
        host_filter=None,
        operation=_ANY,
        permission_type=_ANY,
    )
    answer = gateway.ask(messages.DESCRIBE_ACLS, request, at=at)
    if answer.error_code:
        raise _unread_error(answer.error_code, answer.error_message, principal)
    return frozenset(
        AclBinding(
            resource_type=_protocol_word(RESOURCE_TYPES, resource.resource_type),
            resource_name=resource.resource_name,
            pattern_type=_protocol_word(PATTERN_TYPES, resource.pattern_type),
            principal=acl.principal,
            host=acl.host,
            operation=_protocol_word(OPERATIONS, acl.operation),
            permission=_protocol_word(PERMISSIONS, acl.permission_type),
        )
        for resource in answer.resources
        for acl in resource.acls
    )


def _unread_error(code: int, message: str | None, principal: str) -> UnreadableError:
    if code == _CLUSTER_AUTHORIZATION_FAILED:
        return UnreadableError(
            f"ACLs cannot be read. {missing_operation_message(principal, 'acls')}",
            hint="Grant DESCRIBE on the cluster to the principal kplan runs as.",
        )
    if code == _SECURITY_DISABLED:
        return UnreadableError(
            "ACLs cannot be read: the cluster has no authorizer.",
            hint="Set authorizer.class.name on brokers and controllers.",
        )
    return UnreadableError(f"ACLs cannot be read: {broker_refusal(code, message)}.")


def _protocol_word(words: Mapping[int, str], number: int) -> str:
    """Return Kafka's word; a number of a newer Kafka keeps its identity."""
    return words.get(number, f"UNKNOWN_{number}")


def create_acls(
    gateway: Gateway, bindings: Sequence[AclBinding]
) -> Mapping[AclBinding, ItemResult]:
    """Create ACLs. Results are in the order of the request, without names (CreateAclsResponse)."""
    results, sendable = _split_sendable(bindings)
    # With ZooKeeper one principal without a type fails all ACLs of a request (Kafka 2.8).
    untyped = [each for each in sendable if ":" not in each.principal]
    results |= dict.fromkeys(untyped, item_result(_INVALID_REQUEST, "A principal is TYPE:NAME."))
    sendable = [each for each in sendable if ":" in each.principal]
    if not sendable:
        return results
    request = messages.CREATE_ACLS.request(creations=[_acl_creation(each) for each in sendable])
    answer = gateway.send(messages.CREATE_ACLS, request)
    if isinstance(answer, Refusal):
        return results | dict.fromkeys(sendable, answer)
    throttle_ms = answer.throttle_time_ms
    return results | {
        binding: item_result(each.error_code, each.error_message, throttle_ms=throttle_ms)
        for binding, each in zip(sendable, answer.results, strict=False)
    }


def delete_acls(
    gateway: Gateway, bindings: Sequence[AclBinding]
) -> Mapping[AclBinding, ItemResult]:
    """Delete exactly these ACLs, each by a filter with all seven parts."""
    results, sendable = _split_sendable(bindings)
    if not sendable:
        return results
    request = messages.DELETE_ACLS.request(filters=[_acl_filter(each) for each in sendable])
    answer = gateway.send(messages.DELETE_ACLS, request)
    if isinstance(answer, Refusal):
        return results | dict.fromkeys(sendable, answer)
    throttle_ms = answer.throttle_time_ms
    return results | {
        binding: _delete_result(each, throttle_ms)
        for binding, each in zip(sendable, answer.filter_results, strict=False)
    }


def _delete_result(result: Message, throttle_ms: int) -> ItemResult:
    for each in (result, *result.matching_acls):
        if each.error_code:
            return broker_refusal(each.error_code, each.error_message, throttle_ms=throttle_ms)
    return None


def _split_sendable(
    bindings: Sequence[AclBinding],
) -> tuple[dict[AclBinding, ItemResult], list[AclBinding]]:
    """Refuse values without a protocol number, which would fail the whole batch (-1 for all)."""
    faults = {binding: _fault(binding) for binding in bindings}
    refusals: dict[AclBinding, ItemResult] = {
        binding: invalid_refusal(fault) for binding, fault in faults.items() if fault
    }
    return refusals, [binding for binding, fault in faults.items() if not fault]


def _fault(binding: AclBinding) -> str:
    parts = (
        ("resource type", binding.resource_type, _TYPE_NUMBERS),
        ("pattern type", binding.pattern_type, _PATTERN_NUMBERS),
        ("operation", binding.operation, _OPERATION_NUMBERS),
        ("permission", binding.permission, _PERMISSION_NUMBERS),
    )
    for what, word, numbers in parts:
        if word not in numbers:
            return f'An ACL cannot have the {what} "{word}".'
    return ""


def _acl_creation(binding: AclBinding) -> Message:
    return messages.CREATE_ACLS.request.AclCreation(
        resource_type=_TYPE_NUMBERS[binding.resource_type],
        resource_name=binding.resource_name,
        resource_pattern_type=_PATTERN_NUMBERS[binding.pattern_type],
        principal=binding.principal,
        host=binding.host,
        operation=_OPERATION_NUMBERS[binding.operation],
        permission_type=_PERMISSION_NUMBERS[binding.permission],
    )


def _acl_filter(binding: AclBinding) -> Message:
    return messages.DELETE_ACLS.request.DeleteAclsFilter(
        resource_type_filter=_TYPE_NUMBERS[binding.resource_type],
        resource_name_filter=binding.resource_name,
        pattern_type_filter=_PATTERN_NUMBERS[binding.pattern_type],
        principal_filter=binding.principal,
        host_filter=binding.host,
        operation=_OPERATION_NUMBERS[binding.operation],
        permission_type=_PERMISSION_NUMBERS[binding.permission],
    )


def _numbers(words: Mapping[int, str]) -> Mapping[str, int]:
    return {word: number for number, word in words.items()}


_TYPE_NUMBERS = _numbers(RESOURCE_TYPES)
_PATTERN_NUMBERS = _numbers(PATTERN_TYPES)
_OPERATION_NUMBERS = _numbers(OPERATIONS)
_PERMISSION_NUMBERS = _numbers(PERMISSIONS)
