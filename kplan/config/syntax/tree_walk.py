"""Going over syntax trees without evaluating them."""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, cast

from kplan.config.syntax import tree as ast
from kplan.config.syntax.source import Origin


def children(node: ast.Node) -> Iterator[ast.Node]:
    """Return the nodes directly inside a node."""
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


def shift_block(block: ast.Block, by: int) -> ast.Block:
    """Move all offsets of a block."""
    return cast("ast.Block", map_offsets(cast("ast.Node", block), lambda at: at + by))


def map_offsets(node: ast.Node, place: Callable[[int], int]) -> ast.Node:
    """Rewrite the offsets of a tree: `place` maps each start and end to where it shall be."""
    values: list[object] = [place(node.start), place(node.end)]
    for name, each in zip(node._fields[2:], node[2:], strict=True):
        is_offset = name in {"name_end", "header_end"} and isinstance(each, int)
        values.append(place(each) if is_offset else _moved_part(each, place))  # type: ignore[arg-type] # just tested
    of: Any = type(node)
    return cast("ast.Node", of(*values))


def _moved_part(each: object, place: Callable[[int], int]) -> object:
    if type(each) is tuple:
        return tuple(_moved_part(inner, place) for inner in each)
    if isinstance(each, tuple):
        return map_offsets(each, place)  # type: ignore[arg-type] # the only tuple subclasses are nodes
    return each


def part(node: ast.Node, path: tuple[str | int, ...]) -> ast.Node:
    """Return the node where a part of a value is written, as far as the value is written out."""
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


def references(node: ast.Node) -> tuple[ast.Reference, ...]:
    """List the references in an expression, but for those to names that a `for` binds."""
    found: list[ast.Reference] = []
    pending: list[tuple[ast.Node, frozenset[str]]] = [(node, _NO_NAMES)]
    while pending:
        each, bound = pending.pop()
        of = type(each)
        if of is ast.Literal:
            continue
        if of is ast.GetAttr or of is ast.Name:
            reference, inner = _reference(each)
            if reference is None:
                pending.append((inner, bound))
            elif reference.root not in bound:
                found.append(reference)
        elif isinstance(each, ast.For | ast.TemplateFor):
            pending.append((each.collection, bound))
            names = bound | {each.value_name, each.key_name or each.value_name}
            pending.extend((child, names) for child in _inside(each))
        else:
            pending.extend((child, bound) for child in children(each))
    return tuple(sorted(found))


_QUOTING = {(each, "depends_on") for each in ("resource", "data", "module", "output")}
QUOTED_REFERENCE = re.compile(
    r"\s*([^\W\d][\w-]*(?:\s*\.\s*[^\W\d][\w-]*)*)(?:\s*\.\s*[^\W\d][\w-]*|\s*\[[^\]]*\])*\s*"
)
"""A reference as text: as before Terraform 0.12, and in JSON. The group ends at the first index."""


def argument_references(of: str, name: str, value: ast.Node) -> tuple[ast.Reference, ...]:
    """List the references of an argument in a block of type `of`; of `depends_on` also quoted."""
    found = references(value)
    if (of, name) not in _QUOTING or not isinstance(value, ast.Tuple):
        return found
    return tuple(sorted((*found, *_quoted_references(value.items))))


def _quoted_references(nodes: Iterable[ast.Node]) -> Iterator[ast.Reference]:
    for each in nodes:
        text = each.value if isinstance(each, ast.Literal) else None
        if isinstance(text, str) and (read := QUOTED_REFERENCE.fullmatch(text)):
            root, *steps = map(str.strip, read[1].split("."))
            start = each.start + 1  # behind the quote
            yield ast.Reference(start + read.start(1), start + read.end(1), root, tuple(steps))


def _reference(node: ast.Node) -> tuple[ast.Reference | None, ast.Node]:
    """Read a chain of attributes as a reference; otherwise None and its first expression."""
    steps: list[str] = []
    target = node
    while type(target) is ast.GetAttr:
        steps.append(target.name)
        target = target.target
    if type(target) is ast.Name:
        return ast.Reference(node.start, node.end, target.name, tuple(steps[::-1])), node
    return None, target


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


def content_start(node: ast.Node, origin: Origin) -> int:
    """Return where the first text of an expression is: of a string it is behind the quote.

    Terraform shows arguments of functions, and flags, at this place.
    """
    while True:
        match node:
            case ast.Binary():
                node = node.left
            case ast.Conditional():
                node = node.condition
            case ast.GetAttr() | ast.Index() | ast.Splat():
                node = node.target
            case ast.Template(_, _, (first, *_)) if not isinstance(first, ast.Literal):
                node = first
            case ast.Template() | ast.Literal(_, _, str()):
                return node.start + _opening_length(node, origin)
            case _:
                return node.start


def _opening_length(node: ast.Node, origin: Origin) -> int:
    text = origin.text(node.start, node.end)
    if text.startswith("<<"):
        return text.find("\n") + 1
    return len(text) - len(text.removeprefix('"'))


def body_start(block: ast.Block, origin: Origin) -> int:
    """Return where the body of a block begins: at its brace, or at the argument on that line.

    Terraform shows what is missing in a block at this place.
    """
    first = min((each.start for each in block.attributes), default=block.header_end)
    return block.header_end if "\n" in origin.text(block.header_end, first) else first
