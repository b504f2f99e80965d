"""Circles in a graph (Tarjan's strongly connected components, without recursion)."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

Edge = tuple[str, str]


def circular_edges(edges: Iterable[Edge]) -> frozenset[Edge]:
    """Find the edges that lie on a circle."""
    following: dict[str, list[str]] = defaultdict(list)
    for start, end in edges:
        following[start].append(end)
    part_of = {node: number for number, part in enumerate(_components(following)) for node in part}
    return frozenset(
        (start, end)
        for start, ends in following.items()
        for end in ends
        if part_of[start] == part_of[end]
    )


def _components(following: Mapping[str, Sequence[str]]) -> Iterator[list[str]]:
    index: dict[str, int] = {}
    lowest: dict[str, int] = {}
    open_nodes: dict[str, None] = {}
    for first in list(following):
        if first in index:
            continue
        index[first] = lowest[first] = len(index)
        open_nodes[first] = None
        work = [(first, iter(following.get(first, ())))]
        while work:
            node, ahead = work[-1]
            new = _next_new(node, ahead, (index, lowest, open_nodes))
            if new is not None:
                index[new] = lowest[new] = len(index)
                open_nodes[new] = None
                work.append((new, iter(following.get(new, ()))))
                continue
            work.pop()
            if work:
                above = work[-1][0]
                lowest[above] = min(lowest[above], lowest[node])
            if lowest[node] == index[node]:
                yield _taken(node, open_nodes)


def _next_new(
    node: str,
    ahead: Iterator[str],
    known: tuple[dict[str, int], dict[str, int], dict[str, None]],
) -> str | None:
    """Go on to the first node that was not met before; those that are open lie on a circle."""
    index, lowest, open_nodes = known
    for each in ahead:
        if each not in index:
            return each
        if each in open_nodes:
            lowest[node] = min(lowest[node], index[each])
    return None


def _taken(node: str, open_nodes: dict[str, None]) -> list[str]:
    part: list[str] = []
    while not part or part[-1] != node:
        part.append(open_nodes.popitem()[0])
    return part
