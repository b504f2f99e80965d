"""What may stand in the body of a block, and what is wrong with a body."""

from collections.abc import Iterator
from dataclasses import dataclass

from kplan.config.evaluation.misuse import meant
from kplan.config.problem import error
from kplan.config.syntax import tree as ast
from kplan.config.syntax.source import Origin
from kplan.model.diagnostic import Diagnostic


@dataclass(frozen=True, slots=True)
class Shape:
    """Names of arguments and nested blocks that a body takes; `labels` is how many its header has.

    With `is_open` any argument may stand there. `elsewhere` says of arguments where they belong.
    """

    arguments: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    blocks: tuple[str, ...] = ()
    labels: int = 0
    is_open: bool = False
    elsewhere: tuple[tuple[str, str], ...] = ()


def body_problems(block: ast.Block, origin: Origin, shape: Shape) -> Iterator[Diagnostic]:
    """Find arguments and blocks that do not belong, and those that are missing."""
    if not shape.is_open:
        for attribute in block.attributes:
            if attribute.name not in shape.arguments:
                yield _unsupported_argument(attribute, origin, shape)
    for inner in block.blocks:
        if inner.type not in shape.blocks:
            yield _unsupported_block(inner, origin, shape)
    names = {attribute.name for attribute in block.attributes}
    for name in shape.required:
        if name not in names:
            subject = origin.range(block.start, _header_end(block))
            told = f'The argument "{name}" is required, but there is none.'
            yield error("KP122", subject, told)


def label_problems(block: ast.Block, origin: Origin, shape: Shape) -> Iterator[Diagnostic]:
    """Hold the number of labels against the header that the block should have."""
    if len(block.labels) == shape.labels:
        return
    wanted = {0: "no label", 1: "one label"}.get(shape.labels, f"{shape.labels} labels")
    subject = origin.range(block.start, _header_end(block))
    told = f'The block "{block.type}" takes {wanted}, got {len(block.labels)}.'
    yield error("KP125", subject, told)


def _header_end(block: ast.Block) -> int:
    return block.labels[-1].end if block.labels else block.start + len(block.type)


def _unsupported_argument(attribute: ast.Attribute, origin: Origin, shape: Shape) -> Diagnostic:
    subject = origin.range(attribute.start, attribute.name_end)
    told = f'An argument named "{attribute.name}" is not expected here.'
    if place := dict(shape.elsewhere).get(attribute.name):
        hint = place
    elif attribute.name in shape.blocks:
        hint = f'"{attribute.name}" is a block here: write it without =.'
    else:
        hint = meant(attribute.name, shape.arguments)
    return error("KP121", subject, told, hint=hint)


def _unsupported_block(block: ast.Block, origin: Origin, shape: Shape) -> Diagnostic:
    subject = origin.range(block.start, block.start + len(block.type))
    told = f'Blocks of type "{block.type}" are not expected here.'
    if block.type == "dynamic":
        told = 'A "dynamic" block makes nested blocks, and there are none here that it could make.'
        hint = (
            "To work out a map or list use for: config = { for key, value in ... : key => value }"
        )
    elif block.type in shape.arguments or shape.is_open:
        hint = f'If you meant the argument "{block.type}", write {block.type} = {{ ... }}.'
    else:
        hint = meant(block.type, shape.blocks)
    return error("KP120", subject, told, hint=hint)
