"""What an argument refers to, told by its text alone."""

from collections.abc import Iterator
from typing import NamedTuple

from kplan.config.syntax import tree as ast
from kplan.config.syntax.walk import children


class Mention(NamedTuple):
    """A reference `root.name`; `member` is what follows, instance keys left out.

    `module.pay["eu"].topic` has the root `module`, the name `pay` and the member `topic`.
    """

    root: str
    name: str
    member: str = ""


def mentions(attribute: ast.Attribute) -> Iterator[Mention]:
    """List the references in an argument that go beyond a bare word."""
    behind: dict[int, str] | None = None
    for reference in attribute.references:
        if not reference.steps:
            continue
        name, *more = reference.steps
        if reference.root == "module" and not more:
            behind = _members(attribute.value) if behind is None else behind
            more = [behind.get(reference.end, "")]
        yield Mention(reference.root, name, more[0] if more else "")


def _members(node: ast.Node) -> dict[int, str]:
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
    """Give the name that is taken of each element of a splat."""
    name = ""
    while isinstance(node, ast.GetAttr | ast.Index):
        name = node.name if isinstance(node, ast.GetAttr) else name
        node = node.target
    return name
