"""Every recorded answer of Terraform against kplan's own: values, types, marks and error texts.

`oracle/generate.py` records the answers; `oracle/different.json` is the whole list of cases where
kplan answers differently on purpose, each with the reason.
"""

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from kplan.config.diagnostic import EvaluationError
from kplan.config.evaluation.evaluate import TemplateHost, evaluate
from kplan.config.evaluation.scope import NoNames, Scope
from kplan.config.evaluation.type_constraint import parse_type_constraint
from kplan.config.functions.file_access import FileAccess
from kplan.config.functions.registry import FUNCTIONS
from kplan.config.syntax import tree as ast
from kplan.config.syntax.parse import EXPRESSION_BASE, parse_expression
from kplan.config.syntax.source import Origin, Source
from kplan.config.values.conversion import ConversionError, convert
from kplan.config.values.sensitive import bare
from kplan.config.values.value import (
    ListType,
    MapType,
    ObjectType,
    PrimitiveType,
    Sensitive,
    SetType,
    TupleType,
    Type,
    Value,
    type_of,
)
from kplan.config.values.value_text import json_text

ORACLE = Path(__file__).parent / "oracle"
GROUPS = sorted(file.stem for file in (ORACLE / "results").glob("*.jsonl"))
FUNCTION_PROBLEMS = {
    "Not enough function arguments",
    "Too many function arguments",
    "Invalid function argument",
    "Error in function call",
}

OWN_WORDS = (
    "can(",
    "try(",
    "templatefile(",
    "jsondecode(",
    "yamldecode(",
    "textdecodebase64(",
    "textencodebase64(",
)
"""Calls whose faults kplan words itself: with a place in the document, or from another library."""

PANIC = "panic in function implementation"
"""What Terraform says where a function of its own breaks; kplan has a reason to give instead."""
UNLIKE = {
    'set(list(any)) <- [[1],["a"]]': "the elements are brought to one type, as in a list",
    "object({a=list(string)}) <- {a=tomap({})}": "functions are not refused by the evaluator alone",
    "set <- [1]": "set is read like list and map",
}
"""Conversions that kplan makes differently, each with the reason."""


@cache
def different() -> dict[str, str]:
    found: dict[str, str] = json.loads((ORACLE / "different.json").read_text(encoding="utf-8"))
    return found


def recorded(group: str) -> Iterator[dict[str, object]]:
    text = (ORACLE / "results" / f"{group}.jsonl").read_text(encoding="utf-8")
    yield from map(json.loads, text.splitlines())


def parsed(text: str) -> tuple[ast.Node, Scope]:
    source = Source("case", text, is_file=False)
    attribute, problems = parse_expression(source)
    if attribute is None or problems:
        raise EvaluationError(list(problems))
    host = TemplateHost(FileAccess(ORACLE / "folder"), FUNCTIONS)
    origin = Origin(source, EXPRESSION_BASE)
    return attribute.value, Scope(NoNames(), origin, FUNCTIONS, host, {})


def type_json(of: Type) -> object:
    match of:
        case PrimitiveType(value=name):
            return name
        case ListType() | SetType() | MapType():
            return [type(of).__name__.removesuffix("Type").lower(), type_json(of.element)]
        case TupleType(elements):
            return ["tuple", [type_json(each) for each in elements]]
        case ObjectType(attributes):
            return ["object", {name: type_json(each) for name, each in attributes.items()}]
        case _:
            return "dynamic"


def marks(value: Value, path: tuple[str | int, ...] = ()) -> Iterator[list[str | int]]:
    match value:
        case Sensitive():
            yield list(path)
        case tuple():
            for place, part in enumerate(value):
                yield from marks(part, (*path, place))
        case dict():
            for key in sorted(value):
                yield from marks(value[key], (*path, key))
        case _:
            pass


def outcome(text: str) -> dict[str, object]:
    try:
        return shown(evaluate(*parsed(text)))
    except EvaluationError as failure:
        first = failure.diagnostics[0]
        return {"summary": first.summary, "detail": first.detail}


def shown(value: Value) -> dict[str, object]:
    plain = bare(value)
    return {
        "type": type_json(type_of(value)),
        "value": json_text(plain),
        "sensitive": list(marks(value)),
    }


def conversion(text: str) -> dict[str, object]:
    wanted_type, _, value = text.partition(" <- ")
    try:
        converted = convert(evaluate(*parsed(value)), parse_type_constraint(*parsed(wanted_type)))
    except EvaluationError:
        return {"reason": "no type or no value"}
    except ConversionError as error:
        return {"reason": str(error)}
    return shown(converted)


def wanted(answer: dict[str, object], got: dict[str, object]) -> dict[str, object]:
    """Reduce the recorded answer to what is compared: of some errors only that there is one."""
    if "summary" in answer:
        has_own_words = str(answer["expr"]).startswith(OWN_WORDS) or PANIC in str(answer["detail"])
        if answer["summary"] not in FUNCTION_PROBLEMS or has_own_words:
            return {"summary": got.get("summary", answer["summary"]), "detail": got.get("detail")}
        return {"summary": answer["summary"], "detail": answer["detail"]}
    found = {name: answer[name] for name in ("type", "value", "sensitive")}
    if answer["value"] == "null":  # Terraform's plan drops the type of an output that is null
        found["type"] = got.get("type", answer["type"])
    return found


@pytest.mark.parametrize("group", GROUPS)
def test_expressions_have_the_value_or_the_error_that_terraform_gives(group: str) -> None:
    """Each recorded expression of the group; a failing one is shown with both outcomes."""
    for answer in recorded(group):
        expression = str(answer["expr"])
        if expression in different() or "unknown" in answer or "infinite" in answer:
            continue
        got = outcome(expression)
        assert {expression: got} == {expression: wanted(answer, got)}


def test_every_deliberate_difference_is_still_one() -> None:
    answers = {str(each["expr"]): each for group in GROUPS for each in recorded(group)}
    for expression in different():
        got = outcome(expression)
        assert got != wanted(answers[expression], got), expression


def test_there_are_more_than_two_thousand_recorded_answers() -> None:
    assert sum(1 for group in GROUPS for _ in recorded(group)) > 2000


def test_a_variable_of_a_type_makes_of_a_default_what_it_makes_in_terraform() -> None:
    for line in (ORACLE / "conversions.jsonl").read_text(encoding="utf-8").splitlines():
        answer: dict[str, object] = json.loads(line)
        text = str(answer["expr"])
        got = conversion(text)
        if text in UNLIKE or "infinite" in answer:
            continue
        if str(answer.get("summary", "")).startswith("Invalid default value for variable"):
            reason = str(answer["detail"]).partition("constraint: ")[2].removesuffix(".")
            assert {text: got} == {text: {"reason": reason}}
        elif "summary" in answer:
            assert "reason" in got, text
        else:
            assert {text: got} == {text: wanted(answer, got)}
