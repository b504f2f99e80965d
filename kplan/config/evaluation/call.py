"""Calls of functions, and evaluation errors with the values of the references in them."""

from collections.abc import Iterator, Mapping
from typing import TypeAlias

from kplan.config.diagnostic import EvaluationError, OperandError, error, suggestion
from kplan.config.evaluation.scope import Evaluator, Scope
from kplan.config.functions.function import Function, FunctionError, Problem
from kplan.config.functions.registry import LAZY
from kplan.config.syntax import tree as ast
from kplan.config.syntax.tree_walk import children, content_start
from kplan.config.values.sensitive import mark, unmark
from kplan.config.values.value import Value, type_name, type_of
from kplan.config.values.value_text import describe_value
from kplan.model.diagnostic import SourceRange

Span: TypeAlias = tuple[int, int]
"""Start and end, in offsets of nodes."""


def find_function(node: ast.Call, scope: Scope) -> Function:
    """Find the function that a call names.

    Raises:
        EvaluationError: there is not one of that name.

    """
    found = scope.functions.get(node.name)
    if found is None:
        raise unknown_function_error(node, scope)
    return found


def unknown_function_error(node: ast.Call, scope: Scope) -> EvaluationError:
    """Make the error that no function has the name."""
    subject = scope.origin.range(node.start, node.name_end)
    detail = f'There is no function named "{node.name}".'
    hint = suggestion(node.name, (*scope.functions, *LAZY))
    return EvaluationError([error("KP153", subject, detail, hint=hint)])


def expand_arguments(node: ast.Call, arguments: list[Value], scope: Scope) -> list[Value]:
    """Put the elements of the last argument in its place, as `...` behind it asks.

    Raises:
        EvaluationError: it is no list, tuple or set.

    """
    bare, marked = unmark(arguments[-1])
    if not isinstance(bare, tuple):
        last = node.arguments[-1]
        subject = scope.origin.range(last.start, last.end)
        got = "null" if bare is None else f"a {type_name(type_of(bare))}"
        detail = f"The argument before ... must be a list, tuple or set, got {got}."
        raise EvaluationError([error("KP163", subject, detail)])
    return [*arguments[:-1], *(mark(each, sensitive=marked) for each in bare)]


_CODES: Mapping[Problem, str] = {
    Problem.TOO_FEW: "KP164",
    Problem.TOO_MANY: "KP165",
    Problem.ARGUMENT: "KP152",
    Problem.CALL: "KP154",
}


def call_error(
    node: ast.Call, fault: FunctionError, scope: Scope, values: tuple[tuple[str, str], ...]
) -> EvaluationError:
    """Locate the failure of a function: at its named argument, otherwise at the function's name.

    Of too few arguments it is the closing parenthesis.
    """
    subject = scope.origin.range(node.start, node.name_end)
    if fault.argument is not None and node.arguments:
        argument = node.arguments[min(fault.argument, len(node.arguments) - 1)]
        subject = scope.origin.range(content_start(argument, scope.origin), argument.end)
    elif fault.problem is Problem.TOO_FEW:
        subject = scope.origin.range(node.end - 1, node.end)
    return EvaluationError([error(_CODES[fault.problem], subject, fault.message, values=values)])


def evaluate_try(node: ast.Call, scope: Scope, evaluate: Evaluator) -> Value:
    """Execute `try` or `can`, whose arguments may fail.

    Raises:
        EvaluationError: no argument of `try` has a value, or one failed permanently; a wrong call.

    """
    if node.name == "try":
        return _first_without_error(node, scope, evaluate)
    if len(node.arguments) != 1:
        code = "KP165" if node.arguments else "KP164"
        subject = scope.origin.range(node.end - 1, node.end)
        if node.arguments:
            subject = scope.origin.range(node.arguments[1].start, node.arguments[1].end)
        detail = f'The function "can" takes 1 argument, got {len(node.arguments)}.'
        raise EvaluationError([error(code, subject, detail)])
    try:
        evaluate(node.arguments[0], scope.quiet_scope())
    except EvaluationError as found:
        if found.is_final:
            raise
        return False
    return True


def _first_without_error(node: ast.Call, scope: Scope, evaluate: Evaluator) -> Value:
    reasons: list[str] = []
    for argument in node.arguments:
        try:
            return evaluate(argument, scope)
        except EvaluationError as found:
            if found.is_final:
                raise
            reasons.extend(each.detail for each in found.diagnostics)
    subject = scope.origin.range(node.start, node.name_end)
    if not reasons:
        raise EvaluationError([error("KP154", subject, "try(...) needs at least one argument.")])
    detail = "\n".join(("None of the arguments of try(...) has a value:", *reasons))
    raise EvaluationError([error("KP154", subject, detail)])


_STEPS = (ast.GetAttr, ast.Index)


def evaluation_error(
    fault: OperandError, node: ast.Node, scope: Scope, evaluate: Evaluator, at: Span | None = None
) -> EvaluationError:
    """Turn the failure of an operation on values into a diagnostic.

    It is shown at `at`, a part of `node`, and otherwise at the whole.
    """
    subject = scope.origin.range(*(at or (node.start, node.end)))
    return _operand_error(fault, node, subject, scope, evaluate)


def step_error(
    fault: OperandError, node: ast.GetAttr | ast.Index, scope: Scope, evaluate: Evaluator
) -> EvaluationError:
    """Turn the failure of the last step of a reference into a diagnostic at this step."""
    subject = scope.origin.step_range(node.target.end, node.end)
    return _operand_error(fault, node, subject, scope, evaluate)


def _operand_error(
    fault: OperandError, node: ast.Node, subject: SourceRange, scope: Scope, evaluate: Evaluator
) -> EvaluationError:
    values = reference_values(node, scope, evaluate)
    diagnostic = error(
        fault.code, subject, fault.detail, hint=fault.hint, values=values, summary=fault.summary
    )
    return EvaluationError([diagnostic])


def reference_values(
    node: ast.Node, scope: Scope, evaluate: Evaluator
) -> tuple[tuple[str, str], ...]:
    """Describe every reference in an expression that has a value: `("var.count", "is 5000")`."""
    if scope.is_quiet:
        return ()
    values: dict[str, str] = {}
    quiet = scope.quiet_scope()
    for reference in _references(node):
        text = scope.origin.text(reference.start, reference.end)
        if text in values:
            continue
        try:
            values[text] = describe_value(evaluate(reference, quiet))
        except EvaluationError:
            continue
    return tuple(sorted(values.items()))


def _references(node: ast.Node) -> Iterator[ast.Node]:
    """List whole references; of one that may itself fail, the part before its last step too."""
    if isinstance(node, ast.For | ast.TemplateFor | ast.Splat):
        return
    if isinstance(node, ast.Name):
        yield node
    elif isinstance(node, _STEPS):
        if _is_reference(node):
            yield node
            if isinstance(node.target, _STEPS):
                yield node.target
        if isinstance(node, ast.Index):
            yield from _references(node.key)
    else:
        for child in children(node):
            yield from _references(child)


def _is_reference(node: ast.Node) -> bool:
    while isinstance(node, _STEPS):
        node = node.target
    return isinstance(node, ast.Name)
