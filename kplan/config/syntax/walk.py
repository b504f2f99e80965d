"""Going over syntax trees without evaluating them."""

from collections.abc import Iterator
from typing import NamedTuple

from kplan.config.syntax import tree as ast


class Reference(NamedTuple):
    """The static beginning of a reference: `steps` are the attribute names behind the root.

    `module.net.id` has the root `module` and the steps `("net", "id")`; steps end at the first
    index or splat.
    """

    start: int
    end: int
    root: str
    steps: tuple[str, ...]


def children(node: ast.Node) -> Iterator[ast.Node]:
    """Give the nodes directly inside a node."""
    for part in node[2:]:
        if isinstance(part, tuple):
            yield from _nodes(part)


def _nodes(part: tuple[object, ...]) -> Iterator[ast.Node]:
    if type(part) is not tuple:
        yield part  # type: ignore[misc] # the only tuple subclasses in a tree are nodes
        return
    for each in part:
        if isinstance(each, tuple):
            yield from _nodes(each)


def part(node: ast.Node, path: tuple[str | int, ...]) -> ast.Node:
    """Give the node where a part of a value is written, as far as the value is written out."""
    for step in path:
        inner: ast.Node | None = None
        if isinstance(node, ast.Tuple) and isinstance(step, int) and step < len(node.items):
            inner = node.items[step]
        elif isinstance(node, ast.Object):
            written = {
                key.value: value for key, value in node.items if isinstance(key, ast.Literal)
            }
            inner = written.get(step)
        if inner is None:
            return node
        node = inner
    return node


_NO_NAMES: frozenset[str] = frozenset()


def references(node: ast.Node, bound: frozenset[str] = _NO_NAMES) -> Iterator[Reference]:
    """List the references in an expression, but for those to names that a `for` binds."""
    match node:
        case ast.Name():
            if node.name not in bound:
                yield Reference(node.start, node.end, node.name, ())
        case ast.GetAttr():
            yield from _chain(node, bound)
        case ast.For() | ast.TemplateFor():
            yield from references(node.collection, bound)
            inner = bound | {node.value_name, node.key_name or node.value_name}
            for child in _inside(node):
                yield from references(child, inner)
        case _:
            for child in children(node):
                yield from references(child, bound)


def _chain(node: ast.GetAttr, bound: frozenset[str]) -> Iterator[Reference]:
    steps: list[str] = []
    target: ast.Node = node
    while isinstance(target, ast.GetAttr):
        steps.append(target.name)
        target = target.target
    if not isinstance(target, ast.Name):
        yield from references(target, bound)
    elif target.name not in bound:
        yield Reference(node.start, node.end, target.name, tuple(reversed(steps)))


def _inside(node: ast.For | ast.TemplateFor) -> Iterator[ast.Node]:
    if isinstance(node, ast.TemplateFor):
        yield node.body
        return
    yield node.value
    if node.key is not None:
        yield node.key
    if node.condition is not None:
        yield node.condition


def calls(node: ast.Node) -> Iterator[ast.Call]:
    """List the function calls in an expression."""
    if isinstance(node, ast.Call):
        yield node
    for child in children(node):
        yield from calls(child)
