"""A resource block prepared for decoding: the parts that all instances share."""

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import field
from functools import cache, lru_cache
from typing import Any, cast, get_args, get_type_hints

from kplan.config.declarations.body_schema import (
    LIFECYCLE_SCHEMA,
    BodySchema,
    body_problems,
)
from kplan.config.declarations.declaration import Declaration
from kplan.config.declarations.rule import lifecycle_problems
from kplan.config.diagnostic import EvaluationError, error
from kplan.config.evaluation.type_constraint import parse_type_name
from kplan.config.syntax import tree as ast
from kplan.config.syntax.source import Origin
from kplan.config.values.value import Type
from kplan.kinds.base import ResourceKind
from kplan.kinds.schema import schema_fields
from kplan.model.dataclass import dataclass
from kplan.model.diagnostic import Diagnostic, SourceRange
from kplan.model.resource import Lifecycle, Path

META_ARGUMENTS = ("count", "for_each", "depends_on", "provider")
_MISPLACED_HINTS = (
    *((each, f"Write it as lifecycle {{ {each} = ... }}") for each in LIFECYCLE_SCHEMA.arguments),
    (
        "acl_order",
        'Set it in provider "kafka"; for one ACL use lifecycle { create_before_destroy = true }',
    ),
)
"""Arguments that are written in a resource by mistake, and where they belong."""


@dataclass(frozen=True, slots=True)
class Field:
    """One attribute of a kind. With `takes_fractions` its numbers need not be whole.

    `is_string_map` is a map of strings; `is_secret` one whose value is never shown, wherever it
    comes from.
    """

    name: str
    type: Type
    is_required: bool
    is_identity: bool
    takes_fractions: bool
    is_string: bool
    is_string_map: bool
    is_number: bool
    is_secret: bool = False


def kind_fields(kind: ResourceKind) -> tuple[Field, ...]:
    """List the attributes of a kind."""
    return _schema_fields(cast("Hashable", kind.schema))


@cache
def _schema_fields(key: Hashable) -> tuple[Field, ...]:
    schema = cast("type[Any]", key)  # mypy takes no class for hashable
    hints = get_type_hints(schema)
    return tuple(
        Field(
            each.name,
            parse_type_name(each.attribute.type),
            each.is_required,
            each.attribute.forces_replacement,
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
class DecodedValue:
    """The value of an argument in the form of the kinds, and its sensitive paths."""

    value: object = field(repr=False)
    sensitive: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class ResourceBlock:
    """A resource block prepared for decoding. `shared_values` caches what all have alike."""

    kind: ResourceKind
    declaration: Declaration
    arguments: tuple[Argument, ...]
    lacks_required: bool
    lifecycle: ast.Block | None
    is_lifecycle_shared: bool
    ranges: Mapping[Path, SourceRange]
    declared_at: SourceRange
    shared_values: dict[str, DecodedValue | Lifecycle | EvaluationError] = field(
        default_factory=dict, repr=False
    )


def prepare_resource_block(kind: ResourceKind, declaration: Declaration) -> ResourceBlock:
    """Prepare a block."""
    fields = kind_fields(kind)
    is_repeated = "for_each" in declaration.arguments or "count" in declaration.arguments
    arguments = tuple(
        Argument(
            each,
            declaration.arguments[each.name].value,
            is_repeated and _is_constant(declaration.arguments[each.name]),
        )
        for each in fields
        if each.name in declaration.arguments
    )
    blocks = [each for each in declaration.block.blocks if each.type == "lifecycle"]
    return ResourceBlock(
        kind,
        declaration,
        arguments,
        any(each.is_required and each.name not in declaration.arguments for each in fields),
        blocks[0] if blocks else None,
        all(_is_constant(each) for block in blocks for each in block.attributes),
        _argument_ranges(declaration.origin, arguments),
        declaration.declared_at,
    )


_INSTANCE_ROOTS = frozenset({"each", "count", "self"})


def _is_constant(attribute: ast.Attribute) -> bool:
    return all(each.root not in _INSTANCE_ROOTS for each in attribute.references)


class AttributeRanges(Mapping[Path, SourceRange]):
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


def _argument_ranges(origin: Origin, arguments: tuple[Argument, ...]) -> AttributeRanges:
    spans = dict(_argument_spans(arguments))
    starts, ends = zip(*spans.values(), strict=True) if spans else ((), ())
    return AttributeRanges(origin, _intern_paths(tuple(spans)), starts, ends)


@lru_cache(maxsize=1000)
def _intern_paths(paths: tuple[Path, ...]) -> tuple[Path, ...]:
    """Return one instance for equal values: thousands of blocks have the same arguments."""
    return paths


def _argument_spans(arguments: tuple[Argument, ...]) -> Iterator[tuple[Path, tuple[int, int]]]:
    """Return the place of each argument, and of each key of a literal map."""
    for each in arguments:
        node, name = each.node, each.field.name
        yield (name,), (node.start, node.end)
        if isinstance(node, ast.Object):
            for key, inner in node.items:
                if isinstance(key, ast.Literal) and isinstance(key.value, str):
                    yield (name, key.value), (inner.start, inner.end)


@cache
def _resource_schema(key: Hashable) -> BodySchema:
    fields = _schema_fields(key)
    return BodySchema(
        (*(each.name for each in fields), *META_ARGUMENTS),
        tuple(each.name for each in fields if each.is_required),
        ("lifecycle",),
        misplaced_hints=_MISPLACED_HINTS,
    )


def _trigger_problems(lifecycle: ast.Block, declaration: Declaration) -> Iterator[Diagnostic]:
    """Refuse to replace an object because another one changes: a topic would lose its records."""
    for each in lifecycle.attributes:
        is_empty = isinstance(each.value, ast.Tuple) and not each.value.items
        if each.name == "replace_triggered_by" and not is_empty:
            subject = declaration.origin.range(each.start, each.name_end)
            detail = (
                "kplan replaces no object because another one changes: a topic would be deleted "
                "with its records, and other objects are the same when they are created again."
            )
            hint = "Remove the argument. To replace a topic in one plan: -replace=ADDRESS."
            yield error("KP344", subject, detail, hint=hint)


def resource_problems(kind: ResourceKind, declaration: Declaration) -> Iterator[Diagnostic]:
    """Hold the body of a resource block against the kind's schema."""
    yield from body_problems(
        declaration.block, declaration.origin, _resource_schema(cast("Hashable", kind.schema))
    )
    yield from lifecycle_problems(declaration.block, declaration.origin)
    for inner in declaration.block.blocks:
        if inner.type == "lifecycle":
            yield from _trigger_problems(inner, declaration)
