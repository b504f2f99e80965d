"""Evaluation of syntax trees, by walking them."""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from kplan.config.evaluation import access, calls, operators
from kplan.config.evaluation.misuse import Misuse
from kplan.config.evaluation.scope import Deferred, Found, Scope
from kplan.config.evaluation.seen import seen
from kplan.config.functions.function import FunctionError
from kplan.config.problem import Failure, error
from kplan.config.syntax import tree as ast
from kplan.config.values.convert import ConversionError, convert
from kplan.config.values.sensitive import has_sensitive, mark, unmark
from kplan.config.values.types import type_name, type_of
from kplan.config.values.unify import unify
from kplan.config.values.value import STRING, TSet, Value
from kplan.model.diagnostic import Diagnostic

ELEMENT = ""
"""Name of the variable that holds the element at hand inside a splat; no name in HCL is empty."""


def evaluate(node: ast.Node, scope: Scope) -> Value:
    """Evaluate an expression.

    Raises:
        Failure: it has no value. All independent reasons are in it.

    """
    found = _EVALUATE[type(node)](node, scope)
    if isinstance(found, Deferred):
        return found.value(scope.origin.range(node.start, node.end))
    return found


def _failure(fault: Misuse, node: ast.Node, scope: Scope) -> Failure:
    """Turn what a value-level operation refused into a problem at the place of `node`."""
    subject = scope.origin.range(node.start, node.end)
    values = seen(node, scope, evaluate)
    return Failure([error(fault.code, subject, fault.detail, hint=fault.hint, values=values)])


def _all(nodes: tuple[ast.Node, ...], scope: Scope) -> list[Value]:
    """Evaluate several expressions; an error in one does not hide the others."""
    try:
        return [evaluate(node, scope) for node in nodes]
    except Failure:
        raise _every_failure(nodes, scope) from None


def _every_failure(nodes: tuple[ast.Node, ...], scope: Scope) -> Failure:
    diagnostics: list[Diagnostic] = []
    for node in nodes:
        try:
            evaluate(node, scope)
        except Failure as failure:
            diagnostics.extend(failure.diagnostics)
    return Failure(diagnostics)


# ---- leaves and references


def _literal(node: ast.Literal, _: Scope) -> Value:
    return node.value  # type: ignore[return-value] # what the lowering put there is a value


def _name(node: ast.Name, scope: Scope) -> Value:
    if node.name in scope.variables:
        return scope.variables[node.name]
    raise scope.names.refusal(node.name, scope.origin.range(node.start, node.end))


def _element(_: ast.Element, scope: Scope) -> Value:
    return scope.variables[ELEMENT]


def _get_attr(node: ast.GetAttr, scope: Scope) -> Found:
    inner = node.target
    if type(inner) is ast.Name and inner.name not in scope.variables:
        return scope.names.find(inner.name, node.name, scope.origin.range(node.start, node.end))
    target = _EVALUATE[type(inner)](inner, scope)
    if isinstance(target, Deferred):
        return target.attribute(node.name, scope.origin.range(node.start, node.end))
    if type(target) is dict and node.name in target:
        return target[node.name]
    try:
        return access.attribute(target, node.name)
    except Misuse as fault:
        raise _failure(fault, node, scope) from None


def _index(node: ast.Index, scope: Scope) -> Found:
    key = evaluate(node.key, scope)
    target = _EVALUATE[type(node.target)](node.target, scope)
    if isinstance(target, Deferred):
        return target.index(key, scope.origin.range(node.start, node.end))
    try:
        return access.index(target, key)
    except Misuse as fault:
        raise _failure(fault, node, scope) from None


def _splat(node: ast.Splat, scope: Scope) -> Value:
    value, marked = unmark(evaluate(node.target, scope))
    if value is None:
        return mark((), sensitive=marked)
    items = value if isinstance(value, tuple) else (value,)
    result = tuple(evaluate(node.each, scope.with_variables({ELEMENT: each})) for each in items)
    if isinstance(value, TSet):
        return mark(tuple(result), sensitive=marked)
    return mark(result, sensitive=marked)


def _group(node: ast.Group, scope: Scope) -> Value:
    return evaluate(node.inner, scope)


# ---- collections


def _tuple(node: ast.Tuple, scope: Scope) -> Value:
    return tuple(_all(node.items, scope))


def _object(node: ast.Object, scope: Scope) -> Value:
    keys = _all(tuple(key for key, _ in node.items), scope)
    values = _all(tuple(value for _, value in node.items), scope)
    result: dict[str, Value] = {}
    marked = False
    for key, value, (key_node, _) in zip(keys, values, node.items, strict=True):
        if type(key) is str:
            result[key] = value
            continue
        text, key_marked = _key(key, key_node, scope)
        result[text] = value
        marked = marked or key_marked
    return mark(_sorted(result), sensitive=marked)


def _sorted(value: dict[str, Value]) -> dict[str, Value]:
    return dict(sorted(value.items())) if len(value) > 1 else value


def _key(key: Value, node: ast.Node, scope: Scope) -> tuple[str, bool]:
    bare, marked = unmark(key)
    try:
        text = convert(bare, STRING)
    except ConversionError:
        told = f"The key of an element must be a string, got {type_name(type_of(bare))}."
        raise _failure(Misuse("KP161", told), node, scope) from None
    if not isinstance(text, str):
        raise _failure(
            Misuse("KP161", "The key of an element must not be null."), node, scope
        ) from None
    return text, marked


def _for(node: ast.For, scope: Scope) -> Value:
    try:
        collection, marked = access.pairs(evaluate(node.collection, scope))
    except Misuse as fault:
        raise _failure(fault, node.collection, scope) from None
    collected: list[tuple[Value, Value, Scope]] = []
    diagnostics: list[Diagnostic] = []
    for key, each in collection:
        inner = scope.with_variables(_bound(node, key, each))
        try:
            if node.condition is None or _is_wanted(node.condition, inner):
                result_key = None if node.key is None else evaluate(node.key, inner)
                collected.append((result_key, evaluate(node.value, inner), inner))
        except Failure as failure:
            if not failure.diagnostics:
                raise
            diagnostics.extend(failure.diagnostics)
    if diagnostics:
        raise Failure(dict.fromkeys(diagnostics))
    if node.key is None:
        return mark(tuple(value for _, value, _ in collected), sensitive=marked)
    return _for_object(node, node.key, collected, marked=marked)


def _bound(node: ast.For | ast.TemplateFor, key: Value, each: Value) -> Mapping[str, Value]:
    if node.key_name is None:
        return {node.value_name: each}
    return {node.key_name: key, node.value_name: each}


def _is_wanted(condition: ast.Node, scope: Scope) -> bool:
    bare, _ = unmark(evaluate(condition, scope))
    try:
        return operators.truth(bare, "the 'if' clause's")
    except Misuse as fault:
        raise _failure(Misuse("KP168", fault.detail), condition, scope) from None


def _for_object(
    node: ast.For, key_node: ast.Node, items: list[tuple[Value, Value, Scope]], *, marked: bool
) -> Value:
    groups: dict[str, list[Value]] = {}
    for key, value, scope in items:
        text, key_marked = _key(key, key_node, scope)
        marked = marked or key_marked
        if text in groups and not node.is_grouping:
            told = f'Two items of this "for" expression have the key "{text}".'
            hint = "If that is meant, group the values by key: write ... behind the value."
            raise _failure(Misuse("KP160", told, hint), key_node, scope) from None
        groups.setdefault(text, []).append(value)
    if node.is_grouping:
        return mark(_sorted({key: tuple(each) for key, each in groups.items()}), sensitive=marked)
    return mark(_sorted({key: each[0] for key, each in groups.items()}), sensitive=marked)


# ---- operators


def _unary(node: ast.Unary, scope: Scope) -> Value:
    value = evaluate(node.operand, scope)
    try:
        return operators.unary(node.operator, value)
    except Misuse as fault:
        raise _failure(fault, node.operand, scope) from None


def _binary(node: ast.Binary, scope: Scope) -> Value:
    """Go down a chain of operators without recursion: `a + b + c + ...` may be long."""
    chain = [node]
    while type(chain[-1].left) is ast.Binary:
        chain.append(chain[-1].left)
    value = evaluate(chain[-1].left, scope)
    for each in reversed(chain):
        if each.operator in {"&&", "||"}:
            value = _logical(each, value, scope)
            continue
        right = evaluate(each.right, scope)
        try:
            value = operators.binary(each.operator, value, right)
        except Misuse as fault:
            raise _failure(fault, each, scope) from None
    return value


def _logical(node: ast.Binary, left: Value, scope: Scope) -> Value:
    bare, marked = unmark(left)
    try:
        decided = operators.truth(bare, "left")
        if decided is (node.operator == "||"):
            return mark(decided, sensitive=marked)
        right, right_marked = unmark(evaluate(node.right, scope))
        return mark(operators.truth(right, "right"), sensitive=marked or right_marked)
    except Misuse as fault:
        raise _failure(fault, node, scope) from None


def _conditional(node: ast.Conditional, scope: Scope) -> Value:
    bare, marked = unmark(evaluate(node.condition, scope))
    try:
        decided = operators.truth(bare, "condition")
    except Misuse as fault:
        told = fault.detail.replace("Unsuitable value for condition operand: ", "The condition: ")
        raise _failure(Misuse("KP156", told), node.condition, scope) from None
    chosen, other = node.then, node.otherwise
    if not decided:
        chosen, other = other, chosen
    value = _as_either(node, evaluate(chosen, scope), other, scope)
    return mark(value, sensitive=marked)


def _as_either(node: ast.Conditional, value: Value, other: ast.Node, scope: Scope) -> Value:
    """Bring the chosen result to the type that both results have in common."""
    try:
        unchosen = evaluate(other, scope)
    except Failure:
        return value  # its type is not known, so it does not constrain
    own, foreign = type_of(value), type_of(unchosen)
    if own == foreign:
        return value
    common = unify((own, foreign))
    if common is None:
        names = type_name(own), type_name(foreign)
        first, second = names if other is node.otherwise else names[::-1]
        told = f"The results are of different types: {first} if true, {second} if false."
        raise _failure(Misuse("KP155", told), node, scope) from None
    return convert(value, common)


# ---- templates


def _wrapped(node: ast.Wrapped, scope: Scope) -> Value:
    return evaluate(node.inner, scope)


def _template(node: ast.Template, scope: Scope) -> Value:
    values = _all(node.parts, scope)
    marked = False
    texts: list[str] = []
    for value, part in zip(values, node.parts, strict=True):
        if type(value) is str:
            texts.append(value)
            continue
        bare, is_secret = unmark(value)
        marked = marked or is_secret
        texts.append(_interpolated(bare, part, scope))
    return mark("".join(texts), sensitive=marked)


def _interpolated(value: Value, node: ast.Node, scope: Scope) -> str:
    if value is None:
        told = "The expression is null, which has no text to put into a template."
        raise _failure(Misuse("KP158", told), node, scope) from None
    try:
        text = convert(value, STRING)
    except ConversionError:
        told = f"A template takes strings, numbers and bools, got {type_name(type_of(value))}."
        raise _failure(
            Misuse("KP158", told, "Write it as text with join() or jsonencode()."), node, scope
        ) from None
    return str(text)


def _template_if(node: ast.TemplateIf, scope: Scope) -> Value:
    bare, marked = unmark(evaluate(node.condition, scope))
    try:
        decided = operators.truth(bare, "condition")
    except Misuse as fault:
        raise _failure(Misuse("KP156", fault.detail), node.condition, scope) from None
    return mark(evaluate(node.then if decided else node.otherwise, scope), sensitive=marked)


def _template_for(node: ast.TemplateFor, scope: Scope) -> Value:
    try:
        collection, marked = access.pairs(evaluate(node.collection, scope))
    except Misuse as fault:
        raise _failure(fault, node.collection, scope) from None
    texts: list[str] = []
    for key, each in collection:
        bare, is_secret = unmark(evaluate(node.body, scope.with_variables(_bound(node, key, each))))
        marked = marked or is_secret
        texts.append(str(bare))
    return mark("".join(texts), sensitive=marked)


# ---- calls


def _call(node: ast.Call, scope: Scope) -> Value:
    if node.name == "try":
        return _try(node, scope)
    if node.name == "can":
        return _can(node, scope)
    callee = calls.callee(node, scope)
    arguments = _all(node.arguments, scope)
    if node.is_expanding:
        arguments = calls.expanded(node, arguments, scope)
    try:
        return callee.call(arguments, scope.host)
    except FunctionError as fault:
        raise calls.failure(node, fault, scope, seen(node, scope, evaluate)) from None


def _try(node: ast.Call, scope: Scope) -> Value:
    diagnostics: list[Diagnostic] = []
    for argument in node.arguments:
        try:
            return evaluate(argument, scope)
        except Failure as failure:
            if failure.is_final:
                raise
            diagnostics.extend(failure.diagnostics)
    subject = scope.origin.range(node.start, node.end)
    told = "None of the expressions has a value: "
    told += " ".join(f"({at}) {each.detail}" for at, each in enumerate(diagnostics, 1))
    raise Failure([error("KP154", subject, told if diagnostics else "At least one is needed.")])


def _can(node: ast.Call, scope: Scope) -> Value:
    if len(node.arguments) != 1:
        raise calls.wrong_count(node, scope, 1)
    try:
        return mark(True, sensitive=has_sensitive(evaluate(node.arguments[0], scope)))  # noqa: FBT003 - a value
    except Failure as failure:
        if failure.is_final:
            raise
        return False


_Evaluate: TypeAlias = Callable[[Any, Scope], Found]

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
    ast.For: _for,
    ast.Unary: _unary,
    ast.Binary: _binary,
    ast.Conditional: _conditional,
    ast.Wrapped: _wrapped,
    ast.Template: _template,
    ast.TemplateIf: _template_if,
    ast.TemplateFor: _template_for,
    ast.Call: _call,
}
