"""Addresses written as references: `from` and `to` of refactoring blocks."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from kplan.config.problem import Failure, error
from kplan.config.syntax import tree as ast
from kplan.config.syntax.source import Origin
from kplan.model.address import instance_key

Key: TypeAlias = str | int
KeyOf: TypeAlias = Callable[[ast.Node], Key]
"""Reads the key in brackets; raises `Failure`."""


@dataclass(frozen=True, slots=True)
class Target:
    """An address, and what it is of: `kind` is "" for a module. `block` lacks the last key."""

    text: str
    kind: str
    block: str


def target(node: ast.Node, origin: Origin, key_of: KeyOf, prefix: str = "") -> Target:
    """Read an address; `prefix` is that of the module it is written in.

    Raises:
        Failure: it is none.

    """
    steps = _steps(node)
    if steps is None:
        raise _refusal(node, origin)
    modules, rest = _modules(steps, key_of)
    text = prefix + "".join(f"module.{name}{key}." for name, key in modules)
    match rest:
        case [] if modules:
            _, key = modules[-1]
            bare = text.removesuffix(".")
            return Target(bare, "", bare.removesuffix(key))
        case [str() as kind, str() as name] if kind != "data":
            return Target(f"{text}{kind}.{name}", kind, f"{text}{kind}.{name}")
        case [str() as kind, str() as name, ast_key] if kind != "data":
            if not isinstance(ast_key, str):
                block = f"{text}{kind}.{name}"
                return Target(f"{block}{instance_key(key_of(ast_key))}", kind, block)
        case _:
            pass
    raise _refusal(node, origin)


def literal_key(origin: Origin) -> KeyOf:
    """Take only keys that are written out."""

    def read(node: ast.Node) -> Key:
        match node:
            case ast.Literal(_, _, str() | int() as key) if not isinstance(key, bool):
                return key
            case _:
                told = "A key here is a string or a number that is written out."
                raise Failure([error("KP132", origin.range(node.start, node.end), told)])

    return read


def _steps(node: ast.Node) -> list[str | ast.Node] | None:
    """List names, and keys as nodes, from the left; None where anything else is among them."""
    match node:
        case ast.Name(_, _, name):
            return [name]
        case ast.GetAttr(_, _, inner, name):
            step: str | ast.Node = name
        case ast.Index(_, _, inner, key):
            step = key
        case _:
            return None
    before = _steps(inner)
    return None if before is None else [*before, step]


def _modules(
    steps: Sequence[str | ast.Node], key_of: KeyOf
) -> tuple[list[tuple[str, str]], Sequence[str | ast.Node]]:
    """Split off the modules, each with its key as it is written in addresses."""
    found: list[tuple[str, str]] = []
    while len(steps) > 1 and steps[0] == "module" and isinstance(steps[1], str):
        name, key, steps = steps[1], "", steps[2:]
        if steps and not isinstance(steps[0], str):
            key, steps = instance_key(key_of(steps[0])), steps[1:]
        found.append((name, key))
    return found, steps


def _refusal(node: ast.Node, origin: Origin) -> Failure:
    told = "This is no address of a resource or module."
    hint = 'Write kafka_topic.NAME, kafka_topic.NAME["KEY"] or module.NAME.'
    return Failure([error("KP132", origin.range(node.start, node.end), told, hint=hint)])
