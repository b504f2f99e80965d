"""What a KRaft controller makes of requests about ACLs: contents in, contents and answers out."""

from collections.abc import Sequence
from dataclasses import replace

from kplan.cluster.contents import MAX_RECORDS, Answer, Contents
from kplan.cluster.errors import CLIENT_INVALID, client_refusal, refusal
from kplan.cluster.specs import AclBinding, Verdict
from kplan.model.refusal import Refusal

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


def create_acls(contents: Contents, bindings: Sequence[AclBinding]) -> Answer[AclBinding]:
    """CreateAcls: an ACL that exists is a success."""
    verdicts: dict[AclBinding, Verdict] = {each: _create_fault(each) for each in bindings}
    fine = {binding for binding, verdict in verdicts.items() if verdict is None}
    if len(fine - contents.acls) > MAX_RECORDS:
        too_large = refusal(44, "Unable to perform excessively large batch operation.")
        return Answer(contents, dict.fromkeys(bindings, too_large))
    return Answer(replace(contents, acls=contents.acls | fine), verdicts)


def delete_acls(contents: Contents, bindings: Sequence[AclBinding]) -> Answer[AclBinding]:
    """DeleteAcls with one exact filter for each binding; what is absent is a success."""
    verdicts: dict[AclBinding, Verdict] = {each: _word_fault(each) for each in bindings}
    gone = {each for each, verdict in verdicts.items() if verdict is None} & contents.acls
    if len(gone) > MAX_RECORDS:
        too_many = refusal(
            42, f"Cannot remove more than {MAX_RECORDS} acls in a single delete operation."
        )
        return Answer(contents, dict.fromkeys(bindings, too_many))
    return Answer(replace(contents, acls=contents.acls - gone), verdicts)


def _word_fault(binding: AclBinding) -> Refusal | None:
    """Refuse words of filters (ANY, MATCH) as the drivers do.

    In an ACL to add one of them spoils the whole request (-1), in one to delete it matches others.
    """
    is_exact = (
        binding.resource_type in RESOURCE_TYPES
        and binding.pattern_type in PATTERN_TYPES
        and binding.operation in OPERATIONS
        and binding.permission in PERMISSIONS
    )
    return None if is_exact else client_refusal(CLIENT_INVALID, "An ACL has no such word.")


def _create_fault(binding: AclBinding) -> Refusal | None:
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
    return _word_fault(binding)
