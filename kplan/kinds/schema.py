"""How a kind declares its attributes: the dataclass is the schema."""

from collections.abc import Hashable, Mapping
from dataclasses import MISSING, dataclass, fields
from functools import cache
from typing import Annotated, Any, cast, get_args, get_origin, get_type_hints

from kplan.model.resource import Path


@dataclass(frozen=True, slots=True)
class Attribute:
    """What stands in `Annotated[...]` of a field.

    `type` is the type in HCL's own notation ("string", "number", "map(string)",
    "list(list(number))"). `replaces` marks what names the object: another value is another object.
    `choices` lists the allowed words, compared without regard to case. One that `is_later` was
    not always there: files leave it out where it is not declared.
    """

    doc: str
    type: str = "string"
    replaces: bool = False
    is_sensitive: bool = False
    choices: tuple[str, ...] = ()
    is_later: bool = False


@dataclass(frozen=True, slots=True)
class Kept:
    """Stands in `Annotated[...]` of a field that nobody declares and nobody is shown.

    It holds what only kplan knows of an object, for the next plan: the state keeps it.
    """


@dataclass(frozen=True, slots=True)
class SchemaField:
    """One attribute of a kind with its name and default (None where it is left out)."""

    name: str
    attribute: Attribute
    is_required: bool
    default: object = None


def schema_fields(schema: type[Any]) -> tuple[SchemaField, ...]:
    """List the attributes that a kind's dataclass declares, in order of declaration."""
    return _fields_of(cast("Hashable", schema))


def secret_paths(schema: type[Any]) -> frozenset[Path]:
    """Name the attributes whose value is a secret wherever it comes from."""
    return _secrets_of(cast("Hashable", schema))


@cache
def _secrets_of(key: Hashable) -> frozenset[Path]:
    found = _fields_of(key)
    return frozenset((each.name,) for each in found if each.attribute.is_sensitive)


@cache
def _later(key: Hashable) -> tuple[str, ...]:
    return tuple(each.name for each in _fields_of(key) if each.attribute.is_later)


@cache
def _fields_of(key: Hashable) -> tuple[SchemaField, ...]:
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
        if isinstance(attribute := _role(hints[each.name]), Attribute)
    )


@cache
def _kept(key: Hashable) -> tuple[str, ...]:
    hints = get_type_hints(cast("type[Any]", key), include_extras=True)
    return tuple(name for name, hint in hints.items() if isinstance(_role(hint), Kept))


def _role(hint: object) -> Attribute | Kept:
    if get_origin(hint) is not Annotated:
        raise TypeError(f"{hint!r} carries no Attribute")
    found = [extra for extra in get_args(hint)[1:] if isinstance(extra, Attribute | Kept)]
    return found[0]


def document(value: object) -> dict[str, object]:
    """Write a kind's value as plain JSON-able data under its attribute names."""
    return {each.name: _plain(getattr(value, each.name)) for each in schema_fields(type(value))}


def stored_document(value: object) -> dict[str, object]:
    """Write what files may hold of a value: no secrets, but what kplan keeps to itself."""
    stored = _stored(cast("Hashable", type(value)))
    found = {name: getattr(value, name) for name in stored.names}
    for name in stored.holders:
        found[name] = _plain(found[name])
    for name in stored.later:
        if found[name] is None:
            del found[name]
    for name in stored.kept:
        if held := _plain(getattr(value, name)):
            found[name] = held
    return found


@dataclass(frozen=True, slots=True)
class _Stored:
    """The attributes that files hold: those that hold others, may be left out, or are kplan's."""

    names: tuple[str, ...]
    holders: tuple[str, ...]
    later: tuple[str, ...]
    kept: tuple[str, ...]


@cache
def _stored(key: Hashable) -> _Stored:
    names = _open(key)
    atoms = {each.name for each in _fields_of(key) if each.attribute.type in _ATOM_TYPES}
    holders = tuple(name for name in names if name not in atoms)
    return _Stored(names, holders, _later(key), _kept(key))


_ATOM_TYPES = frozenset(("string", "number", "bool"))


@cache
def _open(key: Hashable) -> tuple[str, ...]:
    """Name the attributes that are no secrets."""
    return tuple(each.name for each in _fields_of(key) if (each.name,) not in _secrets_of(key))


_ATOMS = frozenset((str, int, bool, type(None)))


def _plain(value: object) -> object:
    if type(value) in _ATOMS:  # nearly all values of nearly all kinds
        return value
    if type(value) is dict or isinstance(value, Mapping):  # the first is much the quicker
        return {key: _plain(value[key]) for key in sorted(value)}
    match value:
        case tuple() | list():
            return [_plain(each) for each in value]
        case _:
            return value


def from_document(schema: type[Any], found: Mapping[str, object]) -> Any:  # noqa: ANN401 - any kind's value
    """Read what a document holds; names that the schema does not know are left out.

    Raises:
        KeyError: a required attribute is missing.

    """
    wanted = schema_fields(schema)
    kept = _kept(cast("Hashable", schema))
    return schema(
        **{
            each.name: _frozen(found[each.name])
            for each in wanted
            if each.is_required or each.name in found
        },
        **{name: _frozen(found[name]) for name in kept if name in found},
    )


def _frozen(value: object) -> object:
    if isinstance(value, list):
        return tuple(_frozen(each) for each in value)
    return value
