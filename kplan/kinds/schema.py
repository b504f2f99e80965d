"""How a kind declares its attributes: the dataclass is the schema."""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import MISSING, fields, replace
from functools import cache
from typing import Annotated, Any, cast, get_args, get_origin, get_type_hints

from kplan.model.dataclass import dataclass
from kplan.model.resource import Path


@dataclass(frozen=True, slots=True)
class Attribute:
    """What is in `Annotated[...]` of a field.

    `type` is the type in HCL's own notation ("string", "number", "map(string)",
    "list(list(number))"). `forces_replacement` marks what names the object: another value is
    another object. `choices` lists the allowed words, compared without regard to case. One that
    `is_omitted_if_unset` was not always there: files leave it out where it is not declared.
    `outline` turns text that has a structure of its own into a map, so that a difference is shown
    where it is.
    """

    doc: str
    type: str = "string"
    forces_replacement: bool = False
    is_sensitive: bool = False
    choices: tuple[str, ...] = ()
    is_omitted_if_unset: bool = False
    outline: Callable[[str], Mapping[str, str]] | None = None


@dataclass(frozen=True, slots=True)
class InternalField:
    """Marks, in `Annotated[...]`, a field that is neither declared nor shown.

    It holds what only kplan knows of an object, for the next plan: the state keeps it. What is not
    reviewed may change between a plan and its apply, such as the mark of a secret, which is random.
    """

    is_reviewed: bool = True
    is_mark: bool = False


SECRET_MARK = InternalField(is_reviewed=False, is_mark=True)
"""For the mark of one secret, or those of several by key; an empty one is that of no secret."""


@dataclass(frozen=True, slots=True)
class SchemaField:
    """One attribute of a kind with its name and default (None where it is left out)."""

    name: str
    attribute: Attribute
    is_required: bool
    default: object = None


def schema_fields(schema: type[Any]) -> tuple[SchemaField, ...]:
    """List the attributes that a kind's dataclass declares, in order of declaration."""
    return _schema_fields(cast("Hashable", schema))


def secret_paths(schema: type[Any]) -> frozenset[Path]:
    """Name the attributes whose value is always secret."""
    return _secret_paths(cast("Hashable", schema))


@cache
def _secret_paths(key: Hashable) -> frozenset[Path]:
    found = _schema_fields(key)
    return frozenset((each.name,) for each in found if each.attribute.is_sensitive)


@cache
def _omittable_names(key: Hashable) -> tuple[str, ...]:
    return tuple(each.name for each in _schema_fields(key) if each.attribute.is_omitted_if_unset)


@cache
def _schema_fields(key: Hashable) -> tuple[SchemaField, ...]:
    schema = cast("type[Any]", key)  # mypy takes no class for hashable
    hints = get_type_hints(schema, include_extras=True)
    return tuple(
        SchemaField(
            each.name,
            attribute,
            is_required=each.default is MISSING and each.default_factory is MISSING,
            default=None if each.default is MISSING else each.default,
        )
        for each in fields(schema)
        if isinstance(attribute := _annotation(hints[each.name]), Attribute)
    )


@cache
def _internal_fields(key: Hashable) -> Mapping[str, InternalField]:
    hints = get_type_hints(cast("type[Any]", key), include_extras=True)
    found = {name: _annotation(hint) for name, hint in hints.items()}
    return {name: each for name, each in found.items() if isinstance(each, InternalField)}


def _internal_names(key: Hashable) -> tuple[str, ...]:
    return tuple(_internal_fields(key))


@cache
def _unreviewed_names(key: Hashable) -> frozenset[str]:
    return frozenset(name for name, each in _internal_fields(key).items() if not each.is_reviewed)


def forget_marks(held: object, sent: object) -> object:
    """Return a value without the marks of secrets that were perhaps set to those of another."""
    blank: dict[str, object] = {}
    for name, each in _internal_fields(cast("Hashable", type(held))).items():
        before, after = (getattr(value, name) for value in (held, sent))
        if not each.is_mark or before == after:
            continue
        blank[name] = ""
        if isinstance(before, Mapping):
            blank[name] = {
                key: mark if after.get(key) == mark else "" for key, mark in before.items()
            }
    return replace(cast("Any", held), **blank) if blank else held


def _annotation(hint: object) -> Attribute | InternalField:
    if get_origin(hint) is not Annotated:
        raise TypeError(f"{hint!r} carries no Attribute")
    found = [extra for extra in get_args(hint)[1:] if isinstance(extra, Attribute | InternalField)]
    return found[0]


def to_document(value: object) -> dict[str, object]:
    """Write a kind's value as plain JSON-able data under its attribute names."""
    return {each.name: _to_json(getattr(value, each.name)) for each in schema_fields(type(value))}


def to_outlined_document(value: object) -> dict[str, object]:
    """Write a value as `to_document` does, but text that has an outline as that."""
    found = to_document(value)
    for each in _outlined_fields(cast("Hashable", type(value))):
        text = found[each.name]
        if isinstance(text, str) and each.attribute.outline is not None:
            found[each.name] = each.attribute.outline(text)
    return found


@cache
def _outlined_fields(key: Hashable) -> tuple[SchemaField, ...]:
    return tuple(each for each in _schema_fields(key) if each.attribute.outline is not None)


def to_stored_document(value: object) -> dict[str, object]:
    """Write the part of a value that files may contain: no secrets, but kplan's own fields."""
    stored = _stored_fields(cast("Hashable", type(value)))
    found = {name: getattr(value, name) for name in stored.names}
    for name in stored.containers:
        found[name] = _to_json(found[name])
    for name in stored.omittable:
        if found[name] is None:
            del found[name]
    for name in stored.internal:
        if held := _to_json(getattr(value, name)):
            found[name] = held
    return found


def to_reviewed_document(value: object) -> dict[str, object]:
    """Write the part of a value that an approval covers: as stored, of marks only the owner."""
    found = to_stored_document(value)
    for name in _unreviewed_names(cast("Hashable", type(value))) & found.keys():
        marks = found.pop(name)
        if isinstance(marks, Mapping):
            found[name] = sorted(marks)
    return found


@dataclass(frozen=True, slots=True)
class _StoredFields:
    """The attributes in files: nested ones, optional ones, and kplan's own."""

    names: tuple[str, ...]
    containers: tuple[str, ...]
    omittable: tuple[str, ...]
    internal: tuple[str, ...]


@cache
def _stored_fields(key: Hashable) -> _StoredFields:
    names = _public_names(key)
    atoms = {each.name for each in _schema_fields(key) if each.attribute.type in _ATOM_TYPES}
    holders = tuple(name for name in names if name not in atoms)
    return _StoredFields(names, holders, _omittable_names(key), _internal_names(key))


_ATOM_TYPES = frozenset(("string", "number", "bool"))


@cache
def _public_names(key: Hashable) -> tuple[str, ...]:
    """Name the attributes that are no secrets."""
    return tuple(
        each.name for each in _schema_fields(key) if (each.name,) not in _secret_paths(key)
    )


_ATOMS = frozenset((str, int, bool, type(None)))


def _to_json(value: object) -> object:
    if type(value) in _ATOMS:  # nearly all values of nearly all kinds
        return value
    if type(value) is dict or isinstance(value, Mapping):  # the first is much the quicker
        return {key: _to_json(value[key]) for key in sorted(value)}
    match value:
        case tuple() | list():
            return [_to_json(each) for each in value]
        case _:
            return value


def from_document(schema: type[Any], found: Mapping[str, object]) -> Any:  # noqa: ANN401 - any kind's value
    """Read a value from a document; names that the schema lacks are ignored.

    Raises:
        KeyError: a required attribute is missing.

    """
    values = {}
    for name, is_required in _document_names(cast("Hashable", schema)):
        if is_required or name in found:
            value = found[name]
            values[name] = _to_tuples(value) if type(value) is list else value
    return schema(**values)


@cache
def _document_names(key: Hashable) -> tuple[tuple[str, bool], ...]:
    """List the names that a document may have, and whether it must."""
    declared = ((each.name, each.is_required) for each in _schema_fields(key))
    return (*declared, *((name, False) for name in _internal_names(key)))


def _to_tuples(value: object) -> object:
    if isinstance(value, list):
        return tuple(_to_tuples(each) for each in value)
    return value
