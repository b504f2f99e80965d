"""Graphs for Graphviz and as Mermaid flowcharts."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from kplan.model.dataclass import dataclass
from kplan.model.table import Graph, Node, NodeType


@dataclass(frozen=True, slots=True)
class ModuleCluster:
    """A module: its name from the root, its own nodes, and the modules in it."""

    name: str
    nodes: tuple[Node, ...]
    children: tuple["ModuleCluster", ...]


def module_clusters(graph: Graph) -> ModuleCluster:
    """Sort the nodes by module; the root module has no name."""
    ordered = sorted(graph.nodes, key=lambda each: each.enclosing_module)
    return _cluster((), ordered)


def _cluster(home: tuple[str, ...], nodes: Sequence[Node]) -> ModuleCluster:
    depth = len(home)
    own = tuple(each for each in nodes if len(each.enclosing_module) == depth)
    deeper = groupby(nodes[len(own) :], key=lambda each: each.enclosing_module[depth])
    inner = tuple(_cluster((*home, step), list(held)) for step, held in deeper)
    return ModuleCluster(".".join(f"module.{step}" for step in home), own, inner)


_STYLES: Mapping[NodeType, str] = {
    NodeType.VARIABLE: ", shape=note",
    NodeType.LOCAL: ", shape=ellipse",
    NodeType.RESOURCE: "",
    NodeType.OUTPUT: ", shape=cds",
    NodeType.CHECK: ", shape=octagon",
    NodeType.MODULE: ", shape=tab",
    NodeType.PROVIDER: ", shape=diamond",
}


def render_dot(graph: Graph) -> str:
    """Write a graph; edges that close a circle are red."""
    lines = [
        "digraph G {",
        '  rankdir = "RL";',
        '  node [shape = rect, fontname = "sans-serif"];',
        *_dot_lines(module_clusters(graph), "  "),
        *(f"  {_edge(each, graph)};" for each in graph.edges),
        "}",
    ]
    return "\n".join(lines) + "\n"


def _dot_lines(cluster: ModuleCluster, indent: str) -> Iterator[str]:
    """Write the nodes of a module, and the modules in it."""
    for each in cluster.nodes:
        label = _quote(each.label)
        yield f"{indent}{_quote(each.address)} [label={label}{_STYLES[each.type]}];"
    for inner in cluster.children:
        yield f"{indent}subgraph {_quote(f'cluster_{inner.name}')} {{"
        yield f"{indent}  label = {_quote(inner.name)}"
        yield f'{indent}  fontname = "sans-serif"'
        yield from _dot_lines(inner, f"{indent}  ")
        yield f"{indent}}}"


def _edge(edge: tuple[str, str], graph: Graph) -> str:
    colour = ' [color = "red"]' if edge in graph.cycle_edges else ""
    return f"{_quote(edge[0])} -> {_quote(edge[1])}{colour}"


def _quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


_SHAPES: Mapping[NodeType, tuple[str, str]] = {
    NodeType.VARIABLE: ("[/", "/]"),
    NodeType.LOCAL: ("([", "])"),
    NodeType.RESOURCE: ("[", "]"),
    NodeType.OUTPUT: ("[\\", "\\]"),
    NodeType.CHECK: ("{{", "}}"),
    NodeType.MODULE: ("[[", "]]"),
    NodeType.PROVIDER: ("{", "}"),
}


def render_mermaid(graph: Graph) -> str:
    """Write a graph; edges that close a circle are red."""
    whole = module_clusters(graph)
    names = _names([*(each.address for each in graph.nodes), *_subgraph_ids(whole)])
    lines = [
        "flowchart RL",
        *_mermaid_lines(whole, names, "  "),
        *(f"  {names[start]} --> {names[end]}" for start, end in graph.edges),
    ]
    red = [str(at) for at, each in enumerate(graph.edges) if each in graph.cycle_edges]
    if red:
        lines.append(f"  linkStyle {','.join(red)} stroke:red")
    return "\n".join(lines) + "\n"


def _subgraph_id(cluster: ModuleCluster) -> str:
    return f"in.{cluster.name}"


def _subgraph_ids(cluster: ModuleCluster) -> Iterator[str]:
    for inner in cluster.children:
        yield _subgraph_id(inner)
        yield from _subgraph_ids(inner)


def _mermaid_lines(cluster: ModuleCluster, names: Mapping[str, str], indent: str) -> Iterator[str]:
    """Write the nodes of a module, and the modules in it."""
    for each in cluster.nodes:
        opening, closing = _SHAPES[each.type]
        yield f"{indent}{names[each.address]}{opening}{_quote_mermaid(each.label)}{closing}"
    for inner in cluster.children:
        yield f"{indent}subgraph {names[_subgraph_id(inner)]}[{_quote_mermaid(inner.name)}]"
        yield from _mermaid_lines(inner, names, f"{indent}  ")
        yield f"{indent}end"


def _names(of: Sequence[str]) -> dict[str, str]:
    """Return node names that Mermaid accepts; equal ones are numbered."""
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


def _quote_mermaid(text: str) -> str:
    return '"' + text.replace('"', "#quot;") + '"'
