"""Codes of what policies say, each with its fixed summary."""

from collections.abc import Mapping

SUMMARIES: Mapping[str, str] = {
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
