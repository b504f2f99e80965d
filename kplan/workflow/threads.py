"""Questions to nodes and clusters that are asked at the same time."""

from collections.abc import Callable, Collection, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from kplan.cluster.port import Cluster

_T = TypeVar("_T")
_R = TypeVar("_R")


def map_in_threads(
    ask: Callable[[_T], _R], items: Collection[_T], clusters: Iterable[Cluster]
) -> list[_R]:
    """Return the answer for each item, each asked in a thread of its own.

    Ctrl-C too must not wait for nodes that do not answer: `clusters` are closed then, and a thread
    that is still connecting is left behind.
    """
    pool = ThreadPoolExecutor(max_workers=max(1, len(items)))
    try:
        answers = list(pool.map(ask, items))
    except BaseException:
        for each in clusters:
            each.close()
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    pool.shutdown()
    return answers
