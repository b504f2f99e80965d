"""The addresses that are written in `moved`, `removed` and `import` blocks."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from kplan.config.diagnostic import EvaluationError, error
from kplan.config.syntax import tree as ast
from kplan.config.syntax.source import Origin
from kplan.model.address import instance_key
from kplan.model.codes import SUMMARIES
from kplan.model.dataclass import dataclass
from kplan.model.diagnostic import Diagnostic

TargetKey: TypeAlias = str | int
KeyReader: TypeAlias = Callable[[ast.Node], TargetKey]
"""Reads the key in brackets; raises `EvaluationError`."""


@dataclass(frozen=True, slots=True)
class Target:
    """An address and its kind, "" for a module. `block` is the address without the last key."""

    text: str
    kind: str
    block: str


def parse_target(node: ast.Node, origin: Origin, key_of: KeyReader, prefix: str = "") -> Target:
    """Read an address; `prefix` is that of the module it is written in.

    Raises:
        EvaluationError: it is none.

    """
    steps = _steps(node)
    if steps is None:
        raise _target_error(node, origin, SUMMARIES["KP101"])
    modules, rest = _split_modules(steps, key_of)
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
    raise _target_error(node, origin)


def literal_key(origin: Origin) -> KeyReader:
    """Take only keys that are written out."""

    def read(node: ast.Node) -> TargetKey:
        match node:
            case ast.Literal(_, _, str() | int() as key) if not isinstance(key, bool):
                return key
            case _:
                text = "A key here is a string or a number that is written out."
                raise EvaluationError([error("KP132", origin.range(node.start, node.end), text)])

    return read


def _steps(node: ast.Node) -> list[str | ast.Node] | None:
    """List names, and keys as nodes, from the left; None if it contains anything else."""
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


def _split_modules(
    steps: Sequence[str | ast.Node], key_of: KeyReader
) -> tuple[list[tuple[str, str]], Sequence[str | ast.Node]]:
    """Split off the modules, each with its key as it is written in addresses."""
    found: list[tuple[str, str]] = []
    while len(steps) > 1 and steps[0] == "module" and isinstance(steps[1], str):
        name, key, steps = steps[1], "", steps[2:]
        if steps and not isinstance(steps[0], str):
            key, steps = instance_key(key_of(steps[0])), steps[1:]
        found.append((name, key))
    return found, steps


def _target_error(node: ast.Node, origin: Origin, summary: str = "") -> EvaluationError:
    detail = "This is not the address of a resource or module."
    hint = 'Write kafka_topic.NAME, kafka_topic.NAME["KEY"] or module.NAME.'
    subject = origin.range(node.start, node.end)
    return EvaluationError([error("KP132", subject, detail, hint=hint, summary=summary)])


def instance_key_problem(node: ast.Node, origin: Origin) -> Diagnostic | None:
    """Refuse the key of an instance in an address that means the whole block."""
    last: ast.Index | None = None
    is_module = False
    at = node
    while isinstance(at, ast.GetAttr | ast.Index):
        if isinstance(at, ast.Index):
            last = at
            is_module = _is_module_step(at.target)
        at = at.target
    if last is None:
        return None
    word = "Module" if is_module else "Resource"
    subject = origin.step_range(last.target.end, last.end)
    detail = "A removed block is for all instances at once; single instances are not in it."
    hint = "To keep the object of one instance, run kplan state rm ADDRESS."
    return error("KP132", subject, detail, hint=hint, summary=f"{word} instance keys not allowed")


def _is_module_step(node: ast.Node) -> bool:
    """Whether a key behind the node is one of a module call: of `module.NAME`."""
    match node:
        case ast.GetAttr(target=ast.Name(name="module")):
            return True
        case ast.GetAttr(target=ast.GetAttr(name="module", target=inner)):
            return _is_module_step(inner) or isinstance(inner, ast.Index)
        case _:
            return False
