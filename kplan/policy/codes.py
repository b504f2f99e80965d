"""Codes and summaries of policy, access and lint diagnostics."""

from collections.abc import Mapping

POLICY_SUMMARIES: Mapping[str, str] = {
    "KP320": "Refused by policy",
    "KP321": "Warning of a policy",
    "KP322": "An advisory policy would refuse",
    "KP323": "Refusal overridden",
    "KP324": "Refusal waived",
    "KP325": "Waiver has expired",
    "KP326": "Policy could not be worked out",
    "KP327": "Policy cannot be used",
    "KP328": "Policies need an order",
    "KP329": "Plan stopped by policy",
    "KP330": "Override has no effect",
    "KP331": "Refused by a policy of the broker",
    "KP332": "Right is missing",
    "KP333": "Advice of a policy",
    "KP334": "Policy of an old shape",
}


ACCESS_SUMMARIES: Mapping[str, str] = {
    "KP441": "The plan would lock kplan out",
    "KP442": "Nobody could change ACLs any more",
    "KP443": "First ACL on a resource takes it from everyone else",
    "KP444": "Effect of a first ACL is not known",
    "KP445": "Whether the plan locks kplan out is not known",
}

ACCEPTABLE_CODES = frozenset({"KP441", "KP442", "KP443"})
"""What `-accept` lets through."""


LINT_SUMMARIES: Mapping[str, str] = {
    "KP401": "ACL that Kafka stores and never asks about",
    "KP402": "ACL twice in effect",
    "KP403": "ACL can have no effect beside a wider one",
    "KP404": "Deny hides an Allow",
    "KP405": "ACL fits no topic",
    "KP406": "Nobody may read the topic",
    "KP407": "Nobody may write the topic",
    "KP408": "Name ends in * and is no prefix",
    "KP409": "Principal is not of the shape that logins get",
    "KP410": "Lint is not complete",
}
