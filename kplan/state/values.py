"""Values of kinds as they stand in files: never with a secret."""

from collections.abc import Mapping
from typing import Any

from kplan.kinds import KINDS
from kplan.kinds.schema import document, from_document, schema_fields

_SCHEMAS: Mapping[str, type[Any]] = {kind.name: kind.schema for kind in KINDS}


_SECRETS: Mapping[str, frozenset[str]] = {
    name: frozenset(each.name for each in schema_fields(schema) if each.attribute.is_sensitive)
    for name, schema in _SCHEMAS.items()
}


def has_kind(name: str) -> bool:
    """Whether this version knows the kind."""
    return name in _SCHEMAS


def secret_names(kind: str) -> frozenset[str]:
    """Name the attributes that no file may hold."""
    return _SECRETS[kind]


def value_document(kind: str, value: object) -> dict[str, object]:
    """Write a value without its secret attributes."""
    found = document(value)
    for name in secret_names(kind):
        del found[name]
    return found


def value_from(kind: str, found: Mapping[str, object]) -> object:
    """Read what `value_document` wrote; a secret attribute comes back as its default.

    Raises:
        KeyError: a required attribute is missing.

    """
    return from_document(_SCHEMAS[kind], found)
