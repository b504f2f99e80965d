"""Override files (`override.tf`, `*_override.tf`): merging them into the other files.

Source: Terraform's documentation of override files, and what Terraform 1.11.4 makes of them.
"""

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from kplan.config.diagnostic import error
from kplan.config.syntax import tree as ast
from kplan.config.syntax.source import JoinedSource, Origin
from kplan.config.syntax.tree_walk import shift_block
from kplan.model.diagnostic import Diagnostic

_BlockKey: TypeAlias = tuple[str, ...]

_NOT_OVERRIDABLE = frozenset({"check", "import", "moved", "removed"})
_REPEATABLE = frozenset({"terraform"})
"""Blocks of which there may be many, and whose settings nothing has to be found for."""
_LIFECYCLE = "lifecycle"


def is_override(name: str) -> bool:
    """Whether a file of this name overrides declarations of others."""
    return name.partition(".")[0].rpartition("_")[2] == "override"


def merge_overrides(
    items: Sequence[ast.Item], overrides: Sequence[ast.Item]
) -> tuple[tuple[ast.Item, ...], tuple[Diagnostic, ...]]:
    """Merge the items of override files, in their order, into those of the other files."""
    result = list(items)
    problems: list[Diagnostic] = []
    for each in overrides:
        content = each.content
        if isinstance(content, ast.Attribute) or content.type in _REPEATABLE:
            result.append(each)
        elif each.is_broken:
            continue  # what broke it has been reported
        elif content.type == "locals":
            problems.extend(_override_locals(result, each, content))
        else:
            problems.extend(_override_block(result, each, content))
    return tuple(result), tuple(problems)


def _override_block(
    items: list[ast.Item], over: ast.Item, block: ast.Block
) -> Iterator[Diagnostic]:
    subject = over.origin.range(block.start, block.start + len(block.type))
    if block.type in _NOT_OVERRIDABLE:
        detail = f'Blocks of type "{block.type}" are allowed only in files that do not override.'
        yield error("KP131", subject, detail, hint="Move it to a file of another name.")
        return
    for inner in block.blocks:
        if inner.type == "validation":
            place = over.origin.range(inner.start, inner.start + len(inner.type))
            yield error("KP131", place, "The rules of a variable cannot be overridden.")
            return
    at = _find_block(items, _block_key(block))
    if at is None:
        shown = " ".join([block.type, *(f'"{each.text}"' for each in block.labels)])
        detail = f"There is no {shown} in another file, so there is nothing to override."
        yield error("KP131", subject, detail)
        return
    items[at] = _merge_items(items[at], over)


def _override_locals(
    items: list[ast.Item], over: ast.Item, block: ast.Block
) -> Iterator[Diagnostic]:
    for attribute in block.attributes:
        at = _find_local(items, attribute.name)
        if at is None:
            subject = over.origin.range(attribute.start, attribute.name_end)
            detail = f'There is no local value "{attribute.name}" in another file to override.'
            yield error("KP131", subject, detail)
        else:
            alone = over._replace(content=block._replace(attributes=(attribute,)))
            items[at] = _merge_items(items[at], alone)


def _block_key(block: ast.Block) -> _BlockKey:
    """Return which block it is: its type and labels, and the alias of a provider."""
    alias = [each.value for each in block.attributes if each.name == "alias"]
    words = [str(each.value) for each in alias if isinstance(each, ast.Literal)]
    return (block.type, *(each.text for each in block.labels), *words)


def _find_block(items: Sequence[ast.Item], key: _BlockKey) -> int | None:
    for at, each in enumerate(items):
        if isinstance(each.content, ast.Block) and _block_key(each.content) == key:
            return at
    return None


def _find_local(items: Sequence[ast.Item], name: str) -> int | None:
    for at, each in enumerate(items):
        match each.content:
            case ast.Block(type="locals") as block if name in {
                one.name for one in block.attributes
            }:
                return at
    return None


def _merge_items(base: ast.Item, over: ast.Item) -> ast.Item:
    """Put the arguments and blocks of one block into the other; each keeps its place."""
    if not isinstance(base.content, ast.Block) or not isinstance(over.content, ast.Block):
        return base  # both were found among blocks
    joined = JoinedSource(base.origin.source, over.origin.source)
    by = joined.border + over.origin.base - base.origin.base
    content = _merge_bodies(base.content, shift_block(over.content, by))
    return base._replace(origin=Origin(joined, base.origin.base), content=content)


def _merge_bodies(base: ast.Block, over: ast.Block) -> ast.Block:
    attributes = {each.name: each for each in (*base.attributes, *over.attributes)}
    given = {each.type for each in over.blocks}
    blocks = [each for each in base.blocks if each.type not in given or each.type == _LIFECYCLE]
    for each in over.blocks:
        first = next((at for at, one in enumerate(blocks) if one.type == _LIFECYCLE), None)
        if each.type == _LIFECYCLE and first is not None:
            blocks[first] = _merge_bodies(blocks[first], each)
        else:
            blocks.append(each)
    return base._replace(attributes=tuple(attributes.values()), blocks=tuple(blocks))
