"""Laws of values, types, conversion and unification."""

import json
from fractions import Fraction

from hypothesis import assume, given
from hypothesis import strategies as st

from kplan.config.values.conversion import ConversionError, convert, mismatch, unify
from kplan.config.values.equality import equal, make_set, sort_key
from kplan.config.values.number import (
    NumberError,
    add,
    clean_text,
    divide,
    exact,
    modulo,
    multiply,
    number_text,
    parse_number,
    subtract,
    truncate,
)
from kplan.config.values.sensitive import bare, has_sensitive, unmark_deep
from kplan.config.values.value import (
    ANY,
    BOOL,
    NUMBER,
    STRING,
    ListType,
    MapType,
    Number,
    ObjectType,
    Sensitive,
    SetType,
    TList,
    TMap,
    TSet,
    TupleType,
    Type,
    Value,
    concrete,
    type_name,
    type_of,
    type_text,
)
from kplan.config.values.value_text import from_json_value, json_loads, json_text, to_json_value

texts = st.text(max_size=8).map(clean_text)
names = st.sampled_from(["a", "b", "c d", "é", ""])
decimals = st.decimals(
    allow_nan=False, allow_infinity=False, min_value=-(10**9), max_value=10**9, places=6
)
numbers: st.SearchStrategy[Number] = st.one_of(
    st.integers(min_value=-(10**30), max_value=10**30),
    decimals.map(lambda each: parse_number(f"{each:f}")),
)
scalars: st.SearchStrategy[Value] = st.one_of(st.none(), st.booleans(), numbers, texts)
types: st.SearchStrategy[Type] = st.recursive(
    st.sampled_from([STRING, NUMBER, BOOL, ANY]),
    lambda inner: st.one_of(
        inner.map(ListType),
        inner.map(SetType),
        inner.map(MapType),
        st.lists(inner, max_size=3).map(lambda each: TupleType(tuple(each))),
        st.dictionaries(names, inner, max_size=3).map(ObjectType),
    ),
    max_leaves=5,
)


def listed(items: list[Value]) -> Value:
    try:
        return convert(tuple(items), ListType(ANY))
    except ConversionError:
        return tuple(items)


def mapped(items: dict[str, Value]) -> Value:
    try:
        return convert(items, MapType(ANY))
    except ConversionError:
        return items


def gathered(items: list[Value]) -> Value:
    try:
        return convert(tuple(items), SetType(ANY))
    except ConversionError:
        return tuple(items)


plain: st.SearchStrategy[Value] = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(tuple),
        st.lists(inner, max_size=3).map(listed),
        st.lists(inner, max_size=3).map(gathered),
        st.dictionaries(names, inner, max_size=3).map(lambda each: dict(sorted(each.items()))),
        st.dictionaries(names, inner, max_size=3).map(mapped),
    ),
    max_leaves=6,
)
values: st.SearchStrategy[Value] = st.recursive(
    plain,
    lambda inner: st.one_of(plain.map(Sensitive), st.lists(inner, max_size=3).map(tuple)),
    max_leaves=3,
)


@given(numbers)
def test_a_number_reads_back_from_its_text(number: Number) -> None:
    assert parse_number(number_text(number)) == number


@given(numbers, numbers)
def test_whole_arithmetic_is_exact_and_the_rest_is_rounded_once(
    left: Number, right: Number
) -> None:
    assert add(left, right) == exact(left + right)
    assert subtract(left, right) == exact(left - right)
    assert multiply(left, right) == exact(left * right)
    if right:
        error = abs(Fraction(divide(left, right)) * right - left)
        assert error <= abs(Fraction(left)) / 2**500
        assert abs(Fraction(modulo(left, right))) <= abs(Fraction(right)) * (
            1 + Fraction(1, 2**400)
        )


whole_numbers = st.integers(min_value=-(2**600), max_value=2**600)


@given(whole_numbers, whole_numbers.filter(bool), st.integers(min_value=-3, max_value=3))
def test_whole_numbers_divide_as_fractions_do(factor: int, right: int, rest: int) -> None:
    left = exact(factor * right + rest)
    quotient = exact(Fraction(left) / Fraction(right))
    assert divide(left, right) == quotient
    assert modulo(left, right) == subtract(left, multiply(truncate(quotient), right))


@given(st.integers(min_value=1, max_value=10**18), st.integers(min_value=1, max_value=10**18))
def test_a_quotient_prints_in_digits_that_read_back(left: int, right: int) -> None:
    quotient = divide(left, right)
    assert parse_number(number_text(quotient)) == quotient


@given(st.text(max_size=12))
def test_text_is_a_number_or_it_is_refused(text: str) -> None:
    try:
        number = parse_number(text)
    except NumberError:
        return
    assert isinstance(number, int | Fraction)
    assert not isinstance(number, bool)


@given(plain)
def test_a_value_converts_to_its_own_type_unchanged(value: Value) -> None:
    converted = convert(value, type_of(value))
    assert equal(converted, value)
    assert type_of(converted) == type_of(value)


@given(values, types)
def test_what_converts_has_the_type_that_was_asked_for(value: Value, wanted: Type) -> None:
    try:
        converted = convert(value, wanted)
    except ConversionError:
        return
    again = convert(converted, wanted)
    assert equal(again, converted)
    assert mismatch(type_of(converted), wanted) is None
    assert has_sensitive(converted) or not has_sensitive(value) or isinstance(wanted, ObjectType)


@given(values, types)
def test_types_that_do_not_match_never_convert(value: Value, wanted: Type) -> None:
    if mismatch(type_of(value), wanted) is None:
        return
    try:
        convert(value, wanted)
    except ConversionError:
        return
    raise AssertionError("converted in spite of its type")


@given(st.lists(types, max_size=4))
def test_unification_does_not_depend_on_the_order(found: list[Type]) -> None:
    assert (unify(found) is None) == (unify(found[::-1]) is None)
    unified = unify(found)
    if unified is not None:
        assert unify([unified, *found]) is not None


@given(st.lists(plain, min_size=1, max_size=3))
def test_values_convert_to_the_type_that_unifies_theirs(found: list[Value]) -> None:
    unified = unify(type_of(each) for each in found)
    assume(unified is not None)
    for each in found:
        convert(each, unified or ANY)


@given(types)
def test_unifying_a_type_with_itself_gives_itself(of: Type) -> None:
    assert unify([of, of]) == of
    assert concrete(of) == of
    assert type_name(of)
    assert type_text(of)


@given(plain, plain)
def test_equality_is_symmetric_and_agrees_with_the_order_of_sets(left: Value, right: Value) -> None:
    assert equal(left, left)
    assert equal(left, right) == equal(right, left)
    if equal(left, right):
        assert sort_key(left) == sort_key(right)


@given(st.lists(texts, max_size=6), st.randoms())
def test_a_set_does_not_depend_on_the_order_of_its_elements(
    items: list[str], random: object
) -> None:
    del random
    forward, backward = make_set(items, STRING), make_set(items[::-1], STRING)
    assert forward == backward
    assert list(bare(forward) or ()) == sorted(set(items))  # type: ignore[arg-type]


@given(plain)
def test_json_keeps_a_value_up_to_the_sort_of_its_collections(value: Value) -> None:
    back = json_loads(json_text(value))
    assert json_text(back) == json_text(value)
    assert from_json_value(json.loads(json.dumps(to_json_value(back)))) is not None or back is None


@given(values)
def test_marks_come_off_and_never_show(value: Value) -> None:
    unmarked, was_marked = unmark_deep(value)
    assert was_marked == has_sensitive(value)
    assert not has_sensitive(unmarked)
    assert equal(unmarked, value)


@given(st.text("hunter2", min_size=4, max_size=8))
def test_a_sensitive_value_is_in_no_representation(text: str) -> None:
    marked = (Sensitive(text), {"a": Sensitive(text)}, TList((Sensitive(text),), STRING))
    assert text not in repr(marked)
    assert text not in repr(TMap({"k": Sensitive(text)}, STRING))
    assert text not in repr(TSet((Sensitive(text),), STRING))
