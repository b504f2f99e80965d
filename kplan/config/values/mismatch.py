"""Whether one type converts to another, and the words for why it does not."""

from kplan.config.values.types import constraint_name
from kplan.config.values.unify import unify
from kplan.config.values.value import (
    ANY,
    STRING,
    AnyType,
    ListType,
    MapType,
    ObjectType,
    PrimitiveType,
    SetType,
    TupleType,
    Type,
)

Collection = ListType | SetType | MapType


def mismatch(got: Type, wanted: Type) -> str | None:
    """Say why no value of the type `got` converts to `wanted`; None when some may."""
    if ANY in (got, wanted):
        return None
    match wanted:
        case PrimitiveType():
            return None if _is_castable(got, wanted) else f"{wanted.name} required"
        case ListType() | SetType():
            return _sequence_mismatch(got, wanted)
        case MapType():
            return _map_mismatch(got, wanted)
        case TupleType():
            return None if _fits_tuple(got, wanted) else "tuple required"
        case ObjectType():
            return _object_mismatch(got, wanted)
        case AnyType():
            return None


def _is_castable(got: Type, wanted: PrimitiveType) -> bool:
    return isinstance(got, PrimitiveType) and (got == wanted or STRING in (got, wanted))


def _sequence_mismatch(got: Type, wanted: ListType | SetType) -> str | None:
    match got:
        case ListType() | SetType():
            return _element_mismatch(got, wanted)
        case TupleType(elements):
            for place, element in enumerate(elements):
                if reason := mismatch(element, wanted.element):
                    return f"element {place}: {reason}"
            return _disunity(elements, wanted)
        case _:
            return f"{constraint_name(wanted)} required"


def _map_mismatch(got: Type, wanted: MapType) -> str | None:
    match got:
        case MapType():
            return _element_mismatch(got, wanted)
        case ObjectType():
            for name in sorted(got.attributes):
                if reason := mismatch(got.attributes[name], wanted.element):
                    return f'element "{name}": {reason}'
            return _disunity(tuple(got.attributes.values()), wanted)
        case _:
            return f"{constraint_name(wanted)} required"


def _element_mismatch(got: Collection, wanted: Collection) -> str | None:
    reason = mismatch(got.element, wanted.element)
    return reason and f"incorrect {_kind(wanted)} element type: {reason}"


def _disunity(elements: tuple[Type, ...], wanted: Collection) -> str | None:
    """With open element types the elements must still agree among themselves."""
    if wanted.element == ANY and unify(elements) is None:
        return f"all {_kind(wanted)} elements must have the same type"
    return None


def _kind(wanted: Collection) -> str:
    return constraint_name(wanted).partition(" ")[0]


def _fits_tuple(got: Type, wanted: TupleType) -> bool:
    return (
        isinstance(got, TupleType)
        and len(got.elements) == len(wanted.elements)
        and not any(map(mismatch, got.elements, wanted.elements))
    )


def _object_mismatch(got: Type, wanted: ObjectType) -> str | None:
    match got:
        case ObjectType():
            return _missing(got, wanted) or _attribute_mismatch(got, wanted)
        case MapType():
            reasons = (mismatch(got.element, of) for of in wanted.attributes.values())
            reason = next(filter(None, reasons), None)
            return reason and f"map element type is incompatible with attribute: {reason}"
        case _:
            return "object required"


def _missing(got: ObjectType, wanted: ObjectType) -> str | None:
    needed = wanted.attributes.keys() - wanted.optional - got.attributes.keys()
    names = [f'"{name}"' for name in sorted(needed)]
    match names:
        case []:
            return None
        case [name]:
            return f"attribute {name} is required"
        case [first, second]:
            return f"attributes {first} and {second} are required"
        case _:
            return f"attributes {', '.join(names[:-1])}, and {names[-1]} are required"


def _attribute_mismatch(got: ObjectType, wanted: ObjectType) -> str | None:
    for name in sorted(wanted.attributes.keys() & got.attributes.keys()):
        if reason := mismatch(got.attributes[name], wanted.attributes[name]):
            return f'attribute "{name}": {reason}'
    return None
