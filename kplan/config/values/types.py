"""What can be said about types: names for messages, open parts, the type of a value."""

from kplan.config.values.value import (
    ANY,
    BOOL,
    NUMBER,
    STRING,
    AnyType,
    ListType,
    MapType,
    Null,
    ObjectType,
    PrimitiveType,
    Sensitive,
    SetType,
    TList,
    TMap,
    TSet,
    TupleType,
    Type,
    Value,
)

_COLLECTION_NAMES = {ListType: "list", SetType: "set", MapType: "map"}


def type_of(value: Value) -> Type:
    """Type of a value; that of a bare null is `ANY`, and a mark makes no difference."""
    match value:
        case Sensitive():
            return type_of(value.value)
        case Null():
            return value.type
        case TList():
            return ListType(value.element)
        case TSet():
            return SetType(value.element)
        case TMap():
            return MapType(value.element)
        case tuple():
            return TupleType(tuple(type_of(each) for each in value))
        case dict():
            return ObjectType({name: type_of(each) for name, each in value.items()})
        case _:
            return _primitive(value)


def _primitive(value: Value) -> Type:
    match value:
        case None:
            return ANY
        case bool():
            return BOOL
        case str():
            return STRING
        case _:
            return NUMBER


def concrete(wanted: Type) -> Type:
    """Type of a value converted to `wanted`: the same without optional attributes and defaults."""
    match wanted:
        case ListType() | SetType() | MapType():
            return type(wanted)(concrete(wanted.element))
        case TupleType():
            return TupleType(tuple(concrete(each) for each in wanted.elements))
        case ObjectType():
            return ObjectType({name: concrete(of) for name, of in wanted.attributes.items()})
        case PrimitiveType() | AnyType():
            return wanted


def filled(wanted: Type, own: Type) -> Type:
    """Put what is known of a type in the place of what another leaves open."""
    match wanted, own:
        case (AnyType(), _):
            return own
        case (ListType(), ListType() | SetType()):
            return ListType(filled(wanted.element, own.element))
        case (SetType(), ListType() | SetType()):
            return SetType(filled(wanted.element, own.element))
        case (MapType(), MapType()):
            return MapType(filled(wanted.element, own.element))
        case _:
            return concrete(wanted)


def has_any(wanted: Type) -> bool:
    """Return whether some part of the type is left open."""
    match wanted:
        case ListType() | SetType() | MapType():
            return has_any(wanted.element)
        case TupleType():
            return any(has_any(each) for each in wanted.elements)
        case ObjectType():
            return any(has_any(each) for each in wanted.attributes.values())
        case PrimitiveType():
            return False
        case AnyType():
            return True


def type_name(of: Type) -> str:
    """Name the type of a value as messages do: `list of string`, `object`, `list of dynamic`."""
    match of:
        case PrimitiveType():
            return of.name
        case AnyType():
            return "dynamic"
        case ListType() | SetType() | MapType():
            return f"{_COLLECTION_NAMES[type(of)]} of {type_name(of.element)}"
        case TupleType():
            return "tuple"
        case ObjectType():
            return "object"


def constraint_name(wanted: Type) -> str:
    """Name a type that is asked for: as `type_name`, but `list of any single type`."""
    if isinstance(wanted, ListType | SetType | MapType):
        element = wanted.element
        inner = "any single type" if element == ANY else constraint_name(element)
        return f"{_COLLECTION_NAMES[type(wanted)]} of {inner}"
    return type_name(wanted)


def type_text(of: Type, indent: int = 0) -> str:
    """Write a type as `type()` prints it in a console: structural types over several lines."""
    match of:
        case PrimitiveType() | AnyType():
            return type_name(of)
        case ListType() | SetType() | MapType():
            return _collection_text(of, indent)
        case TupleType():
            return _block(
                "tuple([", [type_text(each, indent + 1) for each in of.elements], "])", indent
            )
        case ObjectType():
            lines = [
                f"{name}: {type_text(of.attributes[name], indent + 1)}"
                for name in sorted(of.attributes)
            ]
            return _block("object({", lines, "})", indent)


def _collection_text(of: ListType | SetType | MapType, indent: int) -> str:
    name = _COLLECTION_NAMES[type(of)]
    if isinstance(of.element, TupleType | ObjectType):
        return _block(f"{name}(", [type_text(of.element, indent + 1)], ")", indent)
    return f"{name}({type_text(of.element, indent)})"


def _block(opening: str, lines: list[str], closing: str, indent: int) -> str:
    if not lines:
        return opening + closing
    inner = "    " * (indent + 1)
    body = "".join(f"{inner}{line},\n" for line in lines)
    return f"{opening}\n{body}{'    ' * indent}{closing}"
