"""JSON of the state room: values of the model as plain data, and documents with a checksum."""

import hashlib
import json
from collections.abc import Callable, Collection, Hashable, Mapping
from dataclasses import MISSING, fields, is_dataclass, replace
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

import orjson

from kplan.kinds import KINDS
from kplan.kinds.schema import from_document, secret_paths, to_stored_document
from kplan.model.address import Address
from kplan.model.plan import AttributeChange, Change


def indented_json(document: object) -> bytes:
    """Write the bytes of `json.dumps(indent=2, ensure_ascii=False)`."""
    try:
        return orjson.dumps(document, option=orjson.OPT_INDENT_2)
    except TypeError:
        text = json.dumps(document, ensure_ascii=False, allow_nan=False, indent=2)
        return text.encode("utf-8", "surrogatepass")


def compact_json(document: object) -> bytes:
    """Write it on one line, without a blank."""
    try:
        return orjson.dumps(document)
    except TypeError:
        text = json.dumps(document, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return text.encode("utf-8", "surrogatepass")


_MARK = b',\n  "sha256": "'
_CLOSE = b'"\n}\n'


def seal_document(document: Mapping[str, object]) -> bytes:
    """Write a document of at least one member; the checksum covers every byte before it."""
    body = indented_json(document).removesuffix(b"\n}")
    return body + _MARK + _digest(body) + _CLOSE


def is_sealed(data: bytes) -> bool:
    """Whether the bytes are exactly the output of `seal_document`."""
    body, mark, tail = data.rpartition(_MARK)
    return bool(mark) and tail == _digest(body) + _CLOSE


def _digest(body: bytes) -> bytes:
    return hashlib.sha256(body).hexdigest().encode()


_SCHEMAS: Mapping[str, type[Any]] = {kind.name: kind.schema for kind in KINDS}


_SECRETS: Mapping[str, frozenset[str]] = {
    name: frozenset(path[0] for path in secret_paths(schema)) for name, schema in _SCHEMAS.items()
}


def is_known_kind(name: str) -> bool:
    """Whether this version knows the kind."""
    return name in _SCHEMAS


def secret_names(kind: str) -> frozenset[str]:
    """Name the attributes that files never contain."""
    return _SECRETS[kind]


def decode_value(kind: str, found: Mapping[str, object]) -> object:
    """Read a value from its document; a secret attribute has its default.

    Raises:
        KeyError: a required attribute is missing.

    """
    return from_document(_SCHEMAS[kind], found)


_T = TypeVar("_T")
_Reader = Callable[[Any], Any]
_ABSENT = object()


def to_plain(value: object) -> object:
    """Write a value: dataclasses as objects, tuples as lists, sets sorted, addresses as text."""
    match value:
        case None | str() | int() | float():
            return value
        case tuple() | list():
            return [to_plain(each) for each in value]
        case Address():
            return str(value)
        case Change():
            return _encode_change(value)
        case frozenset():
            return sorted((to_plain(each) for each in value), key=repr)
        case Mapping():
            return {key: to_plain(value[key]) for key in sorted(value)}
        case _:
            return encode_fields(value)


def encode_fields(value: object, without: Collection[str] = ()) -> dict[str, object]:
    """Write the fields of a dataclass, without defaults and a given set."""
    defaults = _field_defaults(cast("Hashable", type(value)))
    return {
        name: to_plain(held)
        for name, default in defaults.items()
        if name not in without and (held := getattr(value, name)) != default
    }


def from_plain(schema: type[_T], found: object) -> _T:
    """Read the output of `to_plain`.

    Raises:
        AttributeError, KeyError, TypeError, ValueError: it is something else.

    """
    value: _T = _reader(cast("Hashable", schema))(found)
    return value


@cache
def _field_defaults(schema: Any) -> Mapping[str, object]:  # noqa: ANN401 - a dataclass
    return {
        each.name: each.default_factory()
        if each.default_factory is not MISSING
        else _ABSENT
        if each.default is MISSING
        else each.default
        for each in fields(schema)
    }


def _encode_change(change: Change) -> dict[str, object]:
    """Write a change without the secrets of its kind."""
    found = encode_fields(change, without=("before", "after", "attributes"))
    for name, value in (("before", change.before), ("after", change.after)):
        found[name] = None if value is None else to_stored_document(value)
    if change.attributes:
        found["attributes"] = [
            to_plain(_without_secrets(change.kind, each)) for each in change.attributes
        ]
    return found


def _without_secrets(kind: str, change: AttributeChange) -> AttributeChange:
    is_secret = change.path[0] in secret_names(kind)
    return replace(change, before=None, after=None) if is_secret else change


def _decode_change(found: Mapping[str, Any]) -> Change:
    change: Change = _fields_reader(Change)(found)
    before, after = (
        None if found[name] is None else decode_value(change.kind, found[name])
        for name in ("before", "after")
    )
    return replace(change, before=before, after=after)


@cache
def _reader(hint: Any) -> _Reader:  # noqa: ANN401 - a type hint is no type
    """Make the function that reads values of a type."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin in {Union, UnionType}:
        return _optional_reader(inner)
    if origin is tuple and inner[-1] is not ...:
        return _tuple_reader(tuple(_reader(each) for each in inner))
    if origin in {tuple, frozenset}:
        return _collection_reader(origin, _reader(inner[0]))
    if hint is Address:
        return Address.parse
    if hint is Change:
        return _decode_change
    if isinstance(hint, type) and issubclass(hint, Enum):
        return hint
    return _fields_reader(cast("Hashable", hint)) if is_dataclass(hint) else _unchanged_value


def _unchanged_value(found: object) -> object:
    return found


def _optional_reader(choices: tuple[Any, ...]) -> _Reader:
    (only,) = [_reader(each) for each in choices if each is not NoneType]
    return lambda found: None if found is None else only(found)


def _tuple_reader(readers: tuple[_Reader, ...]) -> _Reader:
    return lambda found: tuple(read(each) for read, each in zip(readers, found, strict=True))


def _collection_reader(make: Callable[[Any], Any], read: _Reader) -> _Reader:
    return lambda found: make(read(each) for each in found)


@cache
def _fields_reader(schema: Any) -> _Reader:  # noqa: ANN401 - a dataclass
    readers = {name: _reader(hint) for name, hint in get_type_hints(schema).items()}

    def read(found: Mapping[str, Any]) -> Any:  # noqa: ANN401
        return schema(**{name: readers[name](found[name]) for name in readers if name in found})

    return read
