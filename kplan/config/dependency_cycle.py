"""Cycles that blocks form by `depends_on`, which evaluation does not follow."""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from itertools import groupby

from kplan.config.declarations.body_schema import MODULE_SCHEMA
from kplan.config.declarations.declaration import Declaration, ModuleDeclarations
from kplan.config.diagnostic import error
from kplan.config.graph import (
    MAX_NODES,
    PROVIDER_ARGUMENTS,
    Argument,
    AttributeReference,
    Edge,
    ModulePlace,
    attribute_references,
    block_arguments,
    cycle_edges,
    root_place,
)
from kplan.config.modules.evaluation import EvaluationContext
from kplan.config.modules.root_module import RootModule
from kplan.model.dataclass import dataclass
from kplan.model.diagnostic import Diagnostic, SourceRange

_DEPENDS_ON = "depends_on"
_MAX_HOPS = 12
"""More blocks of a cycle are counted, not named."""
_CLOSE = " (close)"
"""A module twice: what it contains depends on its block, and whoever names it on its contents."""

_REMOVE_HINT = "Remove this reference from depends_on, or another dependency of the cycle."


def dependency_cycle_problems(root: RootModule) -> Iterator[Diagnostic]:
    """Find the cycles that would be none without `depends_on`, each at such an argument.

    Cycles of references alone are found where values are computed. As in Terraform a resource that
    names itself in `depends_on` is no cycle, and what a module depends on its contents depend on.
    """
    if not any(_DEPENDS_ON in text for text in root.sources.values()):
        return
    graph = _DependencyGraph(root.context)
    graph.add_module(root_place(root.module.declarations))
    if not graph.dependencies:
        return
    circular = cycle_edges(graph.edges)
    following: dict[str, list[str]] = {}
    for start, end in sorted(circular):
        following.setdefault(start, []).append(end)
    by_reference = {
        node for edge in cycle_edges(graph.edges - graph.dependencies.keys()) for node in edge
    }
    seen: set[str] = set()
    for edge in sorted(circular & graph.dependencies.keys(), key=graph.dependencies.__getitem__):
        if edge[0] in seen:
            continue  # as Terraform: one error for all that depend on each other
        before = _search(following, edge[1])
        seen |= before.keys()
        if by_reference.isdisjoint(before):
            yield _cycle_error(graph, edge, _way(before, edge))


def _search(following: Mapping[str, Sequence[str]], first: str) -> dict[str, str]:
    """Return all nodes on cycles with this one, each with the one before it, "" for the first."""
    before = {first: ""}
    pending = deque([first])
    while pending:
        node = pending.popleft()
        for each in following.get(node, ()):
            if each not in before:
                before[each] = node
                pending.append(each)
    return before


def _way(before: Mapping[str, str], edge: Edge) -> tuple[str, ...]:
    """Return the nodes of the shortest cycle with an edge, beginning with its start."""
    way = [edge[0]]
    while before[way[-1]]:
        way.append(before[way[-1]])
    return edge[0], *reversed(way[1:])


def _cycle_error(graph: "_DependencyGraph", edge: Edge, way: Sequence[str]) -> Diagnostic:
    subject = graph.dependencies[edge]
    names = [each.removesuffix(_CLOSE) for each in way]
    hops = [name for name, _ in groupby([*names, names[0]])]
    if len(hops) == 1:
        return error("KP145", subject, f"{names[0]} depends on itself.", hint=_REMOVE_HINT)
    shown = hops
    if len(hops) > _MAX_HOPS:
        shown = [*hops[: _MAX_HOPS - 1], f"{len(hops) - _MAX_HOPS:,} more", hops[0]]
    chain = " -> ".join(shown)
    return error(
        "KP145",
        subject,
        f"These depend on each other in a circle: {chain}.",
        hint=_REMOVE_HINT,
        related=tuple(
            (name, graph.declared_at[each])
            for name, each in zip(names[1:_MAX_HOPS], way[1:_MAX_HOPS], strict=True)
            if each in graph.declared_at
        ),
    )


@dataclass(slots=True)
class _DependencyGraph:
    """What depends on what, with the places of those edges that are `depends_on`."""

    context: EvaluationContext
    edges: set[Edge] = field(default_factory=set)
    dependencies: dict[Edge, SourceRange] = field(default_factory=dict)
    declared_at: dict[str, SourceRange] = field(default_factory=dict)

    def add_module(self, place: ModulePlace) -> None:
        """Add the blocks of a module, and of the modules that it calls."""
        declared = place.declarations
        for local_name, local in declared.locals.items():
            node = self.add_node(place, f"local.{local_name}", local.declared_at)
            self.add_argument(place, node, Argument(local.attribute, local.origin))
        for label, found in _labelled_blocks(declared):
            node = self.add_node(place, label, found.declared_at)
            for each in block_arguments(found, found.block):
                self.add_argument(place, node, each)
        for name, found in declared.variables.items():
            self.add_node(place, f"var.{name}", found.declared_at)
        for name, found in declared.modules.items():
            if len(self.declared_at) < MAX_NODES:
                self.add_call(place, name, found)

    def add_node(self, place: ModulePlace, label: str, declared_at: SourceRange) -> str:
        """Add a node that is in a module."""
        node = place.address(label)
        self.declared_at.setdefault(node, declared_at)
        if place.path:
            self.edges |= {(node, place.own), (place.own + _CLOSE, node)}
        return node

    def add_call(self, place: ModulePlace, name: str, declaration: Declaration) -> None:
        """Add a module: its block, what it contains, and its end."""
        block = self.add_node(place, f"module.{name}", declaration.declared_at)
        end = self.add_node(place, f"module.{name}{_CLOSE}", declaration.declared_at)
        self.edges.add((end, block))
        for attribute in declaration.block.attributes:
            is_own = attribute.name in MODULE_SCHEMA.arguments
            node = block if is_own else f"{block}.var.{attribute.name}"
            self.add_argument(place, node, Argument(attribute, declaration.origin))
        if (inner := place.called_module(name, self.context)) is not None:
            self.add_module(inner)

    def add_argument(self, place: ModulePlace, start: str, argument: Argument) -> None:
        """Add the edges of an argument; one to the block itself is none."""
        attribute, origin = argument
        if attribute.name in PROVIDER_ARGUMENTS:
            return
        is_dependency = attribute.name == _DEPENDS_ON
        named = [each for each in attribute.references if each.steps]
        for each, reference in zip(attribute_references(attribute), named, strict=True):
            end = place.address(_target(each))
            if end == start:
                continue
            if is_dependency and (start, end) not in self.edges:
                at = origin.range(reference.start, reference.end)
                self.dependencies.setdefault((start, end), at)
            elif not is_dependency:
                self.dependencies.pop((start, end), None)
            self.edges.add((start, end))


def _target(reference: AttributeReference) -> str:
    """Name the node that a reference leads to, in the module where it is written."""
    root, name, member = reference
    if root == "module":
        return f"module.{name}.output.{member}" if member else f"module.{name}{_CLOSE}"
    return f"{root}.{name}.{member}" if root in {"data", "ephemeral"} else f"{root}.{name}"


def _labelled_blocks(declared: ModuleDeclarations) -> Iterator[tuple[str, Declaration]]:
    """List the blocks that other blocks may depend on, and those that a module contains."""
    for name, found in declared.outputs.items():
        yield f"output.{name}", found
    for name, found in declared.checks.items():
        yield f"check.{name}", found
    typed: Mapping[str, Mapping[tuple[str, str], Declaration]] = {
        "": declared.resources,
        "data.": declared.data,
        "ephemeral.": declared.ephemeral,
    }
    for prefix, blocks in typed.items():
        for (kind, name), found in blocks.items():
            yield f"{prefix}{kind}.{name}", found
