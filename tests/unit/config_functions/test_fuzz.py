"""No function raises anything but `FunctionError`, whatever it is given.

`KPLAN_FUZZ_EXAMPLES` sets how often each function is tried.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kplan.config.functions.file_access import FileAccess
from kplan.config.functions.function import Function, FunctionError
from kplan.config.functions.registry import FUNCTIONS
from kplan.config.values.conversion import ConversionError, convert
from kplan.config.values.number import parse_number
from kplan.config.values.sensitive import bare, has_sensitive
from kplan.config.values.value import (
    ANY,
    ListType,
    MapType,
    PrimitiveType,
    Sensitive,
    SetType,
    Type,
    Value,
    type_of,
)
from kplan.config.values.value_text import json_text

EXAMPLES = int(os.environ.get("KPLAN_FUZZ_EXAMPLES", "8"))


@dataclass(frozen=True)
class Echo:
    """A host on an empty folder, whose templates are the variables."""

    files: FileAccess = field(default_factory=lambda: FileAccess(Path("/nonexistent/kplan")))
    in_template: bool = False

    def render(self, template: str, name: str, variables: Mapping[str, Value]) -> Value:
        return (template, name, *variables.values())


odd_texts = st.one_of(
    st.text(st.characters(codec="utf-8", exclude_characters="/"), max_size=12),
    st.sampled_from(
        [
            "",
            "%",
            "%[1]*d",
            "%5.3[2]q",
            "%-+# 010.3f",
            "%v %v",
            "(",
            "[a-",
            "(?P<n>a)*",
            "a{2}{3}",
            "\\",
            "\\pL",
            "/x*/",
            "$1${2}",
            "10.0.0.0/8",
            "::/0",
            "2024-02-30T25:00:00Z",
            "2024-02-29T23:59:59+14:00",
            "1h2m",
            "-1.5us",
            "a: &a [*a]",
            "- {a: 1",
            "|+\n a",
            "!!int x",
            '{"a": [1, {"b": null}]}',
            "[[[[",
            "1e400",
            "-0",
            '"\\ud800"',
            "a,b\n1",
            'a,"b\n',
            "YQ==",
            "H4sI",
            "UTF-16",
            "latin1",
            "**/*",
            "{a,b",
            "[!x]",
            "~/x",
            "~root",
            "\0",
            "YYYY 'x",
            "e\u0301",
            "\u2028",
            "😀",
            "\r\n",
        ]
    ),
)
numbers: st.SearchStrategy[Value] = st.one_of(
    st.integers(min_value=-20, max_value=70),
    st.integers(min_value=-(10**40), max_value=10**40),
    st.floats(allow_nan=False, allow_infinity=False, width=32).map(lambda n: parse_number(repr(n))),
)
scalars: st.SearchStrategy[Value] = st.one_of(st.none(), st.booleans(), numbers, odd_texts)
anything: st.SearchStrategy[Value] = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(st.text("ab1 ", max_size=2), inner, max_size=3),
        inner.map(lambda value: value if isinstance(value, Sensitive) else Sensitive(value)),
    ),
    max_leaves=6,
)


def fitting(wanted: Type) -> st.SearchStrategy[Value]:
    """Values that a parameter of the type may well take."""
    match wanted:
        case PrimitiveType.STRING:
            return odd_texts
        case PrimitiveType.NUMBER:
            return numbers
        case PrimitiveType():
            return st.booleans()
        case ListType(element) | SetType(element):
            return st.lists(fitting(element), max_size=4).map(tuple)
        case MapType(element):
            return st.dictionaries(st.text("ab", max_size=2), fitting(element), max_size=3)
        case _:
            return st.one_of(
                anything,
                st.lists(scalars, max_size=4).map(listed),
                st.lists(scalars, max_size=4).map(lambda items: listed(items, SetType(ANY))),
                st.dictionaries(st.text("ab", max_size=2), scalars, max_size=3),
            )


def listed(items: list[Value], wanted: Type | None = None) -> Value:
    try:
        return convert(tuple(items), wanted or ListType(ANY))
    except ConversionError:
        return tuple(items)


@st.composite
def arguments(draw: st.DrawFn, function: Function) -> list[Value]:
    given_values = [
        draw(st.one_of(fitting(each.type), fitting(each.type), fitting(each.type), anything))
        for each in function.parameters
    ]
    if function.variadic is not None:
        some = st.one_of(fitting(function.variadic.type), anything)
        given_values += draw(st.lists(some, max_size=3))
    return given_values


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
@settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(data=st.data())
def test_a_function_gives_a_value_or_a_function_error(name: str, data: st.DataObject) -> None:
    function = FUNCTIONS[name]
    chosen = data.draw(arguments(function))
    try:
        result = function.call(chosen, Echo())
    except FunctionError as error:
        check_error(error, len(chosen))
        return
    type_of(result)
    json_text(bare(result))
    assert repr(function.call(chosen, Echo())) == repr(result), "the same call, another result"


def check_error(error: FunctionError, count: int) -> None:
    assert error.message.endswith(".")
    assert error.argument is None or 0 <= error.argument < max(count, 1)


@given(st.lists(scalars, max_size=4))
def test_a_secret_among_the_arguments_makes_the_result_one(items: list[Value]) -> None:
    marked = tuple(Sensitive(each) for each in items)
    for name in ("jsonencode", "yamlencode", "compact", "distinct", "sort", "join"):
        chosen: list[Value] = ["", marked] if name == "join" else [marked]
        try:
            result = FUNCTIONS[name].call(chosen, Echo())
        except FunctionError:
            continue
        assert has_sensitive(result) or not items
