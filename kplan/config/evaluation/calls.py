"""Calls of functions: finding the function, expanding the last argument, placing its errors."""

from collections.abc import Mapping

from kplan.config.evaluation.misuse import meant
from kplan.config.evaluation.scope import Scope
from kplan.config.functions.function import Function, FunctionError, Problem
from kplan.config.problem import Failure, error
from kplan.config.syntax import tree as ast
from kplan.config.values.sensitive import mark, unmark
from kplan.config.values.types import type_name, type_of
from kplan.config.values.value import Value


def callee(node: ast.Call, scope: Scope) -> Function:
    """Find the function that a call names.

    Raises:
        Failure: there is none of that name.

    """
    found = scope.functions.get(node.name)
    if found is None:
        raise unknown(node, scope)
    return found


def unknown(node: ast.Call, scope: Scope) -> Failure:
    """Make the error that no function has the name."""
    subject = scope.origin.range(node.start, node.name_end)
    told = f'There is no function named "{node.name}".'
    hint = meant(node.name, [*scope.functions, "try", "can"])
    return Failure([error("KP153", subject, told, hint=hint)], is_final=True)


def expanded(node: ast.Call, arguments: list[Value], scope: Scope) -> list[Value]:
    """Put the elements of the last argument in its place, as `...` behind it asks.

    Raises:
        Failure: it is no list, tuple or set.

    """
    bare, marked = unmark(arguments[-1])
    if not isinstance(bare, tuple):
        last = node.arguments[-1]
        subject = scope.origin.range(last.start, last.end)
        got = "null" if bare is None else f"a {type_name(type_of(bare))}"
        told = f"The argument before ... must be a list, tuple or set, got {got}."
        raise Failure([error("KP163", subject, told)])
    return [*arguments[:-1], *(mark(each, sensitive=marked) for each in bare)]


_CODES: Mapping[Problem, str] = {
    Problem.TOO_FEW: "KP164",
    Problem.TOO_MANY: "KP165",
    Problem.ARGUMENT: "KP152",
    Problem.CALL: "KP154",
}


def failure(
    node: ast.Call, fault: FunctionError, scope: Scope, values: tuple[tuple[str, str], ...]
) -> Failure:
    """Place what a function refused: at the argument it names, else at the function's name."""
    subject = scope.origin.range(node.start, node.name_end)
    if fault.argument is not None and node.arguments:
        argument = node.arguments[min(fault.argument, len(node.arguments) - 1)]
        subject = scope.origin.range(argument.start, argument.end)
    return Failure([error(_CODES[fault.problem], subject, fault.message, values=values)])


def wrong_count(node: ast.Call, scope: Scope, wanted: int) -> Failure:
    """Make the error that a call has too few or too many arguments."""
    got = len(node.arguments)
    code = "KP164" if got < wanted else "KP165"
    subject = scope.origin.range(node.start, node.name_end if got < wanted else node.end)
    told = f'The function "{node.name}" takes {wanted}, got {got}.'
    return Failure([error(code, subject, told)])
