"""What a configuration consists of, and what refers to what."""

from enum import StrEnum

from kplan.model.dataclass import dataclass


class NodeType(StrEnum):
    """What a node of the graph stands for."""

    VARIABLE = "variable"
    LOCAL = "local"
    RESOURCE = "resource"
    OUTPUT = "output"
    CHECK = "check"
    MODULE = "module"
    PROVIDER = "provider"


@dataclass(frozen=True, slots=True)
class Node:
    """One block or local value, all its instances together.

    `module` holds the names of the module blocks it stands under; `label` is its name in there.
    """

    module: tuple[str, ...]
    label: str
    type: NodeType

    @property
    def address(self) -> str:
        """The name from the root: `module.pay.kafka_topic.orders`."""
        return "".join(f"module.{step}." for step in self.module) + self.label

    @property
    def enclosing_module(self) -> tuple[str, ...]:
        """The module that it is drawn in: a module block stands beside what it calls."""
        if self.type is NodeType.MODULE:
            return (*self.module, self.label.removeprefix("module."))
        return self.module


@dataclass(frozen=True, slots=True)
class Graph:
    """All nodes in order of module and name; edges lead from what refers to what is referred to.

    `circular` are the edges by which nodes depend on themselves; a sound configuration has none.
    """

    nodes: tuple[Node, ...]
    edges: tuple[tuple[str, str], ...]
    cycle_edges: frozenset[tuple[str, str]] = frozenset()
