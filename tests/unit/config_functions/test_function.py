"""How every function is called, whatever it computes."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

import pytest

from kplan.config.functions.file_access import FileAccess
from kplan.config.functions.function import FunctionError, Problem
from kplan.config.functions.registry import FUNCTIONS, LAZY
from kplan.config.values.number import parse_number
from kplan.config.values.value import (
    ANY,
    BOOL,
    NUMBER,
    STRING,
    ListType,
    MapType,
    PrimitiveType,
    Sensitive,
    SetType,
    TList,
    Type,
    Value,
)

SIGNATURES = Path(__file__).parent / "oracle" / "signatures.json"


@dataclass(frozen=True)
class Nowhere:
    """A host without files that renders nothing."""

    files: FileAccess = field(default_factory=lambda: FileAccess(Path("/nonexistent")))
    in_template: bool = False

    def render(self, template: str, name: str, variables: Mapping[str, Value]) -> Value:
        raise AssertionError((template, name, variables))


def call(name: str, *arguments: Value) -> Value:
    return FUNCTIONS[name].call(arguments, Nowhere())


def refused(name: str, *arguments: Value) -> FunctionError:
    with pytest.raises(FunctionError) as caught:
        call(name, *arguments)
    return caught.value


def declared(of: object) -> Type:
    match of:
        case "dynamic":
            return ANY
        case str():
            return {"string": STRING, "number": NUMBER, "bool": BOOL}[of]
        case ["list", element]:
            return ListType(declared(element))
        case ["set", element]:
            return SetType(declared(element))
        case ["map", element]:
            return MapType(declared(element))
        case _:
            raise AssertionError(of)


def test_no_function_of_terraform_is_missing_and_none_is_added() -> None:
    signatures = json.loads(SIGNATURES.read_text(encoding="utf-8"))
    assert set(FUNCTIONS) == set(signatures) - LAZY


def test_every_signature_is_that_of_terraform() -> None:
    signatures = json.loads(SIGNATURES.read_text(encoding="utf-8"))
    for name, function in FUNCTIONS.items():
        wanted = signatures[name]
        parameters = [(each.name, each.type, each.nullable) for each in function.parameters]
        assert parameters == [
            (each["name"], declared(each["type"]), each.get("is_nullable", False))
            for each in wanted.get("parameters", [])
        ], name
        variadic = wanted.get("variadic_parameter")
        found = function.variadic
        assert (found is None) == (variadic is None), name
        if found is not None:
            assert (found.name, found.type, found.nullable) == (
                variadic["name"],
                declared(variadic["type"]),
                variadic.get("is_nullable", False),
            ), name


def test_the_words_for_a_wrong_count_are_terraforms() -> None:
    few, many, variadic = refused("abs"), refused("abs", 1, 2), refused("format")
    assert few.problem is Problem.TOO_FEW
    assert few.message == 'Function "abs" expects 1 argument(s). Missing value for "num".'
    assert (many.problem, many.argument) == (Problem.TOO_MANY, 1)
    assert many.message == 'Function "abs" expects only 1 argument(s).'
    assert variadic.message.startswith('Function "format" expects at least 1 argument(s).')


def test_a_misfit_names_the_parameter_and_its_place() -> None:
    error = refused("substr", "abc", "x", 1)
    assert (error.problem, error.argument) == (Problem.ARGUMENT, 1)
    assert error.message == 'Invalid value for "offset" parameter: a number is required.'


def test_null_is_refused_where_the_signature_refuses_it() -> None:
    error = refused("upper", None)
    assert error.message == 'Invalid value for "str" parameter: argument must not be null.'
    assert call("jsonencode", None) == "null"


def test_arguments_are_converted_to_the_types_of_the_parameters() -> None:
    assert call("join", 1, (True, 2)) == "true12"
    assert call("abs", "-1.5") == Fraction(3, 2)


def test_a_result_is_sensitive_if_an_argument_was_in_any_part() -> None:
    assert call("upper", Sensitive("a")) == Sensitive("A")
    assert call("join", ",", (Sensitive("a"), "b")) == Sensitive("a,b")


def test_functions_that_look_into_collections_keep_the_marks_in_their_place() -> None:
    assert call("length", (Sensitive(1), 2)) == 2
    assert call("element", (Sensitive(1), 2), 1) == 2
    assert call("merge", {"a": Sensitive(1)}, {"b": 2}) == {"a": Sensitive(1), "b": 2}
    assert call("concat", (Sensitive(1),), (2,)) == (Sensitive(1), 2)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("parseint", (Sensitive("hunter2"), 10)),
        ("tonumber", (Sensitive("hunter2"),)),
        ("base64decode", (Sensitive("hunter2!"),)),
        ("jsondecode", (Sensitive("hunter2"),)),
        ("yamldecode", (Sensitive("- hunter2\nx: hunter2"),)),
        ("regex", (Sensitive("[hunter2"), "a")),
        ("file", (Sensitive("hunter2"),)),
        ("timeadd", (Sensitive("hunter2"), "1h")),
        ("cidrhost", (Sensitive("hunter2"), 1)),
        ("lookup", ({}, Sensitive("hunter2"))),
        ("uuidv5", (Sensitive("hunter2"), "x")),
        ("textencodebase64", ("x", Sensitive("hunter2"))),
        ("templatefile", ("x", {"hunter2!": Sensitive(1)})),
        ("sum", (Sensitive({"hunter2": 1}),)),
        ("compact", (Sensitive({"hunter2": 1}),)),
        ("transpose", (Sensitive({"hunter2": 1}),)),
    ],
)
def test_no_error_text_shows_a_sensitive_value(name: str, arguments: tuple[Value, ...]) -> None:
    """Law 11 of the design: secrets are in no error text."""
    assert "hunter2" not in refused(name, *arguments).message


@pytest.mark.parametrize("name", ["bcrypt", "plantimestamp", "timestamp", "uuid"])
def test_what_would_differ_from_run_to_run_is_refused(name: str) -> None:
    arguments = ("x",) if name == "bcrypt" else ()
    assert "a plan must be repeatable" in refused(name, *arguments).message


def test_strings_come_out_in_composed_form() -> None:
    assert call("join", "", ("e", "\u0301")) == "é"


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("range", (10**9,)),
        ("setproduct", ((tuple(range(200)),) * 3)),
        ("format", ("%999999999d", 1)),
        ("format", ("%.999999999f", 1)),
        ("indent", (10**9, "a\nb")),
        ("replace", ("a" * 10**5, "a", "b" * 10**4)),
        ("replace", ("a" * 10**4, "/a/", "b" * 10**4)),
        ("join", ("x" * 10**6, tuple("a" * 100))),
        ("pow", (10, 10**6)),
        ("parseint", ("9" * 5000, 10)),
        ("tonumber", ("9" * 5000,)),
        ("log", (parse_number("1e-400"), 10)),
        ("jsondecode", ("[" * 5000,)),
        ("jsondecode", ("[" * 200 + "]" * 200,)),
        ("yamldecode", ("[" * 5000,)),
        ("yamldecode", ("[" * 200 + "]" * 200,)),
    ],
)
def test_a_result_beyond_all_measure_is_an_error(name: str, arguments: tuple[Value, ...]) -> None:
    assert refused(name, *arguments).problem in (Problem.CALL, Problem.ARGUMENT)


def test_a_value_that_nests_too_deeply_is_an_error() -> None:
    deep: Value = 1
    for _ in range(3000):
        deep = (deep,)
    for name in ("jsonencode", "yamlencode", "flatten", "tolist", "distinct"):
        assert "nested too deeply" in refused(name, deep).message


def test_a_yaml_document_that_unfolds_without_end_is_refused() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    assert "more than" in refused("yamldecode", "\n".join(lines)).message


def test_a_pattern_that_backtracks_elsewhere_is_answered_in_linear_time() -> None:
    text, pattern = "a" * 5000 + "b", "(a|aa)+c"
    assert call("regexall", pattern, text) == ()
    assert call("replace", text, f"/{pattern}/", "x") == text
    assert "pattern did not match" in refused("regex", pattern, text).message


@pytest.mark.parametrize(
    ("pattern", "problem"),
    [
        ("(a", "missing closing )"),
        ("a**", "invalid nested repetition operator"),
        ("(?z)a", "invalid or unsupported Perl syntax"),
    ],
)
def test_errors_of_patterns_have_the_words_that_terraform_has(pattern: str, problem: str) -> None:
    assert problem in refused("regex", pattern, "a").message


def test_set_functions_keep_the_element_type_of_empty_results() -> None:
    result = call("setsubtract", ("a",), ("a",))
    assert result == ()
    assert isinstance(call("keys", {}), tuple)
    assert isinstance(call("compact", ("",)), TList)


def test_the_primitive_types_are_told_apart_from_python_truth() -> None:
    assert call("tostring", True) == "true"
    assert call("contains", (1,), True) is False
    assert isinstance(STRING, PrimitiveType)
