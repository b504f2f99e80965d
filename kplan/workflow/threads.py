"""Questions to nodes and clusters that are asked at the same time."""

from collections.abc import Callable, Collection, Iterable
from typing import TypeVar

from kplan.cluster.port import Cluster
from kplan.cluster.threads import DaemonThreads

_T = TypeVar("_T")
_R = TypeVar("_R")


def map_in_threads(
    ask: Callable[[_T], _R], items: Collection[_T], clusters: Iterable[Cluster]
) -> list[_R]:
    """Return the answer for each item, each asked in a thread of its own.

    After an error `clusters` are closed, so that the others end soon, and are waited for. Ctrl-C
    does not wait: a thread that is still connecting is left behind.
    """
    with DaemonThreads(len(items), "ask") as threads:
        try:
            return list(threads.map(ask, items))
        except BaseException:
            for each in clusters:
                each.close()
            raise
