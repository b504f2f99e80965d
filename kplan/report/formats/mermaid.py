"""Graphs as Mermaid flowcharts, which Git forges draw in Markdown pages."""

import re
from collections.abc import Iterator, Mapping, Sequence

from kplan.model.graph import Graph, NodeType
from kplan.report.documents.graph import Cluster, clusters

_SHAPES: Mapping[NodeType, tuple[str, str]] = {
    NodeType.VARIABLE: ("[/", "/]"),
    NodeType.LOCAL: ("([", "])"),
    NodeType.RESOURCE: ("[", "]"),
    NodeType.OUTPUT: ("[\\", "\\]"),
    NodeType.CHECK: ("{{", "}}"),
    NodeType.MODULE: ("[[", "]]"),
    NodeType.PROVIDER: ("{", "}"),
}


def mermaid(graph: Graph) -> str:
    """Write a graph; edges that close a circle are red."""
    whole = clusters(graph)
    names = _names([*(each.address for each in graph.nodes), *_frames(whole)])
    lines = [
        "flowchart RL",
        *_inside(whole, names, "  "),
        *(f"  {names[start]} --> {names[end]}" for start, end in graph.edges),
    ]
    red = [str(at) for at, each in enumerate(graph.edges) if each in graph.cycle_edges]
    if red:
        lines.append(f"  linkStyle {','.join(red)} stroke:red")
    return "\n".join(lines) + "\n"


def _frame(cluster: Cluster) -> str:
    return f"in.{cluster.name}"


def _frames(cluster: Cluster) -> Iterator[str]:
    for inner in cluster.inner:
        yield _frame(inner)
        yield from _frames(inner)


def _inside(cluster: Cluster, names: Mapping[str, str], indent: str) -> Iterator[str]:
    """Write the nodes of a module, and the modules in it."""
    for each in cluster.nodes:
        opening, closing = _SHAPES[each.type]
        yield f"{indent}{names[each.address]}{opening}{_quoted(each.label)}{closing}"
    for inner in cluster.inner:
        yield f"{indent}subgraph {names[_frame(inner)]}[{_quoted(inner.name)}]"
        yield from _inside(inner, names, f"{indent}  ")
        yield f"{indent}end"


def _names(of: Sequence[str]) -> dict[str, str]:
    """Give everything a name that Mermaid reads; those that would be the same are counted."""
    found: dict[str, str] = {}
    counts: dict[str, int] = {}
    for each in of:
        name = plain = re.sub(r"[^A-Za-z0-9]", "_", each)
        while name in counts:
            counts[plain] += 1
            name = f"{plain}_{counts[plain]}"
        counts[name] = 1
        found[each] = name
    return found


def _quoted(text: str) -> str:
    return '"' + text.replace('"', "#quot;") + '"'
