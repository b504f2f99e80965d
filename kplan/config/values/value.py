"""The values of the configuration language and their types.

Values stand on Python's own types where these suffice: None, bool, int (integral numbers),
Fraction (others), str, tuple (tuples) and dict (objects). Lists, sets and maps carry the type of
their elements. Nothing here is ever changed once made, and `equal` decides equality, since
Python's `==` takes True for 1 and a tuple for a list.
"""

from collections.abc import Iterable, Mapping
from dataclasses import field
from fractions import Fraction
from typing import Final, Self, TypeAlias, TypeGuard

from kplan.model.dataclass import dataclass


class TList(tuple["Value", ...]):  # noqa: SLOT001 - a tuple has no room for slots
    """A list: a tuple whose elements are all of the type `element`. Test for it before `tuple`."""

    element: "Type"

    def __new__(cls, items: Iterable["Value"], element: "Type") -> Self:
        """Take the items as they are; `convert` is what brings them to the element type."""
        made = super().__new__(cls, items)
        made.element = element
        return made

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

    def __repr__(self) -> str:
        """Show the sort of collection."""
        return f"TSet({tuple(self)!r})"


class TMap(dict[str, "Value"]):
    """A map: a dict whose values are all of the type `element`; keys sorted."""

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


@dataclass(frozen=True, slots=True)
class PrimitiveType:
    """string, number or bool; use the constants `STRING`, `NUMBER` and `BOOL`."""

    name: str


@dataclass(frozen=True, slots=True)
class AnyType:
    """No constraint (`any`); also the type of a null about which nothing is known."""


@dataclass(frozen=True, slots=True)
class ListType:
    """A sequence whose elements are all of one type."""

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

STRING: Final = PrimitiveType("string")
NUMBER: Final = PrimitiveType("number")
BOOL: Final = PrimitiveType("bool")
ANY: Final = AnyType()


def null_of(of: Type) -> Null | None:
    """Make the null of a type."""
    return None if isinstance(of, AnyType) else Null(of)


def is_null(value: Value) -> TypeGuard[Null | None]:
    """Return whether the value is null, of whatever type."""
    return value is None or type(value) is Null


def is_number(value: Value) -> TypeGuard[Number]:
    """Return whether the value is a number; Python counts True among its integers."""
    return isinstance(value, int | Fraction) and not isinstance(value, bool)
