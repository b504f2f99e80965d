"""Evaluation errors with the values of the references in the failing expression."""

from collections.abc import Iterator

from kplan.config.diagnostic import EvaluationError, OperandError, error
from kplan.config.evaluation.scope import Evaluator, Scope
from kplan.config.syntax import tree as ast
from kplan.config.syntax.tree_walk import children
from kplan.config.values.value_text import describe_value

_STEPS = (ast.GetAttr, ast.Index)


def evaluation_error(
    fault: OperandError, node: ast.Node, scope: Scope, evaluate: Evaluator
) -> EvaluationError:
    """Turn what an operation on values refused into a problem at the place of `node`."""
    subject = scope.origin.range(node.start, node.end)
    values = reference_values(node, scope, evaluate)
    return EvaluationError(
        [error(fault.code, subject, fault.detail, hint=fault.hint, values=values)]
    )


def reference_values(
    node: ast.Node, scope: Scope, evaluate: Evaluator
) -> tuple[tuple[str, str], ...]:
    """Describe every reference in an expression that has a value: `("var.count", "is 5000")`."""
    if scope.is_quiet:
        return ()
    told: dict[str, str] = {}
    quiet = scope.quiet_scope()
    for reference in _references(node):
        text = scope.origin.text(reference.start, reference.end)
        if text in told:
            continue
        try:
            told[text] = describe_value(evaluate(reference, quiet))
        except EvaluationError:
            continue
    return tuple(sorted(told.items()))


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
