"""The values of the configuration language and their types."""

from collections.abc import Iterable, Mapping
from dataclasses import field
from enum import Enum
from fractions import Fraction
from typing import Final, Self, TypeAlias, TypeGuard

from kplan.model.dataclass import dataclass


class TList(tuple["Value", ...]):  # noqa: SLOT001 - a tuple has no room for slots
    """A list: a tuple whose elements have the type `element`. Test for it before `tuple`."""

    element: "Type"

    def __new__(cls, items: Iterable["Value"], element: "Type") -> Self:
        """Take the items unchanged; `convert` brings them to the element type."""
        made = super().__new__(cls, items)
        made.element = element
        return made

    def __getnewargs__(self) -> tuple[tuple["Value", ...], "Type"]:
        """Return what makes it again where it is unpickled."""
        return tuple(self), self.element

    def __repr__(self) -> str:
        """Show the sort of collection."""
        return f"TList({tuple(self)!r})"


class TSet(tuple["Value", ...]):  # noqa: SLOT001 - a tuple has no room for slots
    """A set: distinct elements of the type `element`, in the order that `sets.make_set` gives."""

    element: "Type"

    def __new__(cls, items: Iterable["Value"], element: "Type") -> Self:
        """Take items that are distinct and sorted already; others go through `make_set`."""
        made = super().__new__(cls, items)
        made.element = element
        return made

    def __getnewargs__(self) -> tuple[tuple["Value", ...], "Type"]:
        """Return what makes it again where it is unpickled."""
        return tuple(self), self.element

    def __repr__(self) -> str:
        """Show the sort of collection."""
        return f"TSet({tuple(self)!r})"


class TMap(dict[str, "Value"]):
    """A map: a dict whose values have the type `element`; keys sorted."""

    element: "Type"

    def __init__(self, items: Mapping[str, "Value"], element: "Type") -> None:
        super().__init__((key, items[key]) for key in sorted(items))
        self.element = element

    def __repr__(self) -> str:
        """Show the sort of collection."""
        return f"TMap({dict(self)!r})"


@dataclass(frozen=True, slots=True)
class Sensitive:
    """A value that is never shown. It wraps the innermost part that is secret, and only once."""

    value: "Value" = field(repr=False)


class Ephemeral(Sensitive):
    """The value of an ephemeral variable, as it is. What is made of it is sensitive."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Null:
    """A null of a known type; None is one of which nothing is known. Made by `null_of`."""

    type: "Type"


Number: TypeAlias = int | Fraction
Value: TypeAlias = (
    bool | Number | str | tuple["Value", ...] | dict[str, "Value"] | Sensitive | Null | None
)


class PrimitiveType(Enum):
    """string, number or bool; use the constants `STRING`, `NUMBER` and `BOOL`.

    Types are compared at every step of evaluation, and members by identity.
    """

    STRING = "string"
    NUMBER = "number"
    BOOL = "bool"


@dataclass(frozen=True, slots=True)
class AnyType:
    """No constraint (`any`); also the type of a null about which nothing is known."""


@dataclass(frozen=True, slots=True)
class ListType:
    """A sequence whose elements have one type."""

    element: "Type"


@dataclass(frozen=True, slots=True)
class SetType:
    """Distinct values of one type, in no order of their own."""

    element: "Type"


@dataclass(frozen=True, slots=True)
class MapType:
    """String keys to values of one type."""

    element: "Type"


@dataclass(frozen=True, slots=True)
class TupleType:
    """A sequence with a type for each place."""

    elements: tuple["Type", ...]


@dataclass(frozen=True, slots=True)
class ObjectType:
    """Named attributes with a type each.

    `optional` names the attributes that may be left out; `defaults` holds, already converted, what
    then stands in for them (and for an explicit null). Both belong to a constraint only: they take
    no part in equality, and the type of a value has neither.
    """

    attributes: Mapping[str, "Type"]
    optional: frozenset[str] = field(default=frozenset(), compare=False)
    defaults: Mapping[str, Value] = field(default_factory=dict, compare=False)


Type: TypeAlias = PrimitiveType | AnyType | ListType | SetType | MapType | TupleType | ObjectType

STRING: Final = PrimitiveType.STRING
NUMBER: Final = PrimitiveType.NUMBER
BOOL: Final = PrimitiveType.BOOL
ANY: Final = AnyType()
PLAIN_TYPES: Final[Mapping[type, PrimitiveType]] = {str: STRING, int: NUMBER, bool: BOOL}
"""The types of most values, by their Python types."""


def null_of(of: Type) -> Null | None:
    """Make the null of a type."""
    return None if isinstance(of, AnyType) else Null(of)


def is_null(value: Value) -> TypeGuard[Null | None]:
    """Return whether the value is null, of any type."""
    return value is None or type(value) is Null


def is_number(value: Value) -> TypeGuard[Number]:
    """Return whether the value is a number; Python counts True among its integers."""
    return type(value) is int or isinstance(value, Fraction)


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
    if value is None:
        return ANY
    return PLAIN_TYPES.get(type(value)) or (STRING if isinstance(value, str) else NUMBER)


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


def fill_open_type(wanted: Type, own: Type) -> Type:
    """Replace the unspecified parts of a type with those of another."""
    match wanted, own:
        case (AnyType(), _):
            return own
        case (ListType(), ListType() | SetType()):
            return ListType(fill_open_type(wanted.element, own.element))
        case (SetType(), ListType() | SetType()):
            return SetType(fill_open_type(wanted.element, own.element))
        case (MapType(), MapType()):
            return MapType(fill_open_type(wanted.element, own.element))
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
            return of.value
        case AnyType():
            return "dynamic"
        case ListType() | SetType() | MapType():
            return f"{_COLLECTION_NAMES[type(of)]} of {type_name(of.element)}"
        case TupleType():
            return "tuple"
        case ObjectType():
            return "object"


def constraint_name(wanted: Type) -> str:
    """Name an expected type: as `type_name`, but `list of any single type`."""
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
