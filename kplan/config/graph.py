"""Who refers to whom, as the files say it: nothing is evaluated, so no variable needs a value."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from kplan.config.checks import reference_problems
from kplan.config.circles import circular_edges
from kplan.config.declared import MODULE, Declaration, Declared
from kplan.config.inputs import Inputs
from kplan.config.library import Library, joined
from kplan.config.mentions import Mention, mentions
from kplan.config.module import MAX_DEPTH
from kplan.config.names import CONSTANT_ROOTS
from kplan.config.opening import open_folder
from kplan.config.problem import error
from kplan.config.syntax import tree as ast
from kplan.config.syntax.source import Origin
from kplan.kinds.base import ResourceKind
from kplan.model.diagnostic import Diagnostic, in_order
from kplan.model.graph import Graph, Node, Sort

MAX_NODES = 100_000
"""Modules that call others twice, which call others twice, come to more than can be drawn."""

_PER_INSTANCE = frozenset({"each", "count"})
_NO_NODES = frozenset({*CONSTANT_ROOTS, *_PER_INSTANCE, "self", "data"})
_OTHER_WORDS = frozenset({"provider", "providers"})
"""Arguments whose words name providers, which are no values."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """A graph, with what is wrong with the files it was drawn from and their text."""

    graph: Graph
    diagnostics: tuple[Diagnostic, ...]
    sources: Mapping[str, str] = field(repr=False)


def drawn(folder: Path, inputs: Inputs, kinds: Sequence[ResourceKind]) -> Drawn:
    """Draw the graph of a folder and of the modules that it calls.

    An edge that leads nowhere is left out and told among the diagnostics. Modules that are not
    there are drawn as if they were empty.
    """
    root = open_folder(folder, inputs, kinds)
    drawing = _Drawing(root.run.library)
    drawing.draw(_Place((), ".", root.module.declared, frozenset({"."})))
    edges = sorted(each for each in drawing.edges if drawing.nodes.keys() >= {*each})
    nodes = sorted(drawing.nodes.values(), key=lambda each: (each.home, each.sort, each.label))
    graph = Graph(tuple(nodes), tuple(edges), circular_edges(edges))
    return Drawn(graph, in_order(drawing.problems), root.sources)


class _Argument(NamedTuple):
    attribute: ast.Attribute
    origin: Origin


class _Place(NamedTuple):
    """A module: its names from the root, its folder, and the folders of those above it."""

    path: tuple[str, ...]
    folder: str
    declared: Declared
    above: frozenset[str]

    def address(self, label: str) -> str:
        return "".join(f"module.{step}." for step in self.path) + label


@dataclass(slots=True)
class _Drawing:
    """Nodes and edges so far."""

    library: Library
    nodes: dict[str, Node] = field(default_factory=dict)
    edges: set[tuple[str, str]] = field(default_factory=set)
    problems: list[Diagnostic] = field(default_factory=list)

    def draw(self, place: _Place) -> None:
        """Draw what a module declares, and the modules that it calls."""
        declared = place.declared
        self.problems.extend(declared.diagnostics)
        for sort, label, arguments in _blocks(declared):
            self.add(place, sort, label, arguments)
        for name in sorted(declared.modules):
            if len(self.nodes) > MAX_NODES:
                told = f"There are more than {MAX_NODES} blocks in all instances of modules."
                self.problems.append(error("KP114", declared.modules[name].place, told))
                return
            self.call(place, declared.modules[name])

    def add(self, place: _Place, sort: Sort, label: str, arguments: Sequence[_Argument]) -> None:
        """Draw a node, and the edges of its arguments."""
        node = Node(place.path, label, sort)
        self.nodes[node.address] = node
        for each in arguments:
            self.refer(place, node.address, each)

    def refer(self, place: _Place, start: str, found: _Argument) -> None:
        """Draw the edges of one argument."""
        attribute, origin = found
        if attribute.name not in _OTHER_WORDS:
            told = reference_problems(attribute.references, origin, place.declared)
            self.problems.extend(told)
        for each in mentions(attribute):
            for end in self.ends(place, each):
                if place.address(end) != start or not end.startswith("var."):  # a rule of its own
                    self.edges.add((start, place.address(end)))

    def ends(self, place: _Place, mention: Mention) -> Iterator[str]:
        """Say which nodes a reference leads to, by their names in the module."""
        root, name, member = mention
        if root == "module":
            inner = self.called(place, name)
            outputs = [member] if member else inner.declared.outputs if inner else ()
            yield from (f"module.{name}.output.{each}" for each in outputs)
            if not member:
                yield f"module.{name}"
        elif root == "kafka":
            yield f"provider.kafka.{name}"
        elif root not in _NO_NODES:
            yield f"{root}.{name}"

    def call(self, place: _Place, found: Declaration) -> None:
        """Draw a module block, what is handed to the module, and the module itself."""
        label = f"module.{found.name}"
        given = [_Argument(each, found.origin) for each in found.block.attributes]
        self.add(place, Sort.MODULE, label, [each for each in given if _is_own(each)])
        inner = self.called(place, found.name)
        for each in given:
            if not _is_own(each):
                start = place.address(f"{label}.var.{each.attribute.name}")
                self.refer(place, start, each)
                if any(one.root in _PER_INSTANCE for one in each.attribute.references):
                    self.edges.add((start, place.address(label)))
        if inner is not None:
            self.draw(inner)

    def called(self, place: _Place, name: str) -> _Place | None:
        """Find the module that a block calls, unless it is not there or calls itself."""
        found = place.declared.modules.get(name)
        source = found.arguments.get("source") if found else None
        if source is None or not isinstance(source.value, ast.Literal):
            return None
        folder = joined(place.folder, str(source.value.value))
        is_circle = folder in place.above or len(place.path) >= MAX_DEPTH
        if is_circle or not self.library.has(folder):
            return None
        declared = self.library.folder(folder)
        return _Place((*place.path, name), folder, declared, place.above | {folder})


def _is_own(argument: _Argument) -> bool:
    """Tell whether an argument of a module block is the block's own, not the module's."""
    return argument.attribute.name in MODULE.arguments


def _blocks(declared: Declared) -> Iterator[tuple[Sort, str, list[_Argument]]]:
    """List everything that becomes a node, but for module blocks."""
    for name, local in declared.locals.items():
        yield Sort.LOCAL, f"local.{name}", [_Argument(local.attribute, local.origin)]
    for name, found in declared.variables.items():
        rules = [each for inner in found.block.blocks for each in _arguments(found, inner)]
        yield Sort.VARIABLE, f"var.{name}", rules
    for name, found in declared.outputs.items():
        yield Sort.OUTPUT, f"output.{name}", list(_arguments(found, found.block))
    for name, found in declared.checks.items():
        yield Sort.CHECK, f"check.{name}", list(_arguments(found, found.block))
    for (kind, name), found in declared.resources.items():
        yield Sort.RESOURCE, f"{kind}.{name}", list(_arguments(found, found.block))
    for found in declared.providers:
        yield Sort.PROVIDER, _provider(found), list(_arguments(found, found.block))


def _arguments(found: Declaration, block: ast.Block) -> Iterator[_Argument]:
    for attribute in block.attributes:
        if attribute.name != "ignore_changes":  # names arguments
            yield _Argument(attribute, found.origin)
    for inner in block.blocks:
        yield from _arguments(found, inner)


def _provider(found: Declaration) -> str:
    alias = found.arguments.get("alias")
    if alias is None or not isinstance(alias.value, ast.Literal):
        return f"provider.{found.name}"
    return f"provider.{found.name}.{alias.value.value}"
