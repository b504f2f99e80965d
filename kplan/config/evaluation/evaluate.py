"""Evaluate a syntax tree, and the context it gives to functions."""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field
from typing import Any, TypeAlias

from kplan.config.diagnostic import EvaluationError, OperandError, error
from kplan.config.evaluation import call, operator, template
from kplan.config.evaluation.call import evaluation_error, reference_values
from kplan.config.evaluation.conditional import (
    evaluate_conditional,
    failed_collection_type,
    failed_type,
)
from kplan.config.evaluation.operator import KEY_SUMMARIES, key_text, sort_by_key
from kplan.config.evaluation.scope import Deferred, IterationLimit, ReferenceValue, Scope
from kplan.config.evaluation.template import evaluate_for, evaluate_template_for
from kplan.config.functions.file_access import FileAccess
from kplan.config.functions.function import Function, FunctionError, TemplateError
from kplan.config.functions.registry import LAZY
from kplan.config.syntax import tree as ast
from kplan.config.syntax.parse import TEMPLATE_BASE, parse_template
from kplan.config.syntax.source import Origin, Source, Spot
from kplan.config.values.conversion import unify
from kplan.config.values.sensitive import mark, unmark
from kplan.config.values.value import (
    BOOL,
    NUMBER,
    STRING,
    ListType,
    SetType,
    TList,
    TSet,
    TupleType,
    Value,
    type_of,
)
from kplan.model.dataclass import dataclass
from kplan.model.diagnostic import Diagnostic

SPLAT_ELEMENT = ""
"""Name of the variable that holds the element at hand inside a splat; no name in HCL is empty."""


def evaluate(node: ast.Node, scope: Scope) -> Value:
    """Evaluate an expression.

    Raises:
        EvaluationError: it has no value. All independent reasons are in it.

    """
    if type(node) is ast.Literal:
        return node.value  # type: ignore[return-value] # what the lowering put there is a value
    found = _EVALUATE[type(node)](node, scope)
    if isinstance(found, Deferred):
        return found.value(Spot(scope.origin, node.start, node.end))
    return found


def _evaluate_all(
    nodes: Sequence[ast.Node], scope: Scope, whole: ast.Tuple | ast.Object | None = None
) -> list[Value]:
    """Evaluate several expressions; an error in one does not hide the others.

    They may be the parts of a `whole`, which has a type without all of their values.
    """
    values: list[Value] = []
    failures: dict[int, EvaluationError] = {}
    for node in nodes:
        try:
            values.append(evaluate(node, scope))
        except EvaluationError as found:
            failures[len(values)] = found
            values.append(None)
    if failures:
        raise _parts_error(nodes, values, failures, whole)
    return values


def _parts_error(
    nodes: Sequence[ast.Node],
    values: Sequence[Value],
    failures: Mapping[int, EvaluationError],
    whole: ast.Tuple | ast.Object | None,
) -> EvaluationError:
    is_final = any(each.is_final for each in failures.values())
    diagnostics = [result for each in failures.values() for result in each.diagnostics]
    found = EvaluationError(diagnostics, is_final=is_final)
    if whole is not None:
        types = [
            failed_type(node, failures[at]) if at in failures else type_of(value)
            for at, (node, value) in enumerate(zip(nodes, values, strict=True))
        ]
        found.set_type(whole, failed_collection_type(whole, values, types))
    return found


# ---- leaves and references


def _literal(node: ast.Literal, _: Scope) -> Value:
    return node.value  # type: ignore[return-value] # what the lowering put there is a value


def _name(node: ast.Name, scope: Scope) -> Value:
    if node.name in scope.variables:
        return scope.variables[node.name]
    raise scope.names.unresolved_error(node.name, Spot(scope.origin, node.start, node.end))


def _element(_: ast.Element, scope: Scope) -> Value:
    return scope.variables[SPLAT_ELEMENT]


def _get_attr(node: ast.GetAttr, scope: Scope) -> ReferenceValue:
    inner = node.target
    if type(inner) is ast.Name and inner.name not in scope.variables:
        return scope.names.resolve(inner.name, node.name, Spot(scope.origin, node.start, node.end))
    target = _EVALUATE[type(inner)](inner, scope)
    if isinstance(target, Deferred):
        return target.attribute(node.name, Spot(scope.origin, node.start, node.end, inner.end))
    if type(target) is dict and node.name in target:
        return target[node.name]
    try:
        return operator.get_attribute(target, node.name)
    except OperandError as fault:
        raise call.step_error(fault, node, scope, evaluate) from None


def _index(node: ast.Index, scope: Scope) -> ReferenceValue:
    key = evaluate(node.key, scope)
    target = _EVALUATE[type(node.target)](node.target, scope)
    if isinstance(target, Deferred):
        return target.index(key, Spot(scope.origin, node.start, node.end, node.target.end))
    try:
        return operator.get_element(target, key)
    except OperandError as fault:
        raise call.step_error(fault, node, scope, evaluate) from None


def _splat(node: ast.Splat, scope: Scope) -> Value:
    target = evaluate(node.target, scope)
    value, marked = unmark(target)
    if value is None and isinstance(type_of(target), ListType | SetType | TupleType):
        detail = "The value is a null list, which has no elements to go over."
        failure = OperandError("KP157", detail, summary="Splat of null value")
        raise evaluation_error(failure, node, scope, evaluate)
    if value is None:
        return mark((), sensitive=marked)
    items = value if isinstance(value, tuple) else (value,)
    inner, variables = scope.loop_scope()
    found: list[Value] = []
    for each in items:
        variables[SPLAT_ELEMENT] = each
        found.append(evaluate(node.each, inner))
    result = tuple(found)
    if isinstance(value, TList | TSet):
        element = unify(map(type_of, result)) if result else value.element
        result = result if element is None else TList(result, element)
    return mark(result, sensitive=marked)


def _group(node: ast.Group, scope: Scope) -> Value:
    return evaluate(node.inner, scope)


# ---- collections


def _tuple(node: ast.Tuple, scope: Scope) -> Value:
    return tuple(_evaluate_all(node.items, scope, node))


def _object(node: ast.Object, scope: Scope) -> Value:
    nodes = [each for pair in node.items for each in pair]
    values = _evaluate_all(nodes, scope, node)
    result: dict[str, Value] = {}
    marked = False
    for key, value, key_node in zip(values[::2], values[1::2], nodes[::2], strict=True):
        if type(key) is str:
            result[key] = value
            continue
        text, is_secret = key_text(key, key_node, scope, evaluate, KEY_SUMMARIES)
        result[text] = value
        marked = marked or is_secret
    return mark(sort_by_key(result), sensitive=marked)


# ---- operators


def _unary(node: ast.Unary, scope: Scope) -> Value:
    try:
        value = evaluate(node.operand, scope)
        try:
            return operator.apply_unary(node.operator, value)
        except OperandError as fault:
            raise evaluation_error(fault, node.operand, scope, evaluate) from None
    except EvaluationError as failure:
        failure.set_type(node, BOOL if node.operator == "!" else NUMBER)
        raise


def _binary(node: ast.Binary, scope: Scope) -> Value:
    """Go down a chain of operators without recursion: `a + b + c + ...` may be long."""
    chain = [node]
    while type(chain[-1].left) is ast.Binary:
        chain.append(chain[-1].left)
    try:
        value = evaluate(chain[-1].left, scope)
        for each in reversed(chain):
            if each.operator in {"&&", "||"}:
                value = _logical(each, value, scope)
                continue
            right = evaluate(each.right, scope)
            try:
                value = operator.apply_binary(each.operator, value, right)
            except OperandError as fault:
                at = _operand_span(each, fault)
                raise evaluation_error(fault, each, scope, evaluate, at) from None
    except EvaluationError as failure:
        failure.set_type(node, NUMBER if node.operator in operator.ARITHMETIC else BOOL)
        raise
    return value


def _logical(node: ast.Binary, left: Value, scope: Scope) -> Value:
    try:
        decided, marked = operator.to_bool(left, "left operand")
        if decided is (node.operator == "||"):
            return mark(decided, sensitive=marked)
        right, is_secret = operator.to_bool(evaluate(node.right, scope), "right operand")
        return mark(right, sensitive=marked or is_secret)
    except OperandError as fault:
        at = _operand_span(node, fault)
        raise evaluation_error(fault, node, scope, evaluate, at) from None


def _operand_span(node: ast.Binary, fault: OperandError) -> tuple[int, int]:
    """Return the place of the operand at fault, or of the whole operation."""
    operand = {"left operand": node.left, "right operand": node.right}.get(fault.operand, node)
    return operand.start, operand.end


# ---- templates and calls


def _evaluate_wrapped(node: ast.Wrapped, scope: Scope) -> Value:
    return evaluate(node.inner, scope)


def _template(node: ast.Template, scope: Scope) -> Value:
    try:
        return template.join_parts(node, _evaluate_all(node.parts, scope), scope, evaluate)
    except EvaluationError as failure:
        failure.set_type(node, STRING)
        raise


def _call(node: ast.Call, scope: Scope) -> Value:
    if node.name in LAZY:
        return call.evaluate_try(node, scope, evaluate)
    function = call.find_function(node, scope)
    arguments = _evaluate_all(node.arguments, scope)
    if node.is_expanding:
        arguments = call.expand_arguments(node, arguments, scope)
    try:
        return function.call(arguments, scope.host)
    except FunctionError as fault:
        raise call.call_error(node, fault, scope, reference_values(node, scope, evaluate)) from None


_Evaluate: TypeAlias = Callable[[Any, Scope], ReferenceValue]

_EVALUATE: Mapping[type, _Evaluate] = {
    ast.Literal: _literal,
    ast.Name: _name,
    ast.Element: _element,
    ast.GetAttr: _get_attr,
    ast.Index: _index,
    ast.Splat: _splat,
    ast.Group: _group,
    ast.Tuple: _tuple,
    ast.Object: _object,
    ast.For: lambda node, scope: evaluate_for(node, scope, evaluate),
    ast.Unary: _unary,
    ast.Binary: _binary,
    ast.Conditional: lambda node, scope: evaluate_conditional(node, scope, evaluate),
    ast.Wrapped: _evaluate_wrapped,
    ast.Template: _template,
    ast.TemplateIf: lambda node, scope: template.evaluate_template_if(node, scope, evaluate),
    ast.TemplateFor: lambda node, scope: evaluate_template_for(node, scope, evaluate),
    ast.Call: _call,
}


RECURSION_LIMIT = 20_000
"""Python frames that evaluation may nest: a chain of about 1,500 local values."""


@contextmanager
def deep_recursion() -> Iterator[None]:
    """Allow deep evaluation."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, RECURSION_LIMIT))
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)


class _TemplateNames:
    """Names in a template: only variables of the scope."""

    def resolve(self, root: str, name: str, subject: Spot) -> ReferenceValue:
        """Refuse names that are not variables."""
        del name
        raise self.unresolved_error(root, subject)

    def unresolved_error(self, root: str, subject: Spot) -> EvaluationError:
        """Say that the variable was not given."""
        detail = f'vars map does not contain key "{root}"'
        return EvaluationError([error("KP116", subject.range(), detail)], is_final=True)


@dataclass(frozen=True, slots=True)
class TemplateHost:
    """What functions may use: files, and the rendering of templates, which do not nest."""

    files: FileAccess
    functions: Mapping[str, Function] = field(repr=False)
    in_template: bool = False
    iterations: IterationLimit = field(default_factory=IterationLimit)
    _parsed: dict[tuple[str, str], tuple[ast.Node, Origin]] = field(
        default_factory=dict, repr=False
    )

    def render(self, template: str, name: str, variables: Mapping[str, Value]) -> Value:
        """Evaluate a template with nothing in sight but the variables.

        Raises:
            TemplateError: the template has an error or lacks a variable.

        """
        node, origin = self._parse(template, name)
        inner = TemplateHost(
            self.files, self.functions, in_template=True, iterations=self.iterations
        )
        scope = Scope(_TemplateNames(), origin, self.functions, inner, variables, self.iterations)
        try:
            return evaluate(node, scope)
        except EvaluationError as failure:
            raise _template_error(failure.diagnostics[0]) from None

    def _parse(self, template: str, name: str) -> tuple[ast.Node, Origin]:
        found = self._parsed.get((template, name))
        if found is None:
            source = Source(name, template)
            attribute, problems = parse_template(source)
            if attribute is None:
                raise _template_error(problems[0])
            found = attribute.value, Origin(source, TEMPLATE_BASE)
            self._parsed[template, name] = found
        return found


def _template_error(diagnostic: Diagnostic) -> TemplateError:
    place = f"{diagnostic.subject}" if diagnostic.subject else "the template"
    is_missing = diagnostic.code == "KP116"
    return TemplateError(f"{place}: {diagnostic.detail.rstrip('.')}", is_missing=is_missing)
