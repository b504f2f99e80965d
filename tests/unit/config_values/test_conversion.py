"""Conversion of values to types; the expected texts are what Terraform 1.11.4 says."""

import pytest

from kplan.config.values.conversion import ConversionError, convert
from kplan.config.values.equality import equal
from kplan.config.values.value import (
    ANY,
    BOOL,
    NUMBER,
    STRING,
    ListType,
    MapType,
    Null,
    ObjectType,
    Sensitive,
    SetType,
    TList,
    TMap,
    TSet,
    TupleType,
    Type,
    Value,
    type_of,
)


@pytest.mark.parametrize(
    ("value", "wanted", "expected"),
    [
        ("1e3", NUMBER, 1000),
        ("5.", NUMBER, 5),
        ("0", BOOL, False),
        ("true", BOOL, True),
        (True, STRING, "true"),
        (1, STRING, "1"),
        (None, NUMBER, Null(NUMBER)),
        (None, MapType(ANY), Null(MapType(ANY))),
        (Null(STRING), NUMBER, Null(NUMBER)),
        (Null(ListType(NUMBER)), SetType(ANY), Null(SetType(NUMBER))),
        (TSet((), NUMBER), ListType(ANY), TList((), NUMBER)),
        ((1, True, "x"), ListType(STRING), TList(("1", "true", "x"), STRING)),
        ((1, "x"), ListType(ANY), TList(("1", "x"), STRING)),
        ((None, 1), ListType(ANY), TList((None, 1), NUMBER)),
        ((), ListType(ANY), TList((), ANY)),
        (("1", 1), SetType(NUMBER), TSet((1,), NUMBER)),
        ((3, 1, 2, 1), SetType(ANY), TSet((1, 2, 3), NUMBER)),
        ({"b": "x", "a": 1}, MapType(ANY), TMap({"a": "1", "b": "x"}, STRING)),
        ((1, "2"), TupleType((STRING, NUMBER)), ("1", 2)),
        ({"a": 1, "b": 2}, ObjectType({"a": STRING}), {"a": "1"}),
        (TMap({"a": 1}, NUMBER), ObjectType({"a": STRING}), {"a": "1"}),
        (((1,), ("x",)), ListType(ListType(ANY)), None),
        (
            ({"a": 1}, {"a": "x"}),
            ListType(ANY),
            TList(({"a": "1"}, {"a": "x"}), ObjectType({"a": STRING})),
        ),
    ],
)
def test_a_value_is_brought_to_the_type(value: Value, wanted: Type, expected: Value) -> None:
    if expected is None and value is not None:
        inner = ListType(STRING)
        expected = TList((TList(("1",), STRING), TList(("x",), STRING)), inner)
    converted = convert(value, wanted)
    assert equal(converted, expected)
    assert type_of(converted) == type_of(expected)


@pytest.mark.parametrize(
    ("value", "wanted", "text"),
    [
        ("x", NUMBER, "a number is required"),
        ("1_000", NUMBER, "a number is required"),
        (True, NUMBER, "number required"),
        (Null(BOOL), NUMBER, "number required"),
        (1, BOOL, "bool required"),
        ("yes", BOOL, "a bool is required"),
        ("True", BOOL, 'a bool is required; to convert from string, use lowercase "true"'),
        ({}, STRING, "string required"),
        ("a", ListType(STRING), "list of string required"),
        ("a", ListType(ANY), "list of any single type required"),
        ((1, (2,)), ListType(STRING), "element 1: string required"),
        ((1, "x"), ListType(NUMBER), "[1]: a number is required"),
        (((1,), ("x",)), ListType(ListType(NUMBER)), "[1][0]: a number is required"),
        ((1, (2,)), ListType(ANY), "all list elements must have the same type"),
        ((1, True), ListType(ANY), "all list elements must have the same type"),
        ((1, (2,)), SetType(ANY), "all set elements must have the same type"),
        ({"a": (1,)}, MapType(STRING), 'element "a": string required'),
        ({"a": 1, "b": (1,)}, MapType(ANY), "all map elements must have the same type"),
        ((), MapType(STRING), "map of string required"),
        (("a",), TupleType((STRING, NUMBER)), "tuple required"),
        (("a", "x"), TupleType((STRING, NUMBER)), "[1]: a number is required"),
        ({}, ObjectType({"a": STRING}), 'attribute "a" is required'),
        ({}, ObjectType({"a": STRING, "b": STRING}), 'attributes "a" and "b" are required'),
        (
            {},
            ObjectType({"a": STRING, "b": STRING, "c": NUMBER}),
            'attributes "a", "b", and "c" are required',
        ),
        ({"a": "x"}, ObjectType({"a": NUMBER}), ".a: a number is required"),
        ((), ObjectType({"a": STRING}), "object required"),
        (
            {"a": {}},
            ObjectType({"a": ObjectType({"b": NUMBER})}),
            'attribute "a": attribute "b" is required',
        ),
        (
            {"k 1": {"z": "x"}},
            MapType(MapType(NUMBER)),
            '["k 1"]["z"]: a number is required',
        ),
        (
            {"a.b": ({},)},
            MapType(ListType(STRING)),
            'element "a.b": element 0: string required',
        ),
    ],
)
def test_what_does_not_fit_is_told_in_terraforms_words(
    value: Value, wanted: Type, text: str
) -> None:
    with pytest.raises(ConversionError) as caught:
        convert(value, wanted)
    assert str(caught.value) == text


def test_a_misfit_carries_the_path_to_the_part_at_fault() -> None:
    wanted = MapType(ObjectType({"a": ListType(NUMBER)}))
    with pytest.raises(ConversionError) as caught:
        convert({"x": {"a": (1, "q")}}, wanted)
    assert caught.value.path == ("x", "a", 1)
    assert caught.value.part_reason == "a number is required"


def test_an_optional_attribute_is_null_or_its_default_even_when_null_is_given() -> None:
    wanted = ObjectType({"a": NUMBER, "b": NUMBER, "c": STRING}, frozenset({"a", "b"}), {"b": 3})
    assert convert({"c": "x"}, wanted) == {"a": Null(NUMBER), "b": 3, "c": "x"}
    assert convert({"b": None, "c": "x"}, wanted) == {"a": Null(NUMBER), "b": 3, "c": "x"}
    assert convert({"b": 4, "c": "x"}, wanted) == {"a": Null(NUMBER), "b": 4, "c": "x"}


def test_the_type_of_a_converted_value_has_no_optional_attributes() -> None:
    wanted = ListType(ObjectType({"a": NUMBER}, frozenset({"a"}), {"a": 1}))
    converted = convert(({},), wanted)
    assert isinstance(converted, TList)
    element = converted.element
    assert isinstance(element, ObjectType)
    assert element.optional == frozenset()
    assert not element.defaults


def test_marks_survive_conversion_and_a_set_is_secret_as_a_whole() -> None:
    as_list = convert((Sensitive(1), 2), ListType(STRING))
    assert as_list == TList((Sensitive("1"), "2"), STRING)
    as_set = convert((Sensitive(1), 2), SetType(STRING))
    assert as_set == Sensitive(TSet(("1", "2"), STRING))
    assert convert(Sensitive((1,)), ListType(STRING)) == Sensitive(TList(("1",), STRING))
