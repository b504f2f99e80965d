"""Attributes that differ between two values of a kind."""

import sys
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from kplan.kinds.base import HIDDEN_VALUE, ResourceKind
from kplan.kinds.schema import schema_fields, secret_paths, to_outlined_document
from kplan.model.plan import AttributeChange
from kplan.model.resource import Path


def attribute_changes(
    kind: ResourceKind, before: object, after: object, sensitive: frozenset[Path] = frozenset()
) -> tuple[AttributeChange, ...]:
    """List the differences, one entry per attribute or key of a map attribute, in schema order.

    Equal values are reported by `==` alone: deepdiff costs a thousand times as much per pair.
    """
    if before == after:
        return ()
    old, new = to_outlined_document(before), to_outlined_document(after)
    replacing = {
        each.name for each in schema_fields(kind.schema) if each.attribute.forces_replacement
    }
    secret = secret_paths(kind.schema)
    return tuple(
        AttributeChange(
            path,
            _visible_value(old, path, secret),
            _visible_value(new, path, secret),
            forces_replacement=path[0] in replacing,
            sensitive=any(path[: len(hidden)] == hidden for hidden in sensitive),
        )
        for path in sorted(
            set(_changed_paths(old, new)), key=lambda path: _schema_position(kind, path)
        )
    )


_ARRAY_LIBRARIES = ("numpy", "pandas", "polars")


@cache
def _load_deepdiff() -> Any:  # noqa: ANN401 - a class without types
    """Load deepdiff without the array libraries that it would pull in where they are installed.

    They cost 1.6 s and 100 MB, and no value of a kind is an array. What is loaded already stays.
    """
    absent = [name for name in _ARRAY_LIBRARIES if name not in sys.modules]
    sys.modules.update(dict.fromkeys(absent))  # type: ignore[arg-type] # None: not to be had
    try:
        from deepdiff import DeepDiff
    finally:
        for name in absent:
            del sys.modules[name]
    return DeepDiff


def _changed_paths(old: Mapping[str, object], new: Mapping[str, object]) -> Iterator[Path]:
    for levels in _load_deepdiff()(old, new, view="tree", verbose_level=0).values():
        for level in levels:
            steps = level.path(output_format="list")
            depth = (
                2
                if isinstance(_value_at(old, (steps[0],)) or _value_at(new, (steps[0],)), Mapping)
                else 1
            )
            yield tuple(str(step) for step in steps[:depth])


def _value_at(found: Mapping[str, object], path: Path) -> object:
    value: object = found
    for step in path:
        value = value.get(step) if isinstance(value, Mapping) else None
    return value


def _visible_value(found: Mapping[str, object], path: Path, secret: frozenset[Path]) -> object:
    """Return the value at a path; of a secret only its presence."""
    value = _value_at(found, path)
    return HIDDEN_VALUE if value is not None and path[:1] in secret else value


def _schema_position(kind: ResourceKind, path: Path) -> tuple[int, Path]:
    names = [each.name for each in schema_fields(kind.schema)]
    return names.index(path[0]), path
