"""How types are named and printed, and how values are described."""

from fractions import Fraction

import pytest

from kplan.config.values.value import (
    ANY,
    BOOL,
    NUMBER,
    STRING,
    ListType,
    MapType,
    ObjectType,
    Sensitive,
    SetType,
    TList,
    TMap,
    TupleType,
    Type,
    Value,
    constraint_name,
    type_name,
    type_text,
)
from kplan.config.values.value_text import describe_value

OBJECT = ObjectType({"b": NUMBER, "a": TupleType((BOOL, TupleType(())))})


@pytest.mark.parametrize(
    ("of", "text"),
    [
        (STRING, "string"),
        (ANY, "dynamic"),
        (ListType(ANY), "list(dynamic)"),
        (ListType(MapType(SetType(NUMBER))), "list(map(set(number)))"),
        (TupleType(()), "tuple([])"),
        (ObjectType({}), "object({})"),
        (
            OBJECT,
            (
                "object({\n    a: tuple([\n        bool,\n        tuple([]),\n    ]),\n"
                "    b: number,\n})"
            ),
        ),
        (
            ListType(MapType(ObjectType({"b": NUMBER}))),
            "list(map(\n    object({\n        b: number,\n    }),\n))",
        ),
        (SetType(TupleType((NUMBER,))), "set(\n    tuple([\n        number,\n    ]),\n)"),
    ],
)
def test_a_type_is_printed_as_in_terraforms_console(of: Type, text: str) -> None:
    assert type_text(of) == text


def test_a_type_asked_for_is_named_otherwise_than_one_found() -> None:
    assert type_name(ListType(ANY)) == "list of dynamic"
    assert constraint_name(ListType(MapType(ANY))) == "list of map of any single type"
    assert constraint_name(OBJECT) == "object"


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("payments", 'is "payments"'),
        ('a "b"\n', 'is "a \\"b\\"\\n"'),
        ("x" * 200, f'is "{"x" * 120}..."'),
        (None, "is null"),
        (True, "is true"),
        (Fraction(3, 2), "is 1.5"),
        (TList(("a", "b", "c"), STRING), "is list of string with 3 elements"),
        (TList((), STRING), "is empty list of string"),
        (("a",), "is tuple with 1 element"),
        (TMap({"a": 1}, NUMBER), "is map of number with 1 element"),
        ({"orders": 1}, 'is object with 1 attribute "orders"'),
        ({"a": 1, "b": 2}, "is object with 2 attributes"),
        ({}, "is object with no attributes"),
        (Sensitive("hunter2"), "has a sensitive value"),
    ],
)
def test_a_value_is_described_without_its_secrets(value: Value, words: str) -> None:
    assert describe_value(value) == words
