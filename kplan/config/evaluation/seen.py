"""Failures of expressions, with the values that the failing expression saw."""

from collections.abc import Iterator

from kplan.config.evaluation.misuse import Misuse
from kplan.config.evaluation.scope import Evaluate, Scope
from kplan.config.problem import Failure, error
from kplan.config.syntax import tree as ast
from kplan.config.syntax.walk import children
from kplan.config.values.describe import describe

_STEPS = (ast.GetAttr, ast.Index)


def failure(fault: Misuse, node: ast.Node, scope: Scope, evaluate: Evaluate) -> Failure:
    """Turn what an operation on values refused into a problem at the place of `node`."""
    subject = scope.origin.range(node.start, node.end)
    values = seen(node, scope, evaluate)
    return Failure([error(fault.code, subject, fault.detail, hint=fault.hint, values=values)])


def seen(node: ast.Node, scope: Scope, evaluate: Evaluate) -> tuple[tuple[str, str], ...]:
    """Describe every reference in an expression that has a value: `("var.count", "is 5000")`."""
    if scope.is_quiet:
        return ()
    told: dict[str, str] = {}
    quiet = scope.quiet()
    for reference in _references(node):
        text = scope.origin.text(reference.start, reference.end)
        if text in told:
            continue
        try:
            told[text] = describe(evaluate(reference, quiet))
        except Failure:
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
