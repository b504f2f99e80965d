"""Codes and summaries of policy, access and lint diagnostics."""

from collections.abc import Mapping

POLICY_SUMMARIES: Mapping[str, str] = {
    "KP320": "Refused by policy",
    "KP321": "Policy warning",
    "KP322": "Advisory policy would refuse",
    "KP323": "Refusal overridden",
    "KP324": "Refusal waived",
    "KP325": "Waiver has expired",
    "KP326": "Policy could not be evaluated",
    "KP327": "Policy cannot be used",
    "KP328": "Policy order is ambiguous",
    "KP329": "Plan stopped by policy",
    "KP330": "Override has no effect",
    "KP331": "Refused by a broker policy",
    "KP332": "Missing permission",
    "KP333": "Policy advice",
    "KP334": "Legacy policy interface",
}


ACCESS_SUMMARIES: Mapping[str, str] = {
    "KP441": "Plan would lock kplan out",
    "KP442": "Plan leaves no ACL administrator",
    "KP443": "First ACL on a resource excludes all other principals",
    "KP444": "Effect of the first ACL is unknown",
    "KP445": "Lockout cannot be ruled out",
}

ACCEPTABLE_CODES = frozenset({"KP441", "KP442", "KP443"})
"""What `-accept` lets through."""


LINT_SUMMARIES: Mapping[str, str] = {
    "KP401": "ACL that Kafka never evaluates",
    "KP402": "Duplicate ACL",
    "KP403": "ACL is covered by a wider ACL",
    "KP404": "Deny hides an Allow",
    "KP405": "ACL matches no topic",
    "KP406": "No principal can read the topic",
    "KP407": "No principal can write to the topic",
    "KP408": "Name ends in * but pattern is literal",
    "KP409": "Principal matches no login format",
    "KP410": "Lint is incomplete",
}
