"""The checks of a declared ACL that need no cluster."""

import ipaddress
from collections.abc import Iterator, Mapping
from difflib import get_close_matches

from kplan.cluster.topic import topic_name_fault
from kplan.kinds.base import Problem

APPLICABLE_OPERATIONS: Mapping[str, frozenset[str]] = {
    "Topic": frozenset(
        ("All", "Read", "Write", "Create", "Describe", "Delete", "Alter", "DescribeConfigs",
         "AlterConfigs")
    ),
    "Group": frozenset(("All", "Read", "Describe", "Delete", "DescribeConfigs", "AlterConfigs")),
    "Cluster": frozenset(
        ("All", "Create", "Delete", "ClusterAction", "DescribeConfigs", "AlterConfigs",
         "IdempotentWrite", "Alter", "Describe")
    ),
    "TransactionalID": frozenset(("All", "Describe", "Write", "TwoPhaseCommit")),
    "DelegationToken": frozenset(("All", "Describe")),
    "User": frozenset(("All", "CreateTokens", "DescribeTokens")),
}  # fmt: skip
"""Operations that mean anything on a resource type: AclEntry.supportedOperations, and Delete on the
cluster, by which KRaft controllers let a principal delete every topic (ControllerApis)."""


def acl_problems(
    acl: Mapping[str, str], choices: Mapping[str, tuple[str, ...]]
) -> Iterator[Problem]:
    """Check the seven parts under their attribute names; `choices` are the allowed words."""
    bad_words = list(_word_problems(acl, choices))
    yield from bad_words
    if not bad_words:
        yield from _resource_problems(acl)
    yield from _principal_problems(acl["acl_principal"])
    yield from _host_problems(acl["acl_host"])


def _word_problems(
    acl: Mapping[str, str], choices: Mapping[str, tuple[str, ...]]
) -> Iterator[Problem]:
    for name, words in choices.items():
        if acl[name] in words:
            continue
        near = get_close_matches(acl[name].title(), words, n=1)
        hint = f'Did you mean "{near[0]}"?' if near else f"Use one of: {', '.join(words)}."
        # "Any" and "Match" are words of filters: one of them spoils its whole batch (trap 3).
        detail = f'"{acl[name]}" is no {name} of an ACL.'
        yield Problem("KP221", detail, hint, (name,), is_independent=True)


def _resource_problems(acl: Mapping[str, str]) -> Iterator[Problem]:
    sort, name = acl["resource_type"], acl["resource_name"]
    is_prefix = acl["resource_pattern_type_filter"] == "Prefixed"
    path = ("resource_name",)
    if not name:
        yield Problem("KP221", "The resource name is empty.", path=path)
    elif sort == "Cluster" and name != "kafka-cluster":
        yield Problem(
            "KP221",
            f'The cluster resource is called "kafka-cluster", not "{name}".',
            'Set resource_name = "kafka-cluster".',
            path,
        )
    elif sort == "Topic" and (fault := _topic_fault(name, is_prefix)):
        yield Problem(
            "KP222", f'No topic can be called "{name}": {fault}.', path=path, is_warning=True
        )
    elif is_prefix and (sort == "Cluster" or name == "*"):
        yield Problem(
            "KP222",
            f'The prefix "{name}" of {sort} matches nothing that exists.',
            'Use "Literal", or a prefix without "*".',
            path,
            is_warning=True,
        )
    if acl["acl_operation"] not in APPLICABLE_OPERATIONS[sort]:
        allowed = ", ".join(sorted(APPLICABLE_OPERATIONS[sort]))
        yield Problem(
            "KP222",
            f"{acl['acl_operation']} means nothing on {sort}; Kafka stores it and never asks.",
            f"Operations on {sort}: {allowed}.",
            ("acl_operation",),
            is_warning=True,
        )


def _topic_fault(name: str, is_prefix: bool) -> str:  # noqa: FBT001 - private, one caller
    is_start = is_prefix and name in {".", ".."}
    return "" if name == "*" or is_start else topic_name_fault(name)


def _principal_problems(principal: str) -> Iterator[Problem]:
    sort, colon, name = principal.partition(":")
    if not colon or not sort or not name:
        yield Problem(
            "KP223",
            f'"{principal}" is not a principal.',
            f'Write it as "User:{name or (not colon and sort) or "name"}".',
            ("acl_principal",),
            is_independent=True,
        )
    elif sort != "User":
        yield Problem(
            "KP223",
            f'Kafka itself makes no principals of type "{sort}".',
            f'Write "User:{name}" unless a principal builder of yours makes "{sort}".',
            ("acl_principal",),
            is_warning=True,
            is_independent=True,
        )


def _host_problems(host: str) -> Iterator[Problem]:
    if host == "*":
        return
    if not host:
        hint = 'Use "*" for any host.'
        yield Problem("KP221", "The host is empty.", hint, ("acl_host",), is_independent=True)
        return
    try:
        ipaddress.ip_address(host)
    except ValueError:
        yield Problem(
            "KP222",
            f'Kafka compares hosts with IP addresses as text; "{host}" is none.',
            'Use a single IP address or "*"; ranges and names never match.',
            ("acl_host",),
            is_warning=True,
            is_independent=True,
        )
