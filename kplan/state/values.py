"""Values of kinds as they stand in files: never with a secret."""

from collections.abc import Mapping
from typing import Any

from kplan.kinds import KINDS
from kplan.kinds.schema import from_document, secret_paths

_SCHEMAS: Mapping[str, type[Any]] = {kind.name: kind.schema for kind in KINDS}


_SECRETS: Mapping[str, frozenset[str]] = {
    name: frozenset(path[0] for path in secret_paths(schema)) for name, schema in _SCHEMAS.items()
}


def has_kind(name: str) -> bool:
    """Whether this version knows the kind."""
    return name in _SCHEMAS


def secret_names(kind: str) -> frozenset[str]:
    """Name the attributes that no file may hold."""
    return _SECRETS[kind]


def value_from(kind: str, found: Mapping[str, object]) -> object:
    """Read what `stored_document` wrote; a secret attribute comes back as its default.

    Raises:
        KeyError: a required attribute is missing.

    """
    return from_document(_SCHEMAS[kind], found)
