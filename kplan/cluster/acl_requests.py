"""What a KRaft controller makes of requests about ACLs: contents in, contents and answers out."""

from collections.abc import Sequence
from dataclasses import replace

from kplan.cluster.contents import MAX_RECORDS, Answer, Contents
from kplan.cluster.errors import CLIENT_INVALID, client_refusal, refusal
from kplan.cluster.specs import AclBinding, Verdict
from kplan.model.refusal import Refusal

AclVerdicts = dict[AclBinding, Verdict]

RESOURCE_TYPES = frozenset(
    ("TOPIC", "GROUP", "CLUSTER", "TRANSACTIONAL_ID", "DELEGATION_TOKEN", "USER")
)
PATTERN_TYPES = frozenset(("LITERAL", "PREFIXED"))
OPERATIONS = frozenset(
    ("ALL", "READ", "WRITE", "CREATE", "DELETE", "ALTER", "DESCRIBE", "CLUSTER_ACTION",
     "DESCRIBE_CONFIGS", "ALTER_CONFIGS", "IDEMPOTENT_WRITE", "CREATE_TOKENS", "DESCRIBE_TOKENS",
     "TWO_PHASE_COMMIT")
)  # fmt: skip
PERMISSIONS = frozenset(("ALLOW", "DENY"))
FILTER_WORDS = frozenset(("UNKNOWN", "ANY", "MATCH"))
"""Words that only a filter may hold; in an ACL to create, one of them spoils the whole batch."""


def create_acls(
    contents: Contents,
    bindings: Sequence[AclBinding],
) -> Answer[AclBinding]:
    """CreateAcls: an ACL that exists is a success; a filter's word fails the request as a whole."""
    verdicts: AclVerdicts = {}
    for binding in bindings:
        words = _words(binding)
        if words & FILTER_WORDS:
            return Answer(contents, {each: refusal(-1) for each in bindings})
        verdicts[binding] = _create_fault(binding)
    fine = {binding for binding, verdict in verdicts.items() if verdict is None}
    if len(fine - contents.acls) > MAX_RECORDS:
        too_large = refusal(44, "Unable to perform excessively large batch operation.")
        return Answer(contents, dict.fromkeys(bindings, too_large))
    return Answer(replace(contents, acls=contents.acls | fine), verdicts)


def delete_acls(
    contents: Contents,
    bindings: Sequence[AclBinding],
) -> Answer[AclBinding]:
    """DeleteAcls with one exact filter for each binding; what is absent is a success."""
    verdicts: AclVerdicts = {
        binding: None if _is_exact(binding) else client_refusal(CLIENT_INVALID, _NOT_EXACT)
        for binding in bindings
    }
    gone = {each for each, verdict in verdicts.items() if verdict is None} & contents.acls
    if len(gone) > MAX_RECORDS:
        too_many = refusal(
            42, f"Cannot remove more than {MAX_RECORDS} acls in a single delete operation."
        )
        return Answer(contents, dict.fromkeys(bindings, too_many))
    return Answer(replace(contents, acls=contents.acls - gone), verdicts)


_NOT_EXACT = "An ACL is deleted by all of its seven parts, never by a pattern."


def _words(binding: AclBinding) -> frozenset[str]:
    return frozenset(
        (binding.resource_type, binding.pattern_type, binding.operation, binding.permission)
    )


def _is_exact(binding: AclBinding) -> bool:
    return (
        binding.resource_type in RESOURCE_TYPES
        and binding.pattern_type in PATTERN_TYPES
        and binding.operation in OPERATIONS
        and binding.permission in PERMISSIONS
    )


def _create_fault(binding: AclBinding) -> Refusal | None:
    if not _is_exact(binding):
        return client_refusal(CLIENT_INVALID, "One of the words of the ACL is none of Kafka's.")
    if binding.resource_type == "CLUSTER" and binding.resource_name != "kafka-cluster":
        return refusal(42, "The only valid name for the CLUSTER resource is kafka-cluster")
    if not binding.resource_name:
        return refusal(42, "Invalid empty resource name")
    if ":" not in binding.principal:
        return refusal(
            42,
            f"Could not parse principal from `{binding.principal}` (no colon is present "
            "separating the principal type from the principal name)",
        )
    return None
