"""Values that are stored as JSON with their type beside them, such as the outputs of a state."""

from collections.abc import Mapping

from kplan.config.values.value import (
    ANY,
    ListType,
    MapType,
    ObjectType,
    PrimitiveType,
    SetType,
    TList,
    TMap,
    TSet,
    TupleType,
    Type,
    Value,
    null_of,
)
from kplan.config.values.value_text import Json, from_json_value, value_text


def stored_value_text(found: Json, of: Json) -> str:
    """Write a value as `terraform output` does; `of` is its type as Terraform's JSON writes it."""
    return value_text(_typed_value(found, _parse_type(of)))


def _parse_type(found: Json) -> Type:
    match found:
        case "string" | "number" | "bool":
            return PrimitiveType(found)
        case ["list", element]:
            return ListType(_parse_type(element))
        case ["set", element]:
            return SetType(_parse_type(element))
        case ["map", element]:
            return MapType(_parse_type(element))
        case ["tuple", [*elements]]:
            return TupleType(tuple(_parse_type(each) for each in elements))
        case ["object", Mapping() as attributes]:
            return ObjectType({name: _parse_type(each) for name, each in attributes.items()})
        case _:
            return ANY


def _typed_value(found: Json, of: Type) -> Value:
    """Give a value its type; where the two do not fit, it is what JSON alone says."""
    match of, found:
        case _, None:
            return null_of(of)
        case ListType(), [*items]:
            return TList([_typed_value(each, of.element) for each in items], of.element)
        case SetType(), [*items]:
            return TSet([_typed_value(each, of.element) for each in items], of.element)
        case TupleType(), [*items] if len(items) == len(of.elements):
            return tuple(map(_typed_value, items, of.elements))
        case MapType(), Mapping():
            held = {key: _typed_value(each, of.element) for key, each in found.items()}
            return TMap(held, of.element)
        case ObjectType(), Mapping():
            types = of.attributes
            return {key: _typed_value(each, types.get(key, ANY)) for key, each in found.items()}
        case _:
            return from_json_value(found)
