"""Read topics where the cluster does not list all of them, or does not describe all of each."""

from collections.abc import Collection, Iterator, Mapping
from typing import TypeVar

from kplan.cluster.port import Cluster
from kplan.cluster.request import TopicDescription
from kplan.kinds.base import Problem
from kplan.model.errors import NotListableError, UnreadableError
from kplan.model.refusal import Refusal

ResponseT = TypeVar("ResponseT")


def list_topics(cluster: Cluster) -> Mapping[str, TopicDescription | Refusal]:
    """List the topics; nothing where none are listed, and each is to be asked for by its name."""
    try:
        return cluster.topics()
    except NotListableError:
        return {}


def require_all(
    names: Collection[str], answers: Mapping[str, ResponseT]
) -> Mapping[str, ResponseT]:
    """Return the answers, if there is one for each name: silence is not absence.

    Raises:
        Unread: one is missing.

    """
    if silent := sorted(set(names) - answers.keys()):
        raise UnreadableError(f"Topics: the answer says nothing of {', '.join(silent)}.")
    return answers


def check_unknown_layout(name: str, *, has_layout: bool) -> Iterator[Problem]:
    """Refuse to lay out a topic that kplan does not own, where controllers are asked (K919-23)."""
    if has_layout:
        yield Problem(
            "KP214",
            f'Topic "{name}" is there, and controllers do not tell how it is laid out.',
            "Adopt it through brokers first; or leave its layout out for now.",
            ("partitions",),
        )
