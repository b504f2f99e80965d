"""Graphs in the language of Graphviz, laid out as `terraform graph` lays them out."""

from collections.abc import Iterator, Mapping

from kplan.model.graph import Graph, NodeType
from kplan.report.documents.graph import Cluster, clusters

_STYLES: Mapping[NodeType, str] = {
    NodeType.VARIABLE: ", shape=note",
    NodeType.LOCAL: ", shape=ellipse",
    NodeType.RESOURCE: "",
    NodeType.OUTPUT: ", shape=cds",
    NodeType.CHECK: ", shape=octagon",
    NodeType.MODULE: ", shape=tab",
    NodeType.PROVIDER: ", shape=diamond",
}


def dot(graph: Graph) -> str:
    """Write a graph; edges that close a circle are red."""
    lines = [
        "digraph G {",
        '  rankdir = "RL";',
        '  node [shape = rect, fontname = "sans-serif"];',
        *_inside(clusters(graph), "  "),
        *(f"  {_edge(each, graph)};" for each in graph.edges),
        "}",
    ]
    return "\n".join(lines) + "\n"


def _inside(cluster: Cluster, indent: str) -> Iterator[str]:
    """Write the nodes of a module, and the modules in it."""
    for each in cluster.nodes:
        label = _quoted(each.label)
        yield f"{indent}{_quoted(each.address)} [label={label}{_STYLES[each.type]}];"
    for inner in cluster.inner:
        yield f"{indent}subgraph {_quoted(f'cluster_{inner.name}')} {{"
        yield f"{indent}  label = {_quoted(inner.name)}"
        yield f'{indent}  fontname = "sans-serif"'
        yield from _inside(inner, f"{indent}  ")
        yield f"{indent}}}"


def _edge(edge: tuple[str, str], graph: Graph) -> str:
    colour = ' [color = "red"]' if edge in graph.cycle_edges else ""
    return f"{_quoted(edge[0])} -> {_quoted(edge[1])}{colour}"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
