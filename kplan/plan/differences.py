"""Which attributes differ between two values of a kind."""

from collections.abc import Iterator, Mapping

from kplan.kinds.base import ResourceKind
from kplan.kinds.schema import document, schema_fields, secret_paths
from kplan.kinds.secrecy import HIDDEN
from kplan.model.plan import AttributeChange
from kplan.model.resource import Path


def differences(
    kind: ResourceKind, before: object, after: object, sensitive: frozenset[Path] = frozenset()
) -> tuple[AttributeChange, ...]:
    """List what differs, one entry per attribute or key of a map attribute, in order of schema.

    Equal values are told by `==` alone: deepdiff costs a thousand times as much per pair.
    """
    if before == after:
        return ()
    old, new = document(before), document(after)
    replacing = {each.name for each in schema_fields(kind.schema) if each.attribute.replaces}
    secret = secret_paths(kind.schema)
    return tuple(
        AttributeChange(
            path,
            _shown(old, path, secret),
            _shown(new, path, secret),
            forces_replacement=path[0] in replacing,
            sensitive=any(path[: len(hidden)] == hidden for hidden in sensitive),
        )
        for path in sorted(set(_paths(old, new)), key=lambda path: _place(kind, path))
    )


def _paths(old: Mapping[str, object], new: Mapping[str, object]) -> Iterator[Path]:
    from deepdiff import DeepDiff

    for levels in DeepDiff(old, new, view="tree", verbose_level=0).values():
        for level in levels:
            steps = level.path(output_format="list")
            depth = 2 if isinstance(_at(old, (steps[0],)) or _at(new, (steps[0],)), Mapping) else 1
            yield tuple(str(step) for step in steps[:depth])


def _at(found: Mapping[str, object], path: Path) -> object:
    value: object = found
    for step in path:
        value = value.get(step) if isinstance(value, Mapping) else None
    return value


def _shown(found: Mapping[str, object], path: Path, secret: frozenset[Path]) -> object:
    """Give what stands at a path; of a secret only that it is there."""
    value = _at(found, path)
    return HIDDEN if value is not None and path[:1] in secret else value


def _place(kind: ResourceKind, path: Path) -> tuple[int, Path]:
    names = [each.name for each in schema_fields(kind.schema)]
    return names.index(path[0]), path
