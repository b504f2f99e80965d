"""The graph of references between blocks, built from the files without evaluation."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import NamedTuple

from kplan.config.declarations.body_schema import MODULE_SCHEMA
from kplan.config.declarations.declaration import Declaration, ModuleDeclarations
from kplan.config.declarations.reference import reference_problems
from kplan.config.diagnostic import EvaluationError, error
from kplan.config.evaluation.scope import CONSTANT_ROOTS
from kplan.config.inputs import Inputs
from kplan.config.modules.child_folder import MAX_MODULE_DEPTH, source_folder
from kplan.config.modules.evaluation import EvaluationContext
from kplan.config.modules.root_module import open_folder
from kplan.config.syntax import tree as ast
from kplan.config.syntax.source import Origin
from kplan.config.syntax.tree_walk import children
from kplan.kinds.base import ResourceKind
from kplan.model.dataclass import dataclass
from kplan.model.diagnostic import Diagnostic, sort_diagnostics
from kplan.model.table import Graph, Node, NodeType

Edge = tuple[str, str]


def cycle_edges(edges: Iterable[Edge]) -> frozenset[Edge]:
    """Find the edges that lie on a circle."""
    following: dict[str, list[str]] = defaultdict(list)
    for start, end in edges:
        following[start].append(end)
    part_of = {
        node: number for number, part in enumerate(_strong_components(following)) for node in part
    }
    return frozenset(
        (start, end)
        for start, ends in following.items()
        for end in ends
        if part_of[start] == part_of[end]
    )


def _strong_components(following: Mapping[str, Sequence[str]]) -> Iterator[list[str]]:
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
            new = _next_unvisited(node, ahead, (index, lowest, open_nodes))
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
                yield _pop_component(node, open_nodes)


def _next_unvisited(
    node: str,
    ahead: Iterator[str],
    known: tuple[dict[str, int], dict[str, int], dict[str, None]],
) -> str | None:
    """Continue with the first unvisited node; a node that is still open closes a cycle."""
    index, lowest, open_nodes = known
    for each in ahead:
        if each not in index:
            return each
        if each in open_nodes:
            lowest[node] = min(lowest[node], index[each])
    return None


def _pop_component(node: str, open_nodes: dict[str, None]) -> list[str]:
    part: list[str] = []
    while not part or part[-1] != node:
        part.append(open_nodes.popitem()[0])
    return part


class AttributeReference(NamedTuple):
    """A reference `root.name`; `member` is the rest, without instance keys.

    `module.pay["eu"].topic` has the root `module`, the name `pay` and the member `topic`.
    """

    root: str
    name: str
    member: str = ""


def attribute_references(attribute: ast.Attribute) -> Iterator[AttributeReference]:
    """List the references in an argument that go beyond a bare word."""
    behind: dict[int, str] | None = None
    for reference in attribute.references:
        if not reference.steps:
            continue
        name, *more = reference.steps
        if reference.root == "module" and not more:
            behind = _member_names(attribute.value) if behind is None else behind
            more = [behind.get(reference.end, "")]
        yield AttributeReference(reference.root, name, more[0] if more else "")


def _member_names(node: ast.Node) -> dict[int, str]:
    """Find the names behind indexes and splats, by where the reference before these ends."""
    found: dict[int, str] = {}
    pending = [node]
    while pending:
        each = pending.pop()
        match each:
            case ast.GetAttr(_, _, ast.Index() as target, name):
                found[_without_indexes(target).end] = name
            case ast.Splat() if member := _first_step(each.each):
                found[_without_indexes(each.target).end] = member
        pending.extend(children(each))
    return found


def _without_indexes(node: ast.Node) -> ast.Node:
    while isinstance(node, ast.Index):
        node = node.target
    return node


def _first_step(node: ast.Node) -> str:
    """Return the name that is taken of each element of a splat."""
    name = ""
    while isinstance(node, ast.GetAttr | ast.Index):
        name = node.name if isinstance(node, ast.GetAttr) else name
        node = node.target
    return name


MAX_NODES = 100_000
"""Modules that call others twice, which call others twice, come to more than can be drawn."""

_INSTANCE_ROOTS = frozenset({"each", "count"})
_ROOTS_WITHOUT_NODE = frozenset({*CONSTANT_ROOTS, *_INSTANCE_ROOTS, "self", "data", "ephemeral"})
PROVIDER_ARGUMENTS = frozenset({"provider", "providers"})
"""Arguments whose words name providers, which are no values."""


@dataclass(frozen=True, slots=True)
class ConfigurationGraph:
    """A graph, with the diagnostics and the text of the files it was made from."""

    graph: Graph
    diagnostics: tuple[Diagnostic, ...]
    sources: Mapping[str, str] = field(repr=False)


def build_graph(folder: Path, inputs: Inputs, kinds: Sequence[ResourceKind]) -> ConfigurationGraph:
    """Draw the graph of a folder and of the modules that it calls.

    An edge that leads nowhere is left out and told among the diagnostics. Modules that are not
    there are drawn as if they were empty.
    """
    root = open_folder(folder, inputs, kinds)
    drawing = _GraphBuilder(root.context)
    drawing.add_module(root_place(root.module.declarations))
    edges = sorted(each for each in drawing.edges if drawing.nodes.keys() >= {*each})
    nodes = sorted(
        drawing.nodes.values(), key=lambda each: (each.enclosing_module, each.type, each.label)
    )
    graph = Graph(tuple(nodes), tuple(edges), cycle_edges(edges))
    return ConfigurationGraph(graph, sort_diagnostics(drawing.problems), root.sources)


class Argument(NamedTuple):
    """An argument, with the file that it is written in."""

    attribute: ast.Attribute
    origin: Origin


class ModulePlace(NamedTuple):
    """A module: its names from the root, its folder, and the folders of those above it."""

    path: tuple[str, ...]
    folder: str
    declarations: ModuleDeclarations
    ancestors: frozenset[str]

    @property
    def own(self) -> str:
        """The address of the block that calls it, "" for the root module."""
        return ".".join(f"module.{step}" for step in self.path)

    def address(self, label: str) -> str:
        """Return the address of what has this label in the module."""
        return f"{self.own}.{label}" if self.path else label

    def called_module(self, name: str, context: EvaluationContext) -> "ModulePlace | None":
        """Find the module that a block calls, unless it does not exist or calls itself."""
        called = self.declarations.modules.get(name)
        if called is None:
            return None
        try:
            folder = source_folder(called, self.folder, self.path, context)
        except EvaluationError:
            return None
        is_circle = folder in self.ancestors or len(self.path) >= MAX_MODULE_DEPTH
        if is_circle or not context.folders.exists(folder):
            return None
        declared = context.folders.declarations(folder)
        return ModulePlace((*self.path, name), folder, declared, self.ancestors | {folder})


def root_place(declared: ModuleDeclarations) -> ModulePlace:
    """Return the place of the root module."""
    return ModulePlace((), ".", declared, frozenset({"."}))


@dataclass(slots=True)
class _GraphBuilder:
    """Nodes and edges so far."""

    context: EvaluationContext
    nodes: dict[str, Node] = field(default_factory=dict)
    edges: set[tuple[str, str]] = field(default_factory=set)
    problems: list[Diagnostic] = field(default_factory=list)

    def add_module(self, place: ModulePlace) -> None:
        """Draw the declarations of a module and the modules that it calls."""
        declared = place.declarations
        self.problems.extend(declared.diagnostics)
        for sort, label, arguments in _blocks(declared):
            self.add_node(place, sort, label, arguments)
        for name in sorted(declared.modules):
            if len(self.nodes) > MAX_NODES:
                detail = f"There are more than {MAX_NODES} blocks in all instances of modules."
                self.problems.append(error("KP114", declared.modules[name].declared_at, detail))
                return
            self.add_module_call(place, declared.modules[name])

    def add_node(
        self, place: ModulePlace, node_type: NodeType, label: str, arguments: Sequence[Argument]
    ) -> None:
        """Draw a node, and the edges of its arguments."""
        node = Node(place.path, label, node_type)
        self.nodes[node.address] = node
        for each in arguments:
            self.add_edges(place, node.address, each)

    def add_edges(self, place: ModulePlace, start: str, found: Argument) -> None:
        """Draw the edges of one argument."""
        attribute, origin = found
        if attribute.name not in PROVIDER_ARGUMENTS:
            diagnostics = reference_problems(attribute.references, origin, place.declarations)
            self.problems.extend(diagnostics)
        for each in attribute_references(attribute):
            for end in self.edge_targets(place, each):
                if place.address(end) != start or not end.startswith("var."):  # a rule of its own
                    self.edges.add((start, place.address(end)))

    def edge_targets(self, place: ModulePlace, mention: AttributeReference) -> Iterator[str]:
        """Say which nodes a reference leads to, by their names in the module."""
        root, name, member = mention
        if root == "module":
            inner = place.called_module(name, self.context)
            outputs = [member] if member else inner.declarations.outputs if inner else ()
            yield from (f"module.{name}.output.{each}" for each in outputs)
            if not member:
                yield f"module.{name}"
        elif root == "kafka":
            yield f"provider.kafka.{name}"
        elif root not in _ROOTS_WITHOUT_NODE:
            yield f"{root}.{name}"

    def add_module_call(self, place: ModulePlace, declaration: Declaration) -> None:
        """Draw a module block, its arguments, and the module itself."""
        label = f"module.{declaration.name}"
        given = [Argument(each, declaration.origin) for each in declaration.block.attributes]
        self.add_node(
            place, NodeType.MODULE, label, [each for each in given if _is_meta_argument(each)]
        )
        inner = place.called_module(declaration.name, self.context)
        for each in given:
            if not _is_meta_argument(each):
                start = place.address(f"{label}.var.{each.attribute.name}")
                self.add_edges(place, start, each)
                if any(one.root in _INSTANCE_ROOTS for one in each.attribute.references):
                    self.edges.add((start, place.address(label)))
        if inner is not None:
            self.add_module(inner)


def _is_meta_argument(argument: Argument) -> bool:
    """Return whether an argument of a module block is the block's own, not the module's."""
    return argument.attribute.name in MODULE_SCHEMA.arguments


def _blocks(declared: ModuleDeclarations) -> Iterator[tuple[NodeType, str, list[Argument]]]:
    """List everything that becomes a node, but for module blocks."""
    for name, local in declared.locals.items():
        yield NodeType.LOCAL, f"local.{name}", [Argument(local.attribute, local.origin)]
    for name, found in declared.variables.items():
        rules = [each for inner in found.block.blocks for each in block_arguments(found, inner)]
        yield NodeType.VARIABLE, f"var.{name}", rules
    for name, found in declared.outputs.items():
        yield NodeType.OUTPUT, f"output.{name}", list(block_arguments(found, found.block))
    for name, found in declared.checks.items():
        yield NodeType.CHECK, f"check.{name}", list(block_arguments(found, found.block))
    for (kind, name), found in declared.resources.items():
        yield NodeType.RESOURCE, f"{kind}.{name}", list(block_arguments(found, found.block))
    for found in declared.providers:
        yield NodeType.PROVIDER, _provider_label(found), list(block_arguments(found, found.block))


def block_arguments(declaration: Declaration, block: ast.Block) -> Iterator[Argument]:
    """List the arguments of a block and of the blocks in it whose words can name blocks."""
    for attribute in block.attributes:
        if attribute.name != "ignore_changes":  # names arguments
            yield Argument(attribute, declaration.origin)
    for inner in block.blocks:
        yield from block_arguments(declaration, inner)


def _provider_label(declaration: Declaration) -> str:
    alias = declaration.arguments.get("alias")
    if alias is None or not isinstance(alias.value, ast.Literal):
        return f"provider.{declaration.name}"
    return f"provider.{declaration.name}.{alias.value.value}"
