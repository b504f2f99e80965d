"""Codes of what the linter finds, each with its fixed summary."""

from collections.abc import Mapping

SUMMARIES: Mapping[str, str] = {
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
