"""Codes of what is found about access, each with its fixed summary."""

from collections.abc import Mapping

SUMMARIES: Mapping[str, str] = {
    "KP441": "The plan would lock kplan out",
    "KP442": "Nobody could change ACLs any more",
    "KP443": "First ACL on a resource takes it from everyone else",
    "KP444": "Effect of a first ACL is not known",
    "KP445": "Whether the plan locks kplan out is not known",
}

ACCEPTABLE = frozenset({"KP441", "KP442", "KP443"})
"""What `-accept` lets through."""
