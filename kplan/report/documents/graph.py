"""A graph with its nodes put into the modules that they are drawn in."""

from collections.abc import Sequence
from itertools import groupby

from kplan.model.dataclass import dataclass
from kplan.model.graph import Graph, Node


@dataclass(frozen=True, slots=True)
class Cluster:
    """A module: its name from the root, its own nodes, and the modules in it."""

    name: str
    nodes: tuple[Node, ...]
    inner: tuple["Cluster", ...]


def clusters(graph: Graph) -> Cluster:
    """Sort the nodes by module; the root module has no name."""
    ordered = sorted(graph.nodes, key=lambda each: each.enclosing_module)
    return _cluster((), ordered)


def _cluster(home: tuple[str, ...], nodes: Sequence[Node]) -> Cluster:
    depth = len(home)
    own = tuple(each for each in nodes if len(each.enclosing_module) == depth)
    deeper = groupby(nodes[len(own) :], key=lambda each: each.enclosing_module[depth])
    inner = tuple(_cluster((*home, step), list(held)) for step, held in deeper)
    return Cluster(".".join(f"module.{step}" for step in home), own, inner)
