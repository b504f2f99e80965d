"""Reading topics where not all of them, or not all of each, is told."""

from collections.abc import Collection, Iterator, Mapping
from typing import TypeVar

from kplan.cluster.port import Cluster
from kplan.cluster.specs import TopicDescription
from kplan.kinds.base import Problem
from kplan.model.errors import Unlisted, Unread
from kplan.model.refusal import Refusal

Answered = TypeVar("Answered")


def listed_topics(cluster: Cluster) -> Mapping[str, TopicDescription | Refusal]:
    """List the topics; nothing where none are listed, and each is to be asked for by its name."""
    try:
        return cluster.topics()
    except Unlisted:
        return {}


def complete(names: Collection[str], answers: Mapping[str, Answered]) -> Mapping[str, Answered]:
    """Give the answers, if there is one for each name: silence is not absence.

    Raises:
        Unread: one is missing.

    """
    if silent := sorted(set(names) - answers.keys()):
        raise Unread(f"Topics: the answer says nothing of {', '.join(silent)}.")
    return answers


def unknown_layout(name: str, *, has_layout: bool) -> Iterator[Problem]:
    """Refuse to lay out a topic that kplan does not own, where controllers are asked (K919-23)."""
    if has_layout:
        yield Problem(
            "KP214",
            f'Topic "{name}" is there, and controllers do not tell how it is laid out.',
            "Adopt it through brokers first; or leave its layout out for now.",
            ("partitions",),
        )
