"""Templates: text with the values of expressions in it."""

from kplan.config.diagnostic import OperandError
from kplan.config.evaluation import operator
from kplan.config.evaluation.error import evaluation_error
from kplan.config.evaluation.scope import Evaluator, Scope
from kplan.config.syntax import tree as ast
from kplan.config.values.conversion import ConversionError, convert
from kplan.config.values.number import clean_text
from kplan.config.values.sensitive import mark, unmark
from kplan.config.values.types import type_name, type_of
from kplan.config.values.value import STRING, Value

MAX_TEXT = 64 * 2**20
"""Characters that a template may come to: what doubles again and again ends here."""


def join_parts(node: ast.Template, values: list[Value], scope: Scope, evaluate: Evaluator) -> Value:
    """Join the values of a template's parts.

    Raises:
        Failure: a part has no text.

    """
    marked = False
    size = 0
    texts: list[str] = []
    for value, part in zip(values, node.parts, strict=True):
        if type(value) is str:
            size += len(value)
            texts.append(value)
            continue
        bare, is_secret = unmark(value)
        marked = marked or is_secret
        try:
            texts.append(_part_text(bare))
        except OperandError as fault:
            raise evaluation_error(fault, part, scope, evaluate) from None
    if size > MAX_TEXT:
        told = f"The text would have {size} characters; at most {MAX_TEXT} are supported."
        raise evaluation_error(OperandError("KP158", told), node, scope.quiet_scope(), evaluate)
    return mark(clean_text("".join(texts)), sensitive=marked)


def _part_text(value: Value) -> str:
    if value is None:
        raise OperandError(
            "KP158", "The expression is null, which has no text to put into a template."
        )
    try:
        return str(convert(value, STRING))
    except ConversionError:
        told = f"A template takes strings, numbers and bools, got {type_name(type_of(value))}."
        raise OperandError("KP158", told, "Write it as text with join() or jsonencode().") from None


def evaluate_template_if(node: ast.TemplateIf, scope: Scope, evaluate: Evaluator) -> Value:
    """Evaluate `%{ if }` to the text of the branch that the condition chooses.

    Raises:
        Failure: the condition is neither true nor false, or the branch has no text.

    """
    decided, marked = evaluate_condition(node.condition, scope, evaluate)
    return mark(evaluate(node.then if decided else node.otherwise, scope), sensitive=marked)


def evaluate_condition(node: ast.Node, scope: Scope, evaluate: Evaluator) -> tuple[bool, bool]:
    """Evaluate a condition, and tell whether it is sensitive.

    Raises:
        Failure: it is neither true nor false.

    """
    value = evaluate(node, scope)
    try:
        return operator.to_bool(value, "condition")
    except OperandError as fault:
        raise evaluation_error(OperandError("KP156", fault.detail), node, scope, evaluate) from None
