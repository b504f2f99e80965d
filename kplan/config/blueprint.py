"""What all instances of a resource block have in common, worked out once."""

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Any, cast, get_args, get_type_hints

from kplan.config.declared import CONDITION, LIFECYCLE, Declaration
from kplan.config.problem import Failure
from kplan.config.shape import Shape, body_problems
from kplan.config.syntax import tree as ast
from kplan.config.syntax.source import Origin
from kplan.config.types import type_named
from kplan.config.values.value import Type
from kplan.kinds.base import ResourceKind
from kplan.kinds.schema import schema_fields
from kplan.model.diagnostic import Diagnostic
from kplan.model.resource import Lifecycle, Path
from kplan.model.source import SourceRange

META = ("count", "for_each", "depends_on", "provider")
_ELSEWHERE = (
    *((each, f"Write it as lifecycle {{ {each} = ... }}") for each in LIFECYCLE.arguments),
    (
        "acl_order",
        'It stands in provider "kafka"; for one ACL lifecycle { create_before_destroy = true }',
    ),
)
"""Arguments that are written in a resource by mistake, and where they belong."""


@dataclass(frozen=True, slots=True)
class Field:
    """One attribute of a kind. With `takes_fractions` its numbers need not be whole.

    `is_texts` is a map of strings; `is_secret` one whose value is never shown, wherever it comes
    from.
    """

    name: str
    type: Type
    is_required: bool
    is_identity: bool
    takes_fractions: bool
    is_text: bool
    is_texts: bool
    is_number: bool
    is_secret: bool = False


def fields_of(kind: ResourceKind) -> tuple[Field, ...]:
    """List the attributes of a kind."""
    return _fields(cast("Hashable", kind.schema))


@cache
def _fields(key: Hashable) -> tuple[Field, ...]:
    schema = cast("type[Any]", key)  # mypy takes no class for hashable
    hints = get_type_hints(schema)
    return tuple(
        Field(
            each.name,
            type_named(each.attribute.type),
            each.is_required,
            each.attribute.replaces,
            float in (hints[each.name], *get_args(hints[each.name])),
            each.attribute.type == "string",
            each.attribute.type == "map(string)",
            each.attribute.type == "number",
            each.attribute.is_sensitive,
        )
        for each in schema_fields(schema)
    )


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument that the block has. With `is_shared` its value is the same in all instances."""

    field: Field
    node: ast.Node
    is_shared: bool


@dataclass(frozen=True, slots=True)
class Decoded:
    """The value of an argument as the kinds hold it, and the paths in it that are secret."""

    plain: object = field(repr=False)
    sensitive: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class Blueprint:
    """A resource block prepared for decoding. `shared` remembers what is the same everywhere."""

    kind: ResourceKind
    found: Declaration
    arguments: tuple[Argument, ...]
    lacks_required: bool
    lifecycle: ast.Block | None
    is_lifecycle_shared: bool
    ranges: Mapping[Path, SourceRange]
    declared_at: SourceRange
    shared: dict[str, Decoded | Lifecycle | Failure] = field(default_factory=dict, repr=False)


def blueprint(kind: ResourceKind, found: Declaration) -> Blueprint:
    """Prepare a block."""
    fields = fields_of(kind)
    is_repeated = "for_each" in found.arguments or "count" in found.arguments
    arguments = tuple(
        Argument(
            each,
            found.arguments[each.name].value,
            is_repeated and _is_constant(found.arguments[each.name]),
        )
        for each in fields
        if each.name in found.arguments
    )
    blocks = [each for each in found.block.blocks if each.type == "lifecycle"]
    return Blueprint(
        kind,
        found,
        arguments,
        any(each.is_required and each.name not in found.arguments for each in fields),
        blocks[0] if blocks else None,
        all(_is_constant(each) for block in blocks for each in block.attributes),
        _ranges(found.origin, arguments),
        found.place,
    )


_OF_INSTANCES = frozenset({"each", "count", "self"})


def _is_constant(attribute: ast.Attribute) -> bool:
    return all(each.root not in _OF_INSTANCES for each in attribute.references)


class Ranges(Mapping[Path, SourceRange]):
    """Places by path, turned into lines and columns only when asked for."""

    __slots__ = ("parts",)

    def __init__(
        self,
        origin: Origin,
        paths: tuple[Path, ...],
        starts: tuple[int, ...],
        ends: tuple[int, ...],
    ) -> None:
        self.parts = origin, paths, starts, ends

    def __getitem__(self, path: Path) -> SourceRange:
        origin, paths, starts, ends = self.parts
        if path not in paths:
            raise KeyError(path)
        at = paths.index(path)
        return origin.range(starts[at], ends[at])

    def __iter__(self) -> Iterator[Path]:
        return iter(self.parts[1])

    def __len__(self) -> int:
        return len(self.parts[1])


def _ranges(origin: Origin, arguments: tuple[Argument, ...]) -> Ranges:
    spans = dict(_spans(arguments))
    starts, ends = zip(*spans.values(), strict=True) if spans else ((), ())
    return Ranges(origin, _shared(tuple(spans)), starts, ends)


@lru_cache(maxsize=1000)
def _shared(paths: tuple[Path, ...]) -> tuple[Path, ...]:
    """Give the same for what is equal: thousands of blocks have the same arguments."""
    return paths


def _spans(arguments: tuple[Argument, ...]) -> Iterator[tuple[Path, tuple[int, int]]]:
    """Say where each argument, and each key of a map written out, stands."""
    for each in arguments:
        node, name = each.node, each.field.name
        yield (name,), (node.start, node.end)
        if isinstance(node, ast.Object):
            for key, inner in node.items:
                if isinstance(key, ast.Literal) and isinstance(key.value, str):
                    yield (name, key.value), (inner.start, inner.end)


@cache
def _shape(key: Hashable) -> Shape:
    fields = _fields(key)
    return Shape(
        (*(each.name for each in fields), *META),
        tuple(each.name for each in fields if each.is_required),
        ("lifecycle",),
        elsewhere=_ELSEWHERE,
    )


def resource_problems(kind: ResourceKind, found: Declaration) -> Iterator[Diagnostic]:
    """Hold the body of a resource block against the kind's schema."""
    yield from body_problems(found.block, found.origin, _shape(cast("Hashable", kind.schema)))
    for inner in found.block.blocks:
        if inner.type == "lifecycle":
            yield from body_problems(inner, found.origin, LIFECYCLE)
            for condition in inner.blocks:
                if condition.type in LIFECYCLE.blocks:
                    yield from body_problems(condition, found.origin, CONDITION)
